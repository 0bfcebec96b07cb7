//! Sleeping: in asynchronous callbacks, in futures that a spin waits for, and elsewhere; on any clock.
//!
//! Sleeps are no entities: a sleep is an entry in a queue of an executor, which calls its waker when it is due, between two
//! callbacks. So whatever was woken runs at its own priority.

mod queue;
mod sleeps;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};

pub(crate) use sleeps::{RosWatch, Sleeps};

use crate::current::Seat;
use crate::executor::ExecutorHandle;
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

impl ExecutorHandle {
    /// Sleeps until the clock of that kind shows `due`. On ROS time that is when it gets there, however it does.
    ///
    /// See [`sleep`](Self::sleep) for what it costs, and [`Sleep`] for who wakes it.
    pub fn sleep_until(&self, clock: ClockKind, due: Instant) -> Sleep {
        Sleep::until(&self.shared, clock, due)
    }

    /// Sleeps for so long on the clock of that kind, from now on, and no longer should ROS time jump back.
    ///
    /// The executor wakes the callback itself, and the callback goes on at its own priority. `tokio::time::sleep` relies on a
    /// thread of Tokio's instead, which is an ordinary one (`SCHED_OTHER`): under load, an urgent callback that awaits it is late
    /// by as much as ordinary threads are. Use this one there.
    ///
    /// Reads a clock; neither blocks, locks nor allocates. See [`Sleep`] for what polling it costs.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, Instant, SpinOptions, TimerOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let time = context.ros_time();
    /// time.set_active(true);
    /// let arm = executor.create_group("arm", "down");
    /// let handle = executor.handle();
    /// let _wave = arm.create_timer_async(TimerOptions::one_shot(Duration::ZERO), move |arm, _| {
    ///     let pause = handle.sleep(ClockKind::Ros, Duration::from_secs(2));
    ///     async move {
    ///         arm.with(|arm| *arm = "up");
    ///         if pause.await.is_ok() {
    ///             arm.with(|arm| *arm = "waving");
    ///         }
    ///     }
    /// })?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// time.set(Instant::from_millis(2_000));
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(arm.into_payload().unwrap(), "waving");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep(&self, clock: ClockKind, duration: Duration) -> Sleep {
        Sleep::after(&self.shared, clock, duration)
    }
}

impl Sleep {
    /// Sleeps for so long, on that executor unless it is polled by another one.
    pub(crate) fn after(executor: &Arc<Shared>, clock: ClockKind, duration: Duration) -> Self {
        let mut sleep = Self::new(executor, clock, Instant::ZERO, Some(duration));
        let current = executor.clock.read_ros();
        let now = if clock == ClockKind::Ros { current.now } else { executor.clock.read(clock) };
        sleep.wish.due = now + duration;
        sleep.wish.ros = current.reading;
        sleep
    }

    /// Sleeps until then, on that executor unless it is polled by another one.
    pub(crate) fn until(executor: &Arc<Shared>, clock: ClockKind, due: Instant) -> Self {
        Self::new(executor, clock, due, None)
    }

    fn new(executor: &Arc<Shared>, clock: ClockKind, due: Instant, longest: Option<Duration>) -> Self {
        let wish = Wish { clock, due, longest, ros: executor.clock.driver().dial.read() };
        Self { wish, asked_of: Arc::clone(executor), bed: None, is_over: false }
    }

    /// Who is to wake it: the executor that polls it, unless its thread has better to do than to look after sleepers.
    fn waking_executor(&self) -> Result<Option<Arc<Shared>>, SleepError> {
        let is_alike = |seat: &Seat| Arc::ptr_eq(seat.executor.clock.driver(), self.asked_of.clock.driver());
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
        let Some(ticket) = executor.sleeps.add(&executor, &self.wish, cx.waker().clone()) else {
            return Poll::Ready(Err(SleepError::ExecutorDropped { executor: executor.name.clone() }));
        };
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
