//! Jumps of ROS time.

use std::sync::Arc;
use std::time::Duration;

use rospin_core::Time;

use crate::time_source::TimeListener;

/// The change of the source of ROS time that comes with a jump.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ClockChange {
    /// The source stays the same.
    #[default]
    None,
    /// ROS time followed the system clock, and is driven from now on.
    Activated,
    /// ROS time was driven, and follows the system clock from now on.
    Deactivated,
}

/// A jump of ROS time, which is about to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimeJump {
    /// The time before the jump.
    pub from: Time,
    /// The time after the jump.
    pub to: Time,
    /// The change of the source: ROS time begins to be driven, begins to follow the system clock, or keeps its source.
    pub change: ClockChange,
}

impl TimeJump {
    /// Returns the distance by which time moves forward; zero if it moves back.
    #[must_use]
    pub fn forward(&self) -> Duration {
        self.to.saturating_since(self.from)
    }

    /// Returns the distance by which time moves back; zero if it moves forward.
    #[must_use]
    pub fn backward(&self) -> Duration {
        self.from.saturating_since(self.to)
    }
}

/// Condition on which a jump of ROS time runs a callback. By default no jump does.
///
/// As in rcl, only `on_clock_change` matters for a change of the source, however far apart the two times are.
///
/// ```
/// use std::time::Duration;
/// use rospin_engine::{Context, ContextOptions, ExecutorOptions, JumpThreshold, SpinOptions, Time, TimeJump};
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("estimator", Duration::ZERO);
/// let threshold = JumpThreshold { min_backward: Some(Duration::from_secs(1)), ..JumpThreshold::default() };
/// let forget = |back: &mut Duration, jump: &TimeJump| *back = jump.backward().max(jump.forward());
/// let _jumps = group.create_jump_callback(threshold, forget)?;
///
/// let time = context.ros_time();
/// time.set_active(true);
/// time.set(Time::from_nanos(60_000_000_000));
/// let barrier = time.set(Time::from_nanos(20_000_000_000));
/// executor.spin(SpinOptions::spin_all())?;
/// assert!(barrier.is_over() && time.is_active());
/// assert_eq!(group.into_payload().unwrap(), Duration::from_secs(40));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JumpThreshold {
    /// Smallest jump forward that the callback is told of, inclusive; `None` for no jump forward. Every message of
    /// `/clock` is a small jump, so choose more than the period of `/clock`.
    pub min_forward: Option<Duration>,
    /// Smallest jump back that the callback is told of, inclusive; `None` for no jump back.
    pub min_backward: Option<Duration>,
    /// True if the callback is told of changes between driven time and the system clock.
    pub on_clock_change: bool,
}

impl JumpThreshold {
    /// Returns true if a callback with this threshold is told of `jump`.
    #[must_use]
    pub fn is_exceeded_by(&self, jump: &TimeJump) -> bool {
        if jump.change != ClockChange::None {
            return self.on_clock_change;
        }
        let exceeds = |by: Duration, min: Option<Duration>| !by.is_zero() && min.is_some_and(|min| min <= by);
        exceeds(jump.forward(), self.min_forward) || exceeds(jump.backward(), self.min_backward)
    }
}

/// A jump that a callback has yet to be told of. Dropping it says that the callback ran, or never will.
pub(crate) struct Told {
    pub(crate) jump: TimeJump,
    /// True if time stands still until the callback ran.
    pub(super) is_waited_for: bool,
    executor: Arc<dyn TimeListener>,
}

impl Told {
    /// Creates the jump. It must not be dropped while the driver's books are open.
    pub(super) fn new(jump: TimeJump, executor: &Arc<dyn TimeListener>) -> Self {
        executor.add_jump();
        Self { jump, is_waited_for: false, executor: Arc::clone(executor) }
    }
}

impl Drop for Told {
    fn drop(&mut self) {
        self.executor.remove_jump(self.is_waited_for);
    }
}
