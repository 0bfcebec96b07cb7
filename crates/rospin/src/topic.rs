//! In-process topics: typed, without copying the message, every lost one counted.
//!
//! Publishers of one topic take turns under the topic's lock, which is held while pointers are pushed and no longer.
//! Subscriptions never touch it to take: their end of the ring is lock-free.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use futures_channel::oneshot;
use rospin_core::Instant;
use smallvec::SmallVec;

use crate::clock::Clock;
use crate::context::Context;
use crate::group_core::GroupGone;
use crate::lock_free::mute::{Mute, published};
use crate::lock_free::ring::{Consumer, Producer, ring};
use crate::loss::{LossCause, LossCounters};
use crate::options::{PublisherOptions, SubscriptionOptions};
use crate::registry::TypeMismatch;
use crate::source::{Notifier, Pending, Source, TakeError};

/// A topic, as its publishers and subscriptions share it.
struct Topic<T> {
    name: String,
    state: Mutex<TopicState<T>>,
}

struct TopicState<T> {
    /// Counts what has an order: ends of the topic, and kept messages.
    next_id: u64,
    queues: Vec<Queue<T>>,
    /// Of the queues, in their order: to be called without the lock.
    alarms: Arc<[Alarm]>,
    histories: Vec<History<T>>,
    publishers: usize,
    /// Who waits for a publisher or a subscription.
    waiting: Vec<oneshot::Sender<()>>,
}

/// The topic's end of a subscription.
struct Queue<T> {
    id: u64,
    producer: Producer<Arc<T>>,
    alarm: Option<Alarm>,
    losses: Arc<LossCounters>,
}

/// Whom a subscription has called when a message arrived.
#[derive(Clone)]
enum Alarm {
    /// Unless it is muted: then it takes on without being told.
    Executor(Notifier, Arc<Mute>),
    /// Shared, since cloning a waker is user code.
    Waker(Arc<Waker>),
}

impl Alarm {
    fn raise(&self, arrival: Instant) {
        match self {
            Self::Executor(_, mute) if mute.is_muted() => {}
            Self::Executor(notifier, _) => notifier.notify_at(arrival),
            Self::Waker(waker) => waker.wake_by_ref(),
        }
    }
}

/// What a latched publisher keeps for late subscriptions.
struct History<T> {
    id: u64,
    depth: usize,
    /// With their number, which orders them over all publishers.
    messages: VecDeque<(u64, Arc<T>)>,
}

impl<T: Send + Sync + 'static> Topic<T> {
    fn find(context: &Context, name: &str) -> Result<Arc<Self>, TypeMismatch> {
        context.topics().get_or_insert::<Self, T>(name, || Self {
            name: name.to_owned(),
            state: Mutex::new(TopicState {
                next_id: 0,
                queues: Vec::new(),
                alarms: Arc::new([]),
                histories: Vec::new(),
                publishers: 0,
                waiting: Vec::new(),
            }),
        })
    }

    /// From here on the subscription's queue gets nothing more.
    fn unsubscribe(&self, id: u64) {
        let mut state = self.lock();
        let at = state.queues.iter().position(|queue| queue.id == id);
        let queue = at.map(|at| state.queues.remove(at));
        let alarms = Arc::clone(&state.alarms);
        state.update_alarms();
        drop(state);
        drop((queue, alarms));
    }

    fn lock(&self) -> MutexGuard<'_, TopicState<T>> {
        // No user code runs under the lock, so a panic left nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> TopicState<T> {
    fn next_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn counts(&self) -> EndCounts {
        EndCounts { publishers: self.publishers, subscriptions: self.queues.len() }
    }

    fn update_alarms(&mut self) {
        self.alarms = self.queues.iter().filter_map(|queue| queue.alarm.clone()).collect();
    }
}

/// Why a publisher or a subscription could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic carries messages of another type.
    #[error(transparent)]
    TypeMismatch(#[from] TypeMismatch),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}

/// The message that [`Publisher::try_publish`] could not give to anybody.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("topic `{topic}` has no subscription (any more); the message is returned")]
pub struct NoSubscription<T> {
    /// The topic.
    pub topic: String,
    /// The message.
    pub message: Arc<T>,
}

impl<T> fmt::Debug for NoSubscription<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoSubscription").field("topic", &self.topic).finish_non_exhaustive()
    }
}

/// What became of a published message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// How many subscriptions got it.
    pub queued: usize,
    /// How many older messages had to make room for it; each is counted for its subscription.
    pub displaced: usize,
}

/// Publishes messages of type `T` on an in-process topic. Cheap to clone; clones are the same publisher.
///
/// ```
/// use std::sync::Arc;
/// use rospin::{Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("listener", Vec::new());
/// let publisher = context.create_publisher::<String>("chatter")?;
/// let _subscription =
///     group.create_subscription("chatter", |heard: &mut Vec<String>, message: Arc<String>| {
///         heard.push(message.to_string());
///     })?;
///
/// assert_eq!(publisher.publish("hello".to_owned()).queued, 1);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), ["hello"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Publisher<T: Send + Sync + 'static>(Arc<PublisherInner<T>>);

