//! Loops with a period: a future for each tick.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{ClockKind, Instant};

use super::{Sleep, SleepError};
use crate::error::GroupGone;
use crate::shared::Shared;

/// Reasons for which a rate could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// The period is zero, so that the loop would never wait.
    #[error("a rate of executor `{executor}` has a period of zero; give it a positive one")]
    ZeroPeriod {
        /// The name of the executor.
        executor: String,
    },
    /// The executor was dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}

/// A period for a loop that awaits a [tick](Self::tick) in each round.
///
/// Ticks have fixed due times, a period apart, so they do not drift. A loop that is late by up to a period catches up:
/// its next ticks do not wait until it is in time again. A loop that is later than that skips ticks: the late tick is
/// due at once, and the next ones follow a period apart from there. If the clock was set back, the next tick is due one
/// period from then. rclcpp's `Rate` catches up by up to a period, too.
///
/// A [timer](crate::Timer) is better where a callback is all that is needed: it has a priority of its own, an overrun
/// policy, and counts its losses.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, SpinOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let begin = context.clock().now();
/// let mut rate = executor.handle().create_rate(ClockKind::Steady, Duration::from_millis(2))?;
/// let ticks = async {
///     for _ in 0..5 {
///         rate.tick().await?;
///     }
///     Ok::<(), rospin_engine::SleepError>(())
/// };
/// executor.spin_until(ticks, SpinOptions::new())??;
/// assert!(context.clock().now().saturating_since(begin) >= Duration::from_millis(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Rate {
    executor: Arc<Shared>,
    clock: ClockKind,
    period: Duration,
    /// The due time of the last tick.
    last: Instant,
}

/// The due time of a tick, and if the loop is in time for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Due {
    at: Instant,
    is_in_time: bool,
}

impl Due {
    /// Returns the due time of the tick after the one that was due at `last`.
    fn after(last: Instant, period: Duration, now: Instant) -> Self {
        let next = last + period;
        if now < last {
            // The clock was set back.
            Self { at: now + period, is_in_time: true }
        } else if now.saturating_since(next) > period {
            Self { at: now, is_in_time: false }
        } else {
            Self { at: next, is_in_time: now < next }
        }
    }
}

impl Rate {
    pub(crate) fn new(executor: &Arc<Shared>, clock: ClockKind, period: Duration) -> Result<Self, RateError> {
        if period.is_zero() {
            return Err(RateError::ZeroPeriod { executor: executor.name.clone() });
        }
        let last = executor.times.clock.read(clock);
        Ok(Self { executor: Arc::clone(executor), clock, period, last })
    }

    /// Returns the period.
    #[must_use]
    pub const fn period(&self) -> Duration {
        self.period
    }

    /// Begins anew: the next tick is due one period from now. Reads a clock.
    pub fn reset(&mut self) {
        self.last = self.executor.times.clock.read(self.clock);
    }

    /// Waits until the next tick is due. Returns true if it was not due yet, and false if the caller is late.
    ///
    /// A tick that is due already lets callbacks run that are more urgent than the caller. See [`Sleep`] for the
    /// executor that wakes the caller, and for the costs.
    ///
    /// Cancel safe: a future that is dropped early uses up no tick.
    ///
    /// # Errors
    /// See [`SleepError`].
    pub async fn tick(&mut self) -> Result<bool, SleepError> {
        let last = self.last;
        let period = self.period;
        let mut due = Due { at: last, is_in_time: false };
        let sleep = Sleep::at_most(&self.executor, self.clock, period, |now| {
            due = Due::after(last, period, now);
            due.at
        });
        sleep.await?;
        // Earlier than the due time only if the clock was set back meanwhile.
        self.last = due.at.min(self.executor.times.clock.read(self.clock));
        Ok(due.is_in_time)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clock, period, last, .. } = self;
        f.debug_struct("Rate").field("clock", clock).field("period", period).field("last", last).finish_non_exhaustive()
    }
}
