//! Topics whose publisher keeps messages for late subscriptions.
//!
//! A subscription gets messages in their order, each once, and none twice. When all is quiet, the last one that it got
//! is the last one that was published, whenever it was created. With room for all, it misses none after its first one.

use std::sync::{Arc, Mutex};

use rospin_engine::CallbackGroup;
use rospin_node::{Message, Node, Publisher, QosOfName, Subscription, SubscriptionOptions};
use serde::{Deserialize, Serialize};

use super::rng::Rng;
use super::world::{Act, Feature, Stage, lock};

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Number {
    number: u64,
}

impl Message for Number {
    const TYPE: &str = "test_interfaces/msg/Number";
}

/// A depth with room for all messages of a program.
const ROOMY: usize = 100;

/// A subscription, and what it got.
struct Ear {
    heard: Vec<u64>,
    depth: usize,
    /// The number of messages that had been published before it was created.
    before: u64,
    /// The subscription while it exists; `None` also while it is created.
    subscription: Option<Subscription>,
}

#[derive(Default)]
struct Site {
    /// The number of publications that began.
    published: u64,
    is_publishing: bool,
    ears: Vec<Ear>,
}

pub(crate) struct Topics {
    stage: Stage,
    site: Arc<Mutex<Site>>,
    publisher: Publisher<Number>,
    kept: u64,
    node: Node,
    groups: Vec<CallbackGroup<()>>,
}

impl Topics {
    pub(crate) fn new(stage: &Stage, rng: &mut Rng) -> Self {
        let kept = rng.in_range(1, 3);
        let talker = stage.node("talker");
        let publisher = talker.create_publisher("numbers".transient_local().keep_last(kept as usize)).unwrap();
        let groups = (0..2).map(|number| stage.group(rng, &format!("listener{number}"))).collect();
        let node = stage.node("listener");
        Self { stage: stage.clone(), site: Arc::default(), publisher, kept, node, groups }
    }

    fn publish(&self) {
        let number = {
            let mut site = lock(&self.site);
            if std::mem::replace(&mut site.is_publishing, true) {
                return;
            }
            site.published += 1;
            site.published
        };
        self.stage.note(format!("publishes {number}"));
        self.publisher.publish(Number { number }).expect("there is room");
        lock(&self.site).is_publishing = false;
    }

    fn subscribe(&self, rng: &mut Rng) {
        let depth = if rng.percent(50) { ROOMY } else { 1 + rng.below(3) };
        let place = {
            let mut site = lock(&self.site);
            // A publication that goes on may come before or after.
            let before = site.published - u64::from(site.is_publishing);
            site.ears.push(Ear { heard: Vec::new(), depth, before, subscription: None });
            site.ears.len() - 1
        };
        self.stage.note(format!("creates subscription {place} of depth {depth}"));
        let (site, stage) = (Arc::clone(&self.site), self.stage.clone());
        let hear = move |(): &mut (), message: Arc<Number>| {
            let last = {
                let mut site = lock(&site);
                let heard = &mut site.ears[place].heard;
                let last = heard.last().copied();
                heard.push(message.number);
                last
            };
            stage.note(format!("subscription {place} gets {}", message.number));
            let number = message.number;
            stage.check(last < Some(number), || format!("a subscription got {number} after {last:?}"));
        };
        let options = SubscriptionOptions::from("numbers".transient_local().keep_last(depth));
        let subscription = self.node.on(rng.pick(&self.groups)).create_subscription(options, hear).unwrap();
        lock(&self.site).ears[place].subscription = Some(subscription);
    }

    fn unsubscribe(&self, rng: &mut Rng) {
        let subscription = {
            let mut site = lock(&self.site);
            let count = site.ears.len();
            if count == 0 {
                return;
            }
            site.ears[rng.below(count)].subscription.take()
        };
        drop(subscription);
    }
}

impl Feature for Topics {
    fn act(&self, mut rng: Rng) -> Act<'_> {
        Box::pin(async move {
            match rng.below(10) {
                0..=4 => self.publish(),
                5..=7 => self.subscribe(&mut rng),
                8 => self.unsubscribe(&mut rng),
                _ => {
                    self.subscribe(&mut rng);
                    self.publish();
                }
            }
        })
    }

    fn quiet(&self) {
        let site = lock(&self.site);
        let published = site.published;
        let ears = site.ears.iter().enumerate().filter(|(_, ear)| ear.subscription.is_some());
        for (place, Ear { heard, depth, before, .. }) in ears {
            let last = heard.last().copied().unwrap_or(0);
            self.stage.check(last == published, || {
                format!("{published} was published, and the last message of subscription {place} is {last}")
            });
            let Some(first) = heard.first().copied().filter(|_| *depth == ROOMY) else {
                continue;
            };
            self.stage.check(heard.len() as u64 == published - first + 1, || {
                format!("subscription {place} missed some messages between {first} and {published}: {heard:?}")
            });
            // What was kept when it was created, less what came meanwhile.
            let must = before.saturating_sub(self.kept - 1).max(1);
            let may = published.saturating_sub(self.kept - 1).max(before + 1);
            self.stage.check((must..=may).contains(&first), || {
                format!("the first message of subscription {place} is {first}, not from {must} to {may}")
            });
        }
    }

    fn end(&self) {}
}
