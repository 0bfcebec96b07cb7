//! The topics of the engine through which ends of one form share messages: one for subscriptions that take only
//! messages, and one for those whose callbacks ask for a [`MessageInfo`](crate::MessageInfo). A form is a Rust type
//! and, for dynamic messages, a definition. An end whose quality of service has to do with time has a form of its own.
//!
//! A message goes to the second topic together with its origin, in an allocation of its own. So nothing is allocated,
//! and no further clock is read, for messages whose subscriptions do not ask. The second topic is in
//! [`origins`](super::origins). Publishers that keep messages for late subscriptions keep them in both.
//!
//! A message that nobody asks about costs a count, and a look at the second topic's number of subscriptions. The forms
//! of ends with a deadline, a lifespan or a lease keep all of that out of the shared way: the price is an encoding
//! where one is set.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rospin_engine::{
    Clock, Closer, Context, Guarantees, Instant, Notifier, Pending, Published, Publisher, PublisherOptions, Queue,
    Recorder, Source, SubscriptionOptions, TakeError,
};

use super::encoded::CountedQueue;
use super::origins::{OriginPublisher, OriginQueue, WithOrigin, create_publisher, create_queue};
use super::{depth, refused};
use crate::address::Address;
use crate::error::Refused;
use crate::info::{Gid, Origin};
use crate::local_topics::LocalTopics;
use crate::message::Outgoing;
use crate::qos::{Durability, Qos};
use crate::terms::Terms;

/// The longest time for which a reliable publisher that keeps all waits for room in a queue of this process: the
/// default of DDS.
const MAX_BLOCKING_TIME: Duration = Duration::from_millis(100);

/// Returns the engine's name of the topic of messages together with their origins.
fn name_with_origins(address: &Address) -> String {
    format!("{} with origins", address.engine_name())
}

fn publisher_options(topics: &LocalTopics, topic: String, promises: Guarantees, qos: &Qos) -> PublisherOptions {
    let options = PublisherOptions::new(topic).within(&topics.engine).promises(promises);
    let options = if qos.loses_nothing() { options.keep_all(MAX_BLOCKING_TIME) } else { options };
    if qos.durability == Durability::TransientLocal { options.transient_local(depth(qos)) } else { options }
}

fn queue_options(topics: &LocalTopics, topic: String, qos: &Qos) -> SubscriptionOptions {
    let options = SubscriptionOptions::new(topic).within(&topics.engine).demands(Terms::of(qos).guarantees);
    let room = depth(qos);
    let options = if qos.loses_nothing() { options.keep_all(room) } else { options.keep_last(room) };
    if qos.durability == Durability::TransientLocal { options.transient_local() } else { options }
}

