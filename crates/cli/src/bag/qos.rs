//! Quality of service as bags have it: a list of profiles for each topic, one for each publisher, as YAML.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use rospin::Qos;
use rospin::graph::Endpoint;
use rospin::qos::{Durability, History, Liveliness, Reliability};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Seconds and nanoseconds that stand for "no limit".
const INFINITE: (u64, u64) = (9_223_372_036, 854_775_807);

/// Seconds from which on a time is no limit. Bags of Foxy have several other values for that.
const ENDLESS_S: u64 = 0x7FFF_FFFF;

/// Quality of service that a publisher offered. A field is `None` if it is not known, or is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offered {
    pub(crate) history: Option<History>,
    pub(crate) reliability: Option<Reliability>,
    pub(crate) durability: Option<Durability>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) lifespan: Option<Duration>,
    pub(crate) liveliness: Option<Liveliness>,
    pub(crate) lease: Option<Duration>,
}

impl From<&Endpoint> for Offered {
    fn from(publisher: &Endpoint) -> Self {
        Self {
            history: publisher.history,
            reliability: publisher.reliability,
            durability: publisher.durability,
            deadline: publisher.deadline,
            lifespan: publisher.lifespan,
            liveliness: publisher.liveliness,
            lease: publisher.liveliness_lease_duration,
        }
    }
}

impl Offered {
    fn depth(&self) -> Option<usize> {
        match self.history {
            Some(History::KeepLast(depth)) => Some(depth),
            _ => None,
        }
    }

    /// Appends the profile as an element of a list, with that many spaces before it.
    fn append(&self, text: &mut String, indent: usize) {
        let history = match self.history {
            None => "unknown",
            Some(History::KeepLast(_)) => "keep_last",
            Some(History::KeepAll) => "keep_all",
        };
        let reliability = match self.reliability {
            None => "unknown",
            Some(Reliability::Reliable) => "reliable",
            Some(Reliability::BestEffort) => "best_effort",
        };
        let durability = match self.durability {
            None => "unknown",
            Some(Durability::TransientLocal) => "transient_local",
            Some(Durability::Volatile) => "volatile",
        };
        let liveliness = match self.liveliness {
            None => "unknown",
            Some(Liveliness::Automatic) => "automatic",
            Some(Liveliness::ManualByTopic) => "manual_by_topic",
        };
        let space = " ".repeat(indent);
        let time = |text: &mut String, name: &str, time: Option<Duration>| {
            let (sec, nsec) = time.map_or(INFINITE, |time| (time.as_secs(), u64::from(time.subsec_nanos())));
            let _ = writeln!(text, "{space}  {name}:\n{space}    sec: {sec}\n{space}    nsec: {nsec}");
        };
        let depth = self.depth().unwrap_or_default();
        let _ = writeln!(text, "{space}- history: {history}\n{space}  depth: {depth}");
        let _ = writeln!(text, "{space}  reliability: {reliability}\n{space}  durability: {durability}");
        time(text, "deadline", self.deadline);
        time(text, "lifespan", self.lifespan);
        let _ = writeln!(text, "{space}  liveliness: {liveliness}");
        time(text, "liveliness_lease_duration", self.lease);
        let _ = writeln!(text, "{space}  avoid_ros_namespace_conventions: false");
    }
}

/// Returns the profiles as a list in YAML, with that many spaces before each line. Without profiles it is `[]`.
pub(crate) fn to_yaml(profiles: &[Offered], indent: usize) -> String {
    if profiles.is_empty() {
        return "[]\n".to_owned();
    }
    let mut text = String::new();
    for profile in profiles {
        profile.append(&mut text, indent);
    }
    text
}

/// A policy, which older bags have as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Policy {
    Number(u64),
    Name(String),
}

