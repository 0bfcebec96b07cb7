//! The source of time: the kernel's clocks, or a clock that a test moves by hand.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use rospin_core::{ClockKind, Instant};
use rustix::time::ClockId;

use crate::clock_point::ClockPoint;
use crate::lock_free::dial::Dial;

/// The most time between two looks at the steady clock, if the system clock was read in between and the thread was not
/// preempted.
const APART: Duration = Duration::from_micros(10);

/// The number of times that a thread reads two clocks at most, if it is preempted each time.
const LOOKS: usize = 8;

/// Source of the times of the steady clock and the system clock.
#[derive(Clone, Debug)]
pub(crate) enum TimeSource {
    Kernel,
    Manual(ManualClock),
}

impl TimeSource {
    /// Returns the time on the clock of that kind. ROS time is no clock of its own here: it reads as the steady clock.
    #[inline]
    pub(crate) fn read(&self, kind: ClockKind) -> Instant {
        match (self, kind) {
            (Self::Kernel, ClockKind::System) => read_kernel(ClockId::Realtime),
            (Self::Kernel, _) => read_kernel(ClockId::Monotonic),
            (Self::Manual(clock), kind) => clock.read(kind),
        }
    }

    /// Returns the time on the system clock.
    pub(crate) fn system(&self) -> Instant {
        self.read(ClockKind::System)
    }

    /// Returns the times on the steady clock and on the system clock at one moment, for code that calculates one from
    /// the other.
    ///
    /// The kernel's clocks cannot be read at once. They are read again if the thread was preempted in between, up to
    /// [`LOOKS`] times. The steady clock is read last.
    pub(crate) fn steady_and_system(&self) -> (Instant, Instant) {
        if let Self::Manual(clock) = self {
            let _still = clock.0.executors.lock();
            return (clock.read(ClockKind::Steady), clock.read(ClockKind::System));
        }
        let mut before = self.read(ClockKind::Steady);
        for _ in 1..LOOKS {
            let system = self.system();
            let steady = self.read(ClockKind::Steady);
            if steady.saturating_since(before) <= APART {
                return (steady, system);
            }
            before = steady;
        }
        let system = self.system();
        (self.read(ClockKind::Steady), system)
    }
}

fn read_kernel(clock: ClockId) -> Instant {
    let time = rustix::time::clock_gettime(clock);
    // The seconds are negative only before 1970.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64))
}

/// Part of an executor that is told when its clocks move.
pub(crate) trait TimeListener: Send + Sync {
    /// Wakes all threads of the executor: a clock was moved by hand.
    fn clock_moved(&self);

    /// Wakes a thread of the executor if the ROS time on the dial is one that it waits for.
    fn ros_time_moved(&self, dial: &Dial);

    /// Returns true if the executor spins, so that its jump callbacks will run.
    fn is_spinning(&self) -> bool;

    /// Notes that the executor has a jump callback.
    fn add_jump_callback(&self);

    /// Notes that a jump callback of the executor has to run before its timers follow ROS time again.
    fn add_jump(&self);

    /// Notes that such a jump callback ran, or never will. `is_waited_for` says that ROS time stood still for it.
    fn remove_jump(&self, is_waited_for: bool);
}

/// Clock that stands still until it is moved: for tests, and for replaying.
///
/// ```
/// use std::time::{Duration, SystemTime};
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

#[derive(Default)]
struct Hands {
    steady_ns: AtomicU64,
    system_ns: AtomicU64,
    /// The executors to wake when the clock is moved. The lock is held while it is moved.
    executors: Mutex<Vec<Weak<dyn TimeListener>>>,
}

impl ManualClock {
    /// Creates a clock that shows zero as steady time and as system time.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves steady time and system time forward, at most to [`Instant::LAST_READING`], and wakes the executors that
    /// follow the clock.
    pub fn advance(&self, by: Duration) {
        self.change(|hands| {
            for clock in [&hands.steady_ns, &hands.system_ns] {
                let now = Instant::from_nanos(clock.load(Ordering::Relaxed));
                clock.store((now + by).min(Instant::LAST_READING).as_nanos(), Ordering::Release);
            }
        });
    }

    /// Sets the system time, forward or back, at least to 1970 and at most to 292 years later, and wakes the executors
    /// that follow the clock.
    pub fn set_system(&self, time: SystemTime) {
        let reading = time.to_reading().min(Instant::LAST_READING);
        self.change(|hands| hands.system_ns.store(reading.as_nanos(), Ordering::Release));
    }

    /// Wakes the executor from now on when the clock is moved.
    pub(crate) fn add_listener(&self, executor: Weak<dyn TimeListener>) {
        self.0.executors.lock().push(executor);
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
            executor.clock_moved();
        }
    }
}

impl std::fmt::Debug for Hands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { steady_ns, system_ns, .. } = self;
        f.debug_struct("Hands").field("steady_ns", steady_ns).field("system_ns", system_ns).finish_non_exhaustive()
    }
}
