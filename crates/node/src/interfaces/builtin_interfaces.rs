//! The package `builtin_interfaces`.

use rospin::Instant;
use serde::{Deserialize, Serialize};

use crate::message::Message;

/// `builtin_interfaces/msg/Time`: a point in time, in whole seconds and the nanoseconds after them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Time {
    /// Seconds; may be negative.
    pub sec: i32,
    /// Nanoseconds after these seconds, less than 1 000 000 000.
    pub nanosec: u32,
}

impl Time {
    /// No time at all, or the beginning of time: ROS 2 has one value for both.
    pub const ZERO: Self = Self { sec: 0, nanosec: 0 };

    /// All of it in nanoseconds.
    pub(crate) fn as_nanos(self) -> i64 {
        i64::from(self.sec) * 1_000_000_000 + i64::from(self.nanosec)
    }
}

impl Message for Time {
    const TYPE: &str = "builtin_interfaces/msg/Time";
    const TYPE_HASH: Option<&str> = Some("RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197");
}

impl From<Instant> for Time {
    /// What the 32 bits of `sec` cannot hold is the latest time that they can.
    fn from(instant: Instant) -> Self {
        const SECOND: u64 = 1_000_000_000;
        let nanos = instant.as_nanos();
        match i32::try_from(nanos / SECOND) {
            Ok(sec) => Self { sec, nanosec: (nanos % SECOND) as u32 },
            Err(_) => Self { sec: i32::MAX, nanosec: SECOND as u32 - 1 },
        }
    }
}

impl From<Time> for Instant {
    /// Any time from the wire is one; what is before the beginning is the beginning.
    fn from(time: Time) -> Self {
        Self::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_from_the_wire_is_an_instant() {
        let at = |sec, nanosec| Instant::from(Time { sec, nanosec });
        assert_eq!(at(1, 500), Instant::from_nanos(1_000_000_500));
        assert_eq!(at(-1, 0), Instant::ZERO);
        assert_eq!(at(-1, 999_999_999), Instant::ZERO);
        assert_eq!(at(-1, 1_500_000_000), Instant::from_millis(500));
        assert_eq!(at(i32::MIN, u32::MAX), Instant::ZERO);
        assert_eq!(at(i32::MAX, u32::MAX), Instant::from_nanos(2_147_483_647_000_000_000 + 4_294_967_295));
    }

    #[test]
    fn any_instant_is_a_time() {
        assert_eq!(Time::from(Instant::ZERO), Time::ZERO);
        assert_eq!(Time::from(Instant::from_nanos(1_000_000_500)), Time { sec: 1, nanosec: 500 });
        assert_eq!(Time::from(Instant::from_nanos(u64::MAX)), Time { sec: i32::MAX, nanosec: 999_999_999 });
    }
}
