//! Subscriptions: messages that lie in shared memory.
//!
//! A thread of each subscription waits for wake-ups, takes the messages out of iceoryx2's queue, and leaves them in the
//! subscription's own queue, as threads of a middleware do. A message of at least 64 KiB is not copied: its payload is
//! the shared memory, which goes back to its publisher when the message and all of its blobs are dropped.
//!
//! Publishers of this machine are heard on the local path only, from their first message on, and what they send through
//! the middleware is ignored. There is no message at which a subscription changes from one way to the other:
//!
//! - A subscription is on the local path before the middleware knows of it, so no publisher can be matched with it, and
//!   not find it there.
//! - A publisher is on the local path before it publishes anything.
//!
//! A message of a publisher that the middleware has not found yet waits until it is found, for [`STRANGER`] at most.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::subscriber::Subscriber;
use iceoryx2::prelude::PortName;
use iceoryx2::sample::Sample;
use rospin_engine::{Mutex, MutexGuard};
use rospin_node::{FullName, Gid, Graph, Inlet, Packet, Qos, Refused, Reliability};

use crate::header::{Header, halves};
use crate::shared::{Ipc, Shared, Topic, name_of, refused};
use crate::wake::{Bell, Ring, Ringer};

/// Length of the shortest payload that stays in shared memory. Blobs of shorter ones would be copied anyway.
const HELD_MIN: usize = 64 << 10;

/// Time for which messages of a publisher wait that the middleware has not found.
const STRANGER: Duration = Duration::from_secs(5);

/// Number of such messages that wait.
const WAITING_MAX: usize = 64;

/// Time between two looks for publishers whose messages wait.
const LOOK: Duration = Duration::from_millis(1);

/// Longest time without a look at the queue.
const IDLE: Duration = Duration::from_secs(1);

/// Number of publishers that are remembered beyond those that exist.
const REMEMBERED_MAX: usize = 1024;

/// Port of a subscription. Once it is gone, publishers take back all memory that it has got, whoever reads there.
type Port = Subscriber<Ipc, [u8], Header>;

/// Subscription of a topic on the local path.
pub(crate) struct Reader {
    inlet: Inlet,
    graph: Arc<Graph>,
    name: String,
    /// The number of this process, whose messages do not come this way.
    process: [u64; 2],
    /// True if messages of publishers with best effort are not for this subscription.
    needs_reliable: bool,
    /// Number of messages in shared memory that the subscription holds, and the most that it may hold.
    held: Arc<AtomicUsize>,
    held_max: usize,
    state: Mutex<State>,
    port: Arc<Port>,
    topic: Topic,
    /// Dropped after the port, whose publishers ring it.
    bell: Bell,
}

#[derive(Default)]
struct State {
    /// Publishers that are heard on the local path.
    local: BTreeMap<Gid, Heard>,
    /// Publishers that are heard through the middleware.
    others: BTreeSet<Gid>,
    /// True once the subscription has ended. Messages are taken out of shared memory and dropped then.
    is_over: bool,
}

/// What is known of a publisher of the local path.
#[derive(Default)]
struct Heard {
    /// The number of its last message.
    last: u64,
    /// True once the middleware has found it.
    is_met: bool,
    /// When its first message came that the middleware had not found it by.
    since: Option<Instant>,
    /// Messages that wait until it is found, each with the number of those that are missing before it.
    waiting: VecDeque<(Packet, u64)>,
}

