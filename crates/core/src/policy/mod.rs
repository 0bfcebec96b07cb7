//! Policies, which decide which of the ready activations runs next.
//!
//! A new policy is a new file here, its `mod`, and one entry of [`POLICIES`]. Most policies need only an [`Order`] of a
//! few lines; the others implement [`Policy`]. The naive reference scheduler of `rospin-testkit` has each order once
//! more.

mod edf;
mod fifo;
mod fixed_priority;
mod holders;
mod lanes;
mod order;
mod ordered;
mod places;
#[doc(hidden)]
pub mod private;
mod queue;
mod ring;
mod wait_set;

pub use edf::{ByDeadline, Edf};
pub use fifo::{ByRelease, Fifo};
pub use fixed_priority::{ByPriority, FixedPriority};
pub use order::Order;
pub use ordered::Ordered;
pub use wait_set::{Timers, WaitSet};

use std::num::NonZeroU32;

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::{EntityId, GroupId, ThreadIndex};
use crate::time::Instant;
use crate::trace::{Trace, TraceEvent};

/// Information that a policy may use when it picks.
#[non_exhaustive]
pub struct View<'a> {
    /// The time of the pick.
    pub now: Instant,
    /// The thread that will run the activation.
    pub thread: ThreadIndex,
    /// The callback groups: they tell if an activation may start now.
    pub groups: &'a Groups,
    trace: Option<&'a mut dyn Trace>,
}

impl<'a> View<'a> {
    pub(crate) fn new(now: Instant, thread: ThreadIndex, groups: &'a Groups, trace: Option<&'a mut dyn Trace>) -> Self {
        Self { now, thread, groups, trace }
    }

    /// Records that the rest of a ready set was discarded although nothing else may run. Only policies that build ready
    /// sets at polling points do that.
    pub fn record_discard(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.record(self.now, TraceEvent::Discarded(self.thread));
        }
    }

    /// Returns true if there is a trace.
    #[must_use]
    pub const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Records a polling point in the scheduler's trace, if it has one. The activations of `ready_set` must come in the
    /// order in which they will be served.
    ///
    /// This is for policies that build ready sets at polling points. Others have no polling points.
    pub fn record_polling_point(&mut self, ready_set: impl IntoIterator<Item = Activation>) {
        if let Some(trace) = &mut self.trace {
            trace.record(self.now, TraceEvent::PollingPoint(self.thread));
            for activation in ready_set {
                trace.record(self.now, TraceEvent::Collected(activation));
            }
        }
    }
}

/// A policy, which decides which of the ready activations runs next.
///
/// A policy holds the ready set. The scheduler gives it every released activation exactly once, except those that
/// [precede all](EntitySpec::precedes_all), and gets each back exactly once, by [`pick`](Policy::pick) or
/// [`withdraw`](Policy::withdraw). An activation whose dispatch failed because the trace panicked is given to it again.
/// All methods run on the dispatch path. They should neither block nor allocate once [`register`](Policy::register) has
/// made room.
///
/// Most policies differ only in the way they compare two activations: implement [`Order`] and use [`Ordered`], which
/// also has priority inheritance. A policy that is written from scratch recognizes the holder of a group by this: the
/// group [admits](Groups::admits) it although the group is not [free](Groups::is_free). All other activations of that
/// group wait for the holder.
pub trait Policy: Send {
    /// Returns the name for tables and traces, as in [`POLICIES`].
    fn name(&self) -> &'static str;

    /// Makes room for the activations of an entity that was added.
    fn register(&mut self, id: EntityId, spec: &EntitySpec);

    /// Forgets an entity that was removed. Its activations were withdrawn before.
    fn unregister(&mut self, id: EntityId, spec: &EntitySpec);

    /// Adds an activation, or a resumed segment of one, to the ready set.
    fn release(&mut self, activation: &Activation);

    /// Takes the activation that is to run now out of the ready set. Its group must [admit](Groups::admits) it. Returns
    /// `None` if no ready activation may run.
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation>;

    /// Notes that an activation of a mutually exclusive group may run again: the group is free, or a guest that
    /// [precedes all](EntitySpec::precedes_all) has run and the holder may go on.
    fn group_freed(&mut self, group: GroupId);

    /// Removes an activation from the ready set without running it, because its entity is removed, or its timer is
    /// cancelled or restarted.
    fn withdraw(&mut self, activation: &Activation);

    /// Returns true if a pick by another thread might find an activation now. May return true although a pick would
    /// find none.
    fn has_candidates(&self) -> bool;

    /// Returns the policy with the [hooks](private::Hooks) that it has.
    #[doc(hidden)]
    fn with_hooks(self: Box<Self>) -> Box<dyn private::Hooks>
    where
        Self: 'static,
    {
        Box::new(private::Plain(self))
    }
}

/// The ready activation that comes first, as it is named before it is picked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Named {
    release: Instant,
    /// The index of the entity, and one, and a [bit](LATER_BEHIND). It is half as long as an index and never zero, so
    /// that two registers hold an optional name.
    number: NonZeroU32,
}

/// The bit of a name that says that later activations come behind the named one.
const LATER_BEHIND: u32 = 1 << 31;

impl Named {
    /// Names the activation of the entity with that index which was released then.
    #[inline]
    pub(crate) const fn new(entity: usize, release: Instant) -> Self {
        // The index fits: two billion live entities would not fit into memory.
        Self { release, number: NonZeroU32::MIN.saturating_add(entity as u32) }
    }

    /// Says whether every activation that is released later than this one comes behind it.
    #[inline]
    pub(crate) fn with_later_behind(self, yes: bool) -> Self {
        Self { number: self.number | (u32::from(yes) * LATER_BEHIND), ..self }
    }

    /// Returns true if every activation that is released later than this one comes behind it. So until it has run, a
    /// driver need not ask for what happens after its release.
    #[must_use]
    #[inline]
    pub const fn has_later_behind(self) -> bool {
        self.number.get() & LATER_BEHIND != 0
    }

    /// Returns the index of the entity.
    #[must_use]
    #[inline]
    pub const fn entity(self) -> usize {
        ((self.number.get() & !LATER_BEHIND) - 1) as usize
    }

    /// Returns the release of the activation.
    #[must_use]
    #[inline]
    pub const fn release(self) -> Instant {
        self.release
    }
}

/// A policy that can be chosen by name.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PolicyEntry {
    /// The name by which the policy is chosen.
    pub name: &'static str,
    /// A description of the policy in one sentence.
    pub summary: &'static str,
    /// Creates the policy with an empty ready set.
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

/// The error of a name that no policy has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no policy `{name}`; known are {}", known())]
pub struct UnknownPolicy {
    /// The unknown name.
    pub name: String,
}

/// Returns the names of all policies, for the error.
fn known() -> String {
    POLICIES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ")
}

/// Creates the policy called `name`, one of [`POLICIES`].
///
/// # Errors
/// If no policy has that name.
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
