//! Callbacks that should run and do not: releases that no thread serves, and due times that a busy executor does not
//! even notice.
//!
//! The rules are the same for everybody who tells of it: the monitor, `rospin top`, and the report of a recording. A
//! [`Watch`] follows the events in their order, in memory of a fixed size, and knows no clock.
//!
//! An executor is followed from its first callback, or polling point, on. What is older belongs to the time before it
//! spun, or before the recording began, and no wait is counted from there: timers count from their creation, so the
//! first spin finds them late.

#[cfg(test)]
mod tests;
mod text;
mod watch;

pub(crate) use text::{Told, during, length};
pub(crate) use watch::{Overdue, Watch};

/// The nanoseconds beyond its limit for which a callback must have waited, at least, before it is overdue. What waits
/// for less is judged when it ends, when more is known of the cause.
const LEAST: u64 = 100_000_000;
/// The nanoseconds after which something is overdue that has no limit, such as the call of a service.
const WITHOUT_LIMIT: u64 = 1_000_000_000;

/// Returns the nanoseconds of waiting after which a callback with this limit is overdue: twice the limit, and more if
/// that is short.
pub(crate) fn patience(limit_ns: Option<u64>) -> u64 {
    match limit_ns {
        Some(limit) => limit.saturating_add(limit.max(LEAST)),
        None => WITHOUT_LIMIT,
    }
}
