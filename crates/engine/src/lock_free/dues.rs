//! The earliest due times of those who sleep on an executor, for its loop, which takes no lock for them.
//!
//! They are written under the lock of the sleepers' queues. The loop may read old ones. So whoever adds a sleeper that
//! is due before all others tells the executor of it, as [`News`](super::news::News): the loop looks at the news
//! between two callbacks, and once more before it parks, and reads the due times again after that.

use super::sync::{AtomicBool, AtomicU64, Ordering};

/// Value in place of a due time if nobody sleeps on the clock.
const NOBODY: u64 = u64::MAX;

/// The number of clocks.
pub(crate) const CLOCKS: usize = 3;

/// The earliest due time on each clock.
pub(crate) struct Dues {
    earliest_ns: [AtomicU64; CLOCKS],
    /// The turn of ROS time that due times on it belong to.
    turn: AtomicU64,
    /// True if there is any.
    has_any: AtomicBool,
}

impl Dues {
    pub(crate) fn new() -> Self {
        let earliest_ns = [(); CLOCKS].map(|()| AtomicU64::new(NOBODY));
        Self { earliest_ns, turn: AtomicU64::new(0), has_any: AtomicBool::new(false) }
    }

    /// Notes the earliest due time on each clock, in nanoseconds; `None` if nobody sleeps there. The one on ROS time
    /// belongs to that turn of the dial. For one thread at a time.
    pub(crate) fn note(&self, earliest_ns: [Option<u64>; CLOCKS], turn: u64) {
        for (place, due_ns) in self.earliest_ns.iter().zip(earliest_ns) {
            place.store(due_ns.map_or(NOBODY, |due_ns| due_ns.min(NOBODY - 1)), Ordering::Relaxed);
        }
        // Whoever sees the turn sees the due times that belong to it, too.
        self.turn.store(turn, Ordering::Release);
        // Likewise, whoever sees that there is one.
        self.has_any.store(earliest_ns.iter().any(Option::is_some), Ordering::Release);
    }

    /// Returns true if nobody sleeps.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        !self.has_any.load(Ordering::Acquire)
    }

    /// Returns the earliest due time on a clock in nanoseconds; `None` if nobody sleeps there.
    #[inline]
    pub(crate) fn earliest_ns(&self, clock: usize) -> Option<u64> {
        let due_ns = self.earliest_ns[clock].load(Ordering::Relaxed);
        (due_ns != NOBODY).then_some(due_ns)
    }

    /// Returns a turn of ROS time, and the earliest due time on that clock, which belongs to that turn or to a later
    /// one.
    ///
    /// The turn is read first. In the other order, an executor could wait on a new turn for a due time of an old one,
    /// although it is due before that: nobody tells it of that turn again.
    pub(crate) fn earliest_of_turn(&self, clock: usize) -> (u64, Option<u64>) {
        let turn = self.turn.load(Ordering::Acquire);
        (turn, self.earliest_ns(clock))
    }
}
