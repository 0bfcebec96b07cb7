//! Points on the time line of ROS: a type of its own, so that they do not mix with those of the steady clock.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

use crate::time::Instant;

/// A point in ROS time: nanoseconds since the epoch of the clock that ROS time follows, which is `/clock` in simulation
/// and the system clock otherwise. The stamps of messages are such points.
///
/// [`Instant`] is a point on the steady clock, whose zero is the start of the machine. The two have nothing to do with
/// each other, so they do not mix:
///
/// ```compile_fail,E0277
/// use rospin_core::{Instant, Time};
///
/// fn lateness(now: Time, due: Instant) -> std::time::Duration {
///     now - due // error: cannot subtract `Instant` from `Time`
/// }
/// ```
///
/// Two points in ROS time have a difference:
///
/// ```
/// use std::time::Duration;
/// use rospin_core::Time;
///
/// let (sent, received) = (Time::from_millis(10), Time::from_millis(12));
/// assert_eq!(received - sent, Duration::from_millis(2));
/// assert_eq!(received.checked_since(sent), Some(Duration::from_millis(2)));
/// assert_eq!(sent.checked_since(received), None);
/// assert_eq!(sent.saturating_since(received), Duration::ZERO);
/// assert_eq!(sent.signed_nanos_since(received), -2_000_000);
///
/// let mut next = sent;
/// next += Duration::from_millis(5);
/// next -= Duration::from_millis(1);
/// assert_eq!(next, sent + Duration::from_millis(4));
/// assert_eq!(next.as_secs_f64(), 0.014);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(Instant);

impl Time {
    /// The epoch. In ROS, a stamp of zero means "no time".
    pub const ZERO: Self = Self(Instant::ZERO);
    /// The latest time of all.
    pub const MAX: Self = Self(Instant::MAX);

    /// Creates the time `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(Instant::from_nanos(nanos))
    }

    /// Creates the time `millis` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(Instant::from_millis(millis))
    }

    /// Creates the time `secs` seconds after the epoch.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(Instant::from_nanos(secs.saturating_mul(1_000_000_000)))
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    #[doc(alias = "nanoseconds")]
    pub const fn as_nanos(self) -> u64 {
        self.0.as_nanos()
    }

    /// Returns the seconds since the epoch. For a time of day, that is exact to about 200 ns.
    #[must_use]
    #[doc(alias = "seconds")]
    pub fn as_secs_f64(self) -> f64 {
        Duration::from_nanos(self.as_nanos()).as_secs_f64()
    }

    /// Returns the time since `earlier`, or `None` if `earlier` is in fact later: ROS time jumped back, or the two
    /// stamps come from machines whose clocks differ.
    #[must_use]
    pub fn checked_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_since(earlier.0)
    }

    /// Returns the time since `earlier`, or zero if `earlier` is in fact later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_since(earlier.0)
    }

    /// Returns the nanoseconds since `other`, negative if `other` is later. A difference of more than 292 years is cut.
    #[must_use]
    pub fn signed_nanos_since(self, other: Self) -> i64 {
        let magnitude = i64::try_from(self.as_nanos().abs_diff(other.as_nanos())).unwrap_or(i64::MAX);
        if self.0 < other.0 { -magnitude } else { magnitude }
    }

    /// Returns the reading of a clock as ROS time. For engines, whose clocks all give readings.
    #[doc(hidden)]
    #[must_use]
    pub const fn from_reading(reading: Instant) -> Self {
        Self(reading)
    }

    /// Returns ROS time as the reading of a clock. For engines, whose clocks all give readings.
    #[doc(hidden)]
    #[must_use]
    pub const fn reading(self) -> Instant {
        self.0
    }
}

/// Returns the later time. It is at most [`Time::MAX`].
impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0 + rhs)
    }
}

/// Returns the earlier time. It is at least [`Time::ZERO`].
impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0 - rhs)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl SubAssign<Duration> for Time {
    fn sub_assign(&mut self, rhs: Duration) {
        *self = *self - rhs;
    }
}

/// Returns the time since `rhs`.
///
/// # Panics
/// If `rhs` is the later one, in builds with debug assertions; in other builds the result is zero then. Where that may
/// happen, use [`checked_since`](Time::checked_since), [`saturating_since`](Time::saturating_since) or
/// [`signed_nanos_since`](Time::signed_nanos_since).
impl Sub for Time {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        debug_assert!(
            self >= rhs,
            "{self:?} - {rhs:?}: the second time is later; use `checked_since`, `saturating_since` or `signed_nanos_since`"
        );
        self.saturating_since(rhs)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "the second time is later"))]
    fn the_difference_to_a_later_time_is_a_fault() {
        assert_eq!(Time::from_secs(1) - Time::from_secs(2), Duration::ZERO);
    }

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "the second instant is later"))]
    fn the_difference_to_a_later_instant_is_a_fault() {
        assert_eq!(Instant::from_millis(1) - Instant::from_millis(2), Duration::ZERO);
    }

    #[test]
    fn a_signed_difference_is_cut_at_292_years() {
        assert_eq!(Time::MAX.signed_nanos_since(Time::ZERO), i64::MAX);
        assert_eq!(Time::ZERO.signed_nanos_since(Time::MAX), -i64::MAX);
    }
}
