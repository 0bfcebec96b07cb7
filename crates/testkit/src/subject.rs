//! Subjects: what scenarios are played against.

use rospin_core::{EntityKind, GroupKind, Instant, Release};

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;

/// A scheduler under test, or the reference. The interface is the scheduler's, with numbers for identifiers.
pub trait Subject {
    /// Adds a group. Its number is the number of groups added before.
    fn add_group(&mut self, kind: GroupKind);
    /// Removes a group. Returns true if it was there.
    fn remove_group(&mut self, group: usize) -> bool;
    /// Adds an entity. Returns true if it was accepted. Its number is the number of entities accepted before.
    fn add_entity(&mut self, now: Instant, plan: &EntityPlan) -> bool;
    /// Removes an entity. Returns true if it was there.
    fn remove_entity(&mut self, entity: usize) -> bool;
    /// Releases an entity, at `release`. Returns if that made a new activation, as the scheduler does.
    fn release(&mut self, release: Instant, entity: usize) -> Release;
    /// Returns the activation that `thread` runs now; `None` if there is nothing for it.
    fn next(&mut self, now: Instant, thread: u16) -> Option<Decision>;
    /// Completes a dispatched activation.
    fn complete(&mut self, now: Instant, decision: &Decision);
    /// Completes a dispatched activation, releases its entity again at `release` if it is given, and returns the
    /// activation that `thread` runs now.
    fn go_on(&mut self, now: Instant, thread: u16, decision: &Decision, release: Option<Instant>) -> Option<Decision> {
        if let Some(release) = release {
            self.release(release, decision.entity);
        }
        self.complete(now, decision);
        self.next(now, thread)
    }
    /// Runs the next activation of `thread` to its end: returns it after it was dispatched, its entity was released
    /// again at `release` if that is given and it is no timer, and it was completed. `None` if there is nothing for the
    /// thread.
    fn run_through(&mut self, now: Instant, thread: u16, release: Option<Instant>) -> Option<Decision> {
        let decision = self.next(now, thread)?;
        if let Some(release) = release.filter(|_| decision.kind != EntityKind::Timer) {
            self.release(release, decision.entity);
        }
        self.complete(now, &decision);
        Some(decision)
    }
    /// Suspends a dispatched activation.
    fn suspend(&mut self, now: Instant, decision: &Decision);
    /// Resumes a suspended activation. Returns true if it was suspended.
    fn resume(&mut self, now: Instant, entity: usize, sequence: u64) -> bool;
    /// Stops a timer. Returns true if the entity is a timer that was not removed.
    fn cancel_timer(&mut self, entity: usize) -> bool;
    /// Restarts a timer. `None` and 0 keep its period. Returns true if the entity is a timer that was not removed.
    fn restart_timer(&mut self, entity: usize, due: Instant, period_ms: Option<u64>) -> bool;
    /// Returns the earliest due time of all timers; `None` if no timer has one.
    fn next_due(&self) -> Option<Instant>;
    /// Returns how many due times the timer gave up.
    fn overruns(&self, entity: usize) -> u64;
    /// Returns true if a thread that asked now might get an activation. The reference answers exactly, apart from due
    /// timers that were not noticed yet. An implementation may return true too often.
    fn has_candidates(&self) -> bool;
    /// Returns true if there is a trace. Without one, only the results of operations are compared.
    fn is_traced(&self) -> bool {
        true
    }
    /// Returns the trace since the last call, in order, with times.
    fn drain_notes(&mut self) -> Vec<(Instant, Note)>;
}