struct PublisherInner<T: Send + Sync + 'static> {
    topic: Arc<Topic<T>>,
    clock: Clock,
    history: Option<u64>,
}

impl<T: Send + Sync + 'static> Publisher<T> {
    pub(crate) fn new(context: &Context, options: PublisherOptions) -> Result<Self, TopicError> {
        let topic = Topic::find(context, &options.topic)?;
        let mut state = topic.lock();
        let history = (options.latched > 0).then(|| state.next_id());
        if let Some(id) = history {
            let messages = VecDeque::with_capacity(options.latched);
            state.histories.push(History { id, depth: options.latched, messages });
        }
        state.publishers += 1;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        tell(waiting);
        Ok(Self(Arc::new(PublisherInner { topic, clock: context.clock().clone(), history })))
    }

    /// The topic's name.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.0.topic.name
    }

    /// How many subscriptions there are at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.topic.lock().queues.len()
    }

    /// Who else has this topic.
    #[must_use]
    pub fn ends(&self) -> TopicEnds {
        TopicEnds(Arc::clone(&self.0.topic) as _)
    }

    /// Gives the message to every subscription of the topic.
    ///
    /// May wait for another publisher of the same topic, never for a subscription or a callback. Allocates only to put
    /// a message into an `Arc` that is not in one, and if more than 8 queues are full.
    pub fn publish(&self, message: impl Into<Arc<T>>) -> Delivery {
        let message = message.into();
        let stamp = self.0.clock.now();
        let mut displaced = SmallVec::<[Arc<T>; 8]>::new();
        let mut state = self.0.topic.lock();
        for queue in &mut state.queues {
            if let Some(oldest) = queue.producer.push(Arc::clone(&message), stamp.as_nanos()) {
                queue.losses.add(LossCause::QueueFull, 1);
                displaced.push(oldest);
            }
        }
        let delivery = Delivery { queued: state.queues.len(), displaced: displaced.len() };
        if let Some(id) = self.0.history {
            displaced.extend(state.remember(id, message));
        }
        let alarms = Arc::clone(&state.alarms);
        // From here on without the lock: waking is a system call, and dropping a message may run user code.
        drop(state);
        published();
        for alarm in alarms.iter() {
            alarm.raise(stamp);
        }
        delivery
    }

    /// As [`publish`](Self::publish), but refuses a message that nobody would get.
    ///
    /// # Errors
    /// With the message, if the topic has no subscription. A latched publisher keeps it nevertheless.
    pub fn try_publish(&self, message: impl Into<Arc<T>>) -> Result<Delivery, NoSubscription<T>> {
        let message = message.into();
        match self.publish(Arc::clone(&message)) {
            Delivery { queued: 0, .. } => Err(NoSubscription { topic: self.topic().to_owned(), message }),
            delivery => Ok(delivery),
        }
    }
}

impl<T> TopicState<T> {
    /// Keeps the message for late subscriptions; returns the one that had to go for it.
    fn remember(&mut self, id: u64, message: Arc<T>) -> Option<Arc<T>> {
        let number = self.next_id();
        let history = self.histories.iter_mut().find(|history| history.id == id)?;
        let oldest = if history.messages.len() == history.depth { history.messages.pop_front() } else { None };
        history.messages.push_back((number, message));
        oldest.map(|(_, message)| message)
    }
}

impl<T: Send + Sync + 'static> Clone for Publisher<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Publisher<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.topic()).finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> Drop for PublisherInner<T> {
    fn drop(&mut self) {
        let mut state = self.topic.lock();
        state.publishers -= 1;
        let at = self.history.and_then(|id| state.histories.iter().position(|history| history.id == id));
        let history = at.map(|at| state.histories.swap_remove(at));
        drop(state);
        drop(history);
    }
}

/// Wakes who waits for the other end of a topic, without the lock: wakers are user code.
fn tell(waiting: Vec<oneshot::Sender<()>>) {
    for waiter in waiting {
        // Who lost interest does not mind.
        let _ = waiter.send(());
    }
}

/// Who publishes and who subscribes to an in-process topic, whatever it carries.
#[derive(Clone)]
pub struct TopicEnds(Arc<dyn Ends>);

/// How many publishers and subscriptions a topic has.
#[derive(Clone, Copy)]
struct EndCounts {
    publishers: usize,
    subscriptions: usize,
}

trait Ends: Send + Sync {
    fn name(&self) -> &str;
    fn counts(&self) -> EndCounts;
    /// Resolves when somebody has come, unless it is so already.
    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<oneshot::Receiver<()>>;
}

impl<T: Send + Sync + 'static> Ends for Topic<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn counts(&self) -> EndCounts {
        self.lock().counts()
    }

    fn wait_unless(&self, is_so: fn(EndCounts) -> bool) -> Option<oneshot::Receiver<()>> {
        let mut state = self.lock();
        if is_so(state.counts()) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        state.waiting.retain(|waiting| !waiting.is_canceled());
        state.waiting.push(sender);
        Some(receiver)
    }
}

