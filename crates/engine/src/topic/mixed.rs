//! Mixed topics: some of their messages are values that are shared, and others are in envelopes, which say more of a
//! message than what it is. All of them wait in one queue, in the order of their arrival.
//!
//! Nodes have such topics: the envelope of a message says who published it, and one that came from another process is
//! encoded. Most messages of a process need no envelope. So the pointer to a message is either that of a shared value
//! or that of an envelope, and its lowest bit tells them apart. A message without an envelope takes the way of a topic
//! that is not mixed.
//!
//! Each queue may get messages past the topic's publishers, through its [`Inlet`].

use std::any::type_name;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::Instant;

use super::publish::{AnyPublisher, Delivery};
use super::{Alarm, AnyMessage, Carried, MessageType, Published, SharedPointer, Topic, TopicError, TopicSource};
use crate::context::Context;
use crate::guarantees::Guarantees;
use crate::loss::LossCause;
use crate::options::{PublisherOptions, SubscriptionOptions};
use crate::source::{Closer, Notifier, Pending, Source, TakeError};
use crate::sync::atomic::Ordering;

/// A message with what is known of it: see [`Mixed`].
pub trait Envelope: Send + Sync + 'static {
    /// Returns true if the message is of no use any more at `now`, on the steady clock. If it makes room in a full
    /// queue, it is then counted as [expired](LossCause::Expired). Until it makes room or is taken, it keeps its place.
    /// Called under the topic's lock.
    fn is_expired(&self, _now: Instant) -> bool {
        false
    }

    /// Returns the message's place in the order of publication, for messages that are kept for late subscriptions.
    /// Called under the topic's lock.
    fn order(&self) -> u64;

    /// Returns true if the message came through an [`Inlet`]. Such messages are not recorded as messages of the topic.
    fn came_through_inlet(&self) -> bool;

    /// Returns the place where a message that came through an inlet [carries](Carried) one that it has displaced;
    /// `None` for other messages. Called under the topic's lock.
    fn carried(&mut self) -> Option<&mut Option<Carried>>;
}

/// A message of a mixed topic.
pub enum Mixed<T, E> {
    /// A value that the topic's subscriptions share.
    Value(Arc<T>),
    /// A message in an envelope.
    Envelope(Arc<E>),
}

/// The bit of a raw pointer that an envelope has.
const ENVELOPE: usize = 1;

/// Returns the raw pointer of an envelope.
fn raw_envelope<E: Envelope>(envelope: Arc<E>) -> NonNull<()> {
    const { assert!(align_of::<E>() > ENVELOPE, "the lowest bit of an envelope's address is free") };
    envelope.into_raw().map_addr(|address| address | ENVELOPE)
}

// SAFETY: the lowest bit tells pointers to values and to envelopes apart. Each is turned into a raw pointer and back by
// its own `Arc`. Both types are `Send` and `Sync`, and so are their pointers.
unsafe impl<T: Send + Sync + 'static, E: Envelope> SharedPointer for Mixed<T, E> {
    const BYTES_BEFORE: usize = <Arc<T> as SharedPointer>::BYTES_BEFORE;

    fn type_name() -> &'static str {
        type_name::<T>()
    }

    #[inline(always)]
    fn into_raw(self) -> NonNull<()> {
        match self {
            Self::Value(value) => {
                let raw = value.into_raw();
                // The address of a value of one byte could be odd, if the standard library changed its `Arc`.
                assert!(align_of::<T>() > ENVELOPE || raw.addr().get() & ENVELOPE == 0, "an `Arc` is aligned");
                raw
            }
            Self::Envelope(envelope) => raw_envelope(envelope),
        }
    }

    #[inline(always)]
    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        if raw.addr().get() & ENVELOPE == 0 {
            // SAFETY: without the bit it is the pointer of a value, and the caller guarantees the rest.
            return Self::Value(unsafe { SharedPointer::from_raw(raw) });
        }
        let address = raw.as_ptr().map_addr(|address| address & !ENVELOPE);
        // SAFETY: the bit was set in the address of an envelope, which is not null.
        let raw = unsafe { NonNull::new_unchecked(address) };
        // SAFETY: with the bit it is the pointer of an envelope, and the caller guarantees the rest.
        Self::Envelope(unsafe { SharedPointer::from_raw(raw) })
    }

    fn is_expired(&self, now: Instant) -> bool {
        if let Self::Envelope(envelope) = self { E::is_expired(envelope, now) } else { false }
    }

    fn is_recorded(&self) -> bool {
        if let Self::Envelope(envelope) = self { !E::came_through_inlet(envelope) } else { true }
    }

    fn order(&self) -> Option<u64> {
        if let Self::Envelope(envelope) = self { Some(E::order(envelope)) } else { None }
    }

    fn carried(&mut self) -> Option<&mut Option<Carried>> {
        if let Self::Envelope(envelope) = self { E::carried(Arc::get_mut(envelope)?) } else { None }
    }
}

