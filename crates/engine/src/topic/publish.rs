//! Publishing: compiled once for messages of any type.
//!
//! A publisher displaces by default, because keep last is what ROS 2 does, and because a callback must never wait for
//! another one. With `wait_for_room` it waits for a time instead, unless its thread spins an executor. It looks from
//! time to time: a consumer that had to wake publishers would need a fence for each message, also for messages of
//! publishers that never wait.
//!
//! A subscription is told of a message by its alarm. Flags are raised under the topic's lock, which takes a few
//! instructions. Sleeping threads are woken, and wakers are called, after the unlock: the former is a system call, and
//! the latter is user code.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::Instant;
use rospin_core::recording::Event;
use smallvec::SmallVec;

use super::room::{INLINE, Room};
use super::{Alarm, Alarms, AnyMessage, History, MessageType, Queue, Topic, TopicError, TopicState};
use crate::clock::Clock;
use crate::context::Context;
use crate::current::SpinningThread;
use crate::error::DepthTooLarge;
use crate::guarantees::Guarantees;
use crate::lock_free::mute::published;
use crate::lock_free::prefetch::prefetch_to_write_at;
use crate::lock_free::ring::Displaced;
use crate::loss::LossCause;
use crate::options::PublisherOptions;
use crate::recorder::Scribe;
use crate::shared::Shared;
use crate::signal::Signal;
use crate::source::Notifier;
use crate::sync::atomic::Ordering;
use crate::sync::{MutexGuard, Stopwatch, thread};

/// The number of times that a publisher which waits for room in a short queue yields before it sleeps.
const YIELDS: u32 = 16;

/// The time for which a publisher that waits for room sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

/// The depth from which on a queue is long: it does not run empty while a publisher sleeps, unless callbacks take
/// nanoseconds. So the publisher sleeps at once. Each look would slow the executor down, which writes what the
/// publisher looks at.
const LONG: usize = 256;

/// The result of publishing a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Delivery {
    /// The number of subscriptions that got the message.
    pub queued: usize,
    /// The number of older messages that were displaced by this one. Each is counted as a loss of its subscription.
    pub displaced: usize,
}

/// [`Published`](super::Published) for messages of any type.
pub(super) struct Begun {
    pub(super) delivery: Delivery,
    /// The alarms to call, if there are any.
    alarms: Option<Alarms>,
    _displaced: SmallVec<[AnyMessage; INLINE]>,
}

impl Drop for Begun {
    fn drop(&mut self) {
        call(self.alarms.as_ref());
    }
}

/// [`Publisher`](super::Publisher) of messages of any type. It is compiled once, and not again for each type of
/// messages. The messages that it is given must have the type of the topic.
pub(super) struct AnyPublisher {
    pub(super) topic: Arc<Topic>,
    clock: Clock,
    scribe: Scribe,
    pub(super) history: Option<u64>,
    pub(super) promises: Guarantees,
    /// The longest time for which a message waits for room; `None` if it never waits.
    patience: Option<Duration>,
    /// True if it waits only for queues that keep all.
    keeps_all: bool,
}

impl AnyPublisher {
    /// Creates a publisher on a topic of that type of messages. Those that it keeps for late subscriptions promise
    /// `kept_promises`, too.
    pub(super) fn new(
        context: &Context,
        options: PublisherOptions,
        message_type: MessageType,
        kept_promises: Guarantees,
    ) -> Result<Self, TopicError> {
        let topic = Topic::find(options.topics.as_ref().unwrap_or(context.topics()), &options.topic, message_type)?;
        if options.latched > 0 {
            DepthTooLarge::check(&options.topic, options.latched)?;
        }
        let PublisherOptions { promises, patience, keeps_all, .. } = options;
        let messages = VecDeque::with_capacity(options.latched);
        let mut room = Room::new();
        let mut state = topic.lock_with(&mut room, None);
        let history = (options.latched > 0).then(|| state.next_id());
        if let Some(id) = history {
            let promises = promises | kept_promises;
            state.add_history(History { id, promises, depth: options.latched, messages }, &mut room);
        }
        state.publishers += 1;
        drop(state);
        drop(room);
        topic.wake_waiters();
        let (clock, scribe) = (context.clock().clone(), context.scribe().clone());
        Ok(Self { topic, clock, scribe, history, promises, patience, keeps_all })
    }

