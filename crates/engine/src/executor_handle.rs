//! Handles of executors: for callbacks, and for threads that do not own the executor.

use std::sync::Arc;
use std::time::Duration;

use rospin_core::ClockKind;

use crate::clock_point::ClockPoint;
use crate::context::Context;
use crate::executor_core::ExecutorCore;
use crate::os::ThreadReport;
use crate::shared::Shared;
use crate::sleep::{Rate, RateError, Sleep, TimeoutError, timeout};

/// A handle of an executor, with which it can be extended and halted, but not spun. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExecutorHandle {
    pub(crate) core: Arc<ExecutorCore>,
    pub(crate) context: Context,
    pub(crate) threads: u16,
}

impl ExecutorHandle {
    /// Returns the executor's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared().name
    }

    /// Returns the context that the executor belongs to.
    #[must_use]
    pub const fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.core.shared
    }

    /// Returns the settings of the executor's threads as the kernel reported them when it last began to spin, with the
    /// settings that the threads could not have. Empty if no settings were [named](crate::ExecutorOptions::thread).
    /// Locks for a moment.
    #[must_use]
    pub fn thread_reports(&self) -> Vec<ThreadReport> {
        self.shared().threads.reports()
    }

    /// Ends the spin that is going on, or, if none is, the next one at its beginning: a halt is never lost.
    ///
    /// May be called from any thread and from callbacks; returns at once.
    pub fn halt(&self) {
        self.shared().halt();
    }

    /// Sleeps until the clock of `due` shows that time: an [`Instant`](crate::Instant) is on the steady clock, a
    /// [`Time`](crate::Time) in ROS time, and a [`SystemTime`](std::time::SystemTime) on the system clock. ROS time may
    /// also get there by a jump.
    ///
    /// See [`sleep`](Self::sleep) for the costs, and [`Sleep`] for the executor that wakes it.
    pub fn sleep_until(&self, due: impl ClockPoint) -> Sleep {
        Sleep::until_point(self.shared(), due)
    }

    /// Sleeps for a duration on the clock of that kind, from now on. If ROS time jumps back meanwhile, the sleep lasts
    /// at most `duration` from the jump on.
    ///
    /// The executor wakes the callback itself, and the callback goes on at its own priority. `tokio::time::sleep`
    /// relies on a thread of Tokio instead, which is an ordinary one (`SCHED_OTHER`). Under load it makes an urgent
    /// callback as late as ordinary threads are, so use this method there.
    ///
    /// Reads a clock; neither blocks, locks nor allocates. See [`Sleep`] for the costs of polling it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, SpinOptions, Time, TimerOptions};
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
    /// time.set(Time::from_millis(2_000));
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(arm.into_payload().unwrap(), "waving");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sleep(&self, clock: ClockKind, duration: Duration) -> Sleep {
        Sleep::after(self.shared(), clock, duration)
    }

    /// Returns a future that resolves to the output of `future`, or to an error if that did not come within `limit`,
    /// counted from now on the clock of that kind. The future is dropped then.
    ///
    /// It works as `tokio::time::timeout` does, on any clock, and without Tokio's thread: see [`sleep`](Self::sleep).
    /// Reads a clock; neither blocks, locks nor allocates. See [`Sleep`] for the executor that wakes it, and for the
    /// costs of polling it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, SpinOptions, TimeoutError};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let limit = Duration::from_millis(2);
    /// let never = executor.handle().timeout(ClockKind::Steady, limit, std::future::pending::<u32>());
    /// assert_eq!(executor.spin_until(never, SpinOptions::new())?, Err(TimeoutError::Elapsed(limit)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cancel safe if the limited future is: that is dropped at the end of the limit, or with this one.
    #[must_use = "the future runs only while it is awaited"]
    pub fn timeout<F: IntoFuture>(
        &self,
        clock: ClockKind,
        limit: Duration,
        future: F,
    ) -> impl Future<Output = Result<F::Output, TimeoutError>> + use<F> {
        timeout(future.into_future(), self.sleep(clock, limit), limit)
    }

    /// Creates a rate, whose first tick is due one period from now on the clock of that kind.
    ///
    /// Reads a clock; neither blocks, locks nor allocates.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, SpinOptions};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let handle = executor.handle();
    /// let mut rate = handle.create_rate(ClockKind::Steady, Duration::from_millis(1))?;
    /// let due = context.clock().now() + Duration::from_millis(2);
    /// let task = async {
    ///     rate.tick().await?;
    ///     handle.sleep_until(due).await
    /// };
    /// executor.spin_until(task, SpinOptions::new())??;
    /// assert!(context.clock().now() >= due && handle.context().missed_deadlines().is_empty());
    /// assert_eq!((handle.name(), handle.thread_reports().len()), ("main", 0));
    /// let _group = handle.create_reentrant_group("group");
    /// handle.halt();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the period is zero.
    pub fn create_rate(&self, clock: ClockKind, period: Duration) -> Result<Rate, RateError> {
        Rate::new(self.shared(), clock, period)
    }
}