impl<T, E> Clone for Mixed<T, E> {
    fn clone(&self) -> Self {
        match self {
            Self::Value(value) => Self::Value(Arc::clone(value)),
            Self::Envelope(envelope) => Self::Envelope(Arc::clone(envelope)),
        }
    }
}

impl<T, E> fmt::Debug for Mixed<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if let Self::Value(_) = self { "Value(..)" } else { "Envelope(..)" })
    }
}

/// The type of the messages, which even a subtype does not replace.
type Invariant<M> = PhantomData<fn(M) -> M>;

/// Publisher of values of type `T`, in envelopes or without, on a mixed topic.
pub struct MixedPublisher<T: Send + Sync + 'static, E: Envelope> {
    any: AnyPublisher,
    messages: Invariant<Mixed<T, E>>,
}

impl Context {
    /// Creates a publisher on a mixed topic. Messages that it keeps for late subscriptions are in envelopes.
    ///
    /// # Errors
    /// As [`create_local_publisher`](Self::create_local_publisher).
    pub fn create_mixed_publisher<T: Send + Sync + 'static, E: Envelope>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<MixedPublisher<T, E>, TopicError> {
        let message_type = MessageType::of::<Mixed<T, E>>();
        let any = AnyPublisher::new(self, options.into(), message_type, Guarantees::ENVELOPE)?;
        Ok(MixedPublisher { any, messages: PhantomData })
    }

    /// Creates a subscription of a mixed topic, without a callback. With `wants_envelopes`, it gets only messages in
    /// envelopes.
    ///
    /// # Errors
    /// As [`create_local_queue`](Self::create_local_queue).
    pub fn create_mixed_queue<T: Send + Sync + 'static, E: Envelope>(
        &self,
        options: impl Into<SubscriptionOptions>,
        wants_envelopes: bool,
    ) -> Result<MixedQueue<T, E>, TopicError> {
        self.create_late_mixed_queue(options, wants_envelopes, Vec::new()).map(|late| late.queue)
    }

    /// Creates a subscription as [`create_mixed_queue`](Self::create_mixed_queue) does, for which messages are also
    /// kept elsewhere. The queue begins with the newest ones of these and of those that the topic's publishers keep, as
    /// many as it has room for, in the [order](Envelope::order) of their publication. The older ones are not counted as
    /// lost.
    ///
    /// # Errors
    /// As [`create_local_queue`](Self::create_local_queue).
    pub fn create_late_mixed_queue<T: Send + Sync + 'static, E: Envelope>(
        &self,
        options: impl Into<SubscriptionOptions>,
        wants_envelopes: bool,
        kept_elsewhere: Vec<E>,
    ) -> Result<LateQueue<T, E>, TopicError> {
        let mut options = options.into();
        if wants_envelopes {
            options.demands = options.demands | Guarantees::ENVELOPE;
        }
        let mut kept = Vec::new();
        for envelope in kept_elsewhere {
            kept.push(AnyMessage::new(Mixed::<T, E>::Envelope(Arc::new(envelope))));
        }
        let (source, left) = TopicSource::subscribe_late(self, &options, kept)?;
        let mut older = Vec::new();
        for message in left {
            // SAFETY: the topic's messages are shared by this pointer.
            older.push(unsafe { message.into_pointer() });
        }
        Ok(LateQueue { queue: MixedQueue { source }, older })
    }
}

