//! What the reference picks: the smallest by a key, or what the wait set says.

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

/// What both kinds of order are made of; the smallest comes first.
type Key = (Reverse<u32>, Instant, Instant, u64, u64);

impl ReferencePolicy {
    /// Policy key, then release, registration, sequence.
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
    /// The activation to run now; leaves it where it is, except that the wait set's ready set is brought up to date.
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

    /// Priority inheritance: whoever holds its group is as urgent as the most urgent of those that are ready in that group,
    /// for they all wait for it.
    fn inherited_key(&self, policy: ReferencePolicy, decision: &Decision) -> Key {
        let own = policy.key(decision);
        if self.groups[decision.group].holder != Some(decision.identity()) {
            return own;
        }
        // What precedes all does not wait for a holder.
        let waits = |waiting: &Decision| waiting.group == decision.group && !self.precedes_all(waiting);
        let of_group = self.ready().into_iter().filter(waits);
        of_group.map(|waiting| policy.key(&waiting)).min().unwrap_or(own)
    }

    fn admitted(&self) -> Vec<Decision> {
        self.ready().into_iter().filter(|decision| self.admits(decision)).collect()
    }

    fn pick_from_wait_set(&mut self, timers: Timers, admitted: &[Decision]) -> Option<Decision> {
        let outside = |decision: &&Decision| timers == Timers::Outside && decision.kind == EntityKind::Timer;
        let timer = admitted.iter().filter(outside).min_by_key(|timer| (timer.registration, timer.sequence));
        if let Some(timer) = timer {
            return Some(*timer);
        }
        if let Some(served) = self.serve(admitted) {
            return Some(served);
        }
        // The polling point: what is left is thrown away and found again here, if its group is free now.
        self.ready_set = admitted.iter().filter(|decision| !outside(decision)).map(entry).collect();
        self.serve(admitted)
    }

    /// The first of the ready set whose group is free now; it leaves the set, what is skipped stays in it.
    fn serve(&mut self, admitted: &[Decision]) -> Option<Decision> {
        let polled = admitted.iter().filter(|decision| self.ready_set.contains(&entry(decision)));
        let first = *polled.min_by_key(|decision| (decision.kind, decision.registration, decision.sequence))?;
        self.ready_set.retain(|polled| *polled != entry(&first));
        Some(first)
    }
}

/// What names a segment in the ready set.
fn entry(decision: &Decision) -> (usize, u64, u32) {
    (decision.entity, decision.sequence, decision.segment)
}
