//! The subscription's end of a topic.

use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Waker;

use rospin_core::Instant;
use rospin_core::recording::Event;

use super::{
    Alarm, AnyMessage, MessageType, Queue, QueueView, QueueWaker, Room, SharedPointer, Topic, TopicEnds, TopicError,
};
use crate::context::Context;
use crate::error::depth_of;
use crate::lock_free::depth::Depth;
use crate::lock_free::ring::{Consumer, Popped, ring};
use crate::loss::{LossCause, LossCounters};
use crate::options::SubscriptionOptions;
use crate::recorder::{Scribe, fresh_number};
use crate::source::{Notifier, Pending, Source, TakeError};

/// A subscription's end of a topic, from which its messages are taken.
pub(crate) struct TopicSource<P: SharedPointer> {
    /// The end of a topic whose messages are shared by a `P`.
    any: AnySource,
    /// The type of the messages, see the same field of [`Publisher`](super::Publisher).
    messages: PhantomData<fn(P) -> P>,
}

/// [`TopicSource`] for messages of any type. It is compiled once, and not again for each type of messages.
pub(crate) struct AnySource {
    topic: Arc<Topic>,
    id: u64,
    consumer: Consumer<AnyMessage>,
    losses: Arc<LossCounters>,
    /// The number of the queue in recordings.
    number: u64,
    scribe: Scribe,
}

impl<P: SharedPointer> TopicSource<P> {
    /// Subscribes to the topic. From now on messages are queued.
    pub(crate) fn subscribe(
        context: &Context,
        (options, depth): (&SubscriptionOptions, Depth),
        losses: Arc<LossCounters>,
    ) -> Result<Self, TopicError> {
        let (any, _) = AnySource::subscribe(context, (options, depth), losses, MessageType::of::<P>(), Vec::new())?;
        Ok(Self { any, messages: PhantomData })
    }

    /// Subscribes without a callback: losses have counters of their own.
    pub(crate) fn subscribe_alone(context: &Context, options: &SubscriptionOptions) -> Result<Self, TopicError> {
        Self::subscribe_late(context, options, Vec::new()).map(|(source, _)| source)
    }

    /// Subscribes without a callback, with messages that are kept elsewhere: the queue begins with the newest ones of
    /// these and of those that publishers keep. Returns the older ones, too, which are `P`.
    pub(super) fn subscribe_late(
        context: &Context,
        options: &SubscriptionOptions,
        kept_elsewhere: Vec<AnyMessage>,
    ) -> Result<(Self, impl Iterator<Item = AnyMessage>), TopicError> {
        let name = options.common.name.as_deref().unwrap_or(&options.topic);
        let depth = depth_of(name, options.depth)?;
        let losses = context.open_counters(name, name);
        let message_type = MessageType::of::<P>();
        let (any, older) = AnySource::subscribe(context, (options, depth), losses, message_type, kept_elsewhere)?;
        Ok((Self { any, messages: PhantomData }, older.into_iter().map(|(_, message)| message)))
    }

    /// Becomes the source of an entity. From now on its losses count as the entity's, also those from before.
    pub(crate) fn attach_alone(&mut self, notifier: Notifier) {
        if let Some(losses) = notifier.losses() {
            // From now on the topic counts losses with the entity's counters, so the own counters do not change any
            // more.
            self.any.set_losses(Arc::clone(losses)).move_to(losses);
        }
        self.any.attach(notifier);
    }

    /// Returns the end without the type of its messages.
    pub(crate) const fn any(&self) -> &AnySource {
        &self.any
    }

    /// Takes the oldest message.
    pub(crate) fn pop(&self) -> Option<P> {
        // SAFETY: the topic's messages are shared by a `P`.
        self.any.pop().map(|message| unsafe { message.into_pointer() })
    }

    /// Takes the oldest message, and returns it with the time of its arrival.
    pub(super) fn take_with_arrival(&self) -> Option<(P, Instant)> {
        let Popped { message, stamp, .. } = self.any.pop_unless_empty(AnySource::pop_with_stamp)?;
        // SAFETY: the topic's messages are shared by a `P`.
        Some((unsafe { message.into_pointer() }, Instant::from_nanos(stamp)))
    }
}

/// Messages that were kept for a late subscription, with their places in the order of publication.
type KeptMessages = Vec<(u64, AnyMessage)>;