/// Publisher of messages to subscriptions of the same form.
pub(super) struct HerePublisher<M: Send + Sync + 'static> {
    plain: Publisher<M>,
    with_origins: Arc<dyn OriginPublisher>,
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
    pub(super) fn new(
        context: &Context,
        topics: &LocalTopics,
        promises: Guarantees,
        (address, qos): (&Address, &Qos),
        gid: Gid,
    ) -> Result<Self, Refused> {
        let is_latched = qos.durability == Durability::TransientLocal;
        let options = |topic| publisher_options(topics, topic, promises, qos);
        let plain = context.create_local_publisher(options(address.engine_name())).map_err(refused)?;
        let with_origins = create_publisher(context, options(name_with_origins(address)))?;
        let recorder = context.recorder().clone();
        let recorded = recorder.add_publisher(gid.to_bytes(), address.name());
        let (last, clock) = (AtomicU64::new(0), context.clock().clone());
        Ok(Self { plain, with_origins, is_latched, gid, last, clock, recorder, recorded })
    }

    /// Returns the publisher's id.
    pub(super) const fn gid(&self) -> Gid {
        self.gid
    }

    /// Returns true if it keeps messages for late subscriptions.
    pub(super) const fn is_latched(&self) -> bool {
        self.is_latched
    }

    /// Returns a function that returns the messages that are kept for late subscriptions, the oldest first.
    pub(super) fn keeper(&self) -> impl Fn() -> Vec<Arc<WithOrigin>> + Send + Sync + 'static {
        let publisher = Arc::clone(&self.with_origins);
        move || publisher.kept()
    }

    /// Returns the number of the next message, and records that it is sent. Middlewares that number messages count in
    /// the same way.
    pub(super) fn next_number(&self) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.recorder.sent(|| self.clock.now(), self.gid.to_bytes(), number);
        number
    }

    /// Returns the time on the steady clock.
    pub(super) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Returns the origin of a message that is published now.
    pub(super) fn origin(&self, number: u64) -> Origin {
        Origin { publisher: self.gid, number, published: self.clock.now() }
    }

    /// Publishes a message if there are subscriptions. For publishers that keep no messages.
    pub(super) fn publish(&self, message: impl Outgoing<M>, number: u64) {
        let is_heard = self.plain.subscription_count() > 0;
        if self.with_origins.subscription_count() > 0 {
            let (message, origin) = (message.into_shared(), self.origin(number));
            if is_heard {
                self.plain.publish(Arc::clone(&message));
            }
            self.with_origins.publish(WithOrigin::new(message, origin));
        } else if is_heard {
            self.plain.publish(message.into_shared());
        }
    }

    /// Waits for room if the quality of service says so, before a message [begins](Self::begin) under a lock.
    pub(super) fn wait_for_room(&self) {
        self.plain.wait_for_room();
        if self.with_origins.subscription_count() > 0 {
            self.with_origins.wait_for_room();
        }
    }

    /// Publishes a message. The drop of the result notifies the subscriptions and drops displaced messages, so drop it
    /// after the unlock: see [`Publisher::begin`].
    pub(super) fn begin(&self, message: Arc<M>, origin: Origin) -> (Published<M>, Option<Box<dyn Any>>) {
        let is_wanted = self.is_latched || self.with_origins.subscription_count() > 0;
        let with_origin = is_wanted.then(|| WithOrigin::new(message.clone(), origin));
        (self.plain.begin(message), with_origin.map(|message| self.with_origins.begin(message)))
    }
}

/// The messages of publishers of the same form.
pub(super) enum HereQueue<M: Send + Sync + 'static> {
    Plain(Queue<M>),
    WithOrigins(Box<dyn OriginQueue>),
}

impl<M: Send + Sync + 'static> HereQueue<M> {
    pub(super) fn new(
        context: &Context,
        topics: &LocalTopics,
        (address, qos): (&Address, &Qos),
        with_origins: bool,
    ) -> Result<Self, Refused> {
        let options = |topic| queue_options(topics, topic, qos);
        if with_origins {
            create_queue(context, options(name_with_origins(address))).map(Self::WithOrigins)
        } else {
            context.create_local_queue(options(address.engine_name())).map(Self::Plain).map_err(refused)
        }
    }

    /// Returns the queue, whether or not its topic stores origins.
    pub(super) fn counted(&self) -> &dyn CountedQueue {
        match self {
            Self::Plain(queue) => queue,
            Self::WithOrigins(queue) => &**queue,
        }
    }
}

impl<M: Send + Sync + 'static> Source for HereQueue<M> {
    /// A message and its origin, which is `None` unless the topic stores origins.
    type Item = (Arc<M>, Option<Origin>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        match self {
            Self::Plain(queue) => queue.attach(notifier),
            Self::WithOrigins(queue) => queue.attach(notifier),
        }
    }

    #[inline]
    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        match self {
            Self::Plain(queue) => Ok(Source::try_take(queue)?.map(|message| (message, None))),
            Self::WithOrigins(queue) => Ok(queue.try_take()?.and_then(|taken| {
                let (message, origin) = WithOrigin::into_parts(taken);
                // The name of the topic has the type in it.
                Some((message.downcast().ok()?, Some(origin)))
            })),
        }
    }

    fn pending(&self) -> Pending {
        match self {
            Self::Plain(queue) => Source::pending(queue),
            Self::WithOrigins(queue) => queue.pending(),
        }
    }

    fn prefetch(&self, distance: usize) {
        match self {
            Self::Plain(queue) => queue.prefetch(distance),
            Self::WithOrigins(queue) => queue.prefetch(distance),
        }
    }

    fn closer(&self) -> Option<Closer> {
        match self {
            Self::Plain(queue) => queue.closer(),
            Self::WithOrigins(queue) => queue.closer(),
        }
    }
}
