//! Playing: a publisher for each topic, and messages at the times at which they were recorded.
//!
//! Due times count from the beginning, so they do not drift. A thread of its own reads ahead, so that the disk delays
//! no message.

mod ahead;
mod control;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rospin::dynamic::MessageType;
use rospin::errors::TopicError;
use rospin::message::{SerializedMessage, TypeName};
use rospin::qos::Durability;
use rospin::time::Instant;
use rospin::{ExecutorHandle, Node, Publisher, PublisherOptions};
use rospin_node::interfaces::builtin_interfaces::Time;
use rospin_node::interfaces::rosgraph_msgs::Clock;

use self::ahead::Ahead;
pub(crate) use self::control::Control;
use self::timeline::Timeline;
use super::choice::Choice;
use super::metadata::Topic;
use super::qos::{self, Offered};
use super::read::{Bag, Message};
use super::record::{Tell, is_trace};
use rospin_trace::mcap::{Kind, Wanted};

/// Encoding of messages that can be published.
const ENCODING: &str = "cdr";

/// Time after its beginning in which a bag has messages that latched topics sent before: discovery takes that long.
const DISCOVERY_NS: u64 = 5_000_000_000;

/// Messages of a latched topic from before the start that are kept, even if its publishers kept fewer: how many they
/// kept may not be known. Above so many bytes they are only as many as the publishers kept.
const EARLIER_MAX: usize = 100;
const EARLIER_BYTES_MAX: usize = 16 << 20;

/// Messages that are published without a look at anything else.
const AT_ONCE: u64 = 16;

/// Options of playing.
#[derive(Clone, Default)]
pub(crate) struct PlayOptions {
    pub(super) choice: Choice,
    /// Seconds of the bag that a second plays.
    pub(super) rate: f64,
    pub(super) start_offset: Duration,
    /// Time of the bag after which it ends.
    pub(super) duration: Option<Duration>,
    /// Time since 1970 after which it ends.
    pub(super) until: Option<Duration>,
    pub(super) is_loop: bool,
    /// Messages on `/clock` in a second.
    pub(super) clock_hz: Option<f64>,
    pub(super) delay: Duration,
    /// Other names of topics.
    pub(super) remaps: BTreeMap<String, String>,
    pub(super) overrides: BTreeMap<String, Offered>,
    /// Places where packages with message definitions are installed.
    pub(super) places: Vec<PathBuf>,
    /// True if subscriptions hear only publishers that tell the hash of their type, as over Zenoh.
    pub(super) needs_hash: bool,
}

/// A topic that is played.
struct Played {
    publisher: Publisher<SerializedMessage>,
    message_type: String,
    is_latched: bool,
    /// Messages that are kept for late subscriptions.
    depth: usize,
    lifespan: Option<Duration>,
    /// Messages that are published at the start in place of their times, and those of them that have been passed over
    /// since. They are the first ones of the topic from the start on.
    moved: usize,
    passed: usize,
    count: u64,
    lost: u64,
}

/// Result of playing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Messages by topic, under its name in the bag.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Messages that could not be published, likewise.
    pub(crate) lost: BTreeMap<String, u64>,
    /// True if a part of the bag could not be read.
    pub(crate) is_damaged: bool,
}

/// Player of a bag.
pub(crate) struct Player<'a> {
    executor: ExecutorHandle,
    bag: &'a Bag,
    options: &'a PlayOptions,
    control: &'a Control,
    topics: BTreeMap<Arc<str>, Played>,
    clock: Option<Publisher<Clock>>,
    tell: Tell,
    timeline: Timeline,
    /// Time of the bag at which the next message on `/clock` is due.
    clock_due: u64,
    published: u64,
    is_damaged: bool,
}

