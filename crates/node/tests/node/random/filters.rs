//! Synchronizers, against a naive matching of equal stamps; and caches, against a sorted list.

use std::collections::BTreeMap;
use std::sync::Arc;

use rospin_node::Message;
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::message_filters::{Cache, Stamped, SynchronizerOptions};
use serde::{Deserialize, Serialize};

use super::{Shared, Stage, explore};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Reading {
    stamp: Time,
    number: i64,
}

impl Message for Reading {
    const TYPE: &str = "test_interfaces/msg/Reading";
}

impl Stamped for Reading {
    fn stamp_ns(&self) -> i64 {
        i64::from(self.stamp.sec) * 1_000_000_000
    }
}

const TOPICS: [&str; 3] = ["a", "b", "c"];

type Triple = (Arc<Reading>, Arc<Reading>, Arc<Reading>);

/// Matches messages of equal stamps, one message after the other. A complete set drops all older messages.
struct Naive {
    size: usize,
    waiting: BTreeMap<i32, [Option<i64>; 3]>,
    sets: Vec<[i64; 3]>,
    unmatched: [u64; 3],
}

impl Naive {
    fn drop_set(&mut self, stamp: i32) {
        let set = self.waiting.remove(&stamp).unwrap_or_default();
        for (input, message) in set.iter().enumerate() {
            self.unmatched[input] += u64::from(message.is_some());
        }
    }

    fn add(&mut self, input: usize, stamp: i32, number: i64) {
        let set = self.waiting.entry(stamp).or_default();
        if set[input].replace(number).is_some() {
            self.unmatched[input] += 1;
        }
        if let [Some(a), Some(b), Some(c)] = *set {
            self.sets.push([a, b, c]);
            self.waiting.remove(&stamp);
            let older: Vec<i32> = self.waiting.range(..stamp).map(|(stamp, _)| *stamp).collect();
            older.into_iter().for_each(|stamp| self.drop_set(stamp));
        }
        if self.waiting.len() > self.size {
            let oldest = *self.waiting.keys().next().expect("it is not empty");
            self.drop_set(oldest);
        }
    }
}

#[test]
fn synchronizers_match_as_a_naive_matching_does() {
    explore(|rng| {
        let stage = Stage::new();
        let node = stage.ros.create_node("node").unwrap();
        let publishers = TOPICS.map(|topic| node.create_publisher::<Reading>(topic).unwrap());
        let size = 1 + rng.below(5);
        let heard = Shared::<Vec<[i64; 3]>>::new();
        let (log, pace) = (heard.clone(), stage.pace.clone());
        let group = stage.any_executor(rng).create_group("fusion", ());
        let sync = node
            .on(&group)
            .create_synchronizer(
                SynchronizerOptions::exact_time(size),
                ("a", "b", "c"),
                move |_: &mut (), set: Triple| {
                    pace.step();
                    let (a, b, c) = set;
                    assert!(a.stamp == b.stamp && b.stamp == c.stamp, "a set has one stamp");
                    log.with(|heard| heard.push([a.number, b.number, c.number]));
                },
            )
            .unwrap();
        let mut naive = Naive { size, waiting: BTreeMap::new(), sets: Vec::new(), unmatched: [0; 3] };
        for number in 0..60 {
            let (input, stamp) = (rng.below(3), rng.below(8) as i32 + number / 8);
            let time = Time { sec: stamp, nanosec: 0 };
            publishers[input].publish(Reading { stamp: time, number: i64::from(number) }).unwrap();
            naive.add(input, stamp, i64::from(number));
            // The synchronizer takes messages when it runs, from one queue after the other: it has to keep up, so that
            // both see the same order.
            stage.settle();
        }
        assert_eq!(heard.with(std::mem::take), naive.sets);
        assert_eq!([0, 1, 2].map(|input| sync.unmatched(input)), naive.unmatched);
        assert_eq!(sync.matched(), naive.sets.len() as u64);
    });
}

#[test]
fn caches_have_what_a_sorted_list_has() {
    explore(|rng| {
        let size = 1 + rng.below(6);
        let cache = Cache::new(size);
        // Messages of one stamp are in the order of their arrival.
        let mut naive: Vec<(i64, i64)> = Vec::new();
        for number in 0..50 {
            let stamp = rng.below(20) as i64;
            let time = Time { sec: stamp as i32, nanosec: 0 };
            let displaced = cache.add(Arc::new(Reading { stamp: time, number }));
            naive.push((stamp, number));
            naive.sort_by_key(|(stamp, _)| *stamp);
            let oldest = if naive.len() > size { Some(naive.remove(0).1) } else { None };
            assert_eq!(displaced.map(|message| message.number), oldest);
            let (low, high) = (rng.below(20) as i64, rng.below(20) as i64);
            let ns = |stamp: i64| stamp * 1_000_000_000;
            let inside = naive.iter().filter(|(stamp, _)| *stamp >= low && *stamp <= high);
            let inside: Vec<i64> = inside.map(|(_, number)| *number).collect();
            let found = cache.interval(ns(low)..=ns(high));
            assert_eq!(found.iter().map(|message| message.number).collect::<Vec<_>>(), inside);
            let before = naive.iter().rfind(|(stamp, _)| *stamp < low).map(|(_, number)| *number);
            let after = naive.iter().find(|(stamp, _)| *stamp > low).map(|(_, number)| *number);
            assert_eq!(cache.before(ns(low)).map(|message| message.number), before);
            assert_eq!(cache.after(ns(low)).map(|message| message.number), after);
            assert_eq!(cache.len(), naive.len());
        }
    });
}
