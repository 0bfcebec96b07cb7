//! Publishers: each message goes to subscriptions of this machine in shared memory, and to all others through the
//! middleware.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use iceoryx2::port::publisher::Publisher;
use iceoryx2::port::{BackpressureAction, BackpressureInfo};
use iceoryx2::prelude::AllocationStrategy;
use rospin_engine::Mutex;
use rospin_node::{
    Awaited, FullName, Gap, Gid, LentBytes, Matches, PublishError, PublisherEnd, Qos, Refused, Reliability,
};

use crate::header::{HEAD, Header, TAIL, halves};
use crate::loan::{Lent, Loans, Sample, place};
use crate::shared::{Ipc, NO_ROOM, Shared, Topic, has_room, name_of, refused};
use crate::wake::{Bell, Ring, Ringer};

/// Length of the first memory of a publisher's messages. It grows with the messages.
const FIRST_LENGTH: usize = 16 << 10;

/// Time that a publisher waits for room, while the process of a subscription does not take its messages.
const PATIENCE: Duration = Duration::from_millis(100);

/// Number of greetings of a new publisher, and the time between two of them.
const GREETINGS: usize = 50;
const GREETING_PERIOD: Duration = Duration::from_millis(20);

/// Pause between two looks for room.
const PAUSE: Duration = Duration::from_micros(50);

/// Publisher of one topic.
pub(crate) struct LocalPublisher {
    inner: Box<dyn PublisherEnd>,
    /// The local path; `None` if its type or quality of service has the middleware alone.
    path: Option<Path>,
}

/// The local path of a publisher.
struct Path {
    label: String,
    gid: Gid,
    process: [u64; 2],
    is_reliable: bool,
    loans: Arc<Loans>,
    /// Locked while a message is published, so that messages go all ways in the order of their numbers.
    output: Mutex<Output>,
    stalled: Arc<Mutex<Stalled>>,
    // The ports are dropped before the services.
    port: Publisher<Ipc, [u8], Header>,
    ringer: Ringer,
    topic: Topic,
}

struct Output {
    /// Number of the last message.
    last: u64,
}

/// Subscriptions whose processes do not take their messages.
#[derive(Default)]
struct Stalled {
    /// Those that had no room for the last message, though the publisher waited.
    known: BTreeSet<u128>,
    /// Those that had no room for the message that is being published.
    now: BTreeSet<u128>,
}

impl Stalled {
    /// Decides if the publisher waits for room. It does so once for each subscription, until that takes messages again:
    /// a process that is stopped must not stop those that publish.
    fn wait(&mut self, topic: &str, info: &BackpressureInfo) -> BackpressureAction {
        let reader = info.receiver_port_id;
        self.now.insert(reader);
        if self.known.contains(&reader) {
            return BackpressureAction::DiscardData;
        }
        if info.elapsed_time < PATIENCE {
            return BackpressureAction::Retry;
        }
        self.known.insert(reader);
        log::warn!(
            target: "rospin",
            "messages of topic `{topic}` are lost to a subscription on this machine, whose process does not take them"
        );
        BackpressureAction::DiscardData
    }

    /// Notes that a message is sent.
    fn sent(&mut self) {
        let now = std::mem::take(&mut self.now);
        self.known.retain(|reader| now.contains(reader));
    }
}

impl LocalPublisher {
    /// Returns a publisher that has the middleware alone.
    pub(crate) fn plain(inner: Box<dyn PublisherEnd>) -> Self {
        Self { inner, path: None }
    }

    /// Returns a publisher with the local path. Without it, if that cannot be had, of which the log tells.
    pub(crate) fn new(
        inner: Box<dyn PublisherEnd>,
        shared: &Shared,
        topic: &FullName,
        type_key: &str,
        qos: &Qos,
    ) -> Self {
        match Path::new(shared, topic, type_key, qos, inner.gid()) {
            Ok(path) => Self { inner, path: Some(path) },
            Err(Refused(reason)) => {
                log::warn!(target: "rospin", "topic `{topic}` has a publisher without shared memory: {reason}");
                Self::plain(inner)
            }
        }
    }