    pub(super) fn kept(&self) -> Vec<AnyMessage> {
        let Some(id) = self.history else { return Vec::new() };
        let mut kept = Vec::new();
        loop {
            let state = self.topic.lock();
            let Some(history) = state.histories.iter().find(|history| history.id == id) else { return kept };
            if history.messages.len() <= kept.capacity() {
                kept.extend(history.messages.iter().map(|(_, message)| message.clone()));
                return kept;
            }
            let count = history.messages.len();
            // Nothing is allocated under the lock.
            drop(state);
            kept.reserve(count);
        }
    }

    /// Publishes a message that makes these promises.
    #[inline]
    pub(super) fn publish(&self, message: AnyMessage, promises: Guarantees) -> Delivery {
        // Most topics have one subscription, and most publishers keep nothing.
        let is_to_one = self.topic.subscriptions.load(Ordering::Relaxed) == 1 && self.history.is_none();
        if is_to_one { self.publish_to_one(message, promises) } else { self.publish_to_all(message, promises, None) }
    }

    /// Publishes the message in few steps if there is one queue, which has room, and nothing is recorded.
    #[inline]
    fn publish_to_one(&self, message: AnyMessage, promises: Guarantees) -> Delivery {
        let mut state = self.topic.lock();
        // The recorder is looked at under the lock, so that a recording has all messages of a queue since its first
        // one.
        let is_recorded = self.scribe.recorder.is_on();
        let pushed = if is_recorded { Err(message) } else { state.push_to_one(message, &self.clock, promises) };
        match pushed {
            Ok(alarms) => {
                drop(state);
                call(alarms.as_ref());
                Delivery { queued: 1, displaced: 0 }
            }
            Err(message) if self.patience.is_none() => self.publish_to_all(message, promises, Some(state)),
            Err(message) => {
                drop(state);
                self.publish_to_all(message, promises, None)
            }
        }
    }

    /// Publishes the message to any number of queues, whether they have room or not. `locked` is the locked topic;
    /// `None` if it is still to be locked.
    #[inline(never)]
    fn publish_to_all(
        &self,
        message: AnyMessage,
        promises: Guarantees,
        locked: Option<MutexGuard<'_, TopicState>>,
    ) -> Delivery {
        // Declared before the lock is taken, so that it is dropped after the unlock: dropping a message may run user
        // code.
        let mut displaced = SmallVec::new();
        let (state, stamp) = match (locked, self.patience) {
            (Some(state), _) => (self.topic.with_room_to_push(state, &mut displaced), self.clock.now()),
            (None, None) => {
                let stamp = self.clock.now();
                (self.topic.lock_to_push(&mut displaced), stamp)
            }
            // The message is published when it has room, however long it has waited.
            (None, Some(patience)) => (self.lock_with_room(patience, promises, &mut displaced), self.clock.now()),
        };
        let (delivery, alarms) = self.push_locked(state, message, (stamp, promises), &mut displaced);
        call(alarms.as_ref());
        delivery
    }

    pub(super) fn begin(&self, message: AnyMessage, promises: Guarantees) -> Begun {
        let mut displaced = SmallVec::new();
        let state = self.topic.lock_to_push(&mut displaced);
        let (delivery, alarms) = self.push_locked(state, message, (self.clock.now(), promises), &mut displaced);
        Begun { delivery, alarms, _displaced: displaced }
    }

    /// Waits as [`publish`](Self::publish) does, without a message.
    pub(super) fn wait_for_room(&self, promises: Guarantees) {
        if let Some(patience) = self.patience {
            drop(self.lock_with_room(patience, promises, &mut SmallVec::new()));
        }
    }

