//! The publishing end of a topic.
//!
//! Publishing counts the message, and looks if any callback of this process asks for a
//! [`MessageInfo`](crate::MessageInfo). If none does, a message that is shared needs no envelope. Ends with a deadline,
//! a lifespan or a lease have a form of their own, so the code that shares messages knows nothing of these times. The
//! price is that messages from and to such ends are encoded.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::{
    Clock, Context, Guarantees, Instant, Mixed, MixedPublisher, Published, PublisherOptions, Recorder,
};
use rospin_wire::cdr::CdrError;

use super::{contain, depth, refused};
use crate::address::Address;
use crate::envelope::Envelope;
use crate::error::{NotPublished, PublishError, Refused};
use crate::events::EndEvents;
use crate::info::{Gid, Origin, Packet};
use crate::loan::LentBytes;
use crate::local_topics::{Keeper, LocalEnd, LocalTopics};
use crate::matches::{Awaited, Matches};
use crate::message::{Encode, Outgoing};
use crate::middleware::PublisherEnd;
use crate::qos::{Durability, Qos};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::terms::Terms;

thread_local! {
    /// The memory of the last payload that was encoded on this thread, unless its middleware took it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The length of a publisher's last payload: the next one will hardly be much longer.
#[derive(Default)]
struct Room(AtomicUsize);

impl Room {
    /// Returns an empty buffer with room for a payload of that length. It is taken out of [`BUFFER`], because encoding
    /// runs the message's own code, which may publish something itself.
    fn buffer(&self) -> Vec<u8> {
        let mut buffer = BUFFER.take();
        buffer.clear();
        buffer.reserve(self.0.load(Ordering::Relaxed));
        buffer
    }

    /// Notes the length of a payload.
    fn note(&self, length: usize) {
        self.0.store(length, Ordering::Relaxed);
    }
}

fn publisher_options(topics: &LocalTopics, address: &Address, promises: Guarantees, qos: &Qos) -> PublisherOptions {
    let options = PublisherOptions::new(address.engine_name()).within(&topics.engine).promises(promises);
    let options = if qos.loses_nothing() { options.keep_all(qos.max_blocking_time) } else { options };
    if qos.durability == Durability::TransientLocal { options.transient_local(depth(qos)) } else { options }
}

/// Publisher of messages to subscriptions of this process that have the same form.
struct HerePublisher<M: Send + Sync + 'static> {
    topic: Arc<MixedPublisher<M, Envelope>>,
    /// True if late subscriptions get messages that were published before.
    is_latched: bool,
    gid: Gid,
    /// The number of the last message.
    last: AtomicU64,
    clock: Clock,
    recorder: Recorder,
    /// The number of the publisher in the recorder.
    recorded: u64,
}

impl<M: Send + Sync + 'static> Drop for HerePublisher<M> {
    fn drop(&mut self) {
        self.recorder.remove_publisher(self.recorded);
    }
}

impl<M: Send + Sync + 'static> HerePublisher<M> {
    fn new(
        context: &Context,
        topics: &LocalTopics,
        promises: Guarantees,
        (address, qos): (&Address, &Qos),
        gid: Gid,
    ) -> Result<Self, Refused> {
        let is_latched = qos.durability == Durability::TransientLocal;
        let options = publisher_options(topics, address, promises, qos);
        let topic = Arc::new(context.create_mixed_publisher(options).map_err(refused)?);
        let recorder = context.recorder().clone();
        let recorded = recorder.add_publisher(gid.to_bytes(), address.name());
        let (last, clock) = (AtomicU64::new(0), context.clock().clone());
        Ok(Self { topic, is_latched, gid, last, clock, recorder, recorded })
    }

    /// Returns the number of the next message, and records that it is sent. Middlewares that number messages count in
    /// the same way.
    fn next_number(&self) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.recorder.sent(|| self.clock.now(), self.gid.to_bytes(), number);
        number
    }

    /// Returns the time on the steady clock.
    fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the origin of a message that is published now, with its place in the order of publication if it has one.
    fn origin(&self, number: u64, order: u64) -> Origin {
        Origin { publisher: self.gid, number, published: self.clock.now(), order }
    }

    /// Returns what the publisher keeps for late subscriptions.
    fn keeper(&self, topic: &str, lifespan: Option<Duration>) -> Keeper
    where
        M: Encode,
    {
        let (keeper, name, clock) = (Arc::clone(&self.topic), topic.to_owned(), self.clock.clone());
        let kept = Box::new(move || keeper.kept());
        let encode = Arc::new(move |kept: &Envelope| {
            let (message, origin) = kept.shared::<M>()?;
            let is_over = |lifespan| clock.now().saturating_since(origin.published) >= lifespan;
            if lifespan.is_some_and(is_over) {
                return None;
            }
            let packet = Packet::of_here(encode(&name, message)?, origin).with_lifespan(lifespan);
            Some(Envelope::encoded(packet, origin.published))
        });
        Keeper { kept, encode }
    }

    /// Publishes a message if there are subscriptions. For publishers that keep no messages.
    fn publish(&self, message: impl Outgoing<M>, number: u64) {
        if self.topic.is_asked_for_envelopes() {
            let (message, origin) = (message.into_shared(), self.origin(number, 0));
            self.topic.publish_envelope(Envelope::Shared { message, origin });
        } else if self.topic.subscription_count() > 0 {
            self.topic.publish(message.into_shared());
        }
    }

    /// Publishes a message as [`publish`](Self::publish) does, unless the queue of a subscription is full. Returns false
    /// then.
    fn publish_if_room(&self, message: impl Outgoing<M>, number: u64) -> bool {
        if self.topic.is_asked_for_envelopes() {
            let (message, origin) = (message.into_shared(), self.origin(number, 0));
            self.topic.publish_envelope_if_room(Envelope::Shared { message, origin })
        } else {
            self.topic.subscription_count() == 0 || self.topic.publish_if_room(message.into_shared())
        }
    }

    /// Publishes a message, with its origin if that is wanted. The drop of the result notifies the subscriptions and
    /// drops displaced messages, so drop it after the unlock: see [`MixedPublisher::begin`].
    fn begin(&self, message: Arc<M>, origin: Origin) -> Published<Mixed<M, Envelope>> {
        if self.is_latched || self.topic.is_asked_for_envelopes() {
            self.topic.begin_envelope(Envelope::Shared { message, origin })
        } else {
            self.topic.begin(message)
        }
    }
}

