//! Agenda of future events from outside, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rospin_core::Instant;

/// An event. At one instant, events are ordered by variant, then by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Happening {
    /// An executor starts to spin.
    SpinStart(usize),
    /// An executor is halted.
    Halt(usize),
    /// A clock is set, by the fault with this number.
    ClockJump(usize),
    /// An await of an activation ends: the time at which the await started, in nanoseconds, the callback, and the
    /// activation's sequence number.
    Awaited(u64, usize, u64),
    /// A segment of an accelerator ends, by the accelerator's number and the lane's.
    SegmentEnded(usize, usize),
    /// A block of a segment ends, after which an urgent request preempts it, by the accelerator's number.
    BlockEnded(usize),
    /// A message of the release with this number arrives.
    Message(usize),
    /// A delayed message arrives, by the number that it was sent with.
    Transit(u64),
    /// A spurious notification, by the fault with this number.
    Spurious(usize),
}

#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<(Instant, Happening)>>,
}

impl Agenda {
    pub(crate) fn push(&mut self, at: Instant, happening: Happening) {
        self.heap.push(Reverse((at, happening)));
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the next event that is due at `now`, out of the agenda; `None` if there is none.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Happening> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, happening))| happening)
    }
}
