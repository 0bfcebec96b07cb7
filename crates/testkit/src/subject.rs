//! What a scenario can be played against.

use rospin_core::{GroupKind, Instant, Release};

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;

/// A scheduler under test, or the reference: the scheduler's interface with numbers instead of identifiers.
pub trait Subject {
    /// Adds a group; its number is how many were added before.
    fn add_group(&mut self, kind: GroupKind);
    /// Removes a group; says whether it was there.
    fn remove_group(&mut self, group: usize) -> bool;
    /// Adds an entity; says whether it was accepted. Its number is how many were accepted before.
    fn add_entity(&mut self, now: Instant, plan: &EntityPlan) -> bool;
    /// Removes an entity; says whether it was there.
    fn remove_entity(&mut self, entity: usize) -> bool;
    /// The entity has something to do, since `release`.
    fn release(&mut self, release: Instant, entity: usize) -> Release;
    /// Gives `thread` what to run now.
    fn next(&mut self, now: Instant, thread: u16) -> Option<Decision>;
    /// A dispatched activation ended.
    fn complete(&mut self, now: Instant, decision: &Decision);
    /// A dispatched activation ended, its entity has more to do since `release`, and `thread` asks what to run now.
    fn go_on(&mut self, now: Instant, thread: u16, decision: &Decision, release: Instant) -> Option<Decision> {
        self.release(release, decision.entity);
        self.complete(now, decision);
        self.next(now, thread)
    }
    /// A dispatched activation waits.
    fn suspend(&mut self, now: Instant, decision: &Decision);
    /// A suspended activation can go on; says whether it was suspended.
    fn resume(&mut self, now: Instant, entity: usize, sequence: u64) -> bool;
    /// Stops a timer; says whether it is one.
    fn cancel_timer(&mut self, entity: usize) -> bool;
    /// Starts a timer anew; says whether it is one.
    fn restart_timer(&mut self, entity: usize, due: Instant, period_ms: Option<u64>) -> bool;
    /// When the next timer is due.
    fn next_due(&self) -> Option<Instant>;
    /// How many due times the timer gave up.
    fn overruns(&self, entity: usize) -> u64;
    /// Whether a thread that asked now might be given something. The reference answers exactly (timers that are due
    /// but not noticed yet aside), an implementation may err towards yes.
    fn has_candidates(&self) -> bool;
    /// What was recorded since the last call, in order, with its time.
    fn drain_notes(&mut self) -> Vec<(Instant, Note)>;
}
