//! Processor time that executor, operating system and middleware need besides the callbacks.

use std::time::Duration;

/// Costs of executor, operating system and middleware. They are measured; the default is zero.
///
/// ```
/// use std::time::Duration;
/// use rospin_analysis::Overheads;
///
/// let overheads = Overheads { dispatch: Duration::from_micros(2), ..Overheads::default() };
/// assert!(overheads.receive.is_zero());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overheads {
    /// Time from the end of one callback to the start of the next one: pick, take, completion. It is added to every
    /// activation, and to every segment of an asynchronous one.
    pub dispatch: Duration,
    /// Time from a notification or a due time until a parked thread runs. It counts as execution in front of every
    /// activation, since every one may find the thread parked.
    ///
    /// It is a delay and takes no processor time. So counting it as execution counts more than there is, which is safe.
    /// Between executors: suppose that the waking thread had the core while it wakes, at its priority. Then all less
    /// urgent threads have only a part of the time that they really have, and nothing ends earlier. (If it were counted
    /// as jitter instead, an activation that starts late could meet the next one, which starts in time.) Inside an
    /// executor: an activation that becomes ready while the thread wakes goes first if it is more urgent, although the
    /// analysis takes the other one for started. But the more urgent one has been counted from the beginning, with a
    /// wake-up of its own, which covers the one that was waited for.
    pub wake_up: Duration,
    /// Processor time of the middleware's receive thread for one message. It counts as a callback of the highest
    /// priority on the receiver's core, whose end makes the message available.
    pub receive: Duration,
}

/// Processor time that is guaranteed to an executor: `budget` in every `period`, whatever else runs (`SCHED_DEADLINE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// Guaranteed processor time in each period.
    pub budget: Duration,
    /// Length of the period.
    pub period: Duration,
}