impl<'a> Player<'a> {
    /// Creates the publishers.
    pub(crate) fn new(
        node: &Node,
        executor: &ExecutorHandle,
        bag: &'a Bag,
        options: &'a PlayOptions,
        control: &'a Control,
        tell: Tell,
    ) -> Result<Self, TopicError> {
        let mut topics: BTreeMap<Arc<str>, Played> = BTreeMap::new();
        for topic in &bag.metadata.topics {
            if !options.choice.takes(&topic.name) || is_trace(topic) {
                continue;
            }
            let created = match unplayable(topic, topics.contains_key(&*topic.name), options) {
                Some(reason) => Err(reason),
                None => {
                    let hash = hash_of(node, topic, options);
                    if hash.is_none() && options.needs_hash {
                        tell(&format!(
                            "Topic '{}': nodes of Iron and later do not hear it over Zenoh, because neither the bag nor \
                             AMENT_PREFIX_PATH has the hash of {}",
                            topic.name, topic.message_type
                        ));
                    }
                    played(node, topic, hash, options).map_err(|error| error.to_string())
                }
            };
            match created {
                Ok(played) => _ = topics.insert(topic.name.as_str().into(), played),
                Err(reason) => {
                    tell(&format!("Topic '{}' of type {} is not played: {reason}", topic.name, topic.message_type));
                }
            }
        }
        for topic in options.overrides.keys() {
            if !bag.metadata.topics.iter().any(|of| of.name == *topic) {
                tell(&format!("The bag has no topic '{topic}', which --qos-profile-overrides-path names"));
            }
        }
        let clock = match options.clock_hz {
            Some(_) => Some(node.create_publisher("/clock")?),
            None => None,
        };
        let timeline = Timeline { anchor: Instant::from_nanos(0), from: 0, rate: options.rate };
        let executor = executor.clone();
        Ok(Self {
            executor,
            bag,
            options,
            control,
            topics,
            clock,
            tell,
            timeline,
            clock_due: 0,
            published: 0,
            is_damaged: false,
        })
    }

    /// Returns true if nothing is played.
    pub(crate) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Plays the bag, once or until it is dropped.
    pub(crate) async fn run(&mut self) {
        let Some((first, last)) = self.bag.metadata.times else { return };
        let offset = u64::try_from(self.options.start_offset.as_nanos()).unwrap_or(u64::MAX);
        let start = first.saturating_add(offset);
        let length = self.options.duration.map_or(u128::from(u64::MAX), |length| length.as_nanos());
        let until = self.options.until.map_or(u128::from(u64::MAX), |until| until.as_nanos());
        let end = start.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        let end = end.min(u64::try_from(until).unwrap_or(u64::MAX));
        if start > last {
            (self.tell)("Nothing is played: the start offset is behind the end of the bag");
            return;
        }
        loop {
            let begin = self.now() + self.options.delay;
            let _ = self.executor.sleep_until(begin).await;
            self.play_once(start, end).await;
            if !self.options.is_loop {
                return;
            }
            // A bag without chosen messages would be read again and again without a pause.
            self.yield_now().await;
        }
    }

    /// Returns what was played so far.
    pub(crate) fn summary(&self) -> Summary {
        let count = |of: fn(&Played) -> u64| {
            let counted = self.topics.iter().map(|(name, played)| (name.to_string(), of(played)));
            counted.collect::<BTreeMap<_, _>>()
        };
        let mut lost = count(|played| played.lost);
        lost.retain(|_, count| *count > 0);
        Summary { counts: count(|played| played.count), lost, is_damaged: self.is_damaged }
    }

    fn now(&self) -> Instant {
        self.executor.context().clock().now()
    }

    /// Plays the part of the bag between these times.
    async fn play_once(&mut self, start: u64, end: u64) {
        let earlier = self.earlier(start, end).await;
        // A file may say a later beginning than that of its first message: some writers take the time 0 for none.
        let from = if self.options.start_offset.is_zero() { 0 } else { start };
        let mut ahead = self.read(false, (from, end));
        let mut next = ahead.next().await;
        // Reading up to here may have taken long, so the time begins only now.
        self.timeline = Timeline { anchor: self.now(), from: start, ..self.timeline };
        self.clock_due = start;
        self.wait(start).await;
        for message in earlier {
            self.publish(&message).await;
        }
        while let Some(item) = next {
            match item {
                Err(damage) => {
                    self.is_damaged = true;
                    (self.tell)(&damage.to_string());
                }
                Ok(message) if self.was_moved(&message, start) => {}
                Ok(message) => {
                    self.wait(message.log_time).await;
                    self.publish(&message).await;
                }
            }
            next = ahead.next().await;
        }
        // A duration beyond the last message is waited for, so that loops have that length.
        if self.options.duration.is_some() && self.options.is_loop {
            self.wait(end).await;
        }
    }

