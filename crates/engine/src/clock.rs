//! The clocks of a context: steady time, system time and ROS time, and how long a thread may sleep on them.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use rospin_core::{ClockKind, Instant, Time};

use crate::clock_point::ClockPoint;
use crate::lock_free::dial::Reading;
use crate::lock_free::parker::Deadline;
use crate::ros_time::driver::Driver;
use crate::time_source::{ManualClock, TimeListener, TimeSource};

/// The longest time until an idle executor notices that the system clock was set.
///
/// The kernel wakes nobody who sleeps on another clock, and nobody when the system clock is set back. So a thread that
/// waits for a timer on the system clock beside one on the steady clock, or for a timer on ROS time that follows the
/// system clock, looks again after this time. Threads that poll instead of sleeping look as often.
pub(crate) const STEP_NOTICED_AFTER: Duration = Duration::from_secs(1);

/// Reader of the clocks of a [`Context`](crate::Context). Cheap to clone; reading neither blocks nor allocates.
#[derive(Clone)]
pub struct Clock {
    source: TimeSource,
    driver: Arc<Driver>,
}

impl Clock {
    pub(crate) fn kernel() -> Self {
        Self::new(TimeSource::Kernel)
    }

    pub(crate) fn manual(clock: ManualClock) -> Self {
        Self::new(TimeSource::Manual(clock))
    }

    fn new(source: TimeSource) -> Self {
        Self { driver: Driver::new(source.clone()), source }
    }

    /// Returns the time on the steady clock (`CLOCK_MONOTONIC`).
    #[must_use]
    pub fn now(&self) -> Instant {
        self.read(ClockKind::Steady)
    }

    /// Returns ROS time: the time that somebody drives, such as that of `/clock`, or else that of the system clock.
    #[must_use]
    pub fn ros(&self) -> Time {
        Time::from_reading(self.read(ClockKind::Ros))
    }

    /// Returns the time of day, on the system clock (`CLOCK_REALTIME`).
    #[must_use]
    pub fn time_of_day(&self) -> SystemTime {
        SystemTime::of_reading(self.system())
    }

    /// Returns the reading of the clock of that kind. Readings of different clocks must not be mixed.
    ///
    /// ```
    /// use std::time::Duration;
    /// use rospin_engine::{ClockKind, Context, ContextOptions, Instant, ManualClock, Time};
    ///
    /// let manual = ManualClock::new();
    /// let context = Context::new(ContextOptions::new().manual_clock(manual.clone()));
    /// let clock = context.clock();
    /// let begin = clock.now();
    /// manual.advance(Duration::from_secs(1));
    /// assert_eq!(clock.read(ClockKind::Steady), begin + Duration::from_secs(1));
    /// // ROS time follows the system clock until somebody drives it.
    /// let day = clock.time_of_day().duration_since(std::time::UNIX_EPOCH).unwrap();
    /// assert_eq!(clock.ros(), Time::from_nanos(day.as_nanos() as u64));
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn read(&self, kind: ClockKind) -> Instant {
        if kind == ClockKind::Ros { self.read_ros().now } else { self.source.read(kind) }
    }

    /// Returns true if time passes by itself, so that a thread can sleep until a due time.
    pub(crate) const fn passes(&self) -> bool {
        matches!(self.source, TimeSource::Kernel)
    }

    /// Returns the time on the system clock.
    pub(crate) fn system(&self) -> Instant {
        self.source.system()
    }

    /// Returns the times on the steady clock and on the system clock at one moment.
    pub(crate) fn steady_and_system(&self) -> (Instant, Instant) {
        self.source.steady_and_system()
    }

    /// Returns ROS time, and the reading of the dial that it comes from.
    pub(crate) fn read_ros(&self) -> RosReading {
        let reading = self.driver.dial.read();
        let now = reading.time_ns.map_or_else(|| self.system(), Instant::from_nanos);
        RosReading { now, reading }
    }

    /// Returns the beginning of a wait on the clock of that kind.
    pub(crate) fn begin_wait(&self, kind: ClockKind) -> WaitBegin {
        let steady = self.now();
        if kind == ClockKind::Ros {
            let current = self.read_ros();
            WaitBegin { now: current.now, turn: current.reading.turn, steady }
        } else {
            WaitBegin { now: self.read(kind), turn: 0, steady }
        }
    }

