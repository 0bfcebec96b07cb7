//! What is going to happen from outside, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rospin_core::Instant;

/// Something that happens to the system; at one instant in the order of the variants, then of the numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Happening {
    /// An executor begins to spin.
    SpinStart(usize),
    /// An executor is told to stop.
    Halt(usize),
    /// A fault of this number sets the system clock.
    ClockJump(usize),
    /// What an activation waits for is there: when that began to be awaited, the callback, the sequence number.
    Awaited(u64, usize, u64),
    /// A message of the release with this number arrives.
    Message(usize),
    /// A message that was under way arrives: the number that it was sent with.
    Transit(u64),
    /// A fault of this number notifies for nothing.
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

    /// The next thing that happens at `now` or should have happened before.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<Happening> {
        if self.next_at()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, happening))| happening)
    }
}
