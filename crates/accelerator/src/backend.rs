//! The seam between accelerators and devices.

use std::sync::Weak;
use std::time::Duration;

use rospin_core::{Instant, Priority};

/// A device. It runs segments on lanes, and reports their ends.
///
/// A lane runs one segment after the other in the order in which it is given them, such as a CUDA stream. The
/// accelerator gives a lane at most two: the one that runs and, if it is asked to be
/// [ahead](crate::AcceleratorOptions::ahead), the one that runs next. Otherwise it gives it the next one only after the
/// [`Listener`] was told of the end of the one before. Where lanes differ in urgency, lane 0 is the most urgent one.
pub trait Backend: Send + Sync + 'static {
    /// The work of a segment: the kernels, and the copies before and after them.
    type Work: Send + 'static;

    /// Returns the number of lanes, at least 1. It stays the same.
    fn lanes(&self) -> usize;

    /// Returns the present time on the device's clock, which the times of its reports are on, too.
    fn now(&self) -> Instant;

    /// Stores the listener that is told of ends, alarms, and the loss of the device. Called once, before segments and
    /// alarms.
    fn connect(&self, listener: Weak<dyn Listener>);

    /// Starts a segment on a lane, after the one that the lane has if there is one. Returns without waiting for it.
    ///
    /// It must not call the listener on the calling thread. Other threads may report the end before this method has
    /// returned.
    ///
    /// # Errors
    /// If the segment could not be started. Then the listener is not told of its end.
    fn submit(&self, launch: Launch<Self::Work>) -> Result<(), SegmentFailure>;

    /// Tells the listener of the end of the segment that runs on a lane, if it has ended and the listener does not know
    /// of it. Called again and again by threads that [wait](crate::Completion::busy_wait) without sleeping, which then
    /// need not wait for the device's threads to wake up. Does nothing by default: the device's threads tell of all ends.
    ///
    /// Ends of a lane must be told in their order, whichever threads tell of them.
    fn poll(&self, lane: usize) {
        let _ = lane;
    }

    /// Asks for a call of [`Listener::alarm`] at the time `at` or soon after it. The earlier one of two alarms counts.
    /// May call the listener without need, but not on the calling thread.
    fn set_alarm(&self, at: Instant);
}

/// A segment on its way to the device.
#[derive(Debug)]
pub struct Launch<W> {
    /// The number of the lane, from 0.
    pub lane: usize,
    /// The number by which the end of this segment is reported.
    pub ticket: u64,
    /// The client's priority, for devices whose lanes have priorities.
    pub priority: Priority,
    /// The work that the device does.
    pub work: W,
}

/// The end of a segment.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The number of the lane.
    pub lane: usize,
    /// The ticket of the [`Launch`]. An end with a ticket that no segment on the lane has is ignored.
    pub ticket: u64,
    /// The time of the end.
    pub at: Instant,
    /// The time for which the segment kept the device busy, without its wait for engines that other lanes used. A back
    /// end that cannot tell them apart counts the wait, too. It counts against the client's bound and budget.
    pub busy: Duration,
    /// The result: an error if the segment failed.
    pub result: Result<(), SegmentFailure>,
}

/// Error of a segment that failed: the device's message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SegmentFailure(pub String);

/// Receiver of a device's reports: the accelerator. Any thread may call it, except within [`Backend::submit`] and
/// [`Backend::set_alarm`]. The caller must hold none of the locks that these two take.
pub trait Listener: Send + Sync {
    /// Reports the end of a segment. The accelerator starts the next one within this call.
    fn ended(&self, ended: Ended);

    /// Reports that the time of an alarm has come: `now` is the present time of the device. The accelerator then
    /// handles segments that should have ended, and clients that have a budget again.
    fn alarm(&self, now: Instant);

    /// Reports that the device is lost. Every request ends with an error, and no more are accepted.
    fn lost(&self, reason: &str);
}
