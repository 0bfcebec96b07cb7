//! Sleeping: in asynchronous callbacks, in futures that a spin waits for, and elsewhere; on any clock.
//!
//! Sleeps are no entities: a sleep is an entry in a queue of an executor, which calls its waker when it is due, between two
//! callbacks. So whatever was woken runs at its own priority.

mod queue;
pub(crate) mod sleeps;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};

use crate::current::Seat;
use crate::shared::Shared;
use queue::Ticket;
use sleeps::{Asked, Wish};

/// Why somebody cannot sleep, or go on sleeping.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SleepError {
    /// The executor that was to wake the sleeper was dropped.
    #[error("executor `{executor}` was dropped, and nobody else would wake who sleeps on it")]
    ExecutorDropped {
        /// The executor.
        executor: String,
    },
    /// A synchronous callback blocks the only thread of the executor that was to wake it.
    #[error(
        "a synchronous callback waits for executor `{executor}`, whose only thread it blocks; make the callback asynchronous and \
         await the sleep, or use a timer"
    )]
    InCallback {
        /// The executor.
        executor: String,
    },
}

/// Resolves when its clock shows the time; to be awaited in asynchronous callbacks, in what
/// [`spin_until`](crate::Executor::spin_until) waits for, and elsewhere.
///
/// While it is polled by a thread of an executor, that executor wakes it; so a callback that a deployment file moved sleeps on
/// its own executor. Polled by any other thread, it is woken by the executor that it was asked of. It resolves while that
/// executor spins, and not before it was polled. Who sleeps on ROS time sleeps until all jump callbacks of the executor ran.
///
/// The first poll, a poll by another executor's thread, and the drop take a lock for a moment and cost the logarithm of how many
/// sleep there; the first poll may allocate. None of them waits for a callback.
///
/// # Errors
/// See [`SleepError`].
#[must_use = "it sleeps only while it is awaited"]
pub struct Sleep {
    wish: Wish,
    /// The executor that it was asked of.
    asked_of: Arc<Shared>,
    bed: Option<Bed>,
    is_over: bool,
}

/// Where somebody sleeps.
struct Bed {
    executor: Arc<Shared>,
    ticket: Ticket,
}

impl Sleep {
    /// Sleeps for so long, on that executor unless it is polled by another one.
    pub(crate) fn after(executor: &Arc<Shared>, clock: ClockKind, duration: Duration) -> Self {
        let mut sleep = Self::new(executor, clock, Instant::ZERO, Some(duration));
        let current = executor.times.clock.read_ros();
        let now = if clock == ClockKind::Ros { current.now } else { executor.times.clock.read(clock) };
        sleep.wish.due = now + duration;
        sleep.wish.ros = current.reading;
        sleep
    }

    /// Sleeps until then, on that executor unless it is polled by another one.
    pub(crate) fn until(executor: &Arc<Shared>, clock: ClockKind, due: Instant) -> Self {
        Self::new(executor, clock, due, None)
    }

    fn new(executor: &Arc<Shared>, clock: ClockKind, due: Instant, longest: Option<Duration>) -> Self {
        let wish = Wish { clock, due, longest, ros: executor.times.dial().read() };
        Self { wish, asked_of: Arc::clone(executor), bed: None, is_over: false }
    }

    /// Who is to wake it: the executor that polls it, unless its thread has better to do than to look after sleepers.
    fn waking_executor(&self) -> Result<Option<Arc<Shared>>, SleepError> {
        let is_alike =
            |seat: &Seat| Arc::ptr_eq(seat.executor.times.clock.driver(), self.asked_of.times.clock.driver());
        let Some(seat) = Seat::here().filter(is_alike) else {
            return Ok(None);
        };
        if !seat.is_busy() {
            return Ok(Some(seat.executor));
        }
        if Arc::ptr_eq(&seat.executor, &self.asked_of) {
            return Err(SleepError::InCallback { executor: seat.executor.name.clone() });
        }
        Ok(Some(Arc::clone(&self.asked_of)))
    }

    /// Leaves the bed. True if it was woken there.
    fn get_up(&mut self) -> bool {
        let Some(Bed { executor, ticket }) = self.bed.take() else {
            return false;
        };
        match executor.sleeps.remove(self.wish.clock, ticket) {
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
        if let Some(Bed { executor, ticket }) = self.bed.as_ref().filter(stays) {
            match executor.sleeps.ask(clock, *ticket, cx.waker().clone()) {
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
        let Some((ticket, is_first)) = executor.sleeps.add(&executor.times, &self.wish, cx.waker().clone()) else {
            return Poll::Ready(Err(SleepError::ExecutorDropped { executor: executor.name.clone() }));
        };
        if is_first {
            executor.poke();
        }
        self.bed = Some(Bed { executor, ticket });
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