/// Payload in shared memory.
struct Held {
    sample: Sample<Ipc, [u8], Header>,
    range: std::ops::Range<usize>,
    held: Arc<AtomicUsize>,
    // Dropped after the sample.
    _port: Arc<Port>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.sample.payload()[self.range.clone()]
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Reader {
    pub(crate) fn new(
        shared: &Shared,
        graph: &Arc<Graph>,
        name: &FullName,
        type_key: &str,
        qos: &Qos,
        inlet: Inlet,
    ) -> Result<Arc<Self>, Refused> {
        let topic = shared.topic(name, type_key)?;
        let bell = Bell::new().map_err(refused)?;
        let name_of_bell = PortName::new(bell.name()).map_err(|error| Refused(format!("{error:?}")))?;
        let port = topic.data.subscriber_builder().name(&name_of_bell).create().map_err(refused)?;
        Ok(Arc::new(Self {
            inlet,
            graph: Arc::clone(graph),
            name: name.to_string(),
            process: halves(shared.node_id()),
            needs_reliable: shared.matches_qos && qos.reliability == Reliability::Reliable,
            held: Arc::default(),
            held_max: shared.options.held,
            state: Mutex::default(),
            port: Arc::new(port),
            topic,
            bell,
        }))
    }

    /// Returns true if messages of that publisher come on the local path. Called for each message that comes through
    /// the middleware.
    pub(crate) fn hears(&self, publisher: Gid) -> bool {
        let mut state = self.state.lock();
        if state.local.contains_key(&publisher) {
            return true;
        }
        if state.others.contains(&publisher) {
            return false;
        }
        if self.topic.has_publisher(publisher) {
            state.local.insert(publisher, Heard::default());
            return true;
        }
        // A publisher that has gone may have sent this message here, too: then it is there by now.
        self.drain(&mut state);
        if state.local.contains_key(&publisher) {
            return true;
        }
        if state.others.len() >= REMEMBERED_MAX {
            state.others.clear();
        }
        state.others.insert(publisher);
        false
    }

    /// Takes all messages out of shared memory. Returns true if some wait for the middleware to find their publisher.
    fn drain(&self, state: &mut MutexGuard<'_, State>) -> bool {
        let mut is_waiting = false;
        for (publisher, heard) in &mut state.local {
            if !heard.waiting.is_empty() {
                self.meet(*publisher, heard);
                is_waiting |= !heard.waiting.is_empty();
            }
        }
        loop {
            match self.port.receive() {
                Ok(Some(sample)) => is_waiting |= self.arrived(state, sample),
                Ok(None) => return is_waiting,
                Err(error) => {
                    log::warn!(target: "rospin", "a message of `{}` cannot be read here: {error}", self.name);
                    return is_waiting;
                }
            }
        }
    }

    /// Passes a message on. Returns true if it waits.
    fn arrived(&self, state: &mut MutexGuard<'_, State>, sample: Sample<Ipc, [u8], Header>) -> bool {
        if state.is_over {
            return false;
        }
        let header = *sample.user_header();
        let is_for_here = header.is_reliable == 1 || !self.needs_reliable;
        if header.process == self.process || !is_for_here {
            return false;
        }
        let Some(range) = header.range(sample.payload().len()) else {
            log::warn!(target: "rospin", "a message of `{}` in shared memory is damaged", self.name);
            return false;
        };
        let publisher = header.publisher();
        if state.local.len() >= REMEMBERED_MAX && !state.local.contains_key(&publisher) {
            state.local.retain(|publisher, _| self.topic.has_publisher(*publisher));
        }
        let heard = state.local.entry(publisher).or_default();
        let missing = if heard.last == 0 { 0 } else { header.number.saturating_sub(heard.last).saturating_sub(1) };
        heard.last = header.number;
        let packet = Packet::new(self.payload(sample, range), Some(header.publication()));
        heard.waiting.push_back((packet, missing));
        self.meet(publisher, heard);
        !heard.waiting.is_empty()
    }

    /// Passes on the messages of a publisher if the middleware has found it.
    fn meet(&self, publisher: Gid, heard: &mut Heard) {
        if !heard.is_met {
            heard.is_met = self.graph.has_publisher(&self.name, publisher);
        }
        if heard.is_met {
            for (packet, missing) in heard.waiting.drain(..) {
                self.inlet.push(packet, missing);
            }
            return;
        }
        // The subscription is not matched with it, and may never be.
        let since = *heard.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= STRANGER {
            heard.waiting.clear();
        }
        if heard.waiting.len() > WAITING_MAX
            && let Some((_, missing)) = heard.waiting.pop_front()
            && let Some(next) = heard.waiting.front_mut()
        {
            next.1 = next.1.saturating_add(missing).saturating_add(1);
        }
    }

    /// Returns the payload, where it is if it is long and not too many are held.
    fn payload(&self, sample: Sample<Ipc, [u8], Header>, range: std::ops::Range<usize>) -> Bytes {
        // Only this function, under the lock, adds to the number.
        if range.len() < HELD_MIN || self.held.load(Ordering::Relaxed) >= self.held_max {
            return Bytes::copy_from_slice(&sample.payload()[range]);
        }
        self.held.fetch_add(1, Ordering::Relaxed);
        Bytes::from_owner(Held { sample, range, held: Arc::clone(&self.held), _port: Arc::clone(&self.port) })
    }

    /// Ends the subscription: nothing is passed on any more.
    fn end(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        state.local.clear();
    }

    /// Returns true if the subscription has ended, and nobody reads any of its messages in shared memory.
    fn is_done(&self) -> bool {
        self.state.lock().is_over && self.held.load(Ordering::Relaxed) == 0
    }
}

/// The thread of a subscription. From the beginning of it on, publishers know that the subscription hears them here.
pub(crate) struct Ear {
    reader: Arc<Reader>,
    /// The subscription's entry in the list of those that publishers reach here; none if the middleware has no id, or
    /// if the list is full, with entries of processes that died.
    _listed: Option<Listener<Ipc>>,
    thread: Option<JoinHandle<()>>,
}

impl Ear {
    /// Starts the thread of a subscription whose id is that, if the middleware has one.
    pub(crate) fn new(reader: &Arc<Reader>, id: Option<Gid>) -> Result<Self, Refused> {
        let listed = id.and_then(|id| {
            let entry = reader.topic.list.listener_builder().name(&name_of(id).ok()?).create();
            // Publishers then send through the middleware, too, whose messages are ignored.
            let tell = |error: &_| {
                log::warn!(target: "rospin", "a subscription to `{}` is not listed: {error}", reader.name);
            };
            entry.inspect_err(tell).ok()
        });
        let listener = Arc::clone(reader);
        let ringer = Ringer::new().map_err(refused)?;
        let thread = std::thread::Builder::new().name("rospin-local".to_owned());
        let thread = thread.spawn(move || listen(&listener, &ringer)).map_err(refused)?;
        Ok(Self { reader: Arc::clone(reader), _listed: listed, thread: Some(thread) })
    }
}

/// Waits for messages until the subscription ends. Then takes them until nobody holds any: publishers go on to send
/// messages to the port, which must be there meanwhile.
fn listen(reader: &Reader, ringer: &Ringer) {
    let mut greeted: Option<String> = None;
    while !reader.is_done() {
        // This also connects with publishers that came.
        let is_waiting = reader.drain(&mut reader.state.lock());
        if let Some(publisher) = greeted.take() {
            ringer.greet(&publisher, &reader.bell);
        }
        match reader.bell.wait(if is_waiting { LOOK } else { IDLE }) {
            Ok(Some(Ring::Greeting(publisher))) => greeted = Some(publisher),
            Ok(_) => {}
            Err(error) => {
                log::warn!(target: "rospin", "a subscription to `{}` cannot wait for messages: {error}", reader.name);
                std::thread::sleep(LOOK);
            }
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.reader.end();
        if let Ok(ringer) = Ringer::new() {
            ringer.ring(self.reader.bell.name());
        }
        if let Some(thread) = self.thread.take()
            && self.reader.is_done()
        {
            let _ = thread.join();
        }
    }
}
