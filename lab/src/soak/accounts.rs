//! Fate of every message: heard, counted as lost, published to nobody, or sent to somebody who cannot count it.
//!
//! Each fate has a count of its own. The subscription counts what is missing between two messages. The publisher counts
//! what it publishes while no subscription matches, and says so in the messages and in a file. The leading process
//! reads these files when the station dies and when it starts again. The messages that then remain were sent while only
//! one end knew the other: to a station that had just started or had forgotten its publisher, or by a robot that died
//! before they arrived. No process can count these, so they may only be as many as fit into the time in which ends find
//! each other.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use super::agreement::Picture;
use super::words::{Heard, StationSnapshot, TOPICS};

/// The most messages that a robot publishes on a topic in a second.
const RATE: f64 = 20.0;

/// Fates of the messages of a topic, of all robots together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct TopicAccount {
    pub(super) published: i64,
    pub(super) heard: i64,
    /// Between two that were heard, and counted by the subscription.
    pub(super) lost: i64,
    /// Published while no subscription matched, as the publisher has counted.
    pub(super) to_nobody: i64,
    /// Sent while the station did not run, but was not missed yet.
    pub(super) to_the_dead: i64,
    /// Sent while only one end knew the other.
    pub(super) one_sided: i64,
    /// Messages of a latched topic that were not heard: a later one takes the place of each, so nobody is owed them.
    pub(super) replaced: i64,
}

/// How many messages were published: all, and those of them to nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Published {
    all: i64,
    unmatched: i64,
}

impl Published {
    fn max(self, other: Self) -> Self {
        if other.all > self.all { other } else { self }
    }

    fn matched(self) -> i64 {
        self.all - self.unmatched
    }
}

/// Reads how much a start of a robot has published from its file: two numbers of eight bytes for each topic.
pub(super) fn published(bytes: &[u8]) -> [Published; 3] {
    let mut published = [Published::default(); 3];
    for (topic, bytes) in published.iter_mut().zip(bytes.as_chunks::<16>().0) {
        let (all, unmatched) = bytes.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_le_bytes);
        *topic = Published { all: number(all), unmatched: number(unmatched) };
    }
    published
}

/// Messages of one start of a publisher.
#[derive(Clone, Debug, Default)]
struct Line {
    published: [Published; 3],
    /// By topic, and by start of the station: what was heard.
    heard: [BTreeMap<i64, Heard>; 3],
    /// Messages that were sent while the station did not run, by topic.
    to_the_dead: [i64; 3],
}

/// The messages of all starts.
#[derive(Clone, Debug, Default)]
pub(super) struct Accounts {
    lines: BTreeMap<i64, Line>,
    /// By topic, start of the station, and robot: the number of messages that were counted as lost, and of matches.
    counted: [BTreeMap<(i64, usize), (i64, u64)>; 3],
    live: BTreeSet<i64>,
    /// Numbers of messages that each start of a robot had published when the station died; `None` while it lives.
    at_death: Option<BTreeMap<i64, [Published; 3]>>,
}

impl Accounts {
    /// Notes what is there in a rest. `station` is the start of the station, and `live` are all that run.
    pub(super) fn note(&mut self, station: i64, picture: &Picture, live: &BTreeSet<i64>) {
        self.live.clone_from(live);
        for (boot, robot) in &picture.robots {
            let published =
                robot.published.map(|last| Published { all: last.number, unmatched: last.unmatched_with() });
            self.lines.entry(*boot).or_default().published = published;
        }
        self.note_heard(station, &picture.station);
    }

    /// Notes what a start of the station has heard.
    pub(super) fn note_heard(&mut self, station: i64, snapshot: &StationSnapshot) {
        for (robot, line) in snapshot.lines.iter().enumerate() {
            for (topic, ear) in line.ears.iter().enumerate() {
                self.counted[topic].insert((station, robot), (ear.counted, ear.matches));
                for heard in &ear.heard {
                    self.lines.entry(heard.boot).or_default().heard[topic].insert(station, *heard);
                }
            }
        }
    }