impl<T: Send + Sync + 'static, E: Envelope> MixedPublisher<T, E> {
    /// Returns the number of subscriptions at this moment. Neither blocks nor locks.
    #[inline]
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.any.topic.subscriptions.load(Ordering::Acquire) as usize
    }

    /// Returns true if there are subscriptions at this moment that get only messages in envelopes. Neither blocks nor
    /// locks.
    #[inline]
    #[must_use]
    pub fn is_asked_for_envelopes(&self) -> bool {
        self.any.topic.envelopes.load(Ordering::Acquire) > 0
    }

    /// Returns the messages that the publisher keeps for late subscriptions, the oldest first. Allocates.
    #[must_use]
    pub fn kept(&self) -> Vec<Arc<E>> {
        let kept = self.any.kept().into_iter().filter_map(|message| {
            // SAFETY: the topic's messages are shared by this pointer.
            let message: Mixed<T, E> = unsafe { message.into_pointer() };
            if let Mixed::Envelope(envelope) = message { Some(envelope) } else { None }
        });
        kept.collect()
    }

    /// Gives a value to every subscription that does without envelopes, as [`Publisher::publish`](super::Publisher)
    /// does.
    ///
    /// # Panics
    /// If the publisher keeps messages for late subscriptions, which may want envelopes.
    #[inline]
    pub fn publish(&self, value: Arc<T>) -> Delivery {
        assert!(self.any.history.is_none(), "what is kept for late subscriptions is in an envelope");
        self.any.publish(AnyMessage::new(Mixed::<T, E>::Value(value)), self.any.promises)
    }

    /// Gives a message to every subscription, as [`Publisher::publish`](super::Publisher::publish) does.
    pub fn publish_envelope(&self, envelope: E) -> Delivery {
        self.any.publish(Self::message(envelope), self.promises_of_envelopes())
    }

    /// Publishes a value as [`publish`](Self::publish) does, and leaves the rest to the drop of the result, as
    /// [`Publisher::begin`](super::Publisher::begin) does.
    ///
    /// # Panics
    /// As [`publish`](Self::publish).
    pub fn begin(&self, value: Arc<T>) -> Published<Mixed<T, E>> {
        assert!(self.any.history.is_none(), "what is kept for late subscriptions is in an envelope");
        let begun = self.any.begin(AnyMessage::new(Mixed::<T, E>::Value(value)), self.any.promises);
        Published { begun, messages: PhantomData }
    }

    /// Publishes a message as [`publish_envelope`](Self::publish_envelope) does, and leaves the rest to the drop of the
    /// result, as [`Publisher::begin`](super::Publisher::begin) does.
    pub fn begin_envelope(&self, envelope: E) -> Published<Mixed<T, E>> {
        let begun = self.any.begin(Self::message(envelope), self.promises_of_envelopes());
        Published { begun, messages: PhantomData }
    }

    /// Waits for room as [`Publisher::wait_for_room`](super::Publisher::wait_for_room) does.
    pub fn wait_for_room(&self) {
        self.any.wait_for_room(self.promises_of_envelopes());
    }

    /// Waits until no subscription has a full queue and `is_room_elsewhere` returns true, for the time `at_most`; on a
    /// thread of an executor, not at all. Returns the rest of that time; `None` if there is no room. Other publishers may
    /// take the room before the next message is published.
    pub fn room_within(&self, at_most: Duration, is_room_elsewhere: impl Fn() -> bool) -> Option<Duration> {
        self.any.room_within(at_most, self.promises_of_envelopes(), &is_room_elsewhere)
    }

    /// Publishes a value as [`publish`](Self::publish) does, or not at all if the queue of a subscription is full, as
    /// [`Publisher::publish_if_room`](super::Publisher::publish_if_room) does. Returns false then.
    ///
    /// # Panics
    /// As [`publish`](Self::publish).
    pub fn publish_if_room(&self, value: Arc<T>) -> bool {
        assert!(self.any.history.is_none(), "what is kept for late subscriptions is in an envelope");
        self.any.publish_if_room(AnyMessage::new(Mixed::<T, E>::Value(value)), self.any.promises).is_ok()
    }

    /// Publishes a message as [`publish_envelope`](Self::publish_envelope) does, or not at all if the queue of a
    /// subscription is full. Returns false then.
    pub fn publish_envelope_if_room(&self, envelope: E) -> bool {
        self.any.publish_if_room(Self::message(envelope), self.promises_of_envelopes()).is_ok()
    }

    fn message(envelope: E) -> AnyMessage {
        AnyMessage::new(Mixed::<T, E>::Envelope(Arc::new(envelope)))
    }

    fn promises_of_envelopes(&self) -> Guarantees {
        self.any.promises | Guarantees::ENVELOPE
    }
}

