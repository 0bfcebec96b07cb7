//! The reference's pick: the activation with the smallest key, or the wait set's choice.

use std::cmp::Reverse;

use rospin_core::policy::Timers;
use rospin_core::{EntityKind, Instant};

use super::Reference;
use crate::decision::Decision;

/// The policies that the reference knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferencePolicy {
    /// Earliest release first.
    Fifo,
    /// Largest priority first.
    FixedPriority,
    /// Earliest absolute deadline first.
    Edf,
    /// rclcpp's wait set.
    WaitSet(Timers),
}

/// A key that suits all policies. The smallest one comes first.
type Key = (Reverse<u32>, Instant, Instant, u64, u64);

impl ReferencePolicy {
    /// Returns the policy's key, then release, registration and sequence.
    fn key(self, decision: &Decision) -> Key {
        let Decision { priority, release, deadline, registration, sequence, .. } = *decision;
        match self {
            Self::FixedPriority => (Reverse(priority), Instant::ZERO, release, registration, sequence),
            Self::Edf => (Reverse(0), deadline, release, registration, sequence),
            Self::Fifo | Self::WaitSet(_) => (Reverse(0), Instant::ZERO, release, registration, sequence),
        }
    }
}

impl Reference {
    /// Returns the activation to run now, without removing it; `None` if none can run. For wait sets, it updates the
    /// ready set.
    pub(super) fn pick(&mut self) -> Option<Decision> {
        let (first, admitted): (Vec<Decision>, Vec<Decision>) =
            self.admitted().into_iter().partition(|decision| self.precedes_all(decision));
        if !first.is_empty() {
            return first.into_iter().min_by_key(|decision| ReferencePolicy::Fifo.key(decision));
        }
        match self.policy {
            ReferencePolicy::WaitSet(timers) => self.pick_from_wait_set(timers, &admitted),
            policy => admitted.into_iter().min_by_key(|decision| self.inherited_key(policy, decision)),
        }
    }

    /// Returns the activation's key with priority inheritance: a group's holder is as urgent as the most urgent ready
    /// activation of the group, because all of these wait for it.
    fn inherited_key(&self, policy: ReferencePolicy, decision: &Decision) -> Key {
        let own = policy.key(decision);
        if self.groups[decision.group].holder != Some(decision.identity()) {
            return own;
        }
        // Activations that precede all do not wait for a holder.
        let waits = |waiting: &Decision| waiting.group == decision.group && !self.precedes_all(waiting);
        let of_group = self.ready().into_iter().filter(waits);
        of_group.map(|waiting| policy.key(&waiting)).min().unwrap_or(own)
    }

    /// Returns the ready activations whose groups admit them.
    fn admitted(&self) -> Vec<Decision> {
        self.ready().into_iter().filter(|decision| self.admits(decision)).collect()
    }

    /// Returns the wait set's choice: a due timer if timers are outside, then the rest of the ready set, then that of a
    /// new one.
    fn pick_from_wait_set(&mut self, timers: Timers, admitted: &[Decision]) -> Option<Decision> {
        let outside = |decision: &&Decision| timers == Timers::Outside && decision.kind == EntityKind::Timer;
        let timer = admitted.iter().filter(outside).min_by_key(|timer| (timer.registration, timer.sequence));
        if let Some(timer) = timer {
            return Some(*timer);
        }
        if let Some(served) = self.serve(admitted) {
            return Some(served);
        }
        // The polling point. Activations that are left over are discarded, and found again here if their group is free
        // now.
        self.ready_set = admitted.iter().filter(|decision| !outside(decision)).map(entry).collect();
        self.serve(admitted)
    }

    /// Removes and returns the first activation of the ready set whose group is free. Skipped ones stay in the set.
    fn serve(&mut self, admitted: &[Decision]) -> Option<Decision> {
        let polled = admitted.iter().filter(|decision| self.ready_set.contains(&entry(decision)));
        let first = *polled.min_by_key(|decision| (decision.kind, decision.registration, decision.sequence))?;
        self.ready_set.retain(|polled| *polled != entry(&first));
        Some(first)
    }
}

/// Returns what identifies a segment in the ready set.
fn entry(decision: &Decision) -> (usize, u64, u32) {
    (decision.entity, decision.sequence, decision.segment)
}