impl AnySource {
    /// Subscribes to the topic. From now on messages are queued. A late subscription's queue begins with the newest
    /// messages that publishers keep, and of `kept_elsewhere`. Returns the older ones, too.
    fn subscribe(
        context: &Context,
        (options, depth): (&SubscriptionOptions, Depth),
        losses: Arc<LossCounters>,
        message_type: MessageType,
        kept_elsewhere: Vec<AnyMessage>,
    ) -> Result<(Self, KeptMessages), TopicError> {
        let topic = Topic::find(options.topics.as_ref().unwrap_or(context.topics()), &options.topic, message_type)?;
        let demands = options.demands;
        let number = fresh_number();
        let (mut producer, consumer) = ring(depth, message_type);
        let mut room = Room::new();
        for message in kept_elsewhere {
            room.kept.push((message.order().unwrap_or(0), message));
        }
        let mut state = topic.lock_with(&mut room, options.transient_local.then_some(demands));
        let id = state.next_id();
        if options.transient_local {
            state.kept_for(demands, &mut room);
        }
        // Kept messages arrive now, in their old order, so that a late subscription's first messages are not overdue.
        let now = context.clock().now().as_nanos();
        room.kept.sort_unstable_by_key(|(order, _)| *order);
        // Those beyond the depth are no loss: this subscription never had them. They are left in `room`, so that no
        // message is dropped under the lock.
        let beyond = room.kept.len().saturating_sub(depth.get());
        for (_, message) in room.kept.drain(beyond..) {
            // The ring is as deep.
            let displaced = producer.push(message, now);
            debug_assert!(displaced.is_none(), "there is room for as many");
        }
        let keeps_all = options.keeps_all;
        let (written, alarm) = (topic.address(), None);
        let of_queue = Arc::clone(&losses);
        let queue = Queue { id, number, demands, keeps_all, producer, alarm, written, losses: of_queue };
        state.add_queue(queue, &mut room);
        topic.count_queues(&state);
        drop(state);
        let older = std::mem::take(&mut room.kept);
        drop(room);
        topic.wake_waiters();
        let scribe = context.scribe().clone();
        scribe.recorder.add_queue(number, losses.number, &topic.name, depth.get());
        Ok((Self { topic, id, consumer, losses, number, scribe }, older))
    }

    /// Returns a function that ends the subscription at once, although its callback may still be running.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let (topic, id) = (Arc::clone(&self.topic), self.id);
        move || topic.unsubscribe(id)
    }

    /// Returns a view of the topic's publishers and subscriptions.
    pub(crate) fn ends(&self) -> TopicEnds {
        TopicEnds::of(&self.topic)
    }

    /// Takes the oldest message.
    #[inline]
    fn pop(&self) -> Option<AnyMessage> {
        if self.scribe.recorder.is_on() { self.pop_recorded() } else { self.consumer.pop() }
    }

    #[cold]
    #[inline(never)]
    fn pop_recorded(&self) -> Option<AnyMessage> {
        self.pop_with_stamp().map(|popped| popped.message)
    }

    /// Takes the oldest message with its number and the time of its arrival, and records that.
    fn pop_with_stamp(&self) -> Option<Popped<AnyMessage>> {
        let popped = self.consumer.pop_with_stamp()?;
        if popped.message.is_recorded() {
            self.scribe.note(|| Event::Taken { queue: self.number, ticket: popped.number });
        }
        Some(popped)
    }

    /// Returns true if there is nothing to take at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.consumer.oldest_stamp().is_none()
    }

    /// Returns the arrival of the oldest message, a time on the steady clock; `None` if there is none.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.consumer.oldest_stamp().map(Instant::from_nanos)
    }

    /// Returns how many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.consumer.len()
    }

    /// Sets the waker that publishers call from now on whenever a message has arrived. No executor is notified any
    /// more.
    pub(crate) fn set_waker(&self, waker: Waker) {
        let (waker, topic) = (waker.into(), self.topic.name.to_owned());
        self.set_alarm(Alarm::Waker(Arc::new(QueueWaker { waker, topic })));
    }

    /// Returns the counters of losses.
    pub(crate) const fn losses(&self) -> &Arc<LossCounters> {
        &self.losses
    }

    /// Returns the topic, and the number of the queue among its queues.
    pub(super) fn place(&self) -> (&Arc<Topic>, u64) {
        (&self.topic, self.id)
    }

    /// Sets the counters that count losses from now on, and returns those that counted before.
    fn set_losses(&mut self, losses: Arc<LossCounters>) -> Arc<LossCounters> {
        let mut state = self.topic.lock();
        if let Some(queue) = state.queues.iter_mut().find(|queue| queue.id == self.id) {
            queue.losses = Arc::clone(&losses);
        }
        drop(state);
        self.scribe.recorder.move_queue(self.number, losses.number);
        std::mem::replace(&mut self.losses, losses)
    }

    /// Returns whether a message waits, and since when. If one does, publishers notify this subscription's executor no
    /// more until its queue is found empty, see [`lock_free::mute`](crate::lock_free::mute). So the caller must take
    /// the message without waiting for a notification.
    #[inline]
    fn look(&self) -> Pending {
        let Some(nanos) = self.consumer.oldest_stamp() else {
            return Pending::Empty;
        };
        self.consumer.mute().mute();
        Pending::Since(Instant::from_nanos(nanos))
    }

    fn set_alarm(&self, alarm: Alarm) {
        let mut room = Room::new();
        let mut state = self.topic.lock_with(&mut room, None);
        let queue = state.queues.iter_mut().find(|queue| queue.id == self.id);
        let before = queue.and_then(|queue| {
            queue.written = alarm.address().unwrap_or(self.topic.address());
            queue.alarm.replace(alarm)
        });
        state.update_alarms(&mut room);
        drop(state);
        // A waker is user code, so it is dropped after the unlock.
        drop((before, room));
    }

    fn attach(&self, notifier: Notifier) {
        let queue = QueueView(self.consumer.view());
        let is_asked = notifier.0.ask(queue.clone());
        self.set_alarm(Alarm::Executor { notifier, queue, is_asked });
    }

    fn try_take(&self) -> Option<AnyMessage> {
        self.pop_unless_empty(Self::pop)
    }

    /// Takes the oldest message: `pop` is the function that does so. If the queue is empty, has publishers notify this
    /// subscription's executor again.
    #[inline]
    fn pop_unless_empty<M>(&self, pop: impl Fn(&Self) -> Option<M>) -> Option<M> {
        let taken = pop(self);
        // The ring may look empty for a moment, while the producer displaces the oldest message.
        if taken.is_none() && self.consumer.mute().unmute() { pop(self) } else { taken }
    }

    /// Takes the oldest message, and returns it with what is left. If nothing is, publishers that are muted stay so
    /// until this is [asked](Self::pending) again.
    #[inline(always)]
    fn take_and_look(&self) -> Option<(AnyMessage, Pending)> {
        let popped = if self.scribe.recorder.is_on() { None } else { self.consumer.pop_and_look() };
        match popped {
            Some((message, Some(nanos))) => {
                self.consumer.mute().mute();
                Some((message, Pending::Since(Instant::from_nanos(nanos))))
            }
            Some((message, None)) => Some((message, Pending::AskAgain)),
            None => self.try_take().map(|message| (message, self.pending())),
        }
    }

    fn pending(&self) -> Pending {
        match self.look() {
            Pending::Empty if self.consumer.mute().unmute() => self.look(),
            pending => pending,
        }
    }
}

