//! Package `builtin_interfaces`.

use rospin::Instant;
use serde::{Deserialize, Serialize};

use crate::message::Message;

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Time {
    /// Seconds since the clock's beginning.
    pub sec: i32,
    /// Nanoseconds beyond them, less than a second.
    pub nanosec: u32,
}

impl Message for Time {
    const TYPE: &str = "builtin_interfaces/msg/Time";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_b106235e25a4c5ed35098aa0a61a3ee9c9b18d197f398b0e4206cea9acf9c197");
}

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// Any time from the wire is one: rospin's have no negative values, so what is before the beginning is the beginning.
impl From<Time> for Instant {
    fn from(time: Time) -> Self {
        let sec = u64::try_from(time.sec).unwrap_or(0);
        Self::from_nanos(sec * NANOS_PER_SEC + u64::from(time.nanosec))
    }
}

/// What is beyond 2038, where the message's seconds end, is their end.
impl From<Instant> for Time {
    fn from(instant: Instant) -> Self {
        let (sec, nanosec) = (instant.as_nanos() / NANOS_PER_SEC, instant.as_nanos() % NANOS_PER_SEC);
        // The remainder is less than a second.
        Self { sec: i32::try_from(sec).unwrap_or(i32::MAX), nanosec: u32::try_from(nanosec).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_from_the_wire_is_one() {
        let at = |sec, nanosec| Instant::from(Time { sec, nanosec });
        assert_eq!(at(1, 500), Instant::from_nanos(1_000_000_500));
        assert_eq!(at(-1, 0), Instant::ZERO);
        assert_eq!(at(i32::MAX, u32::MAX), Instant::from_nanos(2_147_483_647_000_000_000 + 4_294_967_295));
    }

    #[test]
    fn times_survive_there_and_back() {
        let instant = Instant::from_nanos(5_000_000_007);
        assert_eq!(Instant::from(Time::from(instant)), instant);
        assert_eq!(Time::from(Instant::from_nanos(u64::MAX)).sec, i32::MAX);
    }
}
