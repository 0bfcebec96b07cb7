//! What became of every message: heard, counted as lost, or never to be heard by anybody.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::agreement::Picture;
use super::words::{StationSnapshot, TOPICS};

/// What became of the messages of a topic, of all robots together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct TopicAccount {
    pub(super) published: i64,
    pub(super) heard: i64,
    /// Between two that were heard, and counted by the subscription.
    pub(super) lost: i64,
    /// No subscription matched, because an end had died, or the two had forgotten each other.
    pub(super) undeliverable: i64,
}

/// Messages of one start of a publisher.
#[derive(Clone, Debug, Default)]
struct Line {
    published: [i64; 3],
    /// By topic, and by start of the station: the number of messages that were heard.
    heard: [BTreeMap<i64, i64>; 3],
}

/// The messages of all starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    lines: BTreeMap<i64, Line>,
    /// By topic, start of the station, and robot: the number of messages that were counted as lost.
    counted: [BTreeMap<(i64, usize), i64>; 3],
    live: BTreeSet<i64>,
}

impl Accounts {
    /// Notes what is there in a rest. `station` is the start of the station, and `live` are all that run.
    pub(super) fn note(&mut self, station: i64, picture: &Picture, live: &BTreeSet<i64>) {
        self.live.clone_from(live);
        for (boot, robot) in &picture.robots {
            self.lines.entry(*boot).or_default().published = robot.published;
        }
        self.note_heard(station, &picture.station);
    }

    /// Notes what a start of the station has heard.
    pub(super) fn note_heard(&mut self, station: i64, snapshot: &StationSnapshot) {
        for (robot, line) in snapshot.lines.iter().enumerate() {
            for (topic, ear) in line.ears.iter().enumerate() {
                self.counted[topic].insert((station, robot), ear.counted);
                for heard in &ear.heard {
                    self.lines.entry(heard.boot).or_default().heard[topic].insert(station, heard.count);
                }
            }
        }
    }

    /// Notes how much a start of a robot had published, from its file: numbers of eight bytes, one for each topic. One
    /// that still runs has told it in the last rest, and publishes since then.
    pub(super) fn note_published(&mut self, boot: i64, bytes: &[u8]) {
        if self.live.contains(&boot) {
            return;
        }
        let line = self.lines.entry(boot).or_default();
        for (published, bytes) in line.published.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *published = (*published).max(i64::from_le_bytes(*bytes));
        }
    }

    /// Returns what became of the messages of each topic. Those of the latched one replace each other, so that a late
    /// reader is not owed the earlier ones.
    pub(super) fn totals(&self, latched: usize) -> BTreeMap<&'static str, TopicAccount> {
        let mut totals: BTreeMap<&'static str, TopicAccount> = BTreeMap::new();
        for line in self.lines.values() {
            for (topic, name) in TOPICS.into_iter().enumerate() {
                let total = totals.entry(name).or_default();
                total.published += line.published[topic];
                total.heard += line.heard[topic].values().sum::<i64>();
            }
        }
        for (topic, name) in TOPICS.into_iter().enumerate() {
            let Some(total) = totals.get_mut(name) else { continue };
            if topic != latched {
                total.lost = self.counted[topic].values().sum();
            }
            total.undeliverable = total.published - total.heard - total.lost;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::{EarSnapshot, Heard, LineSnapshot, RobotSnapshot};
    use super::*;

    #[test]
    fn every_message_has_one_fate() {
        let ear = |first, last, count| EarSnapshot {
            heard: vec![Heard { boot: 2, first, last, count }],
            counted: last - first + 1 - count,
            ..EarSnapshot::default()
        };
        let picture = |ears| Picture {
            station: StationSnapshot {
                lines: vec![LineSnapshot { ears, ..LineSnapshot::default() }],
                ..StationSnapshot::default()
            },
            robots: vec![(2, RobotSnapshot { published: [50, 50, 50], ..RobotSnapshot::default() })],
        };
        let mut accounts = Accounts::default();
        let live = BTreeSet::from([1, 2]);
        accounts.note(1, &picture([ear(3, 10, 7), ear(3, 10, 8), ear(3, 10, 2)]), &live);
        // The station started again.
        accounts.note(3, &picture([ear(21, 50, 30), ear(21, 50, 20), ear(50, 50, 1)]), &BTreeSet::from([3]));
        let mut file = Vec::new();
        file.extend([60_i64, 50, 50].map(i64::to_le_bytes).concat());
        accounts.note_published(2, &file);
        let totals = accounts.totals(2);
        assert_eq!(totals["odom"], TopicAccount { published: 60, heard: 37, lost: 1, undeliverable: 22 });
        assert_eq!(totals["scan"], TopicAccount { published: 50, heard: 28, lost: 10, undeliverable: 12 });
        assert_eq!(totals["map"], TopicAccount { published: 50, heard: 3, lost: 0, undeliverable: 47 });
    }
}
