//! What a scheduler decided, in numbers that do not depend on the implementation.

use std::fmt;

use rospin_core::{EntityKind, Instant};

/// An activation as every implementation can name it: entities and groups are numbered in the order of their creation.
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
    /// When this segment became eligible.
    pub release: Instant,
    /// Absolute deadline.
    pub deadline: Instant,
    /// When the entity was registered.
    pub registration: u64,
    /// Number of the activation.
    pub sequence: u64,
    /// Number of the segment.
    pub segment: u32,
}

impl Decision {
    /// What names the activation, whatever its segment.
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

/// Something that a scheduler recorded in its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// An activation or a segment of one was released.
    Released(Decision),
    /// One that was released, but is held back, turned out to be released earlier.
    Antedated(Decision),
    /// The thread was given it.
    Dispatched(u16, Decision),
    /// It waits for something.
    Suspended(Decision),
    /// It ended.
    Completed(Decision),
    /// The timer of this number gave up so many due times.
    Overrun(usize, u64),
}

/// Milliseconds, for people: whole ones, since scenarios use no others.
pub(crate) struct Ms(pub(crate) Instant);

impl fmt::Display for Ms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Instant::MAX {
            return f.write_str("never");
        }
        write!(f, "{} ms", self.0.as_nanos() as f64 / 1e6)
    }
}
