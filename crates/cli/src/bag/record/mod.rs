//! Recording: a subscription of every topic that is chosen, as topics come, and a thread that writes.
//!
//! Messages stay as they travelled. A callback stamps a message and puts it into a [queue](queue::Queue) of bounded
//! size, from which the [writer](writer::Writer) takes it. So a slow disk delays nobody, and what it costs is counted
//! by topic.

mod queue;
#[cfg(test)]
mod tests;
mod trace;
mod types;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rospin::graph::{Endpoint, Gid};
use rospin::message::{SerializedMessage, TypeName};
use rospin::time::{ClockKind, Instant};
use rospin::{ExecutorHandle, MessageInfo, Node, Qos, Subscription, SubscriptionOptions};

use self::queue::{Item, Message, Queue};
pub(crate) use self::trace::is_trace;
use self::trace::{Trace, TraceError};
use self::types::Types;
use self::writer::{Writer, Written};
use super::choice::Choice;
use super::info::SERVICE_EVENT;
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

/// Time for which messages wait for their definition, and for which a subscription stays beside the one that replaces
/// it, whose publishers have to find it first.
const OVERLAP: Duration = Duration::from_secs(1);

/// Receiver of sentences for the user.
pub(crate) type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// Options of a recording.
#[derive(Clone, Default)]
pub(crate) struct RecordOptions {
    pub(super) choice: Choice,
    pub(super) with_hidden: bool,
    /// Records what services tell of their calls, whose topics are hidden.
    pub(super) with_events: bool,
    /// Quality of service of the subscriptions of some topics.
    pub(super) overrides: BTreeMap<String, Offered>,
    /// Places where packages with message definitions are installed.
    pub(super) places: Vec<PathBuf>,
    /// Bytes of messages that may wait for the disk.
    pub(super) cache_bytes: usize,
    /// Writes messages at once, in place of when they fill a chunk.
    pub(super) is_at_once: bool,
    /// Stamps messages with ROS time in place of the system's.
    pub(super) is_sim_time: bool,
    pub(super) write: WriteOptions,
    /// The process whose trace is recorded, too.
    pub(super) trace: Option<u32>,
}

impl RecordOptions {
    /// Returns true if a topic is recorded although it is hidden.
    pub(super) fn takes_hidden(&self, topic: &str) -> bool {
        self.with_hidden || (self.with_events && topic.ends_with(SERVICE_EVENT))
    }
}

/// A topic that is recorded.
struct Recorded {
    message_type: String,
    type_name: TypeName,
    /// Everything that its publishers have offered so far.
    offered: Vec<Offered>,
    subscription: Option<Subscription>,
    /// The subscription before, and the time at which the present one began.
    before: Option<(Subscription, Instant)>,
    /// Messages that have come while there are two subscriptions.
    doubles: Arc<Doubles>,
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
        let now = self.subscription.as_ref().map_or(0, Subscription::missed);
        let before = self.before.as_ref().map_or(0, |(before, _)| before.missed());
        (self.missed + now + before, self.refused.load(Ordering::Relaxed))
    }

    /// Ends the subscription before the present one.
    fn end_before(&mut self) {
        let Some((before, _)) = self.before.take() else { return };
        self.missed += before.missed();
        self.doubles.set(false);
    }
}

/// Filter of messages that reach two subscriptions of a topic.
#[derive(Default)]
struct Doubles(Mutex<Option<BTreeSet<(Gid, u64)>>>);

impl Doubles {
    /// Begins to filter, or ends it.
    fn set(&self, is_filtering: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = is_filtering.then(BTreeSet::new);
    }

    /// Returns true if the message was here before.
    fn is_double(&self, info: &MessageInfo) -> bool {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = &mut *seen else { return false };
        // Messages over DDS have no number.
        let number = info.publication_sequence_number.or_else(|| info.source_timestamp.map(nanoseconds));
        let (Some(publisher), Some(number)) = (info.publisher_gid, number) else { return false };
        !seen.insert((publisher, number))
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
    /// Places of topics whose messages wait for their definition, and since when they do.
    waiting: Vec<(usize, Instant)>,
    /// Messages of all topics that have been received.
    received: Arc<AtomicU64>,
    /// Topics with types that are not recorded, which was told.
    refused: BTreeSet<(String, String)>,
    types: Types,
    trace: Option<Trace>,
    tell: Tell,
}

/// Reasons for which a recording cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Create(#[from] CreateError),
    #[error(transparent)]
    Trace(#[from] TraceError),
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
    ) -> Result<Self, StartError> {
        // First, because a folder without a recording is of no use.
        let door = match options.trace {
            Some(pid) => Some((pid, trace::connect(pid)?)),
            None => None,
        };
        let bag = BagWriter::create(folder, options.write.clone())?;
        let queue = Arc::new(Queue::new(options.cache_bytes));
        let has_failed = Arc::new(AtomicBool::new(false));
        let writer = Writer::new(Arc::clone(&queue), bag, Arc::clone(&has_failed), options.is_at_once);
        let writer = thread::Builder::new().name("bag writer".to_owned()).spawn(|| writer.run());
        let writer = writer.map_err(|reason| CreateError::Io { path: folder.to_owned(), reason })?;
        let trace = match door {
            Some((pid, stream)) => Some(Trace::start(stream, pid, Arc::clone(&queue), Arc::clone(&tell))?),
            None => None,
        };
        Ok(Self {
            node: node.clone(),
            executor: executor.clone(),
            types: Types::new(node, executor, options.places.clone()),
            options,
            queue,
            writer,
            has_failed,
            names: BTreeMap::new(),
            topics: Vec::new(),
            waiting: Vec::new(),
            received: Arc::default(),
            refused: BTreeSet::new(),
            trace,
            tell,
        })
    }