impl Policy {
    /// Returns the value that has that number in rmw, or that name.
    fn among<T: Copy>(this: Option<&Self>, values: &[(u64, &str, T)]) -> Option<T> {
        let found = match this? {
            Self::Number(number) => values.iter().find(|(of, _, _)| of == number),
            Self::Name(name) => values.iter().find(|(_, of, _)| of == name),
        };
        found.map(|(_, _, value)| *value)
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Time {
    sec: u64,
    nsec: u64,
}

/// A profile as it is in a file.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct Profile {
    history: Option<Policy>,
    depth: Option<i64>,
    reliability: Option<Policy>,
    durability: Option<Policy>,
    deadline: Option<Time>,
    lifespan: Option<Time>,
    liveliness: Option<Policy>,
    liveliness_lease_duration: Option<Time>,
}

impl From<&Profile> for Offered {
    fn from(profile: &Profile) -> Self {
        let depth = usize::try_from(profile.depth.unwrap_or_default()).unwrap_or_default();
        let histories = [(1, "keep_last", History::KeepLast(depth)), (2, "keep_all", History::KeepAll)];
        let reliabilities = [(1, "reliable", Reliability::Reliable), (2, "best_effort", Reliability::BestEffort)];
        let durabilities = [(1, "transient_local", Durability::TransientLocal), (2, "volatile", Durability::Volatile)];
        let signs = [(1, "automatic", Liveliness::Automatic), (3, "manual_by_topic", Liveliness::ManualByTopic)];
        let time = |time: &Option<Time>| {
            let Time { sec, nsec } = time.as_ref()?;
            let is_limit = *sec < ENDLESS_S && (*sec, *nsec) != (0, 0);
            is_limit.then(|| Duration::from_secs(*sec).saturating_add(Duration::from_nanos(*nsec)))
        };
        Self {
            history: Policy::among(profile.history.as_ref(), &histories),
            reliability: Policy::among(profile.reliability.as_ref(), &reliabilities),
            durability: Policy::among(profile.durability.as_ref(), &durabilities),
            deadline: time(&profile.deadline),
            lifespan: time(&profile.lifespan),
            liveliness: Policy::among(profile.liveliness.as_ref(), &signs),
            lease: time(&profile.liveliness_lease_duration),
        }
    }
}

/// Returns the profiles of a list in YAML. The error is the reason for which they cannot be read.
pub(crate) fn from_yaml(text: &str) -> Result<Vec<Offered>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let profiles: Vec<Profile> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    Ok(profiles.iter().map(Offered::from).collect())
}

/// Entries of a profile.
const ENTRIES: [&str; 9] = [
    "history",
    "depth",
    "reliability",
    "durability",
    "deadline",
    "lifespan",
    "liveliness",
    "liveliness_lease_duration",
    "avoid_ros_namespace_conventions",
];

/// Returns the profiles of a file as `--qos-profile-overrides-path` takes it: one for each topic. The error is the
/// reason for which it cannot be used.
pub(crate) fn overrides(text: &str) -> Result<BTreeMap<String, Offered>, String> {
    if text.trim().is_empty() {
        return Ok(BTreeMap::new());
    }
    let entries: BTreeMap<String, BTreeMap<String, IgnoredAny>> =
        serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    for (topic, entries) in &entries {
        if let Some(unknown) = entries.keys().find(|entry| !ENTRIES.contains(&entry.as_str())) {
            return Err(format!("topic {topic}: `{unknown}` is no policy; there are {}", ENTRIES.join(", ")));
        }
    }
    let profiles: BTreeMap<String, Profile> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut overrides = BTreeMap::new();
    for (topic, profile) in &profiles {
        let by = overriding(profile).map_err(|reason| format!("topic {topic}: {reason}"))?;
        overrides.insert(format!("/{}", topic.trim_start_matches('/')), by);
    }
    Ok(overrides)
}

/// Returns what a profile of a file of overrides says. The error is the reason for which it says nothing.
fn overriding(profile: &Profile) -> Result<Offered, String> {
    let mut by = Offered::from(profile);
    let is_known = [
        ("history", &profile.history, by.history.is_some()),
        ("reliability", &profile.reliability, by.reliability.is_some()),
        ("durability", &profile.durability, by.durability.is_some()),
        ("liveliness", &profile.liveliness, by.liveliness.is_some()),
    ];
    for (name, policy, is_known) in is_known {
        let text = match policy {
            None => continue,
            Some(Policy::Name(text)) => text.clone(),
            Some(Policy::Number(number)) => number.to_string(),
        };
        if !is_known && !["system_default", "best_available"].contains(&text.as_str()) {
            return Err(format!("`{text}` is no value of `{name}`"));
        }
    }
    // A depth alone means the latest ones, as it does for rosbag2.
    if by.depth().is_some() || (profile.history.is_none() && profile.depth.is_some()) {
        let depth = usize::try_from(profile.depth.unwrap_or_default()).unwrap_or_default();
        if depth == 0 {
            return Err("`history: keep_last` needs a `depth` of at least 1".to_owned());
        }
        by.history = Some(History::KeepLast(depth));
    }
    Ok(by)
}

