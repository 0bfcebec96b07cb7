//! The clocks besides the steady one: they pass as it does, and can be set.

use rospin_core::{ClockKind, Instant};
use rospin_scenario::Jump;

use crate::system::SYSTEM_START;

/// What the system clock and ROS time show. ROS time is driven by a source of its own, which starts with the system's.
pub(crate) struct Clocks {
    system: SetClock,
    ros: SetClock,
}

/// A clock that showed `base` at `at`.
struct SetClock {
    base: Instant,
    at: Instant,
}

impl Clocks {
    pub(crate) fn new() -> Self {
        let start = || SetClock { base: SYSTEM_START, at: Instant::ZERO };
        Self { system: start(), ros: start() }
    }

    /// What the clock shows while the steady one shows `now`.
    pub(crate) fn read(&self, clock: ClockKind, now: Instant) -> Instant {
        let set = match clock {
            ClockKind::System => &self.system,
            ClockKind::Ros => &self.ros,
            _ => return now,
        };
        set.base + now.saturating_since(set.at)
    }

    /// Sets the clock; the steady one cannot be.
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
