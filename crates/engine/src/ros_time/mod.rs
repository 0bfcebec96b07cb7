//! ROS time: the system clock's time, or the time that a simulator, a recording or a test sets.
//!
//! It is driven from outside of the executors. A [`Dial`] shows it, which any thread reads without a lock. The books of
//! the [`Driver`] have the requests that are still to come: one, if jump callbacks have to run before time may move
//! there, and a further one that was made meanwhile. Only threads that move time take their lock, for a moment, and no
//! user code runs under it.
//!
//! Time waits for jump callbacks, so a jump callback must not wait for time. But a suspended callback that holds its
//! group may be waiting for time: it sleeps on ROS time, or awaits a [`Barrier`]. So a jump callback runs between two
//! polls of such a callback, and waits only for callbacks that run.
//!
//! rcl calls jump callbacks on the thread that sets the time, before and after. Here they are entities of their groups,
//! and precede everything that the policy decides about; time moves when the last of them has run. So they may use the
//! payload, and the thread that sets the time never blocks. No callback runs after a jump, because the one before it is
//! told the new time. The callback's argument lets time move on when it is dropped: after the callback, a panic, or a
//! removal. Jumps that pile up behind one become one, so memory stays bounded.
//!
//! Executors are not notified of each jump. They compare the number of turns when they read the time, and find beside
//! it how far the time line moved. A turn is a jump that timers must learn of: backwards, or a change of the source.
//! Time that merely passes costs executors nothing unless one of their timers is due.

mod barrier;
pub(crate) mod driver;
pub(crate) mod jump;
mod view;

use std::fmt;
use std::sync::Arc;

use rospin_core::{Instant, Time};

pub(crate) use barrier::RunsCallbacks;
pub use barrier::{Barrier, BarrierError};
pub use jump::{ClockChange, JumpThreshold, TimeJump};
pub(crate) use view::{Follower, Leap, RosView};

use crate::clock::Clock;
use driver::Target;

/// The ROS time of a [`Context`](crate::Context), to read it and to drive it as the messages of `/clock` do.
///
/// As in rclcpp, ROS time follows the system clock until it is [activated](Self::set_active) (`use_sim_time`). From
/// then on it moves only when it is [set](Self::set). Timers on [`ClockKind::Ros`](crate::ClockKind::Ros) follow it:
/// - If it is set forward, that time has passed. Missed due times are dealt with by the timer's [overrun
///   policy](crate::Overrun).
/// - If it is set back, no periodic timer waits for longer than its period, and no one-shot for longer than its delay.
/// - If its source changes, timers wait on the new source for the time that was left.
/// - While it follows the system clock, the scheduler has its timers on the steady clock. So they keep their pace when
///   the system clock is set, and are as exact as timers on the steady clock. A timer on
///   [`ClockKind::System`](crate::ClockKind::System) instead waits for its time of day. Jump callbacks are not told
///   that the system clock was set, as in rclcpp, since nobody knows of it beforehand.
/// - A one-shot with a given [first due time](crate::TimerOptions::first_due) waits for that time in all these cases,
///   until it is reset.
///
/// Cheap to clone; clones are the same time. May be driven from any thread and from callbacks.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{ClockKind, Context, ContextOptions, ExecutorOptions, JumpThreshold, SpinOptions, Time, TimerOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let time = context.ros_time();
/// time.set(Time::from_millis(5_000));
/// time.set_active(true);
///
/// let group = executor.create_group("tracker", Vec::new());
/// let tick = TimerOptions::periodic(Duration::from_millis(100)).clock(ClockKind::Ros);
/// let _track = group.create_timer(tick, |tracks, _| tracks.push("update"))?;
/// let backward = JumpThreshold { min_backward: Some(Duration::from_nanos(1)), ..JumpThreshold::default() };
/// let _reset = group.create_jump_callback(backward, |tracks, _| tracks.push("forget all"))?;
///
/// time.set(Time::from_millis(5_100));
/// executor.spin(SpinOptions::spin_all())?;
/// time.set(Time::ZERO);
/// time.set(Time::from_millis(100));
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

    /// Returns the present ROS time. Neither blocks nor allocates.
    #[must_use]
    pub fn now(&self) -> Time {
        self.clock.ros()
    }

    /// Returns true if ROS time is driven, and false if it follows the system clock. Neither blocks nor allocates.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.clock.driver().dial.read().time_ns.is_some()
    }

    /// Sets the time, as a message of `/clock` does. If ROS time is not active, it shows this time once it is.
    ///
    /// If the jump reaches the [threshold](JumpThreshold) of [jump
    /// callbacks](crate::CallbackGroup::create_jump_callback), they run first, on all executors that spin. Then time
    /// moves, for all executors at once. This method does not wait for that: the returned barrier resolves when time
    /// has moved.
    ///
    /// Time does not wait for executors that do not spin, or stop spinning. Their jump callbacks are the first to run
    /// in their next spin, and their timers see no new time before that. Time waits for a callback of the jump
    /// callback's group that runs, but not for one that is suspended, even if it holds the group. Nor does it wait for
    /// an executor, a group or a callback that is removed.
    ///
    /// Of several requests that come while time waits for jump callbacks, only the last is dealt with, afterwards.
    ///
    /// The latest time is 292 years, see [`Instant::LAST_READING`]. Locks for a moment and wakes executors whose timers
    /// are due. May allocate. Runs no callbacks.
    pub fn set(&self, now: Time) -> Barrier {
        self.ask(|target| target.time = now.reading().min(Instant::LAST_READING))
    }

    /// Activates ROS time, or lets it follow the system clock (`use_sim_time`). Jump callbacks run first, as for
    /// [`set`](Self::set).
    pub fn set_active(&self, active: bool) -> Barrier {
        self.ask(|target| target.is_active = active)
    }

    fn ask(&self, change: impl FnOnce(&mut Target)) -> Barrier {
        let driver = self.clock.driver();
        Barrier::new(Arc::clone(driver), driver.ask(change))
    }
}

/// Two values are equal if they are the ROS time of the same context.
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
