//! Where executors read the time: the kernel's clocks, or a clock that a test moves by hand; and ROS time.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rospin_core::{ClockKind, Instant};
use rustix::time::ClockId;

use crate::lock_free::dial::Reading;
use crate::lock_free::parker::Deadline;
use crate::ros_time::Driver;
use crate::shared::Shared;

/// How late a timer on the system clock may be after that clock was set forward, where timers on the steady clock are waited
/// for, too, or where threads look for work instead of sleeping. And how long it takes at most until timers on ROS time that
/// follows the system clock notice that this was set.
pub(crate) const STEP_NOTICED_AFTER: Duration = Duration::from_secs(1);

/// Reads the clocks of a [`Context`](crate::Context). Cheap to clone; reading neither blocks nor allocates.
#[derive(Clone)]
pub struct Clock {
    kind: Kind,
    driver: Arc<Driver>,
}

#[derive(Clone, Debug)]
enum Kind {
    Kernel,
    Manual(ManualClock),
}

impl Clock {
    pub(crate) fn kernel() -> Self {
        Self { kind: Kind::Kernel, driver: Driver::new() }
    }

    pub(crate) fn manual(clock: ManualClock) -> Self {
        Self { kind: Kind::Manual(clock), driver: Driver::new() }
    }

    /// Now, on the steady clock (`CLOCK_MONOTONIC`).
    #[must_use]
    pub fn now(&self) -> Instant {
        self.read(ClockKind::Steady)
    }

    /// Now, on the clock of that kind.
    #[must_use]
    pub fn read(&self, kind: ClockKind) -> Instant {
        match (&self.kind, kind) {
            (_, ClockKind::Ros) => self.read_ros().now,
            (Kind::Kernel, ClockKind::System) => read_kernel(ClockId::Realtime),
            (Kind::Kernel, _) => read_kernel(ClockId::Monotonic),
            (Kind::Manual(clock), kind) => clock.read(kind),
        }
    }

    /// Whether it passes by itself.
    pub(crate) const fn passes(&self) -> bool {
        matches!(self.kind, Kind::Kernel)
    }

    pub(crate) fn system(&self) -> Instant {
        self.read(ClockKind::System)
    }

    /// What ROS time shows, and how often it was turned.
    pub(crate) fn read_ros(&self) -> RosReading {
        let reading = self.driver.dial.read();
        let now = reading.time_ns.map_or_else(|| self.system(), Instant::from_nanos);
        RosReading { now, reading }
    }

    /// What ROS time is driven by.
    pub(crate) const fn driver(&self) -> &Arc<Driver> {
        &self.driver
    }

    /// How long a thread may sleep that is next needed at these times.
    ///
    /// The kernel follows the system clock when it is set, but a thread can sleep on one clock only. With both, it is the
    /// steady one, so that setting the other delays nothing on it, and no longer than [`STEP_NOTICED_AFTER`] at a time. So it is
    /// for timers on ROS time: the kernel wakes nobody because the system clock was set back.
    pub(crate) fn deadline(&self, steady: Option<Instant>, system: Option<SystemDue>) -> Deadline {
        if matches!(self.kind, Kind::Manual(_)) {
            // Whoever moves the clock wakes the sleepers.
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

    /// Lets the clock wake this executor when it is moved by hand, and ROS time when it moves.
    pub(crate) fn wakes(&self, executor: &Arc<Shared>) {
        self.driver.wakes(executor);
        if let Kind::Manual(clock) = &self.kind {
            clock.0.executors.lock().push(Arc::downgrade(executor));
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.kind).finish()
    }
}

/// When a timer is due by the system clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SystemDue {
    pub(crate) due: Instant,
    /// Whether it is due earlier if that clock is set back: true for timers on ROS time. Those on the system clock itself are
    /// due at times of day.
    pub(crate) follows_steps_back: bool,
}

impl SystemDue {
    /// What is left to wait when the system clock shows `now`.
    pub(crate) fn saturating_since(self, now: Instant) -> Duration {
        self.due.saturating_since(now)
    }

    /// Whichever is due sooner, with the demands of both.
    pub(crate) fn sooner(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(first), Some(second)) = (one, other) else {
            return one.or(other);
        };
        let follows_steps_back = first.follows_steps_back || second.follows_steps_back;
        Some(Self { due: first.due.min(second.due), follows_steps_back })
    }
}

/// What ROS time shows.
#[derive(Clone, Copy)]
pub(crate) struct RosReading {
    pub(crate) now: Instant,
    pub(crate) reading: Reading,
}

fn read_kernel(clock: ClockId) -> Instant {
    let time = rustix::time::clock_gettime(clock);
    // Negative only before 1970.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// A clock that stands still until it is moved: for tests, and for replaying.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, ManualClock, SpinOptions};
///
/// let clock = ManualClock::new();
/// let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let counter = executor.create_group("counter", 0);
/// let _timer = counter.create_timer(Duration::from_secs(3600), |count, _| *count += 1).unwrap();
///
/// clock.advance(Duration::from_secs(7200));
/// executor.spin(SpinOptions::spin_all()).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<Hands>);

#[derive(Debug, Default)]
struct Hands {
    steady_ns: AtomicU64,
    system_ns: AtomicU64,
    /// Whom to wake when it is moved. Held while it is.
    executors: Mutex<Vec<Weak<Shared>>>,
}

impl ManualClock {
    /// A clock that shows zero on every clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves all clocks forward and wakes the executors that wait for it.
    pub fn advance(&self, by: Duration) {
        self.change(|hands| {
            for clock in [&hands.steady_ns, &hands.system_ns] {
                let now = Instant::from_nanos(clock.load(Ordering::Relaxed));
                clock.store((now + by).as_nanos(), Ordering::Release);
            }
        });
    }

    /// Sets the system clock, forward or back.
    pub fn set_system(&self, reading: Instant) {
        self.change(|hands| hands.system_ns.store(reading.as_nanos(), Ordering::Release));
    }

    fn read(&self, kind: ClockKind) -> Instant {
        let hand = if kind == ClockKind::System { &self.0.system_ns } else { &self.0.steady_ns };
        Instant::from_nanos(hand.load(Ordering::Acquire))
    }

    fn change(&self, change: impl FnOnce(&Hands)) {
        let mut executors = self.0.executors.lock();
        change(&self.0);
        executors.retain(|executor| executor.strong_count() > 0);
        let to_wake = executors.clone();
        drop(executors);
        for executor in to_wake.iter().filter_map(Weak::upgrade) {
            executor.poke();
            // All of its threads: the one that watches the timers sleeps without a deadline under this clock.
            executor.bell.parker.unpark_all();
        }
    }
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
