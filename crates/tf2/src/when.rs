//! The time of a look-up.

use std::fmt;

use rospin_msgs::builtin_interfaces::msg::Time;

/// The time of a look-up: a time, or the latest one for which all frames on the way have data.
///
/// Converts from a [`Time`], a [point in ROS time](rospin_engine::Time), or an `Option` of these. Zero is the latest,
/// as in tf2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum When {
    /// The latest time for which all frames on the way have data.
    #[default]
    Latest,
    /// The given time.
    At(Time),
}

impl When {
    /// Returns the time in nanoseconds; zero is the latest.
    pub(crate) fn nanos(self) -> i64 {
        match self {
            Self::Latest => 0,
            Self::At(time) => time.as_nanos(),
        }
    }
}

impl From<Time> for When {
    fn from(time: Time) -> Self {
        if time == Time::ZERO { Self::Latest } else { Self::At(time) }
    }
}

impl From<rospin_engine::Time> for When {
    fn from(time: rospin_engine::Time) -> Self {
        Time::from(time).into()
    }
}

impl<T: Into<Self>> From<Option<T>> for When {
    fn from(time: Option<T>) -> Self {
        time.map_or(Self::Latest, Into::into)
    }
}

/// A time in nanoseconds, displayed as seconds with all digits.
#[derive(Clone, Copy)]
pub(crate) struct Seconds(pub(crate) i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
    }
}

/// Returns the message of a time in nanoseconds. Seconds that do not fit 32 bits become the nearest ones that do.
pub(crate) fn time_of(nanos: i64) -> Time {
    let sec = nanos.div_euclid(1_000_000_000).clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    Time { sec, nanosec: nanos.rem_euclid(1_000_000_000) as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds_and_zero_is_the_latest() {
        for nanos in [-1_500_000_000, -1, 1, 999_999_999, 3_000_000_001] {
            assert_eq!(time_of(nanos).as_nanos(), nanos);
        }
        assert_eq!((When::from(Time::ZERO), When::from(None::<Time>)), (When::Latest, When::Latest));
        assert_eq!(When::from(Some(rospin_engine::Time::from_millis(1500))).nanos(), 1_500_000_000);
        assert_eq!([Seconds(-1).to_string(), Seconds(1_000_000_020).to_string()], ["-0.000000001", "1.000000020"]);
    }
}
