//! The wait set of rclcpp, emulated: the peer that rospin's own policies are compared with.
//!
//! A ready set is built at a polling point and then served in the fixed order timers, subscriptions, services, clients,
//! waitables, by registration within each; nothing enters it before the next polling point (Casini et al., ECRTS 2019;
//! Dust et al. 2023).

use super::{Policy, View};
use crate::activation::Activation;
use crate::entity::{EntityKind, EntitySpec};
use crate::id::{EntityId, GroupId};

pub(super) const NAME_E1: &str = "wait-set-e1";
pub(super) const SUMMARY_E1: &str = "rclcpp's wait set up to Dashing: timers outside the ready set";
pub(super) const NAME_E2: &str = "wait-set-e2";
pub(super) const SUMMARY_E2: &str = "rclcpp's wait set since Eloquent: timers inside the ready set";

/// Whether timers are part of the ready set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Timers {
    /// E1 (Dashing and older): timers are looked at before every pick.
    Outside,
    /// E2 (Eloquent and newer): timers wait for the next polling point like everything else.
    Inside,
}

/// rclcpp's wait set, for one thread and for several.
///
/// Within a kind, rclcpp orders by node and group first; that is the order of registration where nodes are created one
/// after the other, which is what is emulated.
///
/// With several threads, each one that finds nothing to run in the ready set polls anew and throws away what is left in
/// it. Entities of a group that is held are not polled for, so they can be left out for ever: two timers of one mutually
/// exclusive group that are always due together starve the one registered later. rclcpp does that, so this does.
pub struct WaitSet {
    timers: Timers,
    /// Everything that is ready, polled for or not.
    available: Vec<Activation>,
    /// The ready set of the last polling point, in reverse: the next one to run is last.
    ready_set: Vec<Activation>,
    room: usize,
}

impl WaitSet {
    /// An empty wait set.
    #[must_use]
    pub const fn new(timers: Timers) -> Self {
        Self { timers, available: Vec::new(), ready_set: Vec::new(), room: 0 }
    }

    /// E1 only: the first-registered timer that is due.
    fn take_timer(&mut self, view: &View<'_>) -> Option<Activation> {
        let due = |activation: &&Activation| activation.kind == EntityKind::Timer && view.groups.admits(activation);
        let first = *self.available.iter().filter(due).min_by_key(|timer| (timer.registration, timer.sequence))?;
        self.forget(&first);
        Some(first)
    }

    fn take_from_ready_set(&mut self, view: &View<'_>) -> Option<Activation> {
        let at = self.ready_set.iter().rposition(|activation| view.groups.admits(activation))?;
        let next = self.ready_set[at];
        self.forget(&next);
        Some(next)
    }

    /// The polling point: a new ready set of all that is ready and whose group is free.
    fn poll(&mut self, view: &mut View<'_>) {
        let inside = |activation: &&Activation| {
            (self.timers == Timers::Inside || activation.kind != EntityKind::Timer) && view.groups.admits(activation)
        };
        self.ready_set.clear();
        self.ready_set.extend(self.available.iter().filter(inside));
        self.ready_set.sort_unstable_by_key(|activation| {
            std::cmp::Reverse((activation.kind, activation.registration, activation.sequence))
        });
        // An empty one is not served: rclcpp would go on waiting.
        if !self.ready_set.is_empty() {
            view.record_polling_point(self.ready_set.iter().rev());
        }
    }

    fn forget(&mut self, activation: &Activation) {
        let other = |ready: &Activation| ready.sequence != activation.sequence;
        self.available.retain(other);
        self.ready_set.retain(other);
    }
}

impl Policy for WaitSet {
    fn name(&self) -> &'static str {
        match self.timers {
            Timers::Outside => NAME_E1,
            Timers::Inside => NAME_E2,
        }
    }

    fn register(&mut self, _: EntityId, spec: &EntitySpec) {
        self.room += spec.max_in_flight as usize + 1;
        self.available.reserve(self.room.saturating_sub(self.available.len()));
        self.ready_set.reserve(self.room.saturating_sub(self.ready_set.len()));
    }

    fn unregister(&mut self, _: EntityId, spec: &EntitySpec) {
        self.room -= spec.max_in_flight as usize + 1;
    }

    fn release(&mut self, activation: Activation) {
        self.available.push(activation);
    }

    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        if self.timers == Timers::Outside
            && let Some(timer) = self.take_timer(view)
        {
            return Some(timer);
        }
        if let Some(next) = self.take_from_ready_set(view) {
            return Some(next);
        }
        self.poll(view);
        self.take_from_ready_set(view)
    }

    fn group_freed(&mut self, _: GroupId) {}

    fn withdraw(&mut self, activation: &Activation) {
        self.forget(activation);
    }

    fn has_candidates(&self) -> bool {
        !self.available.is_empty()
    }
}
