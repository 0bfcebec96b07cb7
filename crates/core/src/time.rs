//! Instants: points on a driver's time line.

use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A point in time: nanoseconds since the epoch of the clock that the driver reads.
///
/// The core never reads a clock. Arithmetic saturates, so that a far deadline does not wrap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

impl Instant {
    /// The epoch of the clock.
    pub const ZERO: Self = Self(0);
    /// The latest instant of all, which stands for "no deadline" and "never".
    pub const MAX: Self = Self(u64::MAX);
    /// The latest reading of a clock that is moved by hand, or by messages: 292 years, which signed nanoseconds can
    /// still tell. What is due later than that is never due, and times that are calculated from a reading do not end at
    /// [`MAX`](Self::MAX) by mistake.
    pub const LAST_READING: Self = Self(i64::MAX as u64);

    /// Creates the instant `nanos` nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Creates the instant `millis` milliseconds after the epoch.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns the nanoseconds since the epoch.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time since `earlier`, or `None` if `earlier` is in fact later.
    #[must_use]
    pub fn checked_since(self, earlier: Self) -> Option<Duration> {
        self.0.checked_sub(earlier.0).map(Duration::from_nanos)
    }

    /// Returns the time since `earlier`, or zero if `earlier` is in fact later.
    #[must_use]
    pub fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Returns a duration in nanoseconds, at most `u64::MAX` (584 years).
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(nanos(rhs)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(rhs)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, rhs: Duration) {
        *self = *self - rhs;
    }
}

/// Returns the time since `rhs`.
///
/// # Panics
/// If `rhs` is the later one, in builds with debug assertions; in other builds the result is zero then. Where that may
/// happen, use [`checked_since`](Instant::checked_since) or [`saturating_since`](Instant::saturating_since).
///
/// ```
/// use std::time::Duration;
/// use rospin_core::Instant;
///
/// let (sent, received) = (Instant::from_millis(10), Instant::from_millis(12));
/// assert_eq!(received - sent, Duration::from_millis(2));
/// assert_eq!(sent.checked_since(received), None);
///
/// let mut next = sent;
/// next += Duration::from_millis(5);
/// next -= Duration::from_millis(1);
/// assert_eq!(next, sent + Duration::from_millis(4));
/// ```
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        debug_assert!(
            self >= rhs,
            "{self:?} - {rhs:?}: the second instant is later; use `checked_since` or `saturating_since`"
        );
        self.saturating_since(rhs)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::MAX {
            return f.write_str("never");
        }
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}