/// Adds profiles that are not known yet. A profile that several publishers have at the same time is there as often.
/// Returns true if there was one.
pub(crate) fn add(known: &mut Vec<Offered>, now: &[Offered]) -> bool {
    let before = known.len();
    for profile in now {
        let count = |of: &[Offered]| of.iter().filter(|other| *other == profile).count();
        if count(now) > count(known) {
            known.push(*profile);
        }
    }
    known.len() > before
}

/// Returns the quality of service of a subscription that gets the messages of all these publishers, with the strongest
/// promises that all of them make.
pub(crate) fn to_record(offered: &[Offered], depth: usize) -> Qos {
    let mut qos = Qos::keep_last(depth);
    let is_reliable = |offered: &Offered| offered.reliability != Some(Reliability::BestEffort);
    let is_latched = |offered: &Offered| offered.durability == Some(Durability::TransientLocal);
    if !offered.iter().all(is_reliable) {
        qos.reliability = Reliability::BestEffort;
    }
    if !offered.is_empty() && offered.iter().all(is_latched) {
        qos.durability = Durability::TransientLocal;
    }
    qos
}

/// Depth of a publisher whose depth was not recorded, as ROS 2's default has it.
const DEPTH: usize = 10;

/// Returns the quality of service of the one publisher that stands for all these: subscriptions that any of them
/// served are served by it. A latched topic keeps as many messages as all of them kept together.
pub(crate) fn to_play(offered: &[Offered]) -> Qos {
    let Some(first) = offered.first() else { return Qos::keep_last(DEPTH) };
    let is_latched = offered.iter().any(|offered| offered.durability == Some(Durability::TransientLocal));
    let unknown = if is_latched { 1 } else { DEPTH };
    let depths = offered.iter().map(|offered| offered.depth().filter(|depth| *depth > 0).unwrap_or(unknown));
    let depth = if is_latched { depths.fold(0, usize::saturating_add) } else { depths.max().unwrap_or(DEPTH) };
    let mut qos = Qos::keep_last(depth.min(rospin_engine::DEPTH_MAX));
    if offered.iter().any(|offered| offered.history == Some(History::KeepAll)) {
        qos.history = History::KeepAll;
    }
    if is_latched {
        qos.durability = Durability::TransientLocal;
    }
    if offered.iter().all(|offered| offered.reliability == Some(Reliability::BestEffort)) {
        qos.reliability = Reliability::BestEffort;
    }
    // Promises about time hold for one publisher; several may have made them in turns.
    if offered.iter().all(|offered| offered == first) {
        (qos.deadline, qos.lifespan) = (first.deadline, first.lifespan);
        if let Some(liveliness) = first.liveliness {
            qos.liveliness = liveliness;
            qos.liveliness_lease_duration = first.lease;
        }
    }
    qos
}

