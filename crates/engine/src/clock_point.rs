//! Points in time that tell their clock by their type.

use std::time::{Duration, SystemTime};

use rospin_core::{ClockKind, Instant, Time};

/// A point in time whose type names its clock: [`Instant`] for the steady clock, [`Time`] for ROS time, and
/// [`SystemTime`] for the system clock.
pub trait ClockPoint: Copy + Send + Sync + 'static {
    /// The clock that the point is on.
    #[doc(hidden)]
    const KIND: ClockKind;

    /// Returns the clock's reading as a point in time.
    #[doc(hidden)]
    fn of_reading(reading: Instant) -> Self;

    /// Returns the reading that the clock has at this point in time.
    #[doc(hidden)]
    fn to_reading(self) -> Instant;
}

impl ClockPoint for Instant {
    const KIND: ClockKind = ClockKind::Steady;

    fn of_reading(reading: Instant) -> Self {
        reading
    }

    fn to_reading(self) -> Instant {
        self
    }
}

impl ClockPoint for Time {
    const KIND: ClockKind = ClockKind::Ros;

    fn of_reading(reading: Instant) -> Self {
        Self::from_reading(reading)
    }

    fn to_reading(self) -> Instant {
        self.reading()
    }
}

/// Times before 1970 are zero.
impl ClockPoint for SystemTime {
    const KIND: ClockKind = ClockKind::System;

    fn of_reading(reading: Instant) -> Self {
        Self::UNIX_EPOCH + Duration::from_nanos(reading.as_nanos())
    }

    fn to_reading(self) -> Instant {
        Instant::ZERO + self.duration_since(Self::UNIX_EPOCH).unwrap_or_default()
    }
}
