//! The configuration of a thread in the file, by the format's version.

use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The policies whose threads have a niceness.
const ORDINARY: [&str; 3] = ["SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE"];
/// The policies whose threads have a priority.
const REAL_TIME: [&str; 2] = ["SCHED_FIFO", "SCHED_RR"];
/// The policy whose threads have a budget.
const DEADLINE: &str = "SCHED_DEADLINE";

/// The version of the format, by the key of an ordinary thread's niceness. A configurator that expects the other key
/// refuses the file, or ignores the niceness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Until July 2026: `priority` is the niceness of an ordinary thread, and the priority of a real-time thread
    Priority,
    /// Since August 2026: `nice` is the niceness, `priority` is that of real-time threads only
    Nice,
}

impl Format {
    /// Returns the key of an ordinary thread's niceness.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Nice => "nice",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Priority => f.write_str("that until July 2026, with `priority` for the niceness"),
            Self::Nice => f.write_str("that since August 2026, with `nice`"),
        }
    }
}

/// The configuration of a thread, as the file has it.
#[derive(Deserialize, Clone, PartialEq, Debug)]
pub(super) struct Entry {
    /// The id of a callback group, or of another thread in callback_isolated_executor.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// The name of a thread in agnocast, which has no id.
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) domain_id: Option<u64>,
    #[serde(default)]
    pub(super) affinity: Option<Vec<u32>>,
    #[serde(default)]
    pub(super) policy: Option<String>,
    #[serde(default)]
    pub(super) nice: Option<i64>,
    #[serde(default)]
    pub(super) priority: Option<i64>,
    #[serde(default)]
    pub(super) runtime: Option<u64>,
    #[serde(default)]
    pub(super) deadline: Option<u64>,
    #[serde(default)]
    pub(super) period: Option<u64>,
}

/// The parts of a file that are read. Others stay as they are.
#[derive(Deserialize, PartialEq, Debug)]
pub(super) struct File {
    pub(super) callback_groups: Vec<Entry>,
    #[serde(default)]
    pub(super) non_ros_threads: Option<Vec<Entry>>,
    /// Sections that only the format since August 2026 has.
    #[serde(default)]
    kernel_threads: Option<IgnoredAny>,
    #[serde(default)]
    irqs: Option<IgnoredAny>,
}

/// Two entries in different formats: the ids of one with `priority`, and of one with `nice` if that is what tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mixed {
    pub(super) priority: String,
    pub(super) nice: Option<String>,
}

impl File {
    /// Parses the text of a file.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut file: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        // No cores means all cores, as a missing list does.
        for entry in file.callback_groups.iter_mut().chain(file.non_ros_threads.iter_mut().flatten()) {
            entry.affinity = entry.affinity.take().filter(|cores| !cores.is_empty());
        }
        match file.callback_groups.iter().position(|entry| entry.id.is_none()) {
            None => Ok(file),
            Some(place) => Err(format!("entry {} of `callback_groups` has no `id`", place + 1)),
        }
    }

    /// Returns the entries of both lists, with the key of the list and the place in it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'static str, usize, &Entry)> {
        let groups = self.callback_groups.iter().enumerate().map(|(place, entry)| ("callback_groups", place, entry));
        let threads = self.non_ros_threads.iter().flatten().enumerate();
        groups.chain(threads.map(|(place, entry)| ("non_ros_threads", place, entry)))
    }

    /// Returns the format of the file, the newest one if nothing tells.
    pub(super) fn format(&self) -> Result<Format, Mixed> {
        let mut nice = None;
        let mut priority = None;
        for (_, _, entry) in self.entries().filter(|(_, _, entry)| entry.is_ordinary()) {
            if entry.nice.is_some() {
                nice = nice.or(Some(entry.id()));
            } else if entry.priority.is_some() {
                priority = priority.or(Some(entry.id()));
            }
        }
        let is_newest = nice.is_some() || self.kernel_threads.is_some() || self.irqs.is_some();
        match priority {
            Some(id) if is_newest => Err(Mixed { priority: id.to_owned(), nice: nice.map(str::to_owned) }),
            Some(_) => Ok(Format::Priority),
            None => Ok(Format::Nice),
        }
    }
}

