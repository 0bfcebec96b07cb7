//! Activations: single runs of an entity's callback.

use crate::entity::{EntityKind, Priority};
use crate::id::{EntityId, GroupId};
use crate::time::Instant;

/// Run of an entity's callback, from its release to its completion.
///
/// An asynchronous callback's activation consists of segments, one a poll; a resumed segment keeps the activation's
/// identity (`entity`, `sequence`), priority and deadline, and is released when its waker is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Activation {
    /// The entity whose callback runs.
    pub entity: EntityId,
    /// The entity's group.
    pub group: GroupId,
    /// The entity's kind.
    pub kind: EntityKind,
    /// The entity's priority.
    pub priority: Priority,
    /// The time at which this segment became eligible: a timer's due time, a message's arrival (that of the first one
    /// that was displaced since the last activation, if there was one), or a wake-up.
    pub release: Instant,
    /// Absolute deadline of the activation, [`Instant::MAX`] if it has none.
    pub deadline: Instant,
    /// The entity's place in the order of registration, from 0: the second tie-breaker.
    pub registration: u64,
    /// The number of this activation, in the order in which the scheduler learned of its activations, from 0: the last
    /// tie-breaker.
    pub sequence: u64,
    /// The number of the segment, from 0.
    pub segment: u32,
    /// True if the entity [precedes all](crate::EntitySpec::precedes_all). The scheduler keeps such an activation
    /// itself, and gives it to no policy.
    pub precedes_all: bool,
}

impl Activation {
    /// Returns the tie-breaker of activations that a policy regards as equal: release, registration, sequence.
    #[must_use]
    pub const fn tie_breaker(&self) -> (Instant, u64, u64) {
        (self.release, self.registration, self.sequence)
    }
}