    /// Waits until no queue that may have the message is full and `is_room_elsewhere` returns true, for the time
    /// `at_most`; on a thread of an executor, not at all. Returns the rest of that time; `None` if there is no room. The
    /// topic is not locked while `is_room_elsewhere` is called.
    pub(super) fn room_within(
        &self,
        at_most: Duration,
        promises: Guarantees,
        is_room_elsewhere: &dyn Fn() -> bool,
    ) -> Option<Duration> {
        let (begin, mut looks) = (Stopwatch::now(), 0);
        loop {
            let full = self.topic.lock().full_for(promises, false);
            if full.is_none() && is_room_elsewhere() {
                return Some(at_most.saturating_sub(begin.elapsed()));
            }
            if SpinningThread::is_here() || begin.elapsed() >= at_most {
                return None;
            }
            looks += 1;
            let is_short = full.is_some_and(|depth| depth < LONG);
            if looks <= YIELDS && is_short { thread::yield_now() } else { thread::sleep(NAP) }
        }
    }

    /// Publishes the message if no queue is full. Otherwise returns it.
    pub(super) fn publish_if_room(&self, message: AnyMessage, promises: Guarantees) -> Result<Delivery, AnyMessage> {
        let mut displaced = SmallVec::new();
        let stamp = self.clock.now();
        let state = self.topic.lock_to_push(&mut displaced);
        if state.full_for(promises, false).is_some() {
            drop(state);
            return Err(message);
        }
        let (delivery, alarms) = self.push_locked(state, message, (stamp, promises), &mut displaced);
        call(alarms.as_ref());
        Ok(delivery)
    }

    /// Locks the topic as soon as the queues that may have the message have room, or after the time `at_most`. On a
    /// thread of an executor, locks it at once.
    #[inline(never)]
    fn lock_with_room(
        &self,
        at_most: Duration,
        promises: Guarantees,
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> MutexGuard<'_, TopicState> {
        let (mut begin, mut looks) = (None, 0);
        loop {
            let state = self.topic.lock_to_push(displaced);
            // A thread of an executor never waits: it may be the one that has to empty the queue.
            let full = state.full_for(promises, self.keeps_all).filter(|_| !SpinningThread::is_here());
            let Some(depth) = full else {
                return state;
            };
            if begin.get_or_insert_with(Stopwatch::now).elapsed() >= at_most {
                return state;
            }
            drop(state);
            looks += 1;
            // Short callbacks end while this thread yields. Otherwise a nap is long enough for several of them.
            if looks <= YIELDS && depth < LONG { thread::yield_now() } else { thread::sleep(NAP) }
        }
    }

    /// Appends the message to all queues that may have it, notifies executors, and unlocks the topic. Returns the
    /// delivery, and the topic's alarms if one of them is to be called. The messages that made room are left in
    /// `displaced`.
    #[inline(always)]
    fn push_locked(
        &self,
        mut state: MutexGuard<'_, TopicState>,
        message: AnyMessage,
        (stamp, promises): (Instant, Guarantees),
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> (Delivery, Option<Alarms>) {
        if let Some(id) = self.history {
            displaced.extend(state.remember(id, message.clone()));
        }
        let scribe = &self.scribe;
        let delivery = if scribe.recorder.is_on() {
            state.push_recorded(message, (stamp, scribe), promises, displaced)
        } else {
            state.push::<false>(message, (stamp, scribe), promises, displaced)
        };
        (delivery, state.raise_alarms(stamp))
    }
}

impl TopicState {
    /// Appends the message if there is one queue, which may have it and has room, and notifies its executor. Returns
    /// the alarms if one is to be called. Otherwise nothing has changed, and the message is returned.
    #[inline(always)]
    fn push_to_one(
        &mut self,
        message: AnyMessage,
        clock: &Clock,
        promises: Guarantees,
    ) -> Result<Option<Alarms>, AnyMessage> {
        let is_called = match &mut *self.queues {
            [queue] if promises.include(queue.demands) => {
                queue.prefetch();
                // Meanwhile the clock is read.
                let stamp = clock.now();
                queue.producer.push_if_room(message, stamp.as_nanos())?;
                queue.alarm.as_ref().is_some_and(|alarm| alarm.raise(stamp))
            }
            _ => return Err(message),
        };
        Ok(self.alarms_if(is_called))
    }

    /// Returns the depth of a queue in which a message with these promises would displace another one; `None` if no
    /// queue is full. If `of_keep_all`, only queues of subscriptions that keep all messages are looked at. A message that has
    /// expired counts as any other: it keeps its place until it is taken.
    fn full_for(&self, promises: Guarantees, of_keep_all: bool) -> Option<usize> {
        let counts = |queue: &&Queue| promises.include(queue.demands) && (queue.keeps_all || !of_keep_all);
        let mut takers = self.queues.iter().filter(counts);
        takers.find(|queue| queue.producer.is_full()).map(|queue| queue.producer.depth())
    }