impl TopicEnds {
    /// How many publishers there are at this moment.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.0.counts().publishers
    }

    /// How many subscriptions there are at this moment.
    #[must_use]
    pub fn subscription_count(&self) -> usize {
        self.0.counts().subscriptions
    }

    /// Waits until there is a publisher.
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().wait(|counts| counts.publishers > 0)
    }

    /// Waits until there is a subscription.
    pub fn wait_for_subscription(&self) -> impl Future<Output = ()> + Send + use<> {
        self.clone().wait(|counts| counts.subscriptions > 0)
    }

    async fn wait(self, is_so: fn(EndCounts) -> bool) {
        while let Some(change) = self.0.wait_unless(is_so) {
            let _ = change.await;
        }
    }
}

impl fmt::Debug for TopicEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopicEnds").field("topic", &self.0.name()).finish_non_exhaustive()
    }
}

/// A subscription's end of a topic.
pub(crate) struct TopicSource<T: Send + Sync + 'static> {
    topic: Arc<Topic<T>>,
    id: u64,
    consumer: Consumer<Arc<T>>,
    /// Of the publishers, while it is known that the queue is not empty: whoever asked has it taken from.
    mute: Arc<Mute>,
    losses: Arc<LossCounters>,
}

impl<T: Send + Sync + 'static> TopicSource<T> {
    /// From here on messages are queued.
    pub(crate) fn subscribe(
        context: &Context,
        options: &SubscriptionOptions,
        losses: Arc<LossCounters>,
    ) -> Result<Self, TopicError> {
        let topic = Topic::find(context, &options.topic)?;
        let (mut producer, consumer) = ring(options.depth);
        let mut state = topic.lock();
        let id = state.next_id();
        let mut too_old = Vec::new();
        if options.transient_local {
            let mut kept: Vec<_> = state.histories.iter().flat_map(|history| history.messages.iter()).collect();
            kept.sort_by_key(|(number, _)| *number);
            // They arrive now, in their old order: a late subscription's first messages are not overdue.
            let now = context.clock().now().as_nanos();
            let pushed = kept.into_iter().map(|(_, message)| producer.push(Arc::clone(message), now));
            // What exceeds the depth was never this subscription's: no loss.
            too_old.extend(pushed.flatten());
        }
        state.queues.push(Queue { id, producer, alarm: None, losses: Arc::clone(&losses) });
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        tell(waiting);
        drop(too_old);
        Ok(Self { topic, id, consumer, mute: Arc::new(Mute::new()), losses })
    }

    /// What ends the subscription at once, while its callback may still be running.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let (topic, id) = (Arc::clone(&self.topic), self.id);
        move || topic.unsubscribe(id)
    }

    /// Who else has this topic.
    pub(crate) fn ends(&self) -> TopicEnds {
        TopicEnds(Arc::clone(&self.topic) as _)
    }

    /// Takes the oldest message.
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        self.consumer.pop()
    }

    /// Whether there is nothing to take at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.consumer.oldest_stamp().is_none()
    }

    /// Has the waker called instead of an executor.
    pub(crate) fn set_waker(&self, waker: Waker) {
        self.set_alarm(Alarm::Waker(Arc::new(waker)));
    }

    /// Counts what is lost from now on there.
    pub(crate) fn set_losses(&mut self, losses: Arc<LossCounters>) {
        let mut state = self.topic.lock();
        if let Some(queue) = state.queues.iter_mut().find(|queue| queue.id == self.id) {
            queue.losses = Arc::clone(&losses);
        }
        drop(state);
        self.losses = losses;
    }

    fn set_alarm(&self, alarm: Alarm) {
        let mut state = self.topic.lock();
        let queue = state.queues.iter_mut().find(|queue| queue.id == self.id);
        let before = queue.and_then(|queue| queue.alarm.replace(alarm));
        let all_before = Arc::clone(&state.alarms);
        state.update_alarms();
        drop(state);
        // A waker is user code: not under the lock.
        drop((before, all_before));
    }
}

impl<T: Send + Sync + 'static> Source for TopicSource<T> {
    type Item = Arc<T>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.set_alarm(Alarm::Executor(notifier, Arc::clone(&self.mute)));
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Arc<T>>, TakeError> {
        let taken = self.take();
        // The ring may be empty for a moment, while the oldest message makes room.
        Ok(if taken.is_none() && self.mute.unmute() { self.take() } else { taken })
    }

    fn pending(&self) -> Pending {
        let mut oldest = self.consumer.oldest_stamp();
        if oldest.is_none() && self.mute.unmute() {
            oldest = self.consumer.oldest_stamp();
        }
        let Some(nanos) = oldest else {
            return Pending::Empty;
        };
        // Whoever asks has it taken from: that is what the answer means.
        self.mute.mute();
        Pending::Since(Instant::from_nanos(nanos))
    }
}

impl<T: Send + Sync + 'static> Drop for TopicSource<T> {
    fn drop(&mut self) {
        self.topic.unsubscribe(self.id);
        let lost = std::iter::from_fn(|| self.consumer.pop()).count();
        self.losses.add(LossCause::EntityDropped, lost as u64);
    }
}
