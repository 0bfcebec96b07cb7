//! The system clock and ROS time. They advance like the steady clock, and can be set.

use rospin_core::{ClockKind, Instant};
use rospin_scenario::Jump;

use crate::system::SYSTEM_START;

/// The readings of the system clock and of ROS time. ROS time is driven by its own source, which starts with the
/// system clock's time.
pub(crate) struct Clocks {
    system: SetClock,
    ros: SetClock,
}

/// Clock that had the reading `base` at the time `at`.
struct SetClock {
    base: Instant,
    at: Instant,
}

impl Clocks {
    pub(crate) fn new() -> Self {
        let start = || SetClock { base: SYSTEM_START, at: Instant::ZERO };
        Self { system: start(), ros: start() }
    }

    /// Returns the clock's reading when the steady clock shows `now`.
    pub(crate) fn read(&self, clock: ClockKind, now: Instant) -> Instant {
        let set = match clock {
            ClockKind::System => &self.system,
            ClockKind::Ros => &self.ros,
            _ => return now,
        };
        set.base + now.saturating_since(set.at)
    }

    /// Sets the clock that much forward or back. Does nothing to the steady clock, which cannot be set.
    pub(crate) fn jump(&mut self, clock: ClockKind, by: Jump, now: Instant) {
        let reading = self.read(clock, now);
        let base = match by {
            Jump::Forward(by) => reading + by,
            Jump::Back(by) => reading - by,
        };
        match clock {
            ClockKind::System => self.system = SetClock { base, at: now },
            ClockKind::Ros => self.ros = SetClock { base, at: now },
            _ => {}
        }
    }
}
