//! The end of a topic that is taken from.

use std::sync::Arc;
use std::task::Waker;

use rospin_core::Instant;

use super::{Alarm, Queue, Topic, TopicEnds, TopicError};
use crate::body::Take;
use crate::context::Context;
use crate::lock_free::ring::{Consumer, ring};
use crate::loss::{LossCause, LossCounters};
use crate::options::SubscriptionOptions;
use crate::source::{Notifier, Pending, Source, TakeError};

/// A subscription's end of a topic.
pub(crate) struct TopicSource<T: Send + Sync + 'static> {
    topic: Arc<Topic<T>>,
    id: u64,
    consumer: Consumer<Arc<T>>,
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
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        drop(too_old);
        Ok(Self { topic, id, consumer, losses })
    }

    /// What ends the subscription at once, while its callback may still be running.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let (topic, id) = (Arc::clone(&self.topic), self.id);
        move || topic.unsubscribe(id)
    }

    /// Who else has this topic.
    pub(crate) fn ends(&self) -> TopicEnds {
        TopicEnds::of(&self.topic)
    }

    /// Takes the oldest message.
    pub(crate) fn pop(&self) -> Option<Arc<T>> {
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

    /// What there is to take, for whoever takes it then: publishers are muted if there is something.
    #[inline]
    fn look(&self) -> Pending {
        let Some(nanos) = self.consumer.oldest_stamp() else {
            return Pending::Empty;
        };
        self.consumer.mute().mute();
        Pending::Since(Instant::from_nanos(nanos))
    }

    fn set_alarm(&self, alarm: Alarm<T>) {
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
        self.set_alarm(Alarm::Executor(notifier, self.consumer.mute_of()));
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Arc<T>>, TakeError> {
        let taken = self.pop();
        // The ring may be empty for a moment, while the oldest message makes room.
        Ok(if taken.is_none() && self.consumer.mute().unmute() { self.pop() } else { taken })
    }

    fn pending(&self) -> Pending {
        match self.look() {
            Pending::Empty if self.consumer.mute().unmute() => self.look(),
            pending => pending,
        }
    }
}

/// A subscription's callback takes from the topic itself, whose publishers may stay muted while it runs.
impl<T: Send + Sync + 'static> Take for TopicSource<T> {
    type Item = Arc<T>;

    #[inline]
    fn take(&mut self, _: Instant) -> Result<Option<Arc<T>>, TakeError> {
        // None although one was pending: the oldest message is making room at this moment.
        Ok(self.pop())
    }

    fn pending(&self) -> Pending {
        self.look()
    }

    fn arm(&self) -> Pending {
        Source::pending(self)
    }
}

impl<T: Send + Sync + 'static> Drop for TopicSource<T> {
    fn drop(&mut self) {
        self.topic.unsubscribe(self.id);
        let lost = std::iter::from_fn(|| self.consumer.pop()).count();
        self.losses.add(LossCause::EntityDropped, lost as u64);
    }
}

#[cfg(test)]
mod tests {
    use crate::context::ContextOptions;

    use super::*;

    #[test]
    fn publishers_stay_muted_until_the_source_is_armed() {
        let context = Context::new(ContextOptions::new());
        let options = SubscriptionOptions::new("topic").keep_last(3);
        let mut source = TopicSource::<u32>::subscribe(&context, &options, context.open_counters("a", "b")).unwrap();
        let publisher = context.create_publisher::<u32>("topic").unwrap();
        let is_muted = |source: &TopicSource<u32>| source.consumer.mute().is_muted();
        publisher.publish(1);
        publisher.publish(2);
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&1));
        assert!(!is_muted(&source));
        assert!(matches!(Take::pending(&source), Pending::Since(_)) && is_muted(&source));
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&2));
        assert!(Take::pending(&source) == Pending::Empty && is_muted(&source));
        publisher.publish(3);
        assert!(matches!(source.arm(), Pending::Since(_)) && is_muted(&source), "there is more after all");
        assert_eq!(source.try_take().unwrap().as_deref(), Some(&3));
        assert!(source.arm() == Pending::Empty && !is_muted(&source));
    }
}
