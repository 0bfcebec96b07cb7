//! Incidents: panics and errors of callbacks and sources, and the reactions of their groups.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Reaction of a group to a panic of a callback. The panic itself is always caught and reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum OnPanic {
    /// The entity continues with its next item. The payload stays as the panic left it.
    #[default]
    Continue,
    /// The entity is removed; the rest of the group continues.
    Remove,
    /// The executor halts; `spin` returns an error.
    Halt,
}

/// A panic or an error of a callback, an item that could not be taken from its source, or a callback that waits for
/// another one, with the names of those concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Incident {
    /// The name of the executor.
    pub executor: String,
    /// The name of the callback group.
    pub group: String,
    /// The name of the entity.
    pub entity: String,
    /// The kind of incident.
    pub kind: IncidentKind,
}

/// The kinds of incidents.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IncidentKind {
    /// The callback panicked with this message.
    Panicked(String),
    /// The source had an item that could not be taken, for this reason.
    TakeFailed(String),
    /// The callback returned an error with this message.
    Failed(String),
    /// The entity has been ready for a second and cannot start, because a callback that awaits something holds its
    /// group, or because its own callback awaits something. It is told once for each pair of entities. If the one
    /// awaits what the other does, neither ever goes on.
    HeldUp {
        /// The name of the entity whose callback awaits something.
        by: String,
        /// The time for which the entity has waited for it.
        waited: Duration,
    },
}

impl IncidentKind {
    /// Returns the place of the kind among [`INCIDENTS`](rospin_core::recording::INCIDENTS).
    pub(crate) const fn index(&self) -> u8 {
        match self {
            Self::Panicked(_) => 0,
            Self::TakeFailed(_) => 1,
            Self::Failed(_) => 2,
            Self::HeldUp { .. } => 3,
        }
    }
}

impl Incident {
    /// Writes it to the log, as a context does unless [its options](crate::ContextOptions::on_incident) name another
    /// function: as a warning if a callback waits for another one, and as an error otherwise.
    pub fn log(&self) {
        let is_warning = matches!(self.kind, IncidentKind::HeldUp { .. });
        let level = if is_warning { log::Level::Warn } else { log::Level::Error };
        log::log!(target: "rospin", level, "{self}");
    }
}

impl fmt::Display for Incident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, group, entity, kind } = self;
        match kind {
            IncidentKind::Panicked(message) => write!(f, "callback `{entity}` panicked: {message}")?,
            IncidentKind::TakeFailed(reason) => write!(f, "`{entity}` lost an item: {reason}")?,
            IncidentKind::Failed(reason) => write!(f, "callback `{entity}` failed: {reason}")?,
            IncidentKind::HeldUp { by, waited } if by == entity => write!(
                f,
                "`{entity}` has been ready for {waited:.1?} and does not run, because its own callback still awaits something. If \
                 it awaits what a further run of itself would do, it never ends: raise `max_in_flight` in its options, on the \
                 node's own group or a reentrant one"
            )?,
            IncidentKind::HeldUp { by, waited } => write!(
                f,
                "`{entity}` has waited {waited:.1?} for its group `{group}`, which `{by}` holds while it awaits something. If it \
                 awaits what `{entity}` does, neither goes on. Put one of them on a group of its own (`Node::create_group`), on \
                 the node's own group or on a reentrant one, or set `releases_group_at_await` in the options of `{by}`"
            )?,
        }
        write!(f, " (group `{group}`, executor `{executor}`)")
    }
}

/// Activation that ended after its deadline, with the names of those concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MissedDeadline {
    /// The name of the executor.
    pub executor: String,
    /// The name of the callback group.
    pub group: String,
    /// The name of the entity.
    pub entity: String,
    /// The time from the deadline to the end of the callback.
    pub lateness: Duration,
    /// The number of deadlines that the entity has missed so far, this one included.
    pub count: u64,
}

impl fmt::Display for MissedDeadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executor, group, entity, lateness, count } = self;
        write!(
            f,
            "callback `{entity}` ended {lateness:?} after its deadline, its miss number {count} (group `{group}`, executor \
             `{executor}`)"
        )
    }
}

/// Function that is called for each missed deadline.
pub(crate) type MissReporter = Arc<dyn Fn(&MissedDeadline) + Send + Sync>;

/// Function that is called for each incident.
pub(crate) type Reporter = Arc<dyn Fn(&Incident) + Send + Sync>;
