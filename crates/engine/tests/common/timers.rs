//! A timer on a manual clock that logs its due times.

use std::time::{Duration, SystemTime};

use rospin_engine::{
    CallbackGroup, Context, Executor, Instant, LossCause, ManualClock, Tick, Time, Timer, TimerOptions,
};

use super::{Log, manual_executor, ms, spin_all};

/// A point in time, on the steady clock, in ROS time or on the system clock.
pub(crate) trait Point {
    fn at(millis: u64) -> Self;
}

impl Point for Instant {
    fn at(millis: u64) -> Self {
        Self::from_millis(millis)
    }
}

impl Point for Time {
    fn at(millis: u64) -> Self {
        Self::from_millis(millis)
    }
}

impl Point for SystemTime {
    fn at(millis: u64) -> Self {
        Self::UNIX_EPOCH + Duration::from_millis(millis)
    }
}

pub(crate) fn at<P: Point>(millis: u64) -> P {
    P::at(millis)
}

/// A timer whose due times are logged in milliseconds.
pub(crate) struct Fixture {
    pub(crate) clock: ManualClock,
    pub(crate) executor: Executor,
    pub(crate) group: CallbackGroup<()>,
    pub(crate) timer: Timer,
    pub(crate) due_ms: Log<u64>,
    pub(crate) context: Context,
}

pub(crate) fn timer(options: impl Into<TimerOptions>) -> Fixture {
    let (clock, context, executor) = manual_executor();
    timer_at(clock, context, executor, options)
}

pub(crate) fn timer_at(
    clock: ManualClock,
    context: Context,
    executor: Executor,
    options: impl Into<TimerOptions>,
) -> Fixture {
    let group = executor.create_group("group", ());
    let due_ms = Log::new();
    let log = due_ms.clone();
    let callback = move |(): &mut (), tick: Tick| log.push(tick.due.as_nanos() / 1_000_000);
    let timer = group.create_timer(options, callback).unwrap();
    Fixture { clock, executor, group, timer, due_ms, context }
}

impl Fixture {
    /// Moves the clock on by `millis`, and returns the due times of the callbacks that run then.
    pub(crate) fn after(&self, millis: u64) -> Vec<u64> {
        self.clock.advance(ms(millis));
        spin_all(&self.executor);
        self.due_ms.take()
    }

    pub(crate) fn overruns(&self) -> u64 {
        self.timer.lost(LossCause::TimerOverrun)
    }
}
