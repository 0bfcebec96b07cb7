//! Alarms: how a topic tells its subscriptions of a message.
//!
//! Flags are raised under the topic's lock, which takes a few instructions. Sleeping threads are woken, and wakers are
//! called, after the unlock: the former is a system call, and the latter is user code.

use std::sync::Arc;

use rospin_core::Instant;

use super::{AnyMessage, Queue, QueueView, TopicState};
use crate::foreign_waker::ForeignWaker;
use crate::lock_free::mute::published;
use crate::lock_free::prefetch::prefetch_to_write_at;
use crate::lock_free::ring::Displaced;
use crate::shared::Shared;
use crate::signal::Signal;
use crate::source::Notifier;

/// Way to tell a subscription that it has a message.
#[derive(Clone)]
pub(super) enum Alarm {
    /// Notifies an executor, unless the queue's publishers are muted: then the executor takes further messages anyway.
    Executor {
        notifier: Notifier,
        queue: QueueView,
        /// True if the executor asks the queue since when its messages wait.
        is_asked: bool,
    },
    /// Calls a waker. It is shared, since cloning a waker is user code.
    Waker(Arc<QueueWaker>),
}

/// The waker of a queue, with the name of its topic for the log.
pub(super) struct QueueWaker {
    pub(super) waker: ForeignWaker,
    pub(super) topic: String,
}

/// The alarms of a topic's subscriptions. The last places may be empty.
pub(super) type Alarms = Arc<[Option<Alarm>]>;

impl Alarm {
    /// Returns the address of what is written first to notify an executor; `None` for a waker.
    pub(super) fn address(&self) -> Option<usize> {
        match self {
            Self::Executor { notifier: Notifier(signal), is_asked, .. } => Some(signal.address(*is_asked)),
            Self::Waker(_) => None,
        }
    }

    /// Returns the executor that is notified of messages; `None` for a waker, and while the executor need not be
    /// notified.
    #[inline(always)]
    fn executor(&self) -> Option<&Arc<Shared>> {
        match self {
            Self::Executor { notifier, queue, .. } if !queue.is_muted() => Some(notifier.executor()),
            _ => None,
        }
    }
}

impl Queue {
    /// Prefetches what is written when a message is published. The executor has read, and often written it last.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.producer.prefetch_slot();
        if !self.producer.is_muted() {
            prefetch_to_write_at(self.written);
        }
    }

    /// Tells an executor that might not have seen the message which was displaced when that one arrived: the entity is
    /// ready since then. That is one that asks the queue since when its messages wait, or one that looked before the
    /// message was there, and is going to look again.
    #[cold]
    pub(super) fn note_displaced(&self, oldest: &Displaced<AnyMessage>) {
        if let Some(Alarm::Executor { notifier: Notifier(signal), queue, is_asked }) = &self.alarm
            && (*is_asked && !queue.is_muted() || oldest.was_missed)
        {
            signal.raise_at(Instant::from_nanos(oldest.stamp));
        }
    }
}

impl TopicState {
    /// Notifies executors of the message that was published at that time. Returns the alarms if one of them is to be
    /// [called](call) after the unlock.
    #[inline(always)]
    pub(super) fn raise_alarms(&self, stamp: Instant) -> Option<Alarms> {
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
    pub(super) fn alarms_if(&self, is_called: bool) -> Option<Alarms> {
        is_called.then(|| Arc::clone(&self.alarms))
    }
}

impl Alarm {
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
pub(super) fn call(alarms: Option<&Alarms>) {
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

impl Alarm {
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
