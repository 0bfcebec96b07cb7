//! Decisions of a scheduler, in numbers that do not depend on the implementation.

use std::fmt;

use rospin_core::{EntityKind, Instant};

/// An activation in terms of every implementation. Entities and groups are numbered in the order of their creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decision {
    /// Number of the entity.
    pub entity: usize,
    /// Number of its group.
    pub group: usize,
    /// The entity's kind.
    pub kind: EntityKind,
    /// The entity's priority.
    pub priority: u32,
    /// The time at which this segment became eligible.
    pub release: Instant,
    /// Absolute deadline; [`Instant::MAX`] if there is none.
    pub deadline: Instant,
    /// The order of the entity's registration.
    pub registration: u64,
    /// Number of the activation, among those of all entities.
    pub sequence: u64,
    /// Number of the segment within its activation, from 0.
    pub segment: u32,
}

impl Decision {
    /// Returns what identifies the activation, whatever its segment: its entity and its sequence number.
    #[must_use]
    pub const fn identity(&self) -> (usize, u64) {
        (self.entity, self.sequence)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entity, group, kind, priority, release, deadline, registration, sequence, segment } = self;
        write!(f, "e{entity} #{sequence}.{segment} ({kind} {registration} of g{group}, priority {priority}, ")?;
        write!(f, "released {}, deadline {})", Ms(*release), Ms(*deadline))
    }
}

/// An entry of a scheduler's trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// An activation or a segment of one was released.
    Released(Decision),
    /// A released activation that was not dispatched yet got an earlier release.
    Antedated(Decision),
    /// The activation was dispatched to the thread.
    Dispatched(u16, Decision),
    /// The activation was suspended.
    Suspended(Decision),
    /// The activation was completed.
    Completed(Decision),
    /// The timer with this number gave up that many due times.
    Overrun(usize, u64),
}

/// Instant that is formatted in milliseconds, or as `never` if it is [`Instant::MAX`].
pub(crate) struct Ms(pub(crate) Instant);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Instant::MAX {
            return f.write_str("never");
        }
        write!(f, "{} ms", self.0.as_nanos() as f64 / 1e6)
    }
}
