//! Traces: the events of a scheduler, as a driver or a test records them.

use crate::activation::Activation;
use crate::id::{EntityId, ThreadIndex};
use crate::time::Instant;

/// An event of the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TraceEvent {
    /// An activation, or a further segment of one, became eligible.
    Released(Activation),
    /// An activation turned out to have an earlier release than recorded. This one replaces the entity's former
    /// activation, perhaps under a new sequence number.
    Antedated(Activation),
    /// A thread was given an activation to run.
    Dispatched(ThreadIndex, Activation),
    /// An asynchronous activation awaits something.
    Suspended(Activation),
    /// An activation ended. It no longer runs in its group or holds it.
    Completed(Activation),
    /// A wait-set policy built a new ready set for that thread. Its activations follow as
    /// [`Collected`](Self::Collected).
    PollingPoint(ThreadIndex),
    /// An activation is in the ready set of the last polling point. The activations are recorded in the order in which
    /// they will be served.
    Collected(Activation),
    /// A timer skipped this many due times because it was late.
    Overrun(EntityId, u64),
    /// An activation that was ready or suspended will not go on: its timer was cancelled, or its entity was removed.
    Withdrawn(Activation),
    /// A wait-set policy found nothing to run for that thread, and discarded what was left of its ready set.
    Discarded(ThreadIndex),
}

/// A receiver of a scheduler's events, in order.
///
/// It is called on the dispatch path while the scheduler is borrowed, so an implementation must not block.
pub trait Trace: Send {
    /// Records an event that happened at `now`. For [`Released`](TraceEvent::Released) and
    /// [`Antedated`](TraceEvent::Antedated), `now` is the release itself, which may be before the previous event.
    fn record(&mut self, now: Instant, event: TraceEvent);

    /// Returns the trace that this one passes its events on to; `None` if it stands before no other one.
    fn into_inner(self: Box<Self>) -> Option<Box<dyn Trace>> {
        None
    }
}

impl<F: FnMut(Instant, TraceEvent) + Send> Trace for F {
    fn record(&mut self, now: Instant, event: TraceEvent) {
        self(now, event);
    }
}
