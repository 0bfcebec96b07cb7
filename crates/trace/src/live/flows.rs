//! The messages that callbacks publish, by topic: the connections of a graph, with their rates.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::{Count, Live, Place, THINGS};

/// A topic to which a callback publishes.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SendView {
    /// The place of the callback.
    pub place: Place,
    /// Its name.
    pub callback: String,
    /// The topic.
    pub topic: String,
    /// The number of messages that it published in the interval.
    pub count: u64,
    /// The same in a second.
    pub rate_hz: f64,
}

/// The way on which a callback published.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Way {
    /// The publisher of a node, which counts each message once.
    Publisher([u8; 16]),
    /// A queue to which the message was appended. A message goes to one of each subscription.
    Queue(u64),
}

/// The messages that callbacks published.
#[derive(Default)]
pub(super) struct Flows {
    /// The topics of publishers.
    topics: HashMap<[u8; 16], String>,
    counts: BTreeMap<(Place, Way), Count>,
}

/// Messages of a callback on a topic.
#[derive(Clone, Copy, Default)]
struct Sum {
    published: u64,
    queued: u64,
    has_publisher: bool,
}

/// Returns the bytes of 32 hexadecimal digits; `None` for any other text.
fn bytes_of(text: &str) -> Option<[u8; 16]> {
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    Some(u128::from_str_radix(text, 16).ok()?.to_be_bytes())
}

impl Flows {
    /// Takes note of the topic of a publisher with that id in hexadecimal digits.
    pub(super) fn publisher(&mut self, id: &str, topic: String) {
        let Some(id) = bytes_of(id) else { return };
        if self.topics.len() < THINGS || self.topics.contains_key(&id) {
            self.topics.insert(id, topic);
        }
    }

    /// Counts a message that a callback published with a publisher of a node.
    pub(super) fn sent(&mut self, by: Place, publisher: [u8; 16]) {
        self.count(by, Way::Publisher(publisher));
    }

    /// Counts a message that a callback's thread appended to a queue.
    pub(super) fn queued(&mut self, by: Place, queue: u64) {
        self.count(by, Way::Queue(queue));
    }

    fn count(&mut self, by: Place, way: Way) {
        if self.counts.len() < THINGS || self.counts.contains_key(&(by, way)) {
            self.counts.entry((by, way)).or_default().add(1);
        }
    }

    /// Forgets a callback that is gone.
    pub(super) fn forget(&mut self, of: Place) {
        self.counts.retain(|(by, _), _| *by != of);
    }
}

impl Live {
    /// Returns the topics of each callback, and ends the interval of their counts.
    pub(super) fn sends_view(&mut self, interval_ns: u64) -> Vec<SendView> {
        let mut sums: BTreeMap<(Place, &str), Sum> = BTreeMap::new();
        for ((place, way), count) in &self.flows.counts {
            let topic = match way {
                Way::Publisher(id) => self.flows.topics.get(id),
                Way::Queue(queue) => self.queues.get(queue).map(|queue| &queue.topic),
            };
            let Some(topic) = topic else { continue };
            let sum = sums.entry((*place, topic)).or_default();
            match way {
                Way::Publisher(_) => {
                    sum.published = sum.published.saturating_add(count.now);
                    sum.has_publisher = true;
                }
                // A message in three queues was published once.
                Way::Queue(_) => sum.queued = sum.queued.max(count.now),
            }
        }
        let seconds = interval_ns.max(1) as f64 / 1e9;
        let mut views = Vec::new();
        for ((place, topic), sum) in sums {
            let Some(callback) = self.callbacks.get(&place) else { continue };
            let count = if sum.has_publisher { sum.published } else { sum.queued };
            let rate_hz = count as f64 / seconds;
            views.push(SendView { place, callback: callback.name.clone(), topic: topic.to_owned(), count, rate_hz });
        }
        for count in self.flows.counts.values_mut() {
            count.now = 0;
        }
        views
    }
}

#[cfg(test)]
mod tests {
    use rospin_core::Instant;
    use rospin_core::recording::{Event, Step};

    use super::*;
    use crate::names::Name;
    use crate::recording::Recorded;

    fn entity(number: u64, name: &str) -> Name {
        Name::Entity {
            executor: 0,
            entity: number,
            account: number,
            name: name.into(),
            group: "group".into(),
            excludes: true,
            kind: "timer".into(),
            priority: 0,
            deadline_ns: None,
            period_ns: None,
            rules: None,
        }
    }

    #[test]
    fn a_message_in_several_queues_was_published_once() {
        let mut live = Live::default();
        live.name(entity(0, "camera"));
        for queue in 1..4 {
            live.name(Name::Queue {
                queue,
                account: queue + 10,
                topic: "/image sensor_msgs/msg/Image TypeId(0x1)".into(),
                depth: 5,
            });
        }
        let id = [7; 16];
        live.name(Name::Publisher { publisher: crate::names::hexadecimal(&id), topic: "/info".into() });
        live.name(Name::Publisher { publisher: "no id".into(), topic: "/info".into() });
        live.view(0);
        let mut event = |at, event| live.event(Recorded { thread: 1, at: Instant::from_nanos(at), event });
        let step = Step { executor: 0, entity: 0, sequence: 1, segment: 0 };
        event(5, Event::Dispatched { step, thread: 0, release: Instant::from_nanos(1), cpu_ns: 0 });
        for ticket in 0..2 {
            for queue in 1..4 {
                event(6, Event::Queued { queue, ticket, displaced: false });
            }
        }
        for number in 0..3 {
            event(7, Event::Sent { publisher: id, number });
        }
        event(8, Event::Sent { publisher: [9; 16], number: 0 });
        event(9, Event::Completed { step, deadline: Instant::MAX, cpu_ns: 0 });
        // Nobody's callback published this.
        event(10, Event::Sent { publisher: id, number: 3 });
        let of = |view: &super::super::View| {
            let sends = view.sends.iter().map(|of| (of.callback.clone(), of.topic.clone(), of.count));
            sends.collect::<Vec<_>>()
        };
        let view = live.view(1_000_000_000);
        let expected = |count: u64, other: u64| {
            [("camera".to_owned(), "/image".to_owned(), count), ("camera".to_owned(), "/info".to_owned(), other)]
        };
        assert_eq!(of(&view), expected(2, 3));
        assert_eq!(view.sends[1].rate_hz, 3.0);
        // A connection stays when nothing is published.
        assert_eq!(of(&live.view(2_000_000_000)), expected(0, 0));
        live.name(entity(1 << 32, "lidar"));
        assert_eq!(live.view(3_000_000_000).sends, []);
    }
}