/// The way of a publisher's messages: shared with subscriptions of this process that have the same
/// [form](crate::address::Form), and encoded to all others.
pub(crate) struct PublisherLink<M: Encode> {
    topic: String,
    here: HerePublisher<M>,
    end: Arc<LocalEnd>,
    outside: Option<Outside>,
    events: EndEvents,
    /// True if each message is noted in `events`.
    is_timed: bool,
    lifespan: Option<Duration>,
    max_blocking_time: Duration,
}

/// Treatment of queues of this process that are full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    /// The oldest message makes room, after a wait if the publisher keeps all.
    Displace,
    /// The message is not published.
    Refuse,
}

struct Outside {
    end: Box<dyn PublisherEnd>,
    room: Room,
}

impl<M: Encode> PublisherLink<M> {
    pub(super) fn new(
        context: &Context,
        topics: &Arc<LocalTopics>,
        outside: Option<Box<dyn PublisherEnd>>,
        offered: Terms,
        (address, qos): (Address, &Qos),
        events: EndEvents,
    ) -> Result<Self, Refused> {
        let gid = outside.as_ref().map_or_else(Gid::random, |end| end.gid());
        let here = HerePublisher::new(context, topics, offered.guarantees, (&address, qos), gid)?;
        let topic = address.name().to_owned();
        let lifespan = qos.lifespan();
        let keeper = here.keeper(&topic, lifespan);
        let end = topics.enter_publisher(address, offered, events.clone(), keeper);
        let outside = outside.map(|end| Outside { end, room: Room::default() });
        let is_timed = events.is_timed();
        let max_blocking_time = qos.max_blocking_time;
        Ok(Self { topic, here, end: Arc::new(end), outside, events, is_timed, lifespan, max_blocking_time })
    }

    /// Returns the publisher's id.
    pub(crate) const fn gid(&self) -> Gid {
        self.here.gid
    }

    /// Returns the record of the publisher's events.
    pub(crate) const fn events(&self) -> &EndEvents {
        &self.events
    }

    /// Gives a sign of life of the publisher, in this process and through the middleware.
    pub(crate) fn assert_liveliness(&self) {
        if self.is_timed {
            self.events.sign_of_life(self.here.now());
        }
        if let Some(outside) = &self.outside {
            outside.end.assert_liveliness();
        }
    }

    /// Returns true if the middleware lends memory for messages.
    pub(crate) fn can_lend(&self) -> bool {
        self.outside.as_ref().is_some_and(|outside| outside.end.can_lend())
    }

    /// Returns memory that the middleware lends for so many bytes of a message, if it does.
    pub(crate) fn lend(&self, length: usize) -> Option<Box<dyn LentBytes>> {
        self.outside.as_ref().and_then(|outside| outside.end.lend(length))
    }

    /// Returns true if nobody in this process gets the message, or has it besides its publisher.
    fn leaves_for_good(&self, message: &impl Outgoing<M>) -> bool {
        message.is_given_away() && !self.here.is_latched && self.here.topic.subscription_count() == 0
    }

    /// Waits until no subscription of this process has a full queue, and the middleware has room.
    pub(crate) fn wait_for_room(&self) -> Result<(), PublishError> {
        self.room_within(self.max_blocking_time)
    }

    /// Returns `Ok` if there is room within that time.
    fn room_within(&self, at_most: Duration) -> Result<(), PublishError> {
        let full = || PublishError::Full { topic: self.topic.clone() };
        let left = self.here.topic.room_within(at_most, || self.end.has_room()).ok_or_else(full)?;
        let Some(outside) = self.heard_outside() else { return Ok(()) };
        match outside.end.wait_for_room(left) {
            Ok(true) => Ok(()),
            Ok(false) => Err(full()),
            Err(Refused(reason)) => Err(PublishError::Failed { topic: self.topic.clone(), reason }),
        }
    }

