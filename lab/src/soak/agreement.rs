//! What must hold once everything has healed: all see the same, and have the same.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ledger::Ledger;
use super::words::{LATCHED, RobotSnapshot, Seen, StationSnapshot, TOPICS};

/// What has to become right again within a stated time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Subject {
    /// Nodes and ends, as everybody sees them.
    Graph,
    /// Latched topics have their last value.
    Latched,
    /// The managed nodes are in the state in which their callbacks left them.
    States,
    /// Transforms of all robots can be looked up.
    Frames,
    /// Every call, request and goal has an end.
    Answers,
}

impl Subject {
    pub(super) const ALL: [Self; 5] = [Self::Graph, Self::Latched, Self::States, Self::Frames, Self::Answers];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Latched => "latched topics",
            Self::States => "states of managed nodes",
            Self::Frames => "transforms",
            Self::Answers => "answers",
        }
    }
}

/// What all processes have and see at one time.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    pub(super) station: StationSnapshot,
    /// The start, and what it has, of each robot.
    pub(super) robots: Vec<(i64, RobotSnapshot)>,
}

/// The nodes of a robot.
const NODES: [&str; 10] =
    ["arm", "components", "driver", "frames", "listener", "mapper", "relay", "sensors", "server", "tuner"];
/// Services of a robot that the station asks.
const SERVICES: [&str; 5] = ["double", "relay", "drive/_action/get_result", "arm/change_state", "tuner/set_parameters"];

/// Returns what is not right, in words.
pub(super) fn disagreements(picture: &Picture, ledger: &Ledger) -> Vec<(Subject, String)> {
    let Picture { station, robots } = picture;
    let mut wrong = Vec::new();
    let mut check = |subject: Subject, is_right: bool, text: &dyn Fn() -> String| {
        if !is_right {
            wrong.push((subject, text()));
        }
    };
    let expected = expected_nodes(robots.len());
    let seen = robots.iter().enumerate().map(|(at, (_, robot))| (format!("robot_{}", at + 1), &robot.seen));
    for (observer, seen) in seen.chain([("station".to_owned(), &station.seen)]) {
        let difference = graph_difference(seen, &expected, robots.len());
        check(Subject::Graph, difference.is_none(), &|| {
            format!("{observer} sees {}", difference.clone().unwrap_or_default())
        });
        let guests = |seen: &Seen| guests(seen).map(str::to_owned).collect::<BTreeSet<_>>();
        let same = guests(seen) == guests(&station.seen);
        check(Subject::Graph, same, &|| format!("{observer} and the station see other components"));
    }
    for (at, ((boot, robot), line)) in robots.iter().zip(&station.lines).enumerate() {
        let name = format!("robot_{}", at + 1);
        let last = line.ears[LATCHED].last.map(|count| (count.boot, count.number));
        let published = (*boot, robot.published[LATCHED].number);
        let is_right = published.1 == 0 || last == Some(published);
        check(Subject::Latched, is_right, &|| {
            format!("{name}: {last:?} is the last map, and {published:?} was published")
        });
        let is_right = robot.mission == station.mission;
        check(Subject::Latched, is_right, &|| {
            format!("{name} has mission {:?}, and {:?} was published", robot.mission, station.mission)
        });
        let matched = line.ears.each_ref().map(|ear| ear.matched);
        check(Subject::Graph, matched == [1; 3], &|| {
            format!("{name}: the station's subscriptions match {matched:?} publishers")
        });
        let arm = ledger.arm(*boot);
        check(Subject::States, robot.arm == arm, &|| {
            format!("{name}'s arm is {}, and its callbacks left it {arm}", robot.arm)
        });
        let frames = line.frames.clone();
        check(Subject::Frames, frames.is_none(), &|| format!("{name}: {}", frames.clone().unwrap_or_default()));
        let active = robot.active_goals;
        check(Subject::Answers, active == 0, &|| format!("{name} has {active} goals that have not ended"));
    }
    let open = &station.open;
    check(Subject::Answers, open.is_empty(), &|| format!("{} have neither an answer nor an error", open.join(", ")));
    wrong
}

