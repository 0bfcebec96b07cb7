//! What the machine adds to the callbacks' own time.

use std::time::Duration;

/// Costs of the executor, the operating system and the middleware; measured, zero by default.
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
    /// From one callback to the next: pick, take, hand back. Added to every activation, to every segment of an
    /// asynchronous one.
    pub dispatch: Duration,
    /// From a notification or a due time until a parked thread runs. Counted as execution in front of every activation,
    /// since every one may find the thread parked.
    pub wake_up: Duration,
    /// What the middleware's receive thread does for one message: a callback of highest priority on the receiver's core,
    /// whose end makes the message available.
    pub receive: Duration,
}

/// Processor time that an executor is guaranteed: `budget` in every `period`, whatever else runs (`SCHED_DEADLINE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// How much.
    pub budget: Duration,
    /// In every interval of which length.
    pub period: Duration,
}