    /// Notes how much a start of a robot had published, from its file. One that still runs has told it in the last
    /// rest, and publishes since then.
    pub(super) fn note_published(&mut self, boot: i64, file: [Published; 3]) {
        if self.live.contains(&boot) {
            return;
        }
        let line = self.lines.entry(boot).or_default();
        for (known, published) in line.published.iter_mut().zip(file) {
            *known = known.max(published);
        }
    }

    /// Notes that the station has died, or runs again. `files` has what each start of a robot had published then.
    pub(super) fn note_station(&mut self, runs: bool, files: BTreeMap<i64, [Published; 3]>) {
        if !runs {
            self.at_death.get_or_insert(files);
            return;
        }
        let Some(at_death) = self.at_death.take() else { return };
        for (boot, now) in files {
            let before = at_death.get(&boot).copied().unwrap_or_default();
            let line = self.lines.entry(boot).or_default();
            for (topic, (now, before)) in now.into_iter().zip(before).enumerate() {
                line.to_the_dead[topic] += (now.matched() - before.matched()).max(0);
            }
        }
    }

    /// Returns what became of the messages of each topic. Those of the latched one replace each other, so that a late
    /// reader is not owed the earlier ones.
    pub(super) fn totals(&self, latched: usize) -> BTreeMap<&'static str, TopicAccount> {
        let mut totals: BTreeMap<&'static str, TopicAccount> = BTreeMap::new();
        for line in self.lines.values() {
            for (topic, name) in TOPICS.into_iter().enumerate() {
                let total = totals.entry(name).or_default();
                let published = line.published[topic];
                let heard: i64 = line.heard[topic].values().map(|heard| heard.count).sum();
                total.published += published.all;
                total.heard += heard;
                if topic == latched {
                    total.replaced += published.all - heard;
                    continue;
                }
                let (outside, unmatched) = line.outside(topic);
                let to_the_dead = line.to_the_dead[topic].min((outside - unmatched).max(0));
                total.to_nobody += unmatched;
                total.to_the_dead += to_the_dead;
                total.one_sided += outside - unmatched - to_the_dead;
            }
        }
        for (topic, name) in TOPICS.into_iter().enumerate() {
            let Some(total) = totals.get_mut(name) else { continue };
            if topic == latched {
                continue;
            }
            let missing: i64 = self.heard(topic).map(Heard::missing).sum();
            let unmatched: i64 = self.heard(topic).map(|heard| heard.unmatched_missing).sum();
            total.lost = self.counted[topic].values().map(|(counted, _)| counted).sum();
            // Those that the subscription counts are lost, even if their publisher did not know the subscription.
            let to_nobody = unmatched.min(missing - total.lost).max(0);
            total.to_nobody += to_nobody;
            total.one_sided += missing - total.lost - to_nobody;
        }
        totals
    }

    fn heard(&self, topic: usize) -> impl Iterator<Item = &Heard> {
        self.lines.values().flat_map(move |line| line.heard[topic].values())
    }

    /// Returns topics of which more messages were sent while only one end knew the other than may be, in words. `found`
    /// is the time in which ends find each other.
    pub(super) fn too_many(&self, latched: usize, found: Duration) -> Vec<String> {
        let mut wrong = Vec::new();
        let totals = self.totals(latched);
        for (topic, name) in TOPICS.into_iter().enumerate() {
            let Some(total) = totals.get(name).filter(|_| topic != latched) else { continue };
            // Each match, and each end of a robot, has one such time.
            let matches: u64 = self.counted[topic].values().map(|(_, matches)| matches).sum();
            let times = matches + self.lines.len() as u64;
            let most = (times as f64 * RATE * found.as_secs_f64()) as i64;
            if !(0..=most).contains(&total.one_sided) {
                wrong.push(format!("/{name}: {} messages are not accounted for, in {times} starts", total.one_sided));
            }
        }
        wrong
    }
}

