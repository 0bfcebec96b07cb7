//! ROS time: the system clock's, or what a simulator, a recording or a test says it is.
//!
//! It is driven from outside of the executors. What it shows is on a [`Dial`] that anyone reads without a lock. The books of
//! the [`Driver`] say what is to come: a target, if jump callbacks have to run before time may move there, and one more that
//! was asked for meanwhile. Only time that moves takes their lock, for a moment; no user code runs under it.
//!
//! Time waits for jump callbacks, so these must not wait for time. A suspended callback that holds their group may: it sleeps
//! on ROS time, awaits a [`Barrier`], or waits for somebody who does. So a jump callback runs while the holder of its group is
//! suspended, between two polls of it, and waits only for callbacks that run.

mod barrier;
pub(crate) mod driver;
mod jump;
mod jump_source;
mod view;

use std::fmt;
use std::sync::Arc;

use rospin_core::{ClockKind, Instant};

pub(crate) use barrier::RunsCallbacks;
pub use barrier::{Barrier, BarrierError};
pub use jump::{ClockChange, JumpThreshold, TimeJump};
pub(crate) use jump_source::JumpSource;
pub(crate) use view::{Follower, Leap, RosView};

use crate::clock::Clock;
use driver::Target;

/// The ROS time of a [`Context`](crate::Context): tells it, and drives it, as the messages of `/clock` would.
///
/// As in rclcpp it is the system clock's time until it is [activated](Self::set_active) (`use_sim_time`). From then on it
/// stands still but for being [set](Self::set). Timers on [`ClockKind::Ros`] follow it: time that was set forward has passed,
/// and what was missed is dealt with by the timer's [overrun policy](crate::Overrun). When it was set back, no timer
/// waits for longer than its period; when its source changed, what was left to wait is waited for on the new one. While it is
/// the system clock's time and somebody sets that clock back, what was left to wait is waited for, too: a timer goes on at its
/// rate, where one on [`ClockKind::System`] waits until the time of day is again what it was. Jump callbacks are not told, as
/// in rclcpp: nobody knew before.
///
/// Cheap to clone; clones are the same time. May be driven from any thread and from callbacks.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, Instant, JumpThreshold, SpinOptions, TimerOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let time = context.ros_time();
/// time.set(Instant::from_millis(5_000));
/// time.set_active(true);
///
/// let group = executor.create_group("tracker", Vec::new());
/// let tick = TimerOptions::periodic(Duration::from_millis(100)).clock(ClockKind::Ros);
/// let _track = group.create_timer(tick, |tracks, _| tracks.push("update"))?;
/// let backward = JumpThreshold { min_backward: Some(Duration::from_nanos(1)), ..JumpThreshold::default() };
/// let _reset = group.create_jump_callback(backward, |tracks, _| tracks.push("forget all"))?;
///
/// time.set(Instant::from_millis(5_100));
/// executor.spin(SpinOptions::spin_all())?;
/// time.set(Instant::ZERO);
/// time.set(Instant::from_millis(100));
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), ["update", "forget all", "update"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RosTime {
    clock: Clock,
}

impl RosTime {
    pub(crate) const fn new(clock: Clock) -> Self {
        Self { clock }
    }

    /// What it shows now. Neither blocks nor allocates.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.read(ClockKind::Ros)
    }

    /// Whether it is driven; otherwise it is the system clock's time. Neither blocks nor allocates.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.clock.driver().dial.read().time_ns.is_some()
    }

    /// Sets it, as a message of `/clock` does. Unless it is active, that is what it will show once it is.
    ///
    /// A jump beyond the [threshold](JumpThreshold) of a [jump callback](crate::CallbackGroup::create_jump_callback) comes
    /// in order: first the jump callbacks run, on all executors that spin; then time moves, all at once. So this returns at
    /// once, and what it returns says when time has moved. Executors that do not spin are not waited for: their jump
    /// callbacks are the first thing that runs when they do, and their timers see no new time before that. If an executor is
    /// halted meanwhile, the same holds for it. A callback of the group that runs is waited for; one that is suspended is not,
    /// even if it holds the group, nor is an executor that is dropped, or a group or a callback that is removed.
    ///
    /// What is asked for while jump callbacks run is done afterwards; of several, the last. Locks for a moment, wakes
    /// executors whose timers are due, runs no callbacks. May allocate.
    pub fn set(&self, now: Instant) -> Barrier {
        self.ask(|target| target.time = now)
    }

    /// Activates it, or has it follow the system clock (`use_sim_time`). To be waited for as [`set`](Self::set).
    pub fn set_active(&self, active: bool) -> Barrier {
        self.ask(|target| target.is_active = active)
    }

    fn ask(&self, change: impl FnOnce(&mut Target)) -> Barrier {
        let driver = self.clock.driver();
        Barrier::new(Arc::clone(driver), driver.ask(change))
    }
}

/// Whether they are the same time: of the same context.
impl PartialEq for RosTime {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.clock.driver(), other.clock.driver())
    }
}

impl Eq for RosTime {}

impl fmt::Debug for RosTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RosTime").field("is_active", &self.is_active()).field("now", &self.now()).finish()
    }
}