    /// Appends the message as [`push`](Self::push) does, and records it.
    #[cold]
    #[inline(never)]
    fn push_recorded(
        &mut self,
        message: AnyMessage,
        stamp: (Instant, &Scribe),
        promises: Guarantees,
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> Delivery {
        self.push::<true>(message, stamp, promises, displaced)
    }

    /// Appends the message to every queue that demands no more than its publisher promises. Leaves the messages that
    /// made room in `displaced`, and also the message itself if no queue gets it.
    #[inline(always)]
    fn push<const IS_RECORDED: bool>(
        &mut self,
        message: AnyMessage,
        (stamp, scribe): (Instant, &Scribe),
        promises: Guarantees,
        displaced: &mut SmallVec<[AnyMessage; INLINE]>,
    ) -> Delivery {
        let before = displaced.len();
        let mut queues = self.queues.iter_mut().filter(|queue| promises.include(queue.demands));
        let Some(mut queue) = queues.next() else {
            displaced.push(message);
            return Delivery::default();
        };
        let mut push = |queue: &mut Queue, message| {
            let oldest = queue.producer.push(message, stamp.as_nanos());
            if IS_RECORDED {
                let ticket = queue.producer.pushed() - 1;
                let displaced = oldest.as_ref().is_some_and(|oldest| oldest.message.is_recorded());
                scribe.note_at(stamp, Event::Queued { queue: queue.number, ticket, displaced });
            }
            if let Some(oldest) = oldest {
                queue.count_displaced(&oldest, stamp);
                displaced.push(oldest.message);
            }
        };
        let mut queued = 1;
        for next in queues {
            push(std::mem::replace(&mut queue, next), message.clone());
            queued += 1;
        }
        // The last queue gets the message itself, which saves one reference count, and for most topics the only one.
        push(queue, message);
        Delivery { queued, displaced: displaced.len() - before }
    }

    /// Keeps the message for late subscriptions. Returns the message that it displaced.
    fn remember(&mut self, id: u64, message: AnyMessage) -> Option<AnyMessage> {
        let number = self.next_id();
        let history = self.histories.iter_mut().find(|history| history.id == id)?;
        let oldest = if history.messages.len() == history.depth { history.messages.pop_front() } else { None };
        history.messages.push_back((number, message));
        oldest.map(|(_, message)| message)
    }
}

impl Queue {
    /// Prefetches what is written when a message is published. The executor has read, and often written it last.
    #[inline(always)]
    fn prefetch(&self) {
        self.producer.prefetch_slot();
        if !self.producer.is_muted() {
            prefetch_to_write_at(self.written);
        }
    }

    /// Tells an executor that might not have seen the message which was displaced when that one arrived: the entity is
    /// ready since then. That is one that asks the queue since when its messages wait, or one that looked before the
    /// message was there, and is going to look again.
    #[cold]
    fn note_displaced(&self, oldest: &Displaced<AnyMessage>) {
        if let Some(Alarm::Executor { notifier: Notifier(signal), queue, is_asked }) = &self.alarm
            && (*is_asked && !queue.is_muted() || oldest.was_missed)
        {
            signal.raise_at(Instant::from_nanos(oldest.stamp));
        }
    }

    /// Counts the message that made room for one of that time as lost.
    #[inline(always)]
    pub(super) fn count_displaced(&self, oldest: &Displaced<AnyMessage>, stamp: Instant) {
        let cause = if oldest.message.is_expired(stamp) { LossCause::Expired } else { LossCause::QueueFull };
        self.losses.add(cause, 1);
        self.note_displaced(oldest);
    }
}

impl TopicState {
    /// Notifies executors of the message that was published at that time. Returns the alarms if one of them is to be
    /// [called](call) after the unlock.
    #[inline(always)]
    fn raise_alarms(&self, stamp: Instant) -> Option<Alarms> {
        let is_called = match &*self.alarms {
            [Some(alarm)] | [Some(alarm), None, ..] => alarm.raise(stamp),
            alarms => {
                published();
                raise_all(alarms, stamp)
            }
        };
        self.alarms_if(is_called)
    }