    /// Sends a payload through the middleware, if anybody needs that. Neither sends nor counts it otherwise.
    fn publish_beyond(&self, path: &Path, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        if self.inner.is_heard_besides(&path.topic.readers()) {
            return self.inner.publish(payload);
        }
        self.inner.pass_over();
        Ok(())
    }
}

impl Path {
    fn new(shared: &Shared, name: &FullName, type_key: &str, qos: &Qos, gid: Gid) -> Result<Self, Refused> {
        let topic = shared.topic(name, type_key)?;
        let stalled = Arc::<Mutex<Stalled>>::default();
        let (waits, label) = (Arc::clone(&stalled), name.to_string());
        let on_full = move |info: &BackpressureInfo| {
            let action = waits.lock().wait(&label, info);
            if action == BackpressureAction::Retry {
                std::thread::sleep(PAUSE);
            }
            action
        };
        let ringer = Ringer::new().map_err(refused)?;
        let port = topic
            .data
            .publisher_builder()
            .name(&name_of(gid)?)
            .max_loaned_samples(shared.options.most_loans())
            .initial_max_slice_len(FIRST_LENGTH)
            .allocation_strategy(AllocationStrategy::PowerOfTwo)
            .set_backpressure_handler(on_full)
            .create()
            .map_err(refused)?;
        meet(&ringer, &topic).map_err(refused)?;
        Ok(Self {
            label: name.to_string(),
            gid,
            process: halves(shared.node_id()),
            is_reliable: qos.reliability == Reliability::Reliable,
            loans: Loans::new(shared.options.loans),
            output: Mutex::new(Output { last: 0 }),
            stalled,
            port,
            ringer,
            topic,
        })
    }

    fn failed(&self, reason: impl std::fmt::Display) -> PublishError {
        PublishError::Failed { topic: self.label.clone(), reason: reason.to_string() }
    }

    /// Returns memory for a message of so many bytes, whose bytes have any value.
    fn sample(&self, length: usize) -> Result<Sample, PublishError> {
        // Memory that the machine does not have is a signal that ends the process, and no error.
        if !has_room(length) {
            return Err(self.failed(NO_ROOM));
        }
        let sample = self.port.loan_slice_uninit(length).map_err(|error| self.failed(error))?;
        // SAFETY: memory that processes share has a value, from the system or of an earlier message, and any value is a
        // byte.
        Ok(unsafe { sample.assume_init() })
    }

    /// Sends a message whose payload is at that place of the memory, and wakes the subscriptions.
    fn send(&self, mut sample: Sample, (at, length): (usize, usize), number: u64) -> Result<(), PublishError> {
        let sent = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        *sample.user_header_mut() = Header {
            publisher: self.gid.to_bytes(),
            process: self.process,
            number,
            sent_ns: u64::try_from(sent.as_nanos()).unwrap_or(u64::MAX),
            at: at as u64,
            length: length as u64,
            is_reliable: self.is_reliable.into(),
        };
        let sent = sample.send();
        self.stalled.lock().sent();
        // Those that have got it, also if they came a moment ago. One that is being added looks for messages by itself.
        for bell in self.topic.bells().0 {
            self.ringer.ring(&bell);
        }
        sent.map(drop).map_err(|error| self.failed(error))
    }

    /// Copies a payload into shared memory, and sends it.
    fn send_copy(&self, payload: &[u8], number: u64) -> Result<(), PublishError> {
        let mut sample = self.sample(payload.len())?;
        sample.payload_mut().copy_from_slice(payload);
        self.send(sample, (0, payload.len()), number)
    }
}

