//! Sleeping on any clock, in asynchronous callbacks, in futures that a spin waits for, and elsewhere.
//!
//! A sleep is not an entity but an entry in a queue of an executor. The executor calls its waker when it is due,
//! between two callbacks. So the woken callback runs at its own priority.
//!
//! Starting a sleep and dropping it take logarithmic time, and no change of the executor. As timers, sleepers come
//! before the next pick: there is a round of wake-ups before each.

mod queue;
mod rate;
pub(crate) mod sleeps;
mod timeout;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};

use crate::clock_point::ClockPoint;
use crate::current::SpinningThread;
use crate::shared::Shared;
use queue::SleeperId;
pub use rate::{Rate, RateError};
use sleeps::{Asked, Wish};
pub use timeout::TimeoutError;
pub(crate) use timeout::timeout;

/// Reasons for which a sleep ends early.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SleepError {
    /// The executor that should wake the sleeper was dropped.
    #[error("executor `{executor}` was dropped, and nobody else would wake who sleeps on it")]
    ExecutorDropped {
        /// The name of the executor.
        executor: String,
    },
    /// A synchronous callback blocks the only thread of the executor that should wake it.
    #[error(
        "a synchronous callback waits for executor `{executor}`, whose only thread it blocks; make the callback asynchronous and \
         await the sleep, or use a timer"
    )]
    InCallback {
        /// The name of the executor.
        executor: String,
    },
}

/// A future that resolves when a clock shows a certain time. It may be awaited anywhere: in asynchronous callbacks, in
/// the future of [`spin_until`](crate::Executor::spin_until), and elsewhere.
///
/// If a thread of an executor of the same context polls it, that executor wakes it. So a callback that a deployment
/// file moved sleeps on its own executor. If any other thread polls it, the executor of the
/// [handle](crate::ExecutorHandle::sleep) wakes it. It resolves only while that executor spins. A sleep on ROS time
/// does not end before all jump callbacks of the executor that must be told of a jump have run.
///
/// The first poll, a poll by another executor's thread, and the drop take a lock for a moment. Their cost is
/// logarithmic in the number of sleepers. The first poll may allocate. None of them waits for a callback.
///
/// Cancel safe: dropped early, it has no effect. Polled by reference, it goes on where it was.
///
/// # Errors
/// See [`SleepError`].
#[must_use = "it sleeps only while it is awaited"]
pub struct Sleep {
    wish: Wish,
    /// Executor of the handle that created the sleep.
    asked_of: Arc<Shared>,
    bed: Option<Bed>,
    is_over: bool,
}

/// A place in an executor's queue of sleepers.
struct Bed {
    executor: Arc<Shared>,
    id: SleeperId,
}

impl Sleep {
    /// Creates a sleep for a duration, on that executor unless another one polls it.
    pub(crate) fn after(executor: &Arc<Shared>, clock: ClockKind, duration: Duration) -> Self {
        Self::at_most(executor, clock, duration, |now| now + duration)
    }

    /// Creates a sleep until the time that `due` makes of the present one. If ROS time jumps back meanwhile, it lasts
    /// at most `longest` from the jump on.
    fn at_most(
        executor: &Arc<Shared>,
        clock: ClockKind,
        longest: Duration,
        due: impl FnOnce(Instant) -> Instant,
    ) -> Self {
        let mut sleep = Self::new(executor, clock, Instant::ZERO, Some(longest));
        let current = executor.times.clock.read_ros();
        let now = if clock == ClockKind::Ros { current.now } else { executor.times.clock.read(clock) };
        sleep.wish.due = due(now);
        sleep.wish.ros = current.reading;
        sleep
    }

    /// Creates a sleep until a time on the clock of its type, on that executor unless another one polls it.
    pub(crate) fn until_point<P: ClockPoint>(executor: &Arc<Shared>, due: P) -> Self {
        Self::until(executor, P::KIND, due.to_reading())
    }

    /// Creates a sleep until a time, on that executor unless another one polls it.
    pub(crate) fn until(executor: &Arc<Shared>, clock: ClockKind, due: Instant) -> Self {
        Self::new(executor, clock, due, None)
    }

    fn new(executor: &Arc<Shared>, clock: ClockKind, due: Instant, longest: Option<Duration>) -> Self {
        let wish = Wish { clock, due, longest, ros: executor.times.dial().read() };
        Self { wish, asked_of: Arc::clone(executor), bed: None, is_over: false }
    }

    /// Returns the executor that must wake the sleep: the one whose thread polls it, or, if a synchronous callback
    /// blocks that one, the one of the handle. `None` if the polling thread belongs to no executor of the same context.
    /// An error if the blocked executor is the one of the handle.
    fn waking_executor(&self) -> Result<Option<Arc<Shared>>, SleepError> {
        let is_alike = |spinning: &SpinningThread| {
            Arc::ptr_eq(spinning.executor.times.clock.driver(), self.asked_of.times.clock.driver())
        };
        let Some(spinning) = SpinningThread::here().filter(is_alike) else {
            return Ok(None);
        };
        if !spinning.is_busy() {
            return Ok(Some(spinning.executor));
        }
        if Arc::ptr_eq(&spinning.executor, &self.asked_of) {
            return Err(SleepError::InCallback { executor: spinning.executor.name.clone() });
        }
        Ok(Some(Arc::clone(&self.asked_of)))
    }

    /// Removes the sleep from its executor's queue. Returns true if it was no longer there, because the executor has
    /// woken it.
    fn get_up(&mut self) -> bool {
        let Some(Bed { executor, id }) = self.bed.take() else {
            return false;
        };
        match executor.sleeps.remove(self.wish.clock, id) {
            Some((due, ros)) => {
                (self.wish.due, self.wish.ros) = (due, ros);
                false
            }
            None => true,
        }
    }
}

impl Future for Sleep {
    type Output = Result<(), SleepError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_over {
            return Poll::Ready(Ok(()));
        }
        let here = self.waking_executor()?;
        let clock = self.wish.clock;
        let stays = |bed: &&Bed| here.as_ref().is_none_or(|here| Arc::ptr_eq(here, &bed.executor));
        if let Some(Bed { executor, id }) = self.bed.as_ref().filter(stays) {
            match executor.sleeps.ask(clock, *id, cx.waker().clone().into()) {
                Asked::Asleep => return Poll::Pending,
                Asked::Closed => {
                    return Poll::Ready(Err(SleepError::ExecutorDropped { executor: executor.name.clone() }));
                }
                Asked::Woken => self.bed = None,
            }
            self.is_over = true;
        } else {
            self.is_over = self.get_up();
        }
        if self.is_over {
            return Poll::Ready(Ok(()));
        }
        let executor = here.unwrap_or_else(|| Arc::clone(&self.asked_of));
        let Some((id, is_first)) = executor.sleeps.add(&executor.times, &self.wish, cx.waker().clone().into()) else {
            return Poll::Ready(Err(SleepError::ExecutorDropped { executor: executor.name.clone() }));
        };
        if is_first {
            executor.poke();
        }
        self.bed = Some(Bed { executor, id });
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.get_up();
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("wish", &self.wish).field("is_over", &self.is_over).finish_non_exhaustive()
    }
}
