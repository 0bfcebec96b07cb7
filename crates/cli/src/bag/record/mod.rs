//! Recording: a subscription of every topic that is chosen, as topics come, and a thread that writes.
//!
//! Messages stay as they travelled. A callback stamps a message and puts it into a [queue](queue::Queue) of bounded
//! size, from which the [writer](writer::Writer) takes it. So a slow disk delays nobody, and what it costs is counted
//! by topic.

mod queue;
#[cfg(test)]
mod tests;
mod types;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rospin::graph::Endpoint;
use rospin::message::{SerializedMessage, TypeName};
use rospin::time::ClockKind;
use rospin::{ExecutorHandle, MessageInfo, Node, Subscription, SubscriptionOptions};

use self::queue::{Item, Message, Queue};
use self::types::Types;
use self::writer::{Writer, Written};
use super::choice::Choice;
use super::metadata::{Metadata, Topic};
use super::qos::{self, Offered};
use super::write::{BagWriter, CreateError, WriteOptions};

/// Messages that a subscription keeps until the executor takes them. The executor does nothing else, so this is the
/// time for which the machine may not let it run: 1 s of a topic at 1 kHz.
const DEPTH: usize = 1000;

/// Pause after a change of the graph, in which further changes come.
const PAUSE: Duration = Duration::from_millis(50);

/// Time after which losses are told, and the graph is looked at for facts that it does not announce.
const TICK: Duration = Duration::from_secs(1);

/// Receiver of sentences for the user.
pub(crate) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of a recording.
#[derive(Clone, Default)]
pub(crate) struct RecordOptions {
    pub(super) choice: Choice,
    pub(super) with_hidden: bool,
    /// Quality of service of the subscriptions of some topics.
    pub(super) overrides: BTreeMap<String, Offered>,
    /// Places where packages with message definitions are installed.
    pub(super) places: Vec<PathBuf>,
    /// Bytes of messages that may wait for the disk.
    pub(super) cache_bytes: usize,
    /// Stamps messages with ROS time in place of the system's.
    pub(super) is_sim_time: bool,
    pub(super) write: WriteOptions,
}

/// A topic that is recorded.
struct Recorded {
    message_type: String,
    type_name: TypeName,
    offered: Vec<Offered>,
    subscription: Option<Subscription>,
    /// Messages that earlier subscriptions of the topic have lost.
    missed: u64,
    /// Messages for which the queue had no room.
    refused: Arc<AtomicU64>,
    /// Losses that were told.
    told: u64,
}

impl Recorded {
    /// Returns the messages that were lost on their way, and those for which the queue had no room.
    fn lost(&self) -> (u64, u64) {
        let missed = self.subscription.as_ref().map_or(0, Subscription::missed);
        (self.missed + missed, self.refused.load(Ordering::Relaxed))
    }
}

/// A recording that is going on.
pub(crate) struct Recorder {
    node: Node,
    executor: ExecutorHandle,
    options: RecordOptions,
    queue: Arc<Queue>,
    writer: JoinHandle<Written>,
    has_failed: Arc<AtomicBool>,
    names: BTreeMap<String, usize>,
    topics: Vec<(String, Recorded)>,
    /// Messages of all topics that have been received.
    received: Arc<AtomicU64>,
    /// Topics with types that are not recorded, which was told.
    refused: BTreeSet<(String, String)>,
    types: Types,
    tell: Tell,
}

/// Result of a recording.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The content of the bag; `None` if its end could not be written.
    pub(crate) metadata: Option<Metadata>,
    /// Topics with lost messages.
    pub(crate) lost: Vec<(String, u64)>,
    /// The failure after which nothing more was written.
    pub(crate) failure: Option<String>,
}

/// A reason for which the recorder wakes up.
enum Event {
    Changed,
    Tick,
    Told(types::Answer),
}

impl Recorder {
    /// Begins a recording into a folder, which must not be there.
    pub(crate) fn start(
        node: &Node,
        executor: &ExecutorHandle,
        folder: &Path,
        options: RecordOptions,
        tell: Tell,
    ) -> Result<Self, CreateError> {
        let bag = BagWriter::create(folder, options.write.clone())?;
        let queue = Arc::new(Queue::new(options.cache_bytes));
        let has_failed = Arc::new(AtomicBool::new(false));
        let writer = Writer::new(Arc::clone(&queue), bag, Arc::clone(&has_failed));
        let writer = thread::Builder::new().name("bag writer".to_owned()).spawn(|| writer.run());
        let writer = writer.map_err(|reason| CreateError::Io { path: folder.to_owned(), reason })?;
        Ok(Self {
            node: node.clone(),
            executor: executor.clone(),
            types: Types::new(options.places.clone()),
            options,
            queue,
            writer,
            has_failed,
            names: BTreeMap::new(),
            topics: Vec::new(),
            received: Arc::default(),
            refused: BTreeSet::new(),
            tell,
        })
    }