    /// Returns the alarms if one of them is to be called.
    #[inline(always)]
    fn alarms_if(&self, is_called: bool) -> Option<Alarms> {
        is_called.then(|| Arc::clone(&self.alarms))
    }
}

impl Alarm {
    /// Returns the executor that is notified of messages; `None` for a waker, and while the executor need not be
    /// notified.
    #[inline(always)]
    fn executor(&self) -> Option<&Arc<Shared>> {
        match self {
            Self::Executor { notifier, queue, .. } if !queue.is_muted() => Some(notifier.executor()),
            _ => None,
        }
    }

    /// Notifies the executor, unless that need not be. Returns true if the alarm is to be called after the unlock.
    #[inline(always)]
    pub(super) fn raise(&self, stamp: Instant) -> bool {
        let Self::Executor { notifier: Notifier(signal), queue, is_asked } = self else {
            return true;
        };
        if queue.is_muted_for_published() {
            return false;
        }
        raise_flag(signal, *is_asked, stamp);
        signal.executor().bell.parker.needs_unpark_after_read_modify_write()
    }

    /// Does what [`call`] does, for one alarm.
    pub(super) fn call(&self) {
        if let Some(executor) = self.executor() {
            executor.bell.parker.unpark_one();
        }
        self.wake();
    }

    /// Calls the waker, if it is one.
    fn wake(&self) {
        if let Self::Waker(waker) = self {
            waker.waker.wake_for(format_args!("the waker of a queue of topic `{}`", waker.topic));
        }
    }
}

/// Raises the flag for a message that was published at that time. An executor that asks the queue need not be told the
/// time.
#[inline(always)]
fn raise_flag(signal: &Signal, is_asked: bool, stamp: Instant) {
    if is_asked { signal.raise() } else { signal.raise_at(stamp) }
}

/// Does what [`Alarm::raise`] does, for several alarms. Returns true if any of them is to be called.
#[inline(never)]
fn raise_all(alarms: &[Option<Alarm>], stamp: Instant) -> bool {
    let alarms = || alarms.iter().map_while(Option::as_ref);
    // Most topics have subscriptions on one executor, which is notified of all at once.
    let (mut raised, mut bits, mut are_several, mut has_waker) = (None, 0, false, false);
    for alarm in alarms() {
        match alarm {
            Alarm::Waker(_) => has_waker = true,
            Alarm::Executor { queue, .. } if queue.is_muted() => {}
            Alarm::Executor { notifier: Notifier(signal), is_asked, .. } => {
                let is_another = !Arc::ptr_eq(raised.get_or_insert(signal.executor()), signal.executor());
                match signal.bit() {
                    Some(bit) if *is_asked && !is_another => bits |= bit,
                    _ => raise_flag(signal, *is_asked, stamp),
                }
                are_several |= is_another;
            }
        }
    }
    let Some(executor) = raised else {
        return has_waker;
    };
    executor.bell.inbox.raise_bits(bits);
    let others_sleep = || alarms().filter_map(Alarm::executor).any(|executor| executor.bell.parker.has_waiting());
    executor.bell.parker.needs_unpark() || has_waker || are_several && others_sleep()
}

/// Calls the alarms that [`raise_alarms`](TopicState::raise_alarms) returned, without the topic's lock: wakes
/// executors, and calls wakers, which are user code.
#[inline]
fn call(alarms: Option<&Alarms>) {
    if let Some(alarms) = alarms {
        call_all(alarms);
    }
}

#[inline(never)]
fn call_all(alarms: &Alarms) {
    let alarms = || alarms.iter().flatten();
    // One that is muted by now has taken the message, or will.
    alarms().filter_map(Alarm::executor).for_each(|executor| executor.bell.parker.unpark_one());
    alarms().for_each(Alarm::wake);
}

impl Drop for AnyPublisher {
    fn drop(&mut self) {
        if self.topic.process.is_another() {
            return;
        }
        let mut state = self.topic.lock();
        state.publishers -= 1;
        let at = self.history.and_then(|id| state.histories.iter().position(|history| history.id == id));
        let history = at.map(|at| state.histories.swap_remove(at));
        drop(state);
        drop(history);
    }
}