/// Waits until those who read here are connected with the new port. A subscription that is not connected loses more
/// messages than fit into its buffer. One whose process does not run keeps nobody waiting for longer than a second.
fn meet(ringer: &Ringer, topic: &Topic) -> std::io::Result<()> {
    let mut strangers: BTreeSet<String> = topic.bells().0.iter().map(|bell| bell.to_string()).collect();
    if strangers.is_empty() {
        return Ok(());
    }
    let own = Bell::new()?;
    for _ in 0..GREETINGS {
        strangers.retain(|bell| ringer.greet(bell, &own));
        while !strangers.is_empty()
            && let Some(ring) = own.wait(GREETING_PERIOD)?
        {
            if let Ring::Greeting(bell) = ring {
                strangers.remove(&bell);
            }
        }
        if strangers.is_empty() {
            break;
        }
    }
    Ok(())
}

impl PublisherEnd for LocalPublisher {
    fn is_heard(&self) -> bool {
        self.inner.is_heard() || self.path.as_ref().is_some_and(|path| path.topic.is_read_elsewhere())
    }

    fn gid(&self) -> Gid {
        self.inner.gid()
    }

    fn pass_over(&self) {
        if let Some(path) = &self.path {
            path.output.lock().last += 1;
        }
        self.inner.pass_over();
    }

    fn assert_liveliness(&self) {
        self.inner.assert_liveliness();
    }

    fn can_lend(&self) -> bool {
        self.path.is_some()
    }

    fn lend(&self, length: usize) -> Option<Box<dyn LentBytes>> {
        let path = self.path.as_ref()?;
        let right = path.loans.right()?;
        let sample = path.sample(length.checked_add(HEAD + TAIL)?).ok()?;
        Some(Box::new(Lent::new(sample, length, right)))
    }

    fn has_lent(&self, bytes: &[u8]) -> bool {
        self.path.as_ref().is_some_and(|path| path.loans.has(bytes))
    }

    fn wait_for_room(&self, at_most: Duration) -> Result<bool, Refused> {
        // Those that keep all are not on the path.
        self.inner.wait_for_room(at_most)
    }

    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        let Some(path) = &self.path else { return self.inner.publish(payload) };
        let mut output = path.output.lock();
        output.last += 1;
        let is_read = path.topic.is_read_elsewhere();
        let here = if is_read { path.send_copy(payload, output.last) } else { Ok(()) };
        here.and(self.publish_beyond(path, payload))
    }

    fn publish_around(&self, payload: &mut Vec<u8>, gap: Gap) -> Result<(), PublishError> {
        let Some(path) = &self.path else { return self.inner.publish_around(payload, gap) };
        let Some(mut sample) = path.loans.take(gap.address, gap.length) else {
            return Err(path.failed("its bytes are not lent any more"));
        };
        let bytes = place(gap.length);
        let (head, tail) = payload.split_at(gap.at);
        let fits = head.len() <= HEAD && tail.len() <= TAIL;
        let is_read = path.topic.is_read_elsewhere();
        let is_heard = self.inner.is_heard_besides(&path.topic.readers());
        let length = payload.len() + gap.length;
        let memory = sample.payload_mut();
        let start = bytes.start - head.len().min(HEAD);
        if fits {
            memory[start..bytes.start].copy_from_slice(head);
            memory[bytes.end..bytes.end + tail.len()].copy_from_slice(tail);
        }
        if is_heard || !fits {
            let missing = memory[bytes].iter().copied();
            payload.splice(gap.at..gap.at, missing);
        }
        if !fits {
            drop(sample);
            return self.publish(payload);
        }
        let mut output = path.output.lock();
        output.last += 1;
        let here = if is_read { path.send(sample, (start, length), output.last) } else { Ok(()) };
        if is_heard {
            return here.and(self.inner.publish(payload));
        }
        self.inner.pass_over();
        here
    }
}

impl Matches for LocalPublisher {
    fn count(&self) -> usize {
        self.inner.count()
    }

    fn wait(&self) -> Awaited<()> {
        self.inner.wait()
    }
}