    /// Returns messages that are chosen, of latched topics only if `latched`.
    fn read(&self, latched: bool, times: (u64, u64)) -> Ahead {
        let chosen = self.topics.iter().filter(|(_, played)| played.is_latched || !latched);
        let types: BTreeMap<Arc<str>, String> =
            chosen.map(|(name, played)| (Arc::clone(name), played.message_type.clone())).collect();
        // A topic may have messages of other types, which its publisher cannot send.
        let is_wanted = Arc::new(move |of: Kind<'_>| {
            let is_of = |message_type: &String| of.message_type.is_empty() || message_type == of.message_type;
            of.encoding == ENCODING && types.get(of.topic).is_some_and(is_of)
        });
        Ahead::new(self.bag.messages(&Wanted { is_wanted, times }))
    }

    /// True if the message is at the beginning of the bag, but was sent before the start.
    fn is_sent_before(&self, message: &Message, start: u64) -> bool {
        let begin = self.bag.metadata.times.map_or(0, |(first, _)| first);
        message.publish_time < start && message.log_time <= begin.saturating_add(DISCOVERY_NS)
    }

    /// Returns true if the message is one that [`earlier`](Self::earlier) has returned, and passes it over.
    fn was_moved(&mut self, message: &Message, start: u64) -> bool {
        let is_sent_before = self.is_sent_before(message, start);
        let Some(played) = self.topics.get_mut(&message.topic) else { return false };
        let was_moved = is_sent_before && played.passed < played.moved;
        played.passed += usize::from(was_moved);
        was_moved
    }

    /// Returns the messages that subscriptions of latched topics would get at `start`: those from before, and those
    /// that reached the recorder later, because it had to find their publishers first. Of the latter there are not more
    /// than publishers kept; others come at their times.
    async fn earlier(&mut self, start: u64, end: u64) -> Vec<Message> {
        if !self.topics.values().any(|played| played.is_latched) {
            return Vec::new();
        }
        for played in self.topics.values_mut() {
            (played.moved, played.passed) = (0, 0);
        }
        let begin = self.bag.metadata.times.map_or(0, |(first, _)| first);
        let mut kept: BTreeMap<Arc<str>, Kept> = BTreeMap::new();
        let mut ahead = self.read(true, (0, end.min(start.max(begin.saturating_add(DISCOVERY_NS)))));
        while let Some(message) = ahead.next().await {
            // The pass that plays tells of damage.
            let Ok(message) = message else { continue };
            let is_sent_before = self.is_sent_before(&message, start);
            let Some(played) = self.topics.get_mut(&message.topic) else { continue };
            let kept = kept.entry(Arc::clone(&message.topic)).or_default();
            if message.log_time < start {
                let lifespan = played.lifespan.map_or(u128::MAX, |lifespan| lifespan.as_nanos());
                if u128::from(start - message.log_time) <= lifespan {
                    kept.add(message, played.depth);
                }
            } else if is_sent_before && !kept.is_over && played.moved < played.depth {
                played.moved += 1;
                kept.add(message, played.depth);
            } else {
                kept.is_over = true;
            }
        }
        let mut messages: Vec<Message> = kept.into_values().flat_map(|kept| kept.messages).collect();
        messages.sort_by_key(|message| message.log_time);
        messages
    }

    /// Publishes a message, and lets the executor look at other things from time to time.
    async fn publish(&mut self, message: &Message) {
        if self.published.is_multiple_of(AT_ONCE) {
            self.yield_now().await;
        }
        let Some(played) = self.topics.get_mut(&message.topic) else { return };
        self.published += 1;
        let serialized = SerializedMessage::from_bytes(message.payload.clone());
        let published = serialized
            .map_err(|error| error.to_string())
            .and_then(|serialized| played.publisher.publish(serialized).map_err(|error| error.to_string()));
        match published {
            Ok(()) => played.count += 1,
            Err(reason) => {
                if played.lost == 0 {
                    (self.tell)(&format!("Topic '{}': a message is lost: {reason}", message.topic));
                }
                played.lost += 1;
            }
        }
    }

    /// Waits until what was recorded at `time` is due, and publishes on `/clock` meanwhile.
    async fn wait(&mut self, time: u64) {
        if let Some(hz) = self.options.clock_hz {
            let step = ((1e9 * self.timeline.rate / hz) as u64).max(1);
            // A player that cannot keep up leaves ticks out.
            while self.clock_due <= time {
                self.wait_until(self.clock_due).await;
                self.publish_clock(self.clock_due);
                let late = self.timeline.at(self.now()).saturating_sub(self.clock_due);
                self.clock_due = self.clock_due.saturating_add(step.saturating_mul(1 + late / step));
            }
        }
        self.wait_until(time).await;
    }

    fn publish_clock(&self, time: u64) {
        let Some(publisher) = &self.clock else { return };
        let sec = i32::try_from(time / 1_000_000_000).unwrap_or(i32::MAX);
        let clock = Time { sec, nanosec: (time % 1_000_000_000) as u32 };
        // A tick that is lost is followed by the next one.
        let _ = publisher.publish(Clock { clock });
    }

    /// Waits until that time of the bag. A pause moves everything that follows.
    async fn wait_until(&mut self, time: u64) {
        loop {
            let changed = self.control.changed();
            if self.control.is_paused() {
                let from = self.timeline.at(self.now());
                changed.await;
                self.timeline = Timeline { anchor: self.now(), from, ..self.timeline };
                continue;
            }
            let due = self.timeline.due(time);
            if due <= self.now() {
                return;
            }
            let mut changed = pin!(changed);
            let mut slept = pin!(self.executor.sleep_until(due));
            poll_fn(|cx| match changed.as_mut().poll(cx) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => slept.as_mut().poll(cx).map(drop),
            })
            .await;
        }
    }

    /// Lets the executor look at what else there is, such as Ctrl-C.
    async fn yield_now(&self) {
        let mut has_yielded = false;
        poll_fn(|cx| {
            if has_yielded {
                return Poll::Ready(());
            }
            has_yielded = true;
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// Messages of a latched topic.
#[derive(Default)]
struct Kept {
    messages: VecDeque<Message>,
    bytes: usize,
    /// True once a message was left to its time, so that no later one overtakes it.
    is_over: bool,
}

impl Kept {
    /// Adds a message, of a topic whose publishers kept that many. The oldest ones make room.
    fn add(&mut self, mut message: Message, depth: usize) {
        // A part of a chunk would keep all of the chunk.
        message.payload = Bytes::copy_from_slice(&message.payload);
        self.bytes += message.payload.len();
        self.messages.push_back(message);
        while self.messages.len() > depth
            && (self.messages.len() > EARLIER_MAX || self.bytes > EARLIER_BYTES_MAX)
            && let Some(oldest) = self.messages.pop_front()
        {
            self.bytes -= oldest.payload.len();
        }
    }
}

/// Returns the reason for which a topic cannot be played.
fn unplayable(topic: &Topic, is_known: bool, options: &PlayOptions) -> Option<String> {
    if topic.format != ENCODING {
        return Some(format!("its messages are in `{}`, not in CDR", topic.format));
    }
    if is_known {
        return Some("the topic is played with another type".to_owned());
    }
    let is_clock = topic.name.trim_start_matches('/') == "clock";
    (is_clock && options.clock_hz.is_some()).then(|| "--clock publishes the time in place of it".to_owned())
}

/// Returns the hash of a topic's type. Bags before Iron have none: then it is that of the installed type, or that which
/// subscriptions of the topic announce.
fn hash_of(node: &Node, topic: &Topic, options: &PlayOptions) -> Option<String> {
    if !topic.hash.is_empty() {
        return Some(topic.hash.clone());
    }
    if let Ok(found) = MessageType::find_in(&topic.message_type, &options.places) {
        return Some(found.hash().to_owned());
    }
    let name = options.remaps.get(&topic.name).unwrap_or(&topic.name);
    let subscriptions = node.subscriptions_info_by_topic(name).unwrap_or_default();
    let mut of_type = subscriptions.into_iter().filter(|end| end.type_name == topic.message_type);
    of_type.find_map(|end| end.type_hash)
}

fn played(node: &Node, topic: &Topic, hash: Option<String>, options: &PlayOptions) -> Result<Played, TopicError> {
    let type_name = TypeName::new(&topic.message_type).map_err(|error| TopicError::Name(error.into()))?;
    let type_name = match hash {
        Some(hash) => type_name.with_hash(hash),
        None => type_name,
    };
    let of = qos::overridden(qos::to_play(&topic.offered), options.overrides.get(&topic.name));
    let name = options.remaps.get(&topic.name).unwrap_or(&topic.name);
    let publisher = node.create_serialized_publisher(PublisherOptions::new(name).qos(of), &type_name)?;
    let is_latched = of.durability == Durability::TransientLocal;
    let depth = of.depth().unwrap_or(rospin_engine::DEPTH_MAX);
    Ok(Played {
        publisher,
        message_type: topic.message_type.clone(),
        is_latched,
        depth,
        lifespan: of.lifespan,
        moved: 0,
        passed: 0,
        count: 0,
        lost: 0,
    })
}
