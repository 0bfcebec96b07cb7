//! Conversions and order of points in time.

use std::cmp::Ordering;
use std::fmt;
use std::time::SystemTime;

use rospin_core::Time as Point;

use crate::builtin_interfaces::msg::{Duration, Time};

const SECOND_NS: u32 = 1_000_000_000;

impl Time {
    /// Zero, which in ROS 2 means the epoch or no time.
    pub const ZERO: Self = Self { sec: 0, nanosec: 0 };

    /// Returns the time in nanoseconds.
    #[must_use]
    pub fn as_nanos(self) -> i64 {
        i64::from(self.sec) * i64::from(SECOND_NS) + i64::from(self.nanosec)
    }
}

/// Orders by seconds, then by nanoseconds, which must be less than a second.
impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.sec, self.nanosec).cmp(&(other.sec, other.nanosec))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<Point> for Time {
    /// Converts a point in ROS time. One that exceeds the 32 bits of `sec` becomes the latest time that fits.
    fn from(point: Point) -> Self {
        let second = u64::from(SECOND_NS);
        let nanos = point.as_nanos();
        match i32::try_from(nanos / second) {
            Ok(sec) => Self { sec, nanosec: (nanos % second) as u32 },
            Err(_) => Self { sec: i32::MAX, nanosec: SECOND_NS - 1 },
        }
    }
}

impl From<Time> for Point {
    /// Converts any time from the network. One before the epoch becomes the epoch.
    fn from(time: Time) -> Self {
        Self::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
    }
}

impl From<SystemTime> for Time {
    /// Converts a time of day. One before 1970 becomes zero, and one that exceeds the 32 bits of `sec` the latest time
    /// that fits.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Point::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)).into()
    }
}

impl From<std::time::Duration> for Duration {
    /// Converts a duration. One that exceeds the 32 bits of `sec` becomes the longest one that fits.
    fn from(duration: std::time::Duration) -> Self {
        match i32::try_from(duration.as_secs()) {
            Ok(sec) => Self { sec, nanosec: duration.subsec_nanos() },
            Err(_) => Self { sec: i32::MAX, nanosec: SECOND_NS - 1 },
        }
    }
}

impl TryFrom<Duration> for std::time::Duration {
    type Error = NegativeDuration;

    /// Converts any duration from the network that is not negative.
    fn try_from(duration: Duration) -> Result<Self, NegativeDuration> {
        let nanos = i64::from(duration.sec) * i64::from(SECOND_NS) + i64::from(duration.nanosec);
        u64::try_from(nanos).map(Self::from_nanos).map_err(|_| NegativeDuration)
    }
}

/// Error of a [`Duration`](crate::builtin_interfaces::msg::Duration) that is negative, which durations of Rust are not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NegativeDuration;

impl fmt::Display for NegativeDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the duration is negative")
    }
}

impl std::error::Error for NegativeDuration {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_from_the_wire_is_a_point() {
        let at = |sec, nanosec| Point::from(Time { sec, nanosec });
        assert_eq!(at(1, 500), Point::from_nanos(1_000_000_500));
        assert_eq!(at(-1, 0), Point::ZERO);
        assert_eq!(at(-1, 999_999_999), Point::ZERO);
        assert_eq!(at(-1, 1_500_000_000), Point::from_millis(500));
        assert_eq!(at(i32::MIN, u32::MAX), Point::ZERO);
        assert_eq!(at(i32::MAX, u32::MAX), Point::from_nanos(2_147_483_647_000_000_000 + 4_294_967_295));
    }

    #[test]
    fn durations_are_those_of_rust() {
        use std::time::Duration as Std;

        assert_eq!(Duration::from(Std::from_millis(1_500)), Duration { sec: 1, nanosec: 500_000_000 });
        assert_eq!(Duration::from(Std::MAX), Duration { sec: i32::MAX, nanosec: 999_999_999 });
        assert_eq!(Std::try_from(Duration { sec: -1, nanosec: 1_500_000_000 }), Ok(Std::from_millis(500)));
        assert_eq!(Std::try_from(Duration { sec: -1, nanosec: 0 }), Err(NegativeDuration));
        assert_eq!(
            Std::try_from(Duration { sec: i32::MAX, nanosec: u32::MAX }).map(|all| all.as_secs()),
            Ok(2_147_483_651)
        );
    }

    #[test]
    fn any_point_is_a_time() {
        assert_eq!(Time::from(Point::ZERO), Time::ZERO);
        assert_eq!(Time::from(Point::from_nanos(1_000_000_500)), Time { sec: 1, nanosec: 500 });
        assert_eq!(Time::from(Point::from_nanos(u64::MAX)), Time { sec: i32::MAX, nanosec: 999_999_999 });
        assert_eq!(Time::from(SystemTime::UNIX_EPOCH), Time::ZERO);
        let later = SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(1_500);
        assert_eq!(Time::from(later), Time { sec: 1, nanosec: 500_000_000 });
    }
}
