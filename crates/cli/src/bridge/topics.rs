//! Topics of the graph as channels, and a subscription of each for as long as somebody watches it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use foxglove::{RawChannel, Schema};
use rospin::graph::Endpoint;
use rospin::message::{SerializedMessage, TypeName};
use rospin::qos::{Durability, History};
use rospin::{MessageInfo, Qos, Subscription, SubscriptionOptions};

use super::shared::{Shared, nanoseconds};
use super::types::{Answer, Types};
use super::watchers::{Watcher, lock};
use crate::bag::qos::{Offered, to_record};

/// Messages that a subscription keeps until the executor takes them, at least and at most. The least is for publishers
/// whose middleware does not tell their depth.
const DEPTH_MIN: usize = 10;

/// The most messages of a topic whose publishers keep messages for late subscriptions. All of them come at once.
const LATCHED_MAX: usize = 1000;

/// A topic with one type.
type Key = (String, String);

/// Programs that watch a topic. The subscription's callback reads it.
type Viewers = Arc<Mutex<Vec<Arc<Watcher>>>>;

struct Topic {
    hash: Option<String>,
    qos: Qos,
    channel: Option<Arc<RawChannel>>,
    /// The subscription for all that watch.
    subscription: Option<Subscription>,
    viewers: Viewers,
    /// Subscriptions of one watcher each, by its number. A topic whose publishers keep messages has these in place of
    /// one for all, so that a watcher that comes late gets what they keep, and nobody gets it twice.
    latched: BTreeMap<u64, Subscription>,
    /// Messages that earlier subscriptions have lost.
    missed: u64,
    /// Losses that were told.
    told: u64,
}

impl Topic {
    /// Returns the messages that were lost on their way here.
    fn lost(&self) -> u64 {
        let now: u64 = self.latched.values().map(Subscription::missed).sum();
        self.missed + now + self.subscription.as_ref().map_or(0, Subscription::missed)
    }

    fn is_latched(&self) -> bool {
        self.qos.durability == Durability::TransientLocal
    }

    /// Ends all subscriptions.
    fn unsubscribe(&mut self) {
        self.missed = self.lost();
        self.subscription = None;
        self.latched.clear();
    }

    fn close(&mut self) {
        self.unsubscribe();
        if let Some(channel) = self.channel.take() {
            channel.close();
        }
    }
}

/// The topics of the graph.
pub(super) struct Topics {
    shared: Arc<Shared>,
    types: Types,
    depth_max: usize,
    topics: BTreeMap<Key, Topic>,
}

impl Topics {
    pub(super) fn new(shared: &Arc<Shared>, types: &Types, depth_max: usize) -> Self {
        let topics = BTreeMap::new();
        Self { shared: Arc::clone(shared), types: types.clone(), depth_max, topics }
    }

    /// Follows the graph: advertises topics that have publishers, and takes back those whose publishers have gone.
    pub(super) fn look(&mut self) {
        let own = self.shared.node.fully_qualified_name();
        let mut found: BTreeMap<Key, Vec<Endpoint>> = BTreeMap::new();
        for publisher in self.shared.node.publishers_info() {
            // The bridge's own publishers send on what watchers publish; the robot has no such topic by itself.
            let is_own = publisher.node.as_deref() == Some(own.as_str());
            if !is_own && self.shared.choice.takes_topic(&publisher.name) {
                found.entry((publisher.name.clone(), publisher.type_name.clone())).or_default().push(publisher);
            }
        }
        let shared = &self.shared;
        self.topics.retain(|key, topic| {
            let stays = found.get(key).is_some_and(|publishers| hash_of(publishers) == topic.hash);
            if !stays {
                topic.close();
                shared.solved(&problem(key));
                shared.solved(&problem_of_losses(&key.0));
            }
            stays
        });
        for (key, publishers) in found {
            let qos = qos_of(&publishers, self.depth_max);
            let topic = self.topics.entry(key.clone()).or_insert_with(|| Topic {
                hash: hash_of(&publishers),
                qos,
                channel: None,
                subscription: None,
                viewers: Viewers::default(),
                latched: BTreeMap::new(),
                missed: 0,
                told: 0,
            });
            if topic.qos != qos {
                // All publishers shall be heard, also one that offers less than those before.
                topic.qos = qos;
                topic.unsubscribe();
            }
            if topic.channel.is_none() {
                topic.channel = advertise(&self.shared, &self.types, &key, topic.hash.as_deref());
            }
        }
    }