    /// Follows the graph, and subscribes to topics as they come. Ends only if nothing more can be written.
    pub(crate) async fn run(&mut self) {
        loop {
            // The future is taken before the graph is read, so no change is missed.
            let change = self.node.wait_for_graph_change();
            self.look();
            self.tell_losses();
            if self.has_failed.load(Ordering::Relaxed) {
                return;
            }
            if matches!(self.next(change, TICK).await, Event::Changed) {
                self.next(std::future::pending(), PAUSE).await;
            }
        }
    }

    /// Waits for a change or for that time. Answers about types are dealt with meanwhile.
    async fn next(&mut self, change: impl Future<Output = ()>, longest: Duration) -> Event {
        let mut change = pin!(change);
        let mut tick = pin!(self.executor.sleep(ClockKind::Steady, longest));
        loop {
            let types = &mut self.types;
            let event = poll_fn(|cx| {
                if let Some(answer) = types.poll(cx) {
                    return Poll::Ready(Event::Told(answer));
                }
                if change.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Event::Changed);
                }
                tick.as_mut().poll(cx).map(|_| Event::Tick)
            });
            match event.await {
                Event::Told(answer) => self.learn(answer),
                event => return event,
            }
        }
    }

    /// Tells the writer what was learnt about a type.
    fn learn(&mut self, answer: types::Answer) {
        let types::Answer { topics, definition } = answer;
        let definition = match definition {
            Ok(definition) => Some(definition),
            Err(reason) => {
                (self.tell)(&format!("Messages are recorded without their definition: {reason}"));
                None
            }
        };
        for place in topics {
            self.queue.push(Item::Defined(place, definition.clone()));
        }
    }

    /// Looks at the graph for topics that are not recorded yet, and for other publishers of those that are.
    fn look(&mut self) {
        let mut topics: BTreeMap<String, Vec<Endpoint>> = BTreeMap::new();
        for publisher in self.node.publishers_info() {
            topics.entry(publisher.name.clone()).or_default().push(publisher);
        }
        for (name, publishers) in topics {
            if let Some(&place) = self.names.get(&name) {
                self.look_again(place, &publishers);
            } else if self.options.choice.takes_live(&name, self.options.with_hidden) {
                self.begin(name, &publishers);
            }
        }
    }

    /// Tells once that a type of a topic is not recorded.
    fn refuse(&mut self, topic: &str, message_type: &str, reason: &str) {
        if self.refused.insert((topic.to_owned(), message_type.to_owned())) {
            (self.tell)(&format!("Topic '{topic}' of type {message_type} is not recorded: {reason}"));
        }
    }

    /// Begins to record a topic.
    fn begin(&mut self, name: String, publishers: &[Endpoint]) {
        let Some(first) = publishers.first() else { return };
        let message_type = first.type_name.clone();
        if self.refused.contains(&(name.clone(), message_type.clone())) {
            return;
        }
        let hash = publishers.iter().filter(|of| of.type_name == message_type).find_map(|of| of.type_hash.clone());
        let type_name = match TypeName::new(&message_type) {
            Ok(type_name) => type_name,
            Err(error) => return self.refuse(&name, &message_type, &error.to_string()),
        };
        let type_name = match &hash {
            Some(hash) => type_name.with_hash(hash.clone()),
            None => type_name,
        };
        let offered = offered_by(publishers, &message_type);
        let mut recorded = Recorded {
            message_type: message_type.clone(),
            type_name,
            offered: offered.clone(),
            subscription: None,
            missed: 0,
            refused: Arc::default(),
            told: 0,
        };
        let place = self.topics.len();
        match self.subscribe(&name, place, &recorded) {
            Ok(subscription) => recorded.subscription = Some(subscription),
            Err(reason) => return self.refuse(&name, &message_type, &reason),
        }
        (self.tell)(&format!("Subscribed to topic '{name}'"));
        let format = "cdr".to_owned();
        let described = hash.clone().unwrap_or_default();
        self.queue.push(Item::Topic(Topic {
            name: name.clone(),
            message_type: message_type.clone(),
            format,
            offered,
            hash: described,
            count: 0,
        }));
        if let Some(answer) = self.types.ask(&self.node, &self.executor, &name, &message_type, hash, place) {
            self.learn(answer);
        }
        self.names.insert(name.clone(), place);
        self.topics.push((name.clone(), recorded));
        self.look_again(place, publishers);
    }

    /// Creates the subscription of a topic.
    fn subscribe(&self, name: &str, place: usize, recorded: &Recorded) -> Result<Subscription, String> {
        let qos = qos::overridden(qos::to_record(&recorded.offered, DEPTH), self.options.overrides.get(name));
        let queue = Arc::clone(&self.queue);
        let refused = Arc::clone(&recorded.refused);
        let received = Arc::clone(&self.received);
        let clock = self.options.is_sim_time.then(|| self.node.clone());
        let callback = move |message: SerializedMessage, info: MessageInfo| {
            received.fetch_add(1, Ordering::Relaxed);
            let arrival = nanoseconds(info.received_timestamp);
            let log_time = clock.as_ref().map_or(arrival, |node| node.now().as_nanos());
            let publish_time = info.source_timestamp.map_or(log_time, nanoseconds);
            let number = info.publication_sequence_number.unwrap_or_default() as u32;
            let payload = message.into_bytes();
            if !queue.push_message(Message { place, number, log_time, publish_time, payload }) {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        };
        let options = SubscriptionOptions::new(name).qos(qos);
        let created = self.node.create_serialized_subscription(options, &recorded.type_name, callback);
        created.map_err(|error| error.to_string())
    }

    /// Adapts to the publishers that a recorded topic has now.
    fn look_again(&mut self, place: usize, publishers: &[Endpoint]) {
        let (name, recorded) = &self.topics[place];
        let message_type = recorded.message_type.clone();
        let name = name.clone();
        for other in publishers.iter().filter(|of| of.type_name != message_type) {
            let reason = format!("the bag has the topic with the type {message_type}, and one type for each topic");
            self.refuse(&name, &other.type_name, &reason);
        }
        let offered = offered_by(publishers, &message_type);
        let recorded = &mut self.topics[place].1;
        if offered.is_empty() || offered == recorded.offered {
            return;
        }
        let before = qos::to_record(&recorded.offered, DEPTH);
        recorded.offered.clone_from(&offered);
        if qos::to_record(&offered, DEPTH) != before {
            self.subscribe_anew(&name, place);
        }
        self.queue.push(Item::Offered(place, offered));
    }

    /// Subscribes with other quality of service, so that all publishers are heard.
    fn subscribe_anew(&mut self, name: &str, place: usize) {
        let recorded = &mut self.topics[place].1;
        if let Some(before) = recorded.subscription.take() {
            recorded.missed += before.missed();
        }
        match self.subscribe(name, place, &self.topics[place].1) {
            Ok(subscription) => {
                self.topics[place].1.subscription = Some(subscription);
                (self.tell)(&format!(
                    "Subscribed to topic '{name}' anew, because its publishers offer less than before"
                ));
            }
            Err(reason) => (self.tell)(&format!("Topic '{name}' is not recorded any more: {reason}")),
        }
    }

    fn tell_losses(&mut self) {
        for (name, recorded) in &mut self.topics {
            let (missed, refused) = recorded.lost();
            if missed + refused > recorded.told {
                recorded.told = missed + refused;
                (self.tell)(&format!(
                    "Topic '{name}': lost so far: {missed} messages on their way here, and {refused} because the disk is slow and the \
                     cache full"
                ));
            }
        }
    }

    /// Ends the recording, and the bag.
    pub(crate) fn finish(self) -> Recording {
        let Self { queue, writer, topics, options, tell, .. } = self;
        let mut lost: BTreeMap<String, u64> = BTreeMap::new();
        let mut names = Vec::new();
        for (name, recorded) in topics {
            let (missed, refused) = recorded.lost();
            *lost.entry(name.clone()).or_default() += missed + refused;
            names.push(name);
        }
        queue.close();
        for named in &options.choice.topics {
            if !names.iter().any(|name| name.trim_start_matches('/') == named.trim_start_matches('/')) {
                tell(&format!("Topic '{named}' had no publisher, so nothing of it was recorded"));
            }
        }
        let Ok(Written { metadata, lost: unwritten, failure }) = writer.join() else {
            let failure = Some("the thread that writes has panicked".to_owned());
            return Recording { metadata: None, lost: lost.into_iter().collect(), failure };
        };
        for (name, count) in names.into_iter().zip(unwritten) {
            *lost.entry(name).or_default() += count;
        }
        lost.retain(|_, count| *count > 0);
        let (metadata, failure) = match metadata {
            Ok(metadata) => (Some(metadata), failure),
            Err(reason) => (None, failure.or_else(|| Some(reason.to_string()))),
        };
        Recording { metadata, lost: lost.into_iter().collect(), failure }
    }
}

/// Returns what the publishers of that type offer, in an order that does not depend on when they came.
fn offered_by(publishers: &[Endpoint], message_type: &str) -> Vec<Offered> {
    publishers.iter().filter(|of| of.type_name == message_type).map(Offered::from).collect()
}

/// Returns a time in nanoseconds since 1970.
fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
