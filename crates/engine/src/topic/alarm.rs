//! Alarms: how a topic tells its subscriptions of a message.
//!
//! Flags are raised under the topic's lock, which takes a few instructions. Sleeping threads are woken, and wakers are called,
//! after the unlock: the former is a system call, and the latter is user code.

use std::sync::Arc;
use std::task::Waker;

use rospin_core::Instant;

use super::{QueueView, TopicState};
use crate::lock_free::mute::published;
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
    Waker(Arc<Waker>),
}

/// The alarms of a topic's subscriptions. The last places may be empty.
pub(super) type Alarms = Arc<[Option<Alarm>]>;

impl Alarm {
    /// Does what is left to do after the unlock, once the flags are raised.
    fn call(&self) {
        match self {
            Self::Executor { notifier, .. } => notifier.executor().bell.parker.unpark_one(),
            Self::Waker(waker) => waker.wake_by_ref(),
        }
    }
}

impl TopicState {
    /// Notifies executors of the message that was published at that time. Returns the alarms if one of them is to be [called](call)
    /// after the unlock.
    #[inline]
    pub(super) fn raise_alarms(&self, stamp: Instant) -> Option<Alarms> {
        published();
        let (mut raised, mut is_called) = (None, false);
        for alarm in self.alarms.iter().map_while(Option::as_ref) {
            match alarm {
                Alarm::Waker(_) => is_called = true,
                Alarm::Executor { queue, .. } if queue.is_muted() => {}
                Alarm::Executor { notifier: Notifier(signal), is_asked, .. } => {
                    if *is_asked {
                        signal.raise()
                    } else {
                        signal.raise_at(stamp)
                    }
                    let executor = signal.executor();
                    // Most topics have subscriptions on one executor. With several, some thread may have to be woken.
                    is_called |= !Arc::ptr_eq(raised.get_or_insert(executor), executor);
                }
            }
        }
        let sleeps = raised.is_some_and(|executor| executor.bell.parker.needs_unpark());
        (sleeps || is_called).then(|| Arc::clone(&self.alarms))
    }
}

/// Calls the alarms that [`raise_alarms`](TopicState::raise_alarms) returned, without the topic's lock.
#[inline]
pub(super) fn call(alarms: Option<&Alarms>) {
    if let Some(alarms) = alarms {
        alarms.iter().flatten().for_each(Alarm::call);
    }
}