    /// Follows the watchers: subscribes to what they want, and to nothing else.
    pub(super) fn follow(&mut self) {
        for (key, topic) in &mut self.topics {
            let Some(channel) = topic.channel.clone() else { continue };
            let wanted = self.shared.watchers_of(channel.id());
            let result = if topic.is_latched() {
                follow_latched(&self.shared, key, topic, &channel, &wanted)
            } else {
                let is_wanted = !wanted.is_empty();
                *lock(&topic.viewers) = wanted;
                match (is_wanted, topic.subscription.is_some()) {
                    (true, false) => {
                        let viewers = Arc::clone(&topic.viewers);
                        subscribe(&self.shared, key, topic, &channel, viewers)
                            .map(|subscription| topic.subscription = Some(subscription))
                    }
                    (false, true) => {
                        topic.unsubscribe();
                        Ok(())
                    }
                    _ => Ok(()),
                }
            };
            if let Err(reason) = result {
                self.shared.complain(&problem(key), &format!("Topic {} cannot be subscribed to: {reason}", key.0));
            }
        }
    }

    /// Tells of messages that were lost before the bridge could take them.
    pub(super) fn tell_losses(&mut self) {
        for ((name, _), topic) in &mut self.topics {
            let lost = topic.lost();
            if lost > topic.told {
                topic.told = lost;
                let sentence = format!("Topic {name}: {lost} messages were lost on their way to the bridge");
                self.shared.complain(&problem_of_losses(name), &sentence);
            }
        }
    }

    /// Returns the type of a topic that is published, and its hash.
    pub(super) fn ends(shared: &Shared, topic: &str) -> BTreeSet<(String, Option<String>)> {
        let node = &shared.node;
        let mut ends = node.subscriptions_info_by_topic(topic).unwrap_or_default();
        ends.extend(node.publishers_info_by_topic(topic).unwrap_or_default());
        ends.into_iter().map(|end| (end.type_name, end.type_hash)).collect()
    }
}

/// Returns the id of the problem that a topic has.
fn problem(key: &Key) -> String {
    format!("topic {} {}", key.0, key.1)
}

/// Returns the id of the problem that a topic loses messages.
fn problem_of_losses(topic: &str) -> String {
    format!("lost on the way {topic}")
}

/// Returns the hash of the publishers' type, if one of them tells it.
fn hash_of(publishers: &[Endpoint]) -> Option<String> {
    publishers.iter().filter_map(|publisher| publisher.type_hash.clone()).min()
}

/// Returns the quality of service that hears all publishers, and keeps as many messages as they do.
fn qos_of(publishers: &[Endpoint], depth_max: usize) -> Qos {
    let offered: Vec<Offered> = publishers.iter().map(Offered::from).collect();
    let qos = to_record(&offered, DEPTH_MIN);
    let is_latched = qos.durability == Durability::TransientLocal;
    let most = if is_latched { LATCHED_MAX } else { depth_max };
    let mut depth: usize = 0;
    for publisher in publishers {
        depth = depth.saturating_add(match publisher.history {
            Some(History::KeepLast(depth)) => depth,
            Some(History::KeepAll) => most,
            None if is_latched => LATCHED_MAX,
            None => DEPTH_MIN,
        });
    }
    to_record(&offered, depth.max(DEPTH_MIN).min(most.max(1)))
}

