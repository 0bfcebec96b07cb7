//! What a scheduler did, as a driver or a test records it.

use crate::activation::Activation;
use crate::id::{EntityId, ThreadIndex};
use crate::time::Instant;

/// Something that the scheduler did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceEvent {
    /// An activation, or a further segment of one, became eligible.
    Released(Activation),
    /// An activation that was released already turned out to be released earlier. It takes the place of the one that its
    /// entity had, perhaps under a new sequence number.
    Antedated(Activation),
    /// A thread was an activation to run.
    Dispatched(ThreadIndex, Activation),
    /// An asynchronous activation waits for something.
    Suspended(Activation),
    /// An activation ended and its group is free again.
    Completed(Activation),
    /// A wait-set style policy built a new ready set, for that thread; what is in it follows.
    PollingPoint(ThreadIndex),
    /// An activation in the ready set of the last polling point, in the order in which they will be served.
    Collected(Activation),
    /// A timer gave up this many due times because it ran late.
    Overrun(EntityId, u64),
}

/// Receives what a scheduler does, in order.
///
/// Called on the dispatch path, with the scheduler borrowed: an implementation must not block.
pub trait Trace: Send {
    /// `event` happened at `now`: for a release its own instant, which may lie before the event that was recorded last.
    fn record(&mut self, now: Instant, event: TraceEvent);
}

impl<F: FnMut(Instant, TraceEvent) + Send> Trace for F {
    fn record(&mut self, now: Instant, event: TraceEvent) {
        self(now, event);
    }
}
