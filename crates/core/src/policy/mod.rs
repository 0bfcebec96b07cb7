//! Policies: which of the ready activations runs next.
//!
//! To add one: a new file here (most need only an [`Order`] of a few lines, the others implement [`Policy`]), and one
//! line in [`POLICIES`].

mod edf;
mod fifo;
mod fixed_priority;
mod holders;
mod ordered;
mod places;
mod queue;
mod wait_set;

pub use edf::{ByDeadline, Edf};
pub use fifo::{ByRelease, Fifo};
pub use fixed_priority::{ByPriority, FixedPriority};
pub use ordered::{Order, Ordered};
pub use wait_set::{Timers, WaitSet};

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::{EntityId, GroupId, ThreadIndex};
use crate::time::Instant;
use crate::trace::{Trace, TraceEvent};

/// What a policy may look at when it picks.
#[non_exhaustive]
pub struct View<'a> {
    /// The time at which the thread asks.
    pub now: Instant,
    /// The thread that asks.
    pub thread: ThreadIndex,
    /// The callback groups: whether an activation may start now.
    pub groups: &'a Groups,
    trace: Option<&'a mut dyn Trace>,
}

impl<'a> View<'a> {
    pub(crate) fn new(now: Instant, thread: ThreadIndex, groups: &'a Groups, trace: Option<&'a mut dyn Trace>) -> Self {
        Self { now, thread, groups, trace }
    }

    /// Records a polling point with its ready set, in the order in which it will be served.
    ///
    /// For policies that build ready sets; the others have no polling points.
    pub fn record_polling_point<'b>(&mut self, ready_set: impl IntoIterator<Item = &'b Activation>) {
        if let Some(trace) = &mut self.trace {
            trace.record(self.now, TraceEvent::PollingPoint(self.thread));
            for activation in ready_set {
                trace.record(self.now, TraceEvent::Collected(*activation));
            }
        }
    }
}

/// Decides which of the ready activations runs next.
///
/// A policy holds the ready set: the scheduler hands it every released activation exactly once and gets each back
/// exactly once, by [`pick`](Policy::pick) or [`withdraw`](Policy::withdraw). All methods run on the dispatch path; they
/// should neither block nor allocate once [`register`](Policy::register) has made room.
///
/// Most policies only differ in how they compare two activations: implement [`Order`] and use [`Ordered`], which has priority
/// inheritance, too. A policy that is written from scratch sees who holds a group by this: its group [admits](Groups::admits)
/// it although it is not [free](Groups::is_free). Everything else of that group waits for it.
pub trait Policy: Send {
    /// Name for tables and traces, as in [`POLICIES`].
    fn name(&self) -> &'static str;

    /// An entity was added: make room for its activations.
    fn register(&mut self, id: EntityId, spec: &EntitySpec);

    /// An entity was removed; its activations were withdrawn before.
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec);

    /// An activation, or a resumed segment of one, became ready.
    fn release(&mut self, activation: Activation);

    /// Takes the activation to run now out of the ready set.
    ///
    /// It must be one that [`Groups::admits`]; `None` if there is none.
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation>;

    /// A mutually exclusive group is free again; or the activation that holds it may go on, since what
    /// [preceded all](EntitySpec::precedes_all) has run.
    fn group_freed(&mut self, group: GroupId);

    /// Takes an activation out of the ready set without running it.
    fn withdraw(&mut self, activation: &Activation);

    /// Whether another thread that asked now might be given something; may err towards yes.
    fn has_candidates(&self) -> bool;

    /// Whether it matters when activations were released. Then one that turns out to have been released earlier while it is
    /// ready is withdrawn, and released again with its earlier release.
    fn orders_by_release(&self) -> bool {
        false
    }

    /// Whether `activation` would be picked next if it were released and its group free; may err towards no.
    ///
    /// The scheduler asks so that an entity with more to do can go on, without a way through the ready set.
    fn would_pick(&self, _activation: &Activation) -> bool {
        false
    }
}

/// A policy that can be chosen by name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyEntry {
    /// The name to choose it by.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Makes an empty one.
    pub build: fn() -> Box<dyn Policy>,
}

/// The policies that come with rospin.
pub const POLICIES: &[PolicyEntry] = &[
    PolicyEntry { name: fifo::NAME, summary: fifo::SUMMARY, build: || Box::new(Fifo::new()) },
    PolicyEntry {
        name: fixed_priority::NAME,
        summary: fixed_priority::SUMMARY,
        build: || Box::new(FixedPriority::new()),
    },
    PolicyEntry { name: edf::NAME, summary: edf::SUMMARY, build: || Box::new(Edf::new()) },
    PolicyEntry {
        name: wait_set::NAME_E1,
        summary: wait_set::SUMMARY_E1,
        build: || Box::new(WaitSet::new(Timers::Outside)),
    },
    PolicyEntry {
        name: wait_set::NAME_E2,
        summary: wait_set::SUMMARY_E2,
        build: || Box::new(WaitSet::new(Timers::Inside)),
    },
];

/// Why there is no policy by a name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no policy `{name}`; known are {}", known())]
pub struct UnknownPolicy {
    /// The name that was asked for.
    pub name: String,
}

fn known() -> String {
    POLICIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// Makes the policy called `name`, one of [`POLICIES`].
///
/// # Errors
/// If there is none by that name.
pub fn by_name(name: &str) -> Result<Box<dyn Policy>, UnknownPolicy> {
    match POLICIES.iter().find(|entry| entry.name == name) {
        Some(entry) => Ok((entry.build)()),
        None => Err(UnknownPolicy { name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_is_found_by_its_own_name() {
        for entry in POLICIES {
            assert_eq!(by_name(entry.name).unwrap().name(), entry.name);
        }
        let error = by_name("fair").err().unwrap();
        assert_eq!(
            error.to_string(),
            "there is no policy `fair`; known are fifo, fixed-priority, edf, wait-set-e1, wait-set-e2"
        );
    }
}