/// Advertises a topic, once its definition is known.
fn advertise(shared: &Shared, types: &Types, key: &Key, hash: Option<&str>) -> Option<Arc<RawChannel>> {
    let (name, message_type) = key;
    let definition = match types.of_topic(name, message_type, hash) {
        Answer::Is(definition) => definition,
        Answer::Later => return None,
        Answer::Unknown(reason) => {
            let sentence =
                format!("Topic {name} is not shown: nobody tells the definition of {message_type}: {reason}");
            shared.complain(&problem(key), &sentence);
            return None;
        }
    };
    shared.solved(&problem(key));
    let schema = Schema::new(message_type, "ros2msg", definition.as_bytes().to_vec());
    let builder = shared.context.channel_builder(name).message_encoding("cdr").schema(schema);
    match builder.build_raw() {
        Ok(channel) => Some(channel),
        Err(error) => {
            shared.complain(&problem(key), &format!("Topic {name} is not shown: {error}"));
            None
        }
    }
}

/// Subscribes to a topic whose publishers keep messages, for each watcher by itself.
fn follow_latched(
    shared: &Arc<Shared>,
    key: &Key,
    topic: &mut Topic,
    channel: &Arc<RawChannel>,
    wanted: &[Arc<Watcher>],
) -> Result<(), String> {
    let numbers: BTreeSet<u64> = wanted.iter().map(|watcher| watcher.number).collect();
    let gone: Vec<u64> = topic.latched.keys().copied().filter(|number| !numbers.contains(number)).collect();
    for number in gone {
        if let Some(subscription) = topic.latched.remove(&number) {
            topic.missed += subscription.missed();
        }
    }
    for watcher in wanted {
        if topic.latched.contains_key(&watcher.number) {
            continue;
        }
        let viewers = Arc::new(Mutex::new(vec![Arc::clone(watcher)]));
        let subscription = subscribe(shared, key, topic, channel, viewers)?;
        topic.latched.insert(watcher.number, subscription);
    }
    Ok(())
}

/// Subscribes to a topic.
fn subscribe(
    shared: &Arc<Shared>,
    (name, message_type): &Key,
    topic: &Topic,
    channel: &Arc<RawChannel>,
    viewers: Viewers,
) -> Result<Subscription, String> {
    let type_name = TypeName::new(message_type).map_err(|error| error.to_string())?;
    let type_name = match &topic.hash {
        Some(hash) => type_name.with_hash(hash.clone()),
        None => type_name,
    };
    let channel = Arc::clone(channel);
    let clock = shared.is_sim_time.then(|| shared.node.clone());
    let pass = move |message: SerializedMessage, info: MessageInfo| {
        let time = match &clock {
            Some(node) => node.now().as_nanos(),
            None => nanoseconds(info.received_timestamp),
        };
        for viewer in lock(&viewers).iter() {
            viewer.send(&channel, message.as_bytes(), time);
        }
    };
    let options = SubscriptionOptions::new(name).qos(topic.qos);
    let created = shared.node.create_serialized_subscription(options, &type_name, pass);
    created.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use rospin::graph::EndpointKind;
    use rospin::qos::Reliability;

    use super::*;

    fn publisher(depth: Option<usize>, reliability: Reliability, durability: Durability) -> Endpoint {
        let mut end = Endpoint::new(EndpointKind::Publisher, "/a", "std_msgs/msg/String");
        (end.reliability, end.durability) = (Some(reliability), Some(durability));
        end.history = depth.map(History::KeepLast);
        end
    }

    #[test]
    fn quality_of_service_fits_all_publishers() {
        let (reliable, latched) = (Reliability::Reliable, Durability::TransientLocal);
        let one = publisher(Some(1), reliable, latched);
        let qos = qos_of(&vec![one.clone(); 30], 25);
        assert_eq!((qos.durability, qos.depth()), (latched, Some(30)), "one kept message each");
        let weak = publisher(Some(100), Reliability::BestEffort, Durability::Volatile);
        let qos = qos_of(&[one, weak.clone()], 25);
        assert_eq!((qos.reliability, qos.durability), (Reliability::BestEffort, Durability::Volatile));
        assert_eq!(qos.depth(), Some(25));
        assert_eq!(qos_of(&[publisher(None, reliable, Durability::Volatile)], 25).depth(), Some(DEPTH_MIN));
        assert_eq!(qos_of(&[weak], 3).depth(), Some(3));
    }
}
