//! Errors that callbacks return, as incidents.

use std::fmt;
use std::sync::Arc;

use rospin_core::recording::Event;

use crate::incident::{Incident, IncidentKind, Reporter};
use crate::panics::contain_and_log;
use crate::recorder::Scribe;
use crate::shared::Shared;

/// A reporter for errors that an entity's callback returns: see
/// [`CallbackGroup::failures`](crate::CallbackGroup::failures).
#[derive(Clone)]
pub struct Failures {
    report: Reporter,
    scribe: Scribe,
    /// The number of the executor in recordings.
    executor: u16,
    /// The names of the executor, the group and the entity.
    of: Arc<(String, String, String)>,
}

impl Failures {
    pub(crate) fn new(report: Reporter, executor: &Shared, group: &str, entity: &str) -> Self {
        let of = Arc::new((executor.name.clone(), group.to_owned(), entity.to_owned()));
        Self { report, scribe: executor.scribe.clone(), executor: executor.number.get(), of }
    }

    /// Reports an [`Incident`] of the kind [`Failed`](IncidentKind::Failed). Allocates, and calls the function that
    /// [`ContextOptions::on_incident`](crate::ContextOptions::on_incident) was given. A panic of that function is
    /// logged.
    pub fn report(&self, reason: impl fmt::Display) {
        // `u64::MAX` stands for the callback that the calling thread runs.
        self.tell(u64::MAX, IncidentKind::Failed(reason.to_string()));
    }

    /// Reports an incident of the entity that recordings know by that number.
    pub(crate) fn tell(&self, entity_number: u64, kind: IncidentKind) {
        let (executor, group, entity) = (*self.of).clone();
        let index = kind.index();
        self.scribe.note(|| Event::Incident { executor: self.executor, entity: entity_number, kind: index });
        let incident = Incident { executor, group, entity, kind };
        contain_and_log("the function for incidents", || (self.report)(&incident));
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failures").field("entity", &self.of.2).finish_non_exhaustive()
    }
}
