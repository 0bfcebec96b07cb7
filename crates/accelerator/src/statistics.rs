//! Counts of requests.

use std::time::Duration;

/// Counts of a client's requests, or of all clients'.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Statistics {
    /// Requests that were accepted.
    pub accepted: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests whose segments have all run.
    pub completed: u64,
    /// Requests that ended with an error.
    pub failed: u64,
    /// Requests whose future was dropped before their end.
    pub cancelled: u64,
    /// Segments that ran.
    pub segments: u64,
    /// Segments that took longer than their bounds.
    pub overruns: u64,
    /// Times that a client had to wait because its budget was used up.
    pub throttled: u64,
    /// Time for which the segments kept the device busy.
    pub busy: Duration,
}

impl Statistics {
    /// Adds the counts of another client.
    pub(crate) fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.segments += other.segments;
        self.overruns += other.overruns;
        self.throttled += other.throttled;
        self.busy += other.busy;
    }
}