impl<T: Send + Sync + 'static, E: Envelope> fmt::Debug for MixedPublisher<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MixedPublisher").field("topic", &&*self.any.topic.name).finish_non_exhaustive()
    }
}

/// The queue of a subscription of a mixed topic. It can become the source of an entity. From then on its losses count
/// as the entity's, also those from before.
///
/// ```
/// use std::sync::Arc;
/// use rospin_engine::{Carried, Context, ContextOptions, Envelope, Mixed, Source};
///
/// /// A number in words, from elsewhere.
/// struct Words(String, Option<Carried>);
///
/// impl Envelope for Words {
///     fn order(&self) -> u64 {
///         0
///     }
///     fn came_through_inlet(&self) -> bool {
///         true
///     }
///     fn carried(&mut self) -> Option<&mut Option<Carried>> {
///         Some(&mut self.1)
///     }
/// }
///
/// let context = Context::new(ContextOptions::new());
/// let mut queue = context.create_mixed_queue::<u32, Words>("numbers", false)?;
/// let publisher = context.create_mixed_publisher::<u32, Words>("numbers")?;
/// publisher.publish(Arc::new(1));
/// let inlet = queue.inlet();
/// drop(inlet.push(Words("two".to_owned(), None), context.clock().now(), 0));
/// assert_eq!(inlet.places().map(|places| places.depth - places.free), Some(2));
/// assert!(matches!(queue.try_take()?, Some(Mixed::Value(number)) if *number == 1));
/// assert!(matches!(queue.try_take()?, Some(Mixed::Envelope(words)) if words.0 == "two"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MixedQueue<T: Send + Sync + 'static, E: Envelope> {
    source: TopicSource<Mixed<T, E>>,
}

/// The queue of a subscription for which messages were kept.
#[derive(Debug)]
pub struct LateQueue<T: Send + Sync + 'static, E: Envelope> {
    /// The queue.
    pub queue: MixedQueue<T, E>,
    /// The kept messages that it has no room for. Drop them after the caller's locks are unlocked, since that may be
    /// user code.
    pub older: Vec<Mixed<T, E>>,
}

impl<T: Send + Sync + 'static, E: Envelope> MixedQueue<T, E> {
    /// Returns the way into this queue past the topic's publishers.
    #[must_use]
    pub fn inlet(&self) -> Inlet<E> {
        let (topic, queue) = self.source.any().place();
        Inlet { topic: Arc::clone(topic), queue, envelopes: PhantomData }
    }

    /// Returns the time at which the oldest message arrived, see
    /// [`Queue::oldest_arrival`](crate::Queue::oldest_arrival).
    #[must_use]
    pub fn oldest_arrival(&self) -> Option<Instant> {
        self.source.any().oldest()
    }

    /// Takes the oldest message as `try_take` does, and returns it with the time at which it arrived.
    pub fn take_with_arrival(&mut self) -> Option<(Mixed<T, E>, Instant)> {
        self.source.take_with_arrival()
    }

    /// Counts messages as lost that are not in the queue.
    pub fn count_lost(&self, cause: LossCause, count: u64) {
        self.source.any().losses().add(cause, count);
    }
}

impl<T: Send + Sync + 'static, E: Envelope> Source for MixedQueue<T, E> {
    type Item = Mixed<T, E>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.source.attach_alone(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Mixed<T, E>>, TakeError> {
        self.source.try_take()
    }

    fn pending(&self) -> Pending {
        Source::pending(&self.source)
    }

    #[inline(always)]
    fn take_and_look(&mut self) -> Result<Option<(Mixed<T, E>, Pending)>, TakeError> {
        self.source.take_and_look()
    }

    fn prefetch(&self, distance: usize) {
        self.source.prefetch(distance);
    }

    fn closer(&self) -> Option<Closer> {
        Some(Box::new(self.source.any().closer()))
    }
}

impl<T: Send + Sync + 'static, E: Envelope> fmt::Debug for MixedQueue<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MixedQueue").finish_non_exhaustive()
    }
}