/// Returns what is not right about messages, after each topic was published once more on a quiet network.
pub(super) fn unaccounted(picture: &Picture) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, ((boot, robot), line)) in picture.robots.iter().zip(&picture.station.lines).enumerate() {
        let name = format!("robot_{}", at + 1);
        for (place, topic) in TOPICS.iter().enumerate() {
            let ear = &line.ears[place];
            let last = ear.last.map(|count| (count.boot, count.number));
            let published = (*boot, robot.published[place].number);
            if last != Some(published) {
                wrong.push(format!("/{name}/{topic}: {last:?} was heard last, and {published:?} was published"));
            }
            // The publisher counts what it publishes to nobody. Nobody counts what is sent to a station that has
            // forgotten its publisher; they match again then.
            let uncounted = ear.missing() - ear.counted;
            let has_excuse = uncounted <= ear.unmatched_missing() || ear.matches > ear.heard.len() as u64;
            if place != LATCHED && (uncounted < 0 || uncounted > 0 && !has_excuse) {
                let text = format!("{} messages are missing, and {} are counted", ear.missing(), ear.counted);
                wrong.push(format!("/{name}/{topic}: {text}: {ear:?}"));
            }
        }
        if line.speed != Some(robot.speed) {
            wrong.push(format!("{name}: the last event told speed {:?}, and it is {}", line.speed, robot.speed));
        }
        if robot.lost_requests + robot.unsent > 0 {
            let (lost, unsent) = (robot.lost_requests, robot.unsent);
            wrong.push(format!("{name}: {lost} requests were lost, and {unsent} responses could not be sent"));
        }
    }
    wrong
}

fn expected_nodes(robots: usize) -> BTreeSet<String> {
    let mut nodes: BTreeSet<String> = BTreeSet::from(["/station".to_owned()]);
    for robot in 1..=robots {
        nodes.extend(NODES.iter().map(|node| format!("/robot_{robot}/{node}")));
    }
    nodes
}

/// Returns the components that are seen. They come and go.
fn guests(seen: &Seen) -> impl Iterator<Item = &str> {
    seen.nodes.iter().map(String::as_str).filter(|node| node.contains("/guest_"))
}

/// Returns the components that anybody sees.
pub(super) fn components(picture: &Picture) -> BTreeSet<String> {
    let all = picture.robots.iter().map(|(_, robot)| &robot.seen).chain([&picture.station.seen]);
    all.flat_map(guests).map(str::to_owned).collect()
}

/// Returns how the graph differs from what there is; `None` if it does not.
fn graph_difference(seen: &Seen, expected: &BTreeSet<String>, robots: usize) -> Option<String> {
    let nodes: Vec<&String> = seen.nodes.iter().filter(|node| !node.contains("/guest_")).collect();
    let names: BTreeSet<&String> = nodes.iter().copied().collect();
    if names.len() != nodes.len() {
        let twice: Vec<_> = nodes.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
        return Some(format!("nodes twice: {twice:?}"));
    }
    let missing: Vec<_> = expected.iter().filter(|node| !names.contains(node)).collect();
    let strange: Vec<_> = names.iter().filter(|node| !expected.contains(**node)).collect();
    if !missing.is_empty() || !strange.is_empty() {
        return Some(format!("no nodes {missing:?}, and too many nodes {strange:?}"));
    }
    let all_guests = guests(seen).count();
    let mut ends: BTreeMap<String, [usize; 2]> = BTreeMap::from([("/mission".to_owned(), [1, robots + all_guests])]);
    for robot in 1..=robots {
        let guests = guests(seen).filter(|node| node.starts_with(&format!("/robot_{robot}/"))).count();
        for (topic, listeners) in TOPICS.iter().zip([1, 1, 1 + guests]) {
            ends.insert(format!("/robot_{robot}/{topic}"), [1, listeners]);
        }
        ends.extend(SERVICES.iter().map(|service| (format!("/robot_{robot}/{service}"), [1, 1])));
    }
    let wrong: Vec<String> = ends
        .iter()
        .filter(|(name, ends)| seen.ends.get(*name) != Some(ends))
        .map(|(name, ends)| format!("{name} {:?}, not {ends:?}", seen.ends.get(name).copied().unwrap_or_default()))
        .collect();
    (!wrong.is_empty()).then(|| format!("ends {wrong:?}"))
}

#[cfg(test)]
mod tests {
    use super::super::words::{Count, EarSnapshot, Heard, LineSnapshot};
    use super::*;