impl Entry {
    /// Returns the id of a callback group, or the name of another thread.
    pub(super) fn id(&self) -> &str {
        self.id.as_deref().or(self.name.as_deref()).unwrap_or_default()
    }

    /// True if the kernel shares the processor among such threads by their niceness.
    pub(super) fn is_ordinary(&self) -> bool {
        self.policy.as_deref().is_some_and(|policy| ORDINARY.contains(&policy))
    }

    /// Returns the niceness of an ordinary thread, by whichever key it has.
    pub(super) fn niceness(&self) -> Option<i64> {
        self.nice.or(self.priority)
    }

    /// Returns the reason for which the configurator refuses the entry, or would not do what it says, with the fix.
    pub(super) fn complaint(&self, format: Format) -> Option<String> {
        let Some(policy) = self.policy.as_deref() else {
            return Some("`policy` is missing; write one such as `policy: SCHED_OTHER`".to_owned());
        };
        if ORDINARY.contains(&policy) {
            let niceness = if format == Format::Nice { self.nice } else { self.priority };
            return range_complaint(policy, format.key(), niceness, -20, 19);
        }
        if REAL_TIME.contains(&policy) {
            return range_complaint(policy, "priority", self.priority, 1, 99);
        }
        if policy == DEADLINE {
            let is_whole = self.runtime.is_some() && self.deadline.is_some() && self.period.is_some();
            return (!is_whole).then(|| format!("{DEADLINE} needs `runtime`, `deadline` and `period`, in nanoseconds"));
        }
        let known = [&ORDINARY[..], &REAL_TIME, &[DEADLINE]].concat().join(", ");
        Some(format!("the policy `{policy}` does not exist; choose from {known}"))
    }

    /// Returns the complaint about an id with a wildcard that matches nothing.
    pub(super) fn wildcard_complaint(&self) -> Option<String> {
        if !self.id().contains('*') {
            return None;
        }
        let node = self.id().strip_suffix("/*").unwrap_or_default();
        let is_node = !node.is_empty() && !node.contains(['*', '@']);
        (!is_node).then(|| "`*` stands for all groups of a node, as in `/my_node/*`, and for nothing else".to_owned())
    }

    /// Gives an ordinary thread its niceness by the key of the format.
    pub(super) fn set_niceness(&mut self, niceness: i64, format: Format) {
        (self.nice, self.priority) = match format {
            Format::Nice => (Some(niceness), None),
            Format::Priority => (None, Some(niceness)),
        };
    }

    /// Returns the lines with those settings of the entry whose keys are wanted.
    pub(super) fn settings(&self, wanted: &[&str], format: Format) -> Vec<String> {
        let mut lines = Vec::new();
        if wanted.contains(&"affinity") {
            lines.extend(self.affinity_lines(format));
        }
        let values = [
            ("policy", self.policy.clone()),
            ("nice", self.nice.map(|nice| nice.to_string())),
            ("priority", self.priority.map(|priority| priority.to_string())),
            ("runtime", self.runtime.map(|ns| ns.to_string())),
            ("deadline", self.deadline.map(|ns| ns.to_string())),
            ("period", self.period.map(|ns| ns.to_string())),
        ];
        for (key, value) in values {
            if wanted.contains(&key) {
                lines.extend(value.map(|value| format!("{key}: {value}")));
            }
        }
        lines
    }

    /// Returns the lines with the cores. None of them means all cores.
    fn affinity_lines(&self, format: Format) -> Vec<String> {
        match &self.affinity {
            None if format == Format::Nice => vec!["affinity: []".to_owned()],
            None => vec!["affinity: ~".to_owned()],
            Some(cores) => {
                let cores = cores.iter().map(|core| format!("  - {core}"));
                std::iter::once("affinity:".to_owned()).chain(cores).collect()
            }
        }
    }
}

