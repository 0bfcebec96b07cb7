//! A synchronizer of two topics, whose messages come in the order of their stamps.
//!
//! A set has one stamp, and sets come in the order of their stamps. When all is quiet, there is a set for each stamp
//! that both topics had, since nothing was displaced.

use std::sync::{Arc, Mutex};

use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::message_filters::{Stamped, SyncInput, Synchronizer, SynchronizerOptions};
use rospin_node::{Message, Publisher};
use serde::{Deserialize, Serialize};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, lock};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Reading {
    stamp: Time,
}

impl Message for Reading {
    const TYPE: &str = "test_interfaces/msg/Reading";
}

impl Stamped for Reading {
    fn stamp_ns(&self) -> i64 {
        i64::from(self.stamp.sec) * 1_000_000_000
    }
}

const TOPICS: [&str; 2] = ["camera", "laser"];
/// Room for all messages of a program.
const ROOMY: usize = 100;

#[derive(Default)]
struct Site {
    /// By topic: the last stamp, and whether a thread publishes.
    last: [i32; 2],
    is_publishing: [bool; 2],
    sets: Vec<i32>,
    /// By topic: the stamps that were published.
    published: [Vec<i32>; 2],
}

pub(crate) struct Synchronizers {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    publishers: [Publisher<Reading>; 2],
    synchronizer: Synchronizer,
}

impl Synchronizers {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let node = stage.node("sensors");
        let publishers = TOPICS.map(|topic| node.create_publisher::<Reading>(topic).unwrap());
        let site = Arc::<Mutex<Site>>::default();
        let (heard, book) = (Arc::clone(&site), stage.clone());
        let fuse = move |(): &mut (), (one, other): (Arc<Reading>, Arc<Reading>)| {
            let stamp = one.stamp.sec;
            book.note(format!("a set of {stamp}"));
            book.check(one.stamp == other.stamp, || format!("a set has the stamps {stamp} and {}", other.stamp.sec));
            let last = {
                let mut site = lock(&heard);
                let last = site.sets.last().copied();
                site.sets.push(stamp);
                last
            };
            book.check(last < Some(stamp), || format!("a set of {stamp} comes after that of {last:?}"));
        };
        let options = SynchronizerOptions::exact_time(ROOMY);
        let inputs = TOPICS.map(|topic| SyncInput::new(topic).keep_last(ROOMY));
        let [one, other] = inputs;
        let group = stage.group(rng, "fusion");
        let fusion = stage.node("fusion");
        let synchronizer = fusion.on(&group).create_synchronizer(options, (one, other), fuse).unwrap();
        Self { stage: stage.clone(), site, publishers, synchronizer }
    }

    fn publish(&self, rng: &mut Rng) {
        let topic = rng.below(2);
        let stamp = {
            let mut site = lock(&self.site);
            if std::mem::replace(&mut site.is_publishing[topic], true) {
                return;
            }
            // Some stamps are left out.
            site.last[topic] += if rng.percent(20) { 2 } else { 1 };
            site.last[topic]
        };
        self.stage.note(format!("publishes {stamp} on {}", TOPICS[topic]));
        self.publishers[topic].publish(Reading { stamp: Time { sec: stamp, nanosec: 0 } }).expect("there is room");
        let mut site = lock(&self.site);
        site.published[topic].push(stamp);
        site.is_publishing[topic] = false;
    }
}

impl Feature for Synchronizers {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            for _ in 0..1 + rng.below(3) {
                self.publish(&mut rng);
            }
        })
    }

    fn quiet(&self) {
        let (sets, [one, other]) = {
            let site = lock(&self.site);
            (site.sets.clone(), site.published.clone())
        };
        let both: Vec<i32> = one.into_iter().filter(|stamp| other.contains(stamp)).collect();
        self.stage.check(sets == both, || format!("there are sets of {sets:?}, and both topics had {both:?}"));
        let matched = self.synchronizer.matched();
        self.stage.check(matched == sets.len() as u64, || format!("{matched} sets are counted of {sets:?}"));
    }

    fn end(&self) {}
}