impl<P: SharedPointer> Source for TopicSource<P> {
    type Item = P;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.any.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<P>, TakeError> {
        // SAFETY: the topic's messages are shared by a `P`.
        Ok(self.any.try_take().map(|message| unsafe { message.into_pointer() }))
    }

    fn pending(&self) -> Pending {
        self.any.pending()
    }

    #[inline(always)]
    fn take_and_look(&mut self) -> Result<Option<(P, Pending)>, TakeError> {
        // SAFETY: the topic's messages are shared by a `P`.
        Ok(self.any.take_and_look().map(|(message, pending)| (unsafe { message.into_pointer() }, pending)))
    }

    fn prefetch(&self, distance: usize) {
        let consumer = &self.any.consumer;
        match distance {
            ..=2 => consumer.prefetch_message(P::BYTES_BEFORE),
            3..=4 => consumer.prefetch_slot(),
            _ => consumer.prefetch_ring(),
        }
    }
}

impl Drop for AnySource {
    fn drop(&mut self) {
        self.topic.unsubscribe(self.id);
        self.scribe.recorder.remove_queue(self.number);
        let lost = std::iter::from_fn(|| self.consumer.pop()).count();
        self.losses.add(LossCause::EntityDropped, lost as u64);
    }
}

#[cfg(test)]
mod tests {
    use crate::context::ContextOptions;

    use super::*;

    #[test]
    fn publishers_are_muted_while_it_is_known_that_there_is_more() {
        let context = Context::new(ContextOptions::new());
        let (options, depth) = (SubscriptionOptions::new("topic"), Depth::new(3).unwrap());
        let mut source =
            TopicSource::<Arc<u32>>::subscribe(&context, (&options, depth), context.open_counters("a", "b")).unwrap();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let is_muted = |source: &TopicSource<Arc<u32>>| source.any.consumer.mute().is_muted();
        publisher.publish(1);
        publisher.publish(2);
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&1));
        assert!(!is_muted(&source));
        assert!(matches!(source.pending(), Pending::Since(_)) && is_muted(&source));
        publisher.publish(3);
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&2));
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&3));
        assert!(source.pending() == Pending::Empty && !is_muted(&source));
    }
}