/// Returns the complaint about a number that is missing or out of range.
fn range_complaint(policy: &str, key: &str, number: Option<i64>, min: i64, max: i64) -> Option<String> {
    match number {
        None => Some(format!("{policy} needs `{key}`, from {min} to {max}")),
        Some(number) if (min..=max).contains(&number) => None,
        Some(number) => Some(format!("`{key}` is {number}; {policy} has {min} to {max}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(settings: &str) -> Entry {
        File::parse(&format!("callback_groups:\n  - {{ id: a, {settings} }}\n")).unwrap().callback_groups.remove(0)
    }

    #[test]
    fn the_format_is_told_by_ordinary_threads_and_new_sections() {
        let format = |text: &str| File::parse(text).unwrap().format();
        assert_eq!(format("callback_groups: []"), Ok(Format::Nice));
        let group = |settings: &str| format!("callback_groups:\n  - {{ id: a, {settings} }}\n");
        assert_eq!(format(&group("policy: SCHED_OTHER, priority: 0")), Ok(Format::Priority));
        assert_eq!(format(&group("policy: SCHED_IDLE, nice: 0")), Ok(Format::Nice));
        assert_eq!(format(&group("policy: SCHED_FIFO, priority: 9")), Ok(Format::Nice));
        // A stray key of the other kind of policy is not looked at.
        assert_eq!(format(&group("policy: SCHED_OTHER, nice: 0, priority: 50")), Ok(Format::Nice));
        let mixed =
            group("policy: SCHED_OTHER, priority: 0") + "non_ros_threads: [{ name: t, policy: SCHED_BATCH, nice: 0 }]";
        let wrong = Mixed { priority: "a".to_owned(), nice: Some("t".to_owned()) };
        assert_eq!(format(&mixed), Err(wrong));
        let newest = group("policy: SCHED_OTHER, priority: 0") + "irqs: [{ irq: 3, affinity: UNMANAGEABLE }]";
        assert_eq!(format(&newest), Err(Mixed { priority: "a".to_owned(), nice: None }));
    }

    #[test]
    fn what_the_configurator_refuses_is_told_with_the_fix() {
        for (settings, part) in [
            ("priority: 3", "`policy` is missing"),
            ("policy: SCHED_BOGUS, priority: 0", "choose from SCHED_OTHER, SCHED_BATCH"),
            ("policy: SCHED_OTHER, priority: 0", "needs `nice`, from -20 to 19"),
            ("policy: SCHED_OTHER, nice:", "needs `nice`"),
            ("policy: SCHED_IDLE, nice: 50", "`nice` is 50"),
            ("policy: SCHED_RR, nice: 3", "needs `priority`, from 1 to 99"),
            ("policy: SCHED_FIFO, priority: 100", "`priority` is 100"),
            ("policy: SCHED_DEADLINE, runtime: 1, period: 3", "`runtime`, `deadline` and `period`"),
        ] {
            let complaint = entry(settings).complaint(Format::Nice).unwrap_or_default();
            assert!(complaint.contains(part), "{settings}: {complaint}");
        }
        for settings in [
            "policy: SCHED_BATCH, nice: -20",
            "policy: SCHED_FIFO, priority: 99, nice: 50",
            "policy: SCHED_DEADLINE, runtime: 1, deadline: 2, period: 3",
        ] {
            assert_eq!(entry(settings).complaint(Format::Nice), None, "{settings}");
        }
        assert_eq!(entry("policy: SCHED_OTHER, priority: -20").complaint(Format::Priority), None);
    }

    #[test]
    fn a_wildcard_stands_for_all_groups_of_a_node() {
        let complaint = |id: &str| Entry { id: Some(id.to_owned()), ..entry("nice: 0") }.wildcard_complaint();
        for id in ["/node", "/node/*", "/ns/node@Timer(100)"] {
            assert_eq!(complaint(id), None, "{id}");
        }
        for id in ["/*", "/node*", "/node/**", "/node/*x", "/a/*/b", "*", "/node/*@Waitable", "/node@Timer(1)/*"] {
            assert!(complaint(id).is_some_and(|said| said.contains("/my_node/*")), "{id}");
        }
    }
}