/// Returns `qos` with what is known of an override.
pub(crate) fn overridden(mut qos: Qos, by: Option<&Offered>) -> Qos {
    let Some(by) = by else { return qos };
    qos.history = by.history.unwrap_or(qos.history);
    qos.reliability = by.reliability.unwrap_or(qos.reliability);
    qos.durability = by.durability.unwrap_or(qos.durability);
    qos.deadline = by.deadline.or(qos.deadline);
    qos.lifespan = by.lifespan.or(qos.lifespan);
    qos.liveliness = by.liveliness.unwrap_or(qos.liveliness);
    qos.liveliness_lease_duration = by.lease.or(qos.liveliness_lease_duration);
    qos
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(reliability: Reliability, durability: Durability, depth: usize) -> Offered {
        let history = Some(History::KeepLast(depth));
        Offered { history, reliability: Some(reliability), durability: Some(durability), ..Offered::default() }
    }

    #[test]
    fn profiles_are_read_as_they_were_written() {
        let profile = Offered {
            deadline: Some(Duration::from_millis(1_500)),
            liveliness: Some(Liveliness::ManualByTopic),
            lease: Some(Duration::from_secs(2)),
            ..offered(Reliability::BestEffort, Durability::TransientLocal, 5)
        };
        let profiles = [profile, Offered::default()];
        assert_eq!(from_yaml(&to_yaml(&profiles, 0)).unwrap(), profiles);
        assert_eq!(from_yaml(&to_yaml(&[], 0)).unwrap(), []);
        assert_eq!(from_yaml("").unwrap(), []);
    }

    #[test]
    fn profiles_of_older_bags_have_numbers() {
        let text = "\
- history: 3
  depth: 0
  reliability: 1
  durability: 1
  deadline:
    sec: 2147483647
    nsec: 4294967295
  lifespan:
    sec: 9223372036
    nsec: 854775807
  liveliness: 1
  liveliness_lease_duration:
    sec: 9223372036
    nsec: 854775807
  avoid_ros_namespace_conventions: false";
        let expected = Offered {
            reliability: Some(Reliability::Reliable),
            durability: Some(Durability::TransientLocal),
            liveliness: Some(Liveliness::Automatic),
            ..Offered::default()
        };
        assert_eq!(from_yaml(text).unwrap(), [expected]);
        assert!(from_yaml("- [1, 2").is_err());
    }

    #[test]
    fn profiles_are_kept_as_often_as_they_were_there_at_the_same_time() {
        let reliable = offered(Reliability::Reliable, Durability::TransientLocal, 1);
        let loose = offered(Reliability::BestEffort, Durability::Volatile, 1);
        let mut known = vec![reliable];
        assert!(add(&mut known, &[reliable, reliable]) && add(&mut known, &[loose]));
        assert!(
            !add(&mut known, &[reliable]) && !add(&mut known, &[]) && !add(&mut known, &[loose, reliable, reliable])
        );
        assert_eq!(known, [reliable, reliable, loose]);
    }

    #[test]
    fn recorder_asks_for_what_all_publishers_offer() {
        let reliable = offered(Reliability::Reliable, Durability::TransientLocal, 1);
        let loose = offered(Reliability::BestEffort, Durability::Volatile, 1);
        let both = to_record(&[reliable, loose], 100);
        assert_eq!((both.reliability, both.durability), (Reliability::BestEffort, Durability::Volatile));
        let one = to_record(&[reliable], 100);
        assert_eq!((one.reliability, one.durability), (Reliability::Reliable, Durability::TransientLocal));
        assert_eq!(one.depth(), Some(100));
    }

    #[test]
    fn player_offers_what_any_publisher_offered() {
        let reliable = offered(Reliability::Reliable, Durability::TransientLocal, 1);
        let loose = offered(Reliability::BestEffort, Durability::Volatile, 1);
        let both = to_play(&[loose, reliable]);
        assert_eq!((both.reliability, both.durability), (Reliability::Reliable, Durability::TransientLocal));
        // Three nodes with a static transform each: a late subscription gets all three.
        assert_eq!(to_play(&[reliable; 3]).depth(), Some(3));
        assert_eq!(to_play(&[loose]).reliability, Reliability::BestEffort);
        assert_eq!(to_play(&[]), Qos::keep_last(DEPTH));
    }

    #[test]
    fn overrides_name_what_they_change() {
        let of = overrides("/scan:\n  reliability: best_effort\n  depth: 3\n  history: keep_last\n").unwrap();
        let qos = overridden(Qos::default(), of.get("/scan"));
        assert_eq!(
            (qos.reliability, qos.depth(), qos.durability),
            (Reliability::BestEffort, Some(3), Durability::Volatile)
        );
    }

    #[test]
    fn overrides_that_say_nothing_are_refused() {
        let refused = |text: &str| overrides(text).unwrap_err();
        assert!(
            refused("/a:\n  reliability: best_efort\n").contains("topic /a: `best_efort` is no value of `reliability`")
        );
        assert!(refused("/a:\n  relyability: reliable\n").contains("`relyability` is no policy"));
        assert!(refused("/a:\n  history: keep_last\n").contains("needs a `depth`"));
        assert!(refused("/a:\n  depth: -3\n").contains("at least 1"));
        let all = overrides("/a:\n  history: keep_all\n  depth: 0\n").unwrap();
        assert_eq!(all["/a"].history, Some(History::KeepAll));
        let alone = overrides("a:\n  depth: 3\n  durability: system_default\n").unwrap();
        assert_eq!(overridden(Qos::default(), alone.get("/a")).depth(), Some(3));
        assert!(overrides("").unwrap().is_empty());
    }
}