/// The way into the queue of one subscription of a mixed topic, past the topic's publishers, for threads that receive
/// from elsewhere. Cheap to clone; clones are the same way.
pub struct Inlet<E: Envelope> {
    /// A topic whose messages are a [`Mixed`] with envelopes of type `E`.
    topic: Arc<Topic>,
    /// The number of the queue among those of the topic.
    queue: u64,
    envelopes: PhantomData<fn(E) -> E>,
}

/// The places of a queue: see [`Inlet::places`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Places {
    /// The number of messages that can be pushed before one makes room.
    pub free: usize,
    /// The number of messages that the queue keeps.
    pub depth: usize,
}

/// A message that is in its queue, while the rest is still to be done: see [`Inlet::push`].
#[must_use = "its drop wakes the subscription's executor"]
pub struct Pushed {
    alarm: Option<Alarm>,
    /// The message from an inlet that made room, or the message itself if the subscription has ended.
    left: Option<AnyMessage>,
}

impl<E: Envelope> Inlet<E> {
    /// Appends a message, which arrived at that time on the steady clock. In a full queue the oldest message makes
    /// room, and is counted as lost. So are the `missing` messages: those that never arrived, as far as the caller can
    /// tell. Does nothing if the subscription has ended.
    ///
    /// A message of this process that makes room is not dropped here, where the middleware may hold locks: the new one
    /// [carries](Carried) it. The drop of the result wakes the executor if it sleeps, and drops an older message from
    /// an inlet that made room. Drop it after the caller's locks are unlocked.
    ///
    /// May wait for a thread that publishes on the same topic, as [`Publisher::publish`](super::Publisher::publish)
    /// does. Allocates the envelope.
    pub fn push(&self, envelope: E, arrival: Instant, missing: u64) -> Pushed {
        let mut envelope = Arc::new(envelope);
        let mut state = self.topic.lock();
        // Queues are in the order of their numbers.
        let Ok(at) = state.queues.binary_search_by_key(&self.queue, |queue| queue.id) else {
            return Pushed { alarm: None, left: Some(self.message(envelope)) };
        };
        let queue = &mut state.queues[at];
        let mut left = queue.producer.make_room().map(|oldest| {
            queue.count_displaced(&oldest, arrival);
            oldest.message
        });
        // There is one owner yet.
        if let Some(place) = Arc::get_mut(&mut envelope).and_then(E::carried) {
            *place = match left.take_if(|left| left.is_recorded()) {
                Some(of_this_process) => Some(Carried(of_this_process)),
                None => left.as_mut().and_then(AnyMessage::take_carried),
            };
        }
        // There is room, unless nobody has taken one meanwhile.
        queue.producer.push(self.message(envelope), arrival.as_nanos());
        if missing > 0 {
            queue.losses.add(LossCause::QueueFull, missing);
        }
        let alarm = queue.alarm.as_ref().filter(|alarm| alarm.raise(arrival)).cloned();
        drop(state);
        Pushed { alarm, left }
    }

    /// Returns the places of the queue; `None` if the subscription has ended. Publishers of this process, and other
    /// clones of this inlet, may take free ones at any time.
    ///
    /// May wait as [`push`](Self::push) does. Does not allocate.
    #[must_use]
    pub fn places(&self) -> Option<Places> {
        let state = self.topic.lock();
        let at = state.queues.binary_search_by_key(&self.queue, |queue| queue.id).ok()?;
        let producer = &state.queues[at].producer;
        Some(Places { free: producer.free(), depth: producer.depth() })
    }

    fn message(&self, envelope: Arc<E>) -> AnyMessage {
        // SAFETY: the topic's messages are a `Mixed` with envelopes of type `E`, whose raw pointers do not depend on
        // the type of its values.
        unsafe { AnyMessage::of_type(raw_envelope(envelope), self.topic.message_type) }
    }
}

impl Pushed {
    /// Returns true if the drop has nothing to do.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.alarm.is_none() && self.left.is_none()
    }
}

impl Drop for Pushed {
    fn drop(&mut self) {
        if let Some(alarm) = &self.alarm {
            alarm.call();
        }
    }
}

impl<E: Envelope> Clone for Inlet<E> {
    fn clone(&self) -> Self {
        Self { topic: Arc::clone(&self.topic), queue: self.queue, envelopes: PhantomData }
    }
}

impl<E: Envelope> fmt::Debug for Inlet<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inlet").field("topic", &&*self.topic.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Pushed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pushed").finish_non_exhaustive()
    }
}