    /// Publishes a message if there is room.
    pub(crate) fn publish_if_room(&self, message: impl Outgoing<M>) -> Result<(), NotPublished<M>> {
        let message = match self.room_within(Duration::ZERO) {
            Ok(()) => message.into_shared(),
            Err(reason) => return Err(NotPublished { reason, message: message.into_shared() }),
        };
        self.send(Arc::clone(&message), Full::Refuse).map_err(|reason| NotPublished { reason, message })
    }

    /// Returns the middleware's side if somebody hears it.
    fn heard_outside(&self) -> Option<&Outside> {
        self.outside.as_ref().filter(|outside| outside.end.is_heard())
    }

    pub(crate) fn publish(&self, message: impl Outgoing<M>) -> Result<(), PublishError> {
        self.send(message, Full::Displace)
    }

    fn send(&self, message: impl Outgoing<M>, if_full: Full) -> Result<(), PublishError> {
        let failed = |reason: String| PublishError::Failed { topic: self.topic.clone(), reason };
        if self.is_timed {
            let now = self.here.now();
            self.events.message(now);
            self.events.sign_of_life(now);
        }
        let crosses = self.end.crosses();
        let Some(Outside { end, room }) = self.heard_outside() else {
            let payload = if crosses {
                Some(payload_of(message.message()).map_err(|error| failed(error.to_string()))?)
            } else {
                None
            };
            if let Some(outside) = &self.outside {
                outside.end.pass_over();
            }
            return self.publish_here(message, payload.map(Bytes::from), if_full);
        };
        let mut payload = room.buffer();
        if !crosses && end.can_lend() && self.leaves_for_good(&message) {
            let gap = message.message().append_around(&mut payload, &|bytes| end.has_lent(bytes));
            let gap = gap.map_err(|error| failed(error.to_string()))?;
            room.note(payload.len());
            // A subscription of this process that came meanwhile did not come in time for this message.
            self.here.next_number();
            let sent = match gap {
                Some(gap) => end.publish_around(&mut payload, gap),
                None => end.publish(&mut payload),
            };
            BUFFER.set(payload);
            return sent;
        }
        let encoded = message.message().append_to(&mut payload).map_err(|error| failed(error.to_string()));
        let sent = encoded.and_then(|()| {
            room.note(payload.len());
            // First to subscriptions of this process: the middleware may wait for longer.
            self.publish_here(message, crosses.then(|| Bytes::copy_from_slice(&payload)), if_full)?;
            end.publish(&mut payload)
        });
        BUFFER.set(payload);
        sent
    }

    /// Publishes a message to the subscriptions of this process. `payload` is the encoded message for those of other
    /// forms, if any.
    ///
    /// # Errors
    /// If a queue is full, and the message is to be refused then. Those that cross to another form, or are kept for late
    /// subscriptions, are not refused any more.
    fn publish_here(
        &self,
        message: impl Outgoing<M>,
        payload: Option<Bytes>,
        if_full: Full,
    ) -> Result<(), PublishError> {
        let number = self.here.next_number();
        // A message that this one displaces from a queue is counted by the subscription of that queue.
        if self.here.is_latched || payload.is_some() {
            if if_full == Full::Displace {
                self.here.topic.wait_for_room();
            }
            let message = message.into_shared();
            let encode = || encode(&self.topic, &*message);
            let share = |origin| Envelope::Shared { message: Arc::clone(&message) as _, origin };
            self.end.publish(payload, encode, self.lifespan, share, |order| {
                let origin = self.here.origin(number, order);
                (origin, self.here.begin(Arc::clone(&message), origin))
            });
        } else if if_full == Full::Displace {
            self.here.publish(message, number);
        } else if !self.here.publish_if_room(message, number) {
            return Err(PublishError::Full { topic: self.topic.clone() });
        }
        Ok(())
    }
}

fn payload_of(message: &impl Encode) -> Result<Vec<u8>, CdrError> {
    let mut payload = Vec::new();
    message.append_to(&mut payload)?;
    Ok(payload)
}

/// Encodes a message for subscriptions of other forms that came during or after its publication. Logs a message that
/// cannot be encoded, and returns `None`.
fn encode(topic: &str, message: &impl Encode) -> Option<Bytes> {
    let encoded = contain(|| payload_of(message));
    encoded
        .inspect_err(|error| log::error!(target: "rospin", "a message of `{topic}` is lost: {error}"))
        .ok()
        .map(Bytes::from)
}

impl<M: Encode> Matches for PublisherLink<M> {
    fn count(&self) -> usize {
        self.end.count() + self.outside.as_ref().map_or(0, |outside| outside.end.count())
    }

    fn wait(&self) -> Awaited<()> {
        self.end.wait(self.outside.as_ref().map(|outside| outside.end.wait()))
    }
}