impl Line {
    /// Returns the number of messages before, between and behind those that starts of the station have heard, and how
    /// many of these were published to nobody.
    fn outside(&self, topic: usize) -> (i64, i64) {
        let Published { mut all, mut unmatched } = self.published[topic];
        for heard in self.heard[topic].values() {
            all -= heard.last - heard.first + 1;
            unmatched -= heard.unmatched_with - heard.unmatched_before;
        }
        (all, unmatched.clamp(0, all.max(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::{Count, EarSnapshot, LineSnapshot, RobotSnapshot};
    use super::*;

    fn file(numbers: [[i64; 2]; 3]) -> Vec<u8> {
        numbers.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn every_message_has_one_fate() {
        let ear = |first, last, count, unmatched_before| EarSnapshot {
            heard: vec![Heard {
                boot: 2,
                first,
                last,
                count,
                unmatched_before,
                unmatched_with: unmatched_before,
                unmatched_missing: 0,
            }],
            counted: last - first + 1 - count,
            matches: 1,
            ..EarSnapshot::default()
        };
        let published = Count { boot: 2, number: 50, unmatched: 5, is_unmatched: false };
        let picture = |ears| Picture {
            station: StationSnapshot {
                lines: vec![LineSnapshot { ears, ..LineSnapshot::default() }],
                ..StationSnapshot::default()
            },
            robots: vec![(2, RobotSnapshot { published: [published; 3], ..RobotSnapshot::default() })],
        };
        let mut accounts = Accounts::default();
        let live = BTreeSet::from([1, 2]);
        accounts.note(1, &picture([ear(3, 10, 7, 1), ear(3, 10, 8, 2), ear(3, 10, 2, 0)]), &live);
        // The station dies, and starts again: three messages of ten are to nobody then.
        let at = |numbers| BTreeMap::from([(2, super::published(&file(numbers)))]);
        accounts.note_station(false, at([[10, 1], [10, 2], [10, 0]]));
        accounts.note_station(true, at([[20, 4], [20, 5], [10, 0]]));
        accounts.note(3, &picture([ear(21, 50, 30, 4), ear(23, 50, 20, 5), ear(50, 50, 1, 0)]), &BTreeSet::from([3]));
        accounts.note_published(2, super::published(&file([[60, 9], [50, 5], [50, 0]])));
        let totals = accounts.totals(2);
        // Outside are 1, 2, 11 to 20 and 51 to 60, of which nine are to nobody, and seven to the dead.
        let odom =
            TopicAccount { published: 60, heard: 37, lost: 1, to_nobody: 9, to_the_dead: 7, one_sided: 6, replaced: 0 };
        assert_eq!(totals["odom"], odom);
        let scan = totals["scan"];
        assert_eq!((scan.heard, scan.lost, scan.to_the_dead), (28, 8, 7));
        assert_eq!(totals["map"], TopicAccount { published: 50, heard: 3, replaced: 47, ..TopicAccount::default() });
        for total in totals.values() {
            let TopicAccount { published, heard, lost, to_nobody, to_the_dead, one_sided, replaced } = *total;
            assert_eq!(published, heard + lost + to_nobody + to_the_dead + one_sided + replaced);
        }
        assert_eq!(accounts.too_many(2, Duration::from_secs(1)), [""; 0]);
        assert_eq!(accounts.too_many(2, Duration::from_millis(10)).len(), 2);
    }

    #[test]
    fn a_message_counted_twice_is_found() {
        let mut accounts = Accounts::default();
        let heard = Heard { boot: 2, first: 1, last: 9, count: 9, ..Heard::default() };
        accounts.lines.entry(2).or_default().heard[0].insert(1, heard);
        accounts.note_published(2, published(&file([[8, 0], [0, 0], [0, 0]])));
        assert_eq!(accounts.too_many(2, Duration::from_secs(30)).len(), 1);
    }
}