    fn seen() -> Seen {
        let mut seen = Seen { nodes: expected_nodes(1).into_iter().collect(), ..Seen::default() };
        seen.ends.insert("/mission".to_owned(), [1, 1]);
        for end in TOPICS.iter().chain(&SERVICES) {
            seen.ends.insert(format!("/robot_1/{end}"), [1, 1]);
        }
        seen
    }

    /// A picture of one robot in which everything is right.
    fn picture() -> Picture {
        let mission = Some(Count { boot: 1, number: 3, ..Count::default() });
        let ear = |number: i64| EarSnapshot {
            last: Some(Count { boot: 2, number, ..Count::default() }),
            heard: vec![Heard { boot: 2, first: 1, last: number, count: number - 1, ..Heard::default() }],
            counted: 1,
            matched: 1,
            matches: 1,
        };
        let line = LineSnapshot { ears: [ear(9), ear(8), ear(7)], speed: Some(-2), frames: None };
        let station = StationSnapshot { mission, lines: vec![line], seen: seen(), open: Vec::new() };
        let robot = RobotSnapshot {
            published: [9, 8, 7].map(|number| Count { boot: 2, number, ..Count::default() }),
            speed: -2,
            arm: "Unconfigured".to_owned(),
            mission,
            seen: seen(),
            ..RobotSnapshot::default()
        };
        Picture { station, robots: vec![(2, robot)] }
    }

    fn subjects(picture: &Picture) -> Vec<Subject> {
        disagreements(picture, &Ledger::default()).into_iter().map(|(subject, _)| subject).collect()
    }

    #[test]
    fn what_is_right_is_right() {
        assert_eq!(subjects(&picture()), []);
        assert_eq!(unaccounted(&picture()), [""; 0]);
    }

    #[test]
    fn each_disagreement_is_found() {
        let changed = |change: fn(&mut Picture)| {
            let mut picture = picture();
            change(&mut picture);
            subjects(&picture)
        };
        assert_eq!(changed(|picture| _ = picture.robots[0].1.seen.nodes.pop()), [Subject::Graph]);
        assert_eq!(changed(|picture| picture.station.seen.nodes.push("/ghost".to_owned())), [Subject::Graph]);
        assert_eq!(
            changed(|picture| _ = picture.station.seen.ends.insert("/mission".to_owned(), [2, 1])),
            [Subject::Graph]
        );
        assert_eq!(changed(|picture| picture.robots[0].1.mission = None), [Subject::Latched]);
        assert_eq!(changed(|picture| picture.robots[0].1.published[LATCHED].number += 1), [Subject::Latched]);
        assert_eq!(changed(|picture| picture.robots[0].1.arm = "Active".to_owned()), [Subject::States]);
        assert_eq!(changed(|picture| picture.station.lines[0].frames = Some("none".to_owned())), [Subject::Frames]);
        assert_eq!(changed(|picture| picture.station.open.push("1 call".to_owned())), [Subject::Answers]);
    }

    #[test]
    fn a_component_has_ends_of_its_own_and_all_see_it() {
        let mut picture = picture();
        let add = |seen: &mut Seen| {
            seen.nodes.push("/robot_1/guest_5".to_owned());
            seen.ends.insert("/mission".to_owned(), [1, 2]);
            seen.ends.insert("/robot_1/map".to_owned(), [1, 2]);
        };
        add(&mut picture.station.seen);
        assert_eq!(subjects(&picture), [Subject::Graph]);
        add(&mut picture.robots[0].1.seen);
        assert_eq!(subjects(&picture), []);
    }

    #[test]
    fn a_message_that_nobody_counts_is_found() {
        let mut wrong = picture();
        wrong.station.lines[0].ears[0].counted = 0;
        assert_eq!(unaccounted(&wrong).len(), 1);
        // The two ends had forgotten each other, so that they match again.
        wrong.station.lines[0].ears[0].matches = 2;
        assert_eq!(unaccounted(&wrong), [""; 0]);
        wrong.station.lines[0].ears[0].matches = 1;
        wrong.station.lines[0].ears[0].heard[0].unmatched_missing = 1;
        assert_eq!(unaccounted(&wrong), [""; 0]);
        wrong.station.lines[0].ears[0].counted = 2;
        assert_eq!(unaccounted(&wrong).len(), 1);
        let mut wrong = picture();
        wrong.robots[0].1.published[1].number += 1;
        assert_eq!(unaccounted(&wrong).len(), 1);
    }
}
