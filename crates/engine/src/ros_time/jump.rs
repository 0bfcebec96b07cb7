//! Jumps of ROS time.

use std::sync::Arc;
use std::time::Duration;

use rospin_core::Instant;

use crate::time_source::TimeListener;

/// Whether a jump came with another source of time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ClockChange {
    /// ROS time is driven as before.
    #[default]
    None,
    /// ROS time was the system clock's, and is driven from now on.
    Activated,
    /// ROS time was driven, and is the system clock's from now on.
    Deactivated,
}

/// A jump of ROS time, which is about to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimeJump {
    /// What ROS time shows still.
    pub from: Instant,
    /// What it will show.
    pub to: Instant,
    /// Whether its source changes.
    pub change: ClockChange,
}

impl TimeJump {
    /// By how much time moves forward; zero if it moves back.
    #[must_use]
    pub fn forward(&self) -> Duration {
        self.to.saturating_since(self.from)
    }

    /// By how much time moves back; zero if it moves forward.
    #[must_use]
    pub fn backward(&self) -> Duration {
        self.from.saturating_since(self.to)
    }
}

/// Which jumps a callback is to be told of. The default is none.
///
/// As in rcl, a change of the source is judged by `on_clock_change` only, however far apart the two times are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct JumpThreshold {
    /// Jumps forward by at least that much. Every message of `/clock` is a step forward: choose more than it usually is.
    pub min_forward: Option<Duration>,
    /// Jumps back by at least that much.
    pub min_backward: Option<Duration>,
    /// Changes between driven time and the system clock.
    pub on_clock_change: bool,
}

impl JumpThreshold {
    /// Whether a callback with this threshold is told of `jump`.
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