    /// Returns the driver of ROS time.
    pub(crate) const fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// Returns the time until which a thread may sleep: to the due time `steady` on the steady clock or `system` on the
    /// system clock, whichever comes first. There is no such time if neither is given, or if the clock is moved by
    /// hand.
    ///
    /// A thread can sleep on one clock only. The kernel wakes a sleeper on the system clock when that clock is set
    /// forward, but not when it is set back. So a thread that waits for both clocks, or for ROS time that follows the
    /// system clock, sleeps on the steady clock, at most [`STEP_NOTICED_AFTER`] at a time.
    pub(crate) fn deadline(&self, steady: Option<Instant>, system: Option<SystemDue>) -> Deadline {
        if !self.passes() {
            // The thread that moves the clock wakes the sleepers.
            return Deadline::Never;
        }
        match (steady, system) {
            (None, None) => Deadline::Never,
            (Some(steady), None) => Deadline::Steady(steady.as_nanos()),
            (None, Some(system)) if !system.follows_steps_back => Deadline::System(system.due.as_nanos()),
            (steady, Some(system)) => {
                let remaining = system.saturating_since(self.system()).min(STEP_NOTICED_AFTER);
                Deadline::Steady(steady.unwrap_or(Instant::MAX).min(self.now() + remaining).as_nanos())
            }
        }
    }

    /// Wakes the executor from now on when the clock is moved by hand, and when ROS time moves.
    pub(crate) fn add_listener(&self, executor: &Weak<dyn TimeListener>) {
        self.driver.add_listener(Weak::clone(executor));
        if let TimeSource::Manual(clock) = &self.source {
            clock.add_listener(Weak::clone(executor));
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.source).finish()
    }
}

/// The beginning of a timer's wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitBegin {
    /// On the timer's clock.
    pub(crate) now: Instant,
    /// The turn of ROS time that the clock was read in; 0 for other clocks.
    pub(crate) turn: u64,
    /// On the steady clock, on which a timer that follows ROS time is while nobody drives that. The two clocks cannot
    /// be read at the same moment, so one cannot be calculated from the other.
    pub(crate) steady: Instant,
}

/// A due time on the system clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SystemDue {
    pub(crate) due: Instant,
    /// True if the due time moves back, too, when the clock is set back, so that a sleeping thread must notice the
    /// step. That holds for timers on ROS time, which wait for a duration. Timers on the system clock itself wait for a
    /// time of day.
    pub(crate) follows_steps_back: bool,
}

impl SystemDue {
    /// Returns the time that is left to wait when the system clock shows `now`.
    pub(crate) fn saturating_since(self, now: Instant) -> Duration {
        self.due.saturating_since(now)
    }

    /// Returns the earlier of two due times. It follows steps back of the clock if one of the two does.
    pub(crate) fn sooner(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(first), Some(second)) = (one, other) else {
            return one.or(other);
        };
        let follows_steps_back = first.follows_steps_back || second.follows_steps_back;
        Some(Self { due: first.due.min(second.due), follows_steps_back })
    }
}

/// ROS time at one moment (`now`), with the reading of the dial that it comes from.
#[derive(Clone, Copy)]
pub(crate) struct RosReading {
    pub(crate) now: Instant,
    pub(crate) reading: Reading,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_does_not_sleep_on_a_clock_that_may_be_set_back_under_it() {
        let clock = Clock::kernel();
        let due = clock.system() + Duration::from_secs(3600);
        let by = |follows_steps_back| clock.deadline(None, Some(SystemDue { due, follows_steps_back }));
        assert!(matches!(by(false), Deadline::System(at) if at == due.as_nanos()));
        let latest = (clock.now() + STEP_NOTICED_AFTER * 60).as_nanos();
        assert!(matches!(by(true), Deadline::Steady(at) if at < latest), "it looks again long before the hour is over");
        let sooner = SystemDue { due, follows_steps_back: false };
        let later = SystemDue { due: due + Duration::from_secs(1), follows_steps_back: true };
        let both = SystemDue::sooner(Some(sooner), Some(later));
        assert_eq!(both, Some(SystemDue { due, follows_steps_back: true }));
    }
}