    /// Follows the graph, and subscribes to topics as they come. Ends only if nothing more can be written.
    pub(crate) async fn run(&mut self) {
        if self.options.is_sim_time && self.node.now().as_nanos() == 0 {
            (self.tell)("Waiting for the topic /clock");
            while self.node.now().as_nanos() == 0 {
                let _ = self.executor.sleep(ClockKind::Steady, PAUSE).await;
            }
        }
        loop {
            // The future is taken before the graph is read, so no change is missed.
            let change = self.node.wait_for_graph_change();
            self.look();
            self.end_overlaps(self.now());
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
        self.waiting.retain(|(place, _)| !topics.contains(place));
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

    fn now(&self) -> Instant {
        self.executor.context().clock().now()
    }

    /// Ends what may only last for a moment: waits for definitions, and subscriptions that were replaced.
    fn end_overlaps(&mut self, now: Instant) {
        let is_over = |since: Instant| now.saturating_since(since) >= OVERLAP;
        for (place, since) in std::mem::take(&mut self.waiting) {
            if !is_over(since) {
                self.waiting.push((place, since));
                continue;
            }
            // A recorder that is killed should not lose more than a moment.
            self.queue.push(Item::Defined(place, None));
            let name = &self.topics[place].0;
            (self.tell)(&format!(
                "Topic '{name}': recorded without the definition of its messages until a node tells it"
            ));
        }
        for (_, recorded) in &mut self.topics {
            if recorded.before.as_ref().is_some_and(|(_, since)| is_over(*since)) {
                recorded.end_before();
            }
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
            } else if self.options.choice.takes_live(&name, self.options.takes_hidden(&name)) {
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
            before: None,
            doubles: Arc::default(),
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
        match self.types.ask(&name, &message_type, hash, place) {
            Some(answer) => self.learn(answer),
            None => self.waiting.push((place, self.now())),
        }
        self.names.insert(name.clone(), place);
        self.topics.push((name.clone(), recorded));
        self.look_again(place, publishers);
    }

    /// Returns the quality of service of a topic's subscription.
    fn qos(&self, name: &str, offered: &[Offered]) -> Qos {
        qos::overridden(qos::to_record(offered, DEPTH), self.options.overrides.get(name))
    }

    /// Creates the subscription of a topic.
    fn subscribe(&self, name: &str, place: usize, recorded: &Recorded) -> Result<Subscription, String> {
        let qos = self.qos(name, &recorded.offered);
        let queue = Arc::clone(&self.queue);
        let refused = Arc::clone(&recorded.refused);
        let received = Arc::clone(&self.received);
        let doubles = Arc::clone(&recorded.doubles);
        let clock = self.options.is_sim_time.then(|| self.node.clone());
        let callback = move |message: SerializedMessage, info: MessageInfo| {
            if doubles.is_double(&info) {
                return;
            }
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
        let recorded = &mut self.topics[place].1;
        let before = recorded.offered.clone();
        // Those that have gone count, too: their messages are in the bag.
        if !qos::add(&mut recorded.offered, &offered_by(publishers, &message_type)) {
            return;
        }
        let offered = recorded.offered.clone();
        if self.qos(&name, &offered) != self.qos(&name, &before) {
            self.subscribe_anew(&name, place);
        }
        self.queue.push(Item::Offered(place, offered));
    }

    /// Subscribes with weaker quality of service, so that all publishers are heard.
    fn subscribe_anew(&mut self, name: &str, place: usize) {
        // From here on, a message that both subscriptions get is taken once.
        self.topics[place].1.doubles.set(true);
        match self.subscribe(name, place, &self.topics[place].1) {
            Ok(subscription) => {
                let now = self.now();
                let recorded = &mut self.topics[place].1;
                let replaced = recorded.subscription.replace(subscription);
                if let Some((before, _)) = recorded.before.take() {
                    recorded.missed += before.missed();
                }
                recorded.before = replaced.map(|before| (before, now));
                (self.tell)(&format!(
                    "Subscribed to topic '{name}' anew, because a publisher offers less than those before"
                ));
            }
            Err(reason) => {
                let recorded = &self.topics[place].1;
                recorded.doubles.set(recorded.before.is_some());
                (self.tell)(&format!("Topic '{name}': publishers that offer less are not heard: {reason}"));
            }
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
        let Self { queue, writer, topics, options, tell, waiting, trace, .. } = self;
        let refused_of_trace = trace.map_or(0, Trace::finish);
        for (place, _) in waiting {
            let name = &topics[place].0;
            tell(&format!(
                "Topic '{name}': recorded without the definition of its messages, which nobody had told yet"
            ));
        }
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
        for topic in options.overrides.keys() {
            if !names.contains(topic) {
                tell(&format!("Topic '{topic}', which --qos-profile-overrides-path names, was not recorded"));
            }
        }
        let Ok(Written { metadata, lost: unwritten, lost_of_trace, failure }) = writer.join() else {
            let failure = Some("the thread that writes has panicked".to_owned());
            return Recording { metadata: None, lost: lost.into_iter().collect(), failure };
        };
        for (name, count) in names.into_iter().zip(unwritten) {
            *lost.entry(name).or_default() += count;
        }
        lost.insert("the trace".to_owned(), refused_of_trace + lost_of_trace);
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
