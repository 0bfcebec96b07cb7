//! Plays a scenario against the reference and an implementation, and compares them after every operation.

use std::fmt;
use std::time::Duration;

use rospin_core::{Instant, Release};

use crate::decision::{Decision, Ms, Note};
use crate::oracle::Oracle;
use crate::scenario::{EntityPlan, Op, Scenario};
use crate::subject::Subject;

/// The first operation at which an implementation is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// The index of the operation. The number of all operations means the draining after the last one.
    pub step: usize,
    /// The difference.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at step {}: {}", self.step, self.what)
    }
}

/// The visible result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// Nothing visible, or the operation did not apply to anything.
    Done,
    /// Answer of an operation that tells if it did anything, such as a removal.
    Answer(bool),
    /// Answer to a release.
    Released(Release),
    /// Picked activation; `None` if nothing could run.
    Picked(Option<Decision>),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("nothing"),
            Self::Answer(yes) => write!(f, "{yes}"),
            Self::Released(release) => write!(f, "{release:?}"),
            Self::Picked(None) => f.write_str("no activation"),
            Self::Picked(Some(decision)) => write!(f, "{decision}"),
        }
    }
}

/// The state on which both subjects agree.
#[derive(Default)]
struct Driver {
    now: Instant,
    groups: usize,
    /// The accepted entities; an index is an entity's number.
    plans: Vec<EntityPlan>,
    /// Activation that each thread runs.
    running: Vec<Option<Decision>>,
    suspended: Vec<Decision>,
}

/// Plays `scenario` against `reference` and `subject`. Then lets all activations end, and all ready ones run.
///
/// # Errors
/// The first operation after which they differ, or with which `subject` breaks a rule of [`Oracle`].
pub fn compare(scenario: &Scenario, reference: &mut dyn Subject, subject: &mut dyn Subject) -> Result<(), Mismatch> {
    let mut driver = Driver { running: vec![None; usize::from(scenario.threads)], ..Driver::default() };
    let mut oracle = Oracle::default();
    for (step, op) in scenario.ops.iter().enumerate() {
        let one = driver.step(*op, reference, subject, &mut oracle);
        one.map_err(|what| Mismatch { step, what })?;
    }
    driver.drain(reference, subject, &mut oracle).map_err(|what| Mismatch { step: scenario.ops.len(), what })
}

impl Driver {
    /// Applies an operation to both, and compares the results and what else is visible.
    fn step(
        &mut self,
        op: Op,
        reference: &mut dyn Subject,
        subject: &mut dyn Subject,
        oracle: &mut Oracle,
    ) -> Result<(), String> {
        let Some(op) = self.resolve(op) else {
            return Ok(());
        };
        let expected = self.apply(op, reference);
        let actual = self.apply(op, subject);
        if expected != actual {
            return Err(format!("{op} at {} gave\n  {actual}\nand should give\n  {expected}", Ms(self.now)));
        }
        self.account(op, expected, oracle);
        self.observe(op, reference, subject, oracle)
    }

    /// Replaces places in lists by their elements. `None` if the operation applies to nothing: the list is empty, there
    /// is no such group or entity, or the entity is a timer that the operation does not fit.
    fn resolve(&self, op: Op) -> Option<Op> {
        let threads = |busy: bool| -> Vec<usize> {
            (0..self.running.len()).filter(|thread| self.running[*thread].is_some() == busy).collect()
        };
        let nth = |place: usize, of: &[usize]| Some(of[place.checked_rem(of.len())?]);
        let entities = self.plans.len();
        match op.named(self.groups, entities) {
            Op::Next(place) => nth(place, &threads(false)).map(Op::Next),
            Op::Complete(place) => nth(place, &threads(true)).map(Op::Complete),
            Op::GoOn { running, ago_ms } => {
                let thread = nth(running, &threads(true))?;
                let entity = self.running[thread].as_ref()?.entity;
                let is_timer = self.plans.get(entity)?.timer.is_some();
                Some(Op::GoOn { running: thread, ago_ms: ago_ms.filter(|_| !is_timer) })
            }
            Op::RunThrough { idle, ago_ms } => {
                nth(idle, &threads(false)).map(|thread| Op::RunThrough { idle: thread, ago_ms })
            }
            Op::Suspend(place) => nth(place, &threads(true)).map(Op::Suspend),
            Op::Resume(place) => place.checked_rem(self.suspended.len()).map(Op::Resume),
            Op::Wake { entity, sequence } if entity < entities => {
                let suspended = self.suspended.iter().position(|known| known.identity() == (entity, sequence));
                Some(suspended.map_or(Op::Wake { entity, sequence }, Op::Resume))
            }
            Op::Release { entity, .. } if self.plans.get(entity)?.timer.is_some() => None,
            Op::RemoveGroup(group) | Op::AddEntity(EntityPlan { group, .. }) if group >= self.groups => None,
            Op::RemoveEntity(entity) | Op::Cancel(entity) if entity >= entities => None,
            Op::Restart { entity, .. } | Op::Wake { entity, .. } if entity >= entities => None,
            named => Some(named),
        }
    }

    /// Applies an operation, whose numbers [`resolve`](Self::resolve) has set, to one of the two.
    fn apply(&self, op: Op, subject: &mut dyn Subject) -> Outcome {
        let now = self.now;
        match op {
            Op::AddGroup(kind) => {
                subject.add_group(kind);
                Outcome::Done
            }
            Op::RemoveGroup(group) => Outcome::Answer(subject.remove_group(group)),
            Op::AddEntity(plan) => Outcome::Answer(subject.add_entity(now, &plan)),
            Op::RemoveEntity(entity) => Outcome::Answer(subject.remove_entity(entity)),
            Op::Release { entity, ago_ms } => {
                Outcome::Released(subject.release(now - Duration::from_millis(ago_ms), entity))
            }
            Op::Advance(_) => Outcome::Done,
            Op::Next(thread) => Outcome::Picked(subject.next(now, thread as u16)),
            Op::Complete(thread) => {
                if let Some(decision) = &self.running[thread] {
                    subject.complete(now, decision);
                }
                Outcome::Done
            }
            Op::GoOn { running, ago_ms } => {
                let release = ago_ms.map(|ago_ms| now - Duration::from_millis(ago_ms));
                let decision = self.running[running].as_ref();
                Outcome::Picked(decision.and_then(|decision| subject.go_on(now, running as u16, decision, release)))
            }
            Op::RunThrough { idle: thread, ago_ms } => {
                let release = ago_ms.map(|ago_ms| now - Duration::from_millis(ago_ms));
                Outcome::Picked(subject.run_through(now, thread as u16, release))
            }
            Op::Suspend(thread) => {
                if let Some(decision) = &self.running[thread] {
                    subject.suspend(now, decision);
                }
                Outcome::Done
            }
            Op::Resume(place) => {
                let (entity, sequence) = self.suspended[place].identity();
                Outcome::Answer(subject.resume(now, entity, sequence))
            }
            Op::Wake { entity, sequence } => Outcome::Answer(subject.resume(now, entity, sequence)),
            Op::Cancel(entity) => Outcome::Answer(subject.cancel_timer(entity)),
            Op::Restart { entity, due_ms, period_ms } => {
                let due = now - Duration::from_millis(2) + Duration::from_millis(due_ms);
                Outcome::Answer(subject.restart_timer(entity, due, period_ms))
            }
        }
    }

    /// Updates the driver and the oracle after an operation with equal results.
    fn account(&mut self, op: Op, outcome: Outcome, oracle: &mut Oracle) {
        match (op, outcome) {
            (Op::AddGroup(kind), _) => {
                self.groups += 1;
                oracle.group_added(kind);
            }
            (Op::AddEntity(plan), Outcome::Answer(true)) => {
                self.plans.push(plan);
                oracle.entity_added(plan);
            }
            (Op::RemoveEntity(entity), _) => oracle.entity_removed(entity),
            (Op::RemoveGroup(group), _) => {
                let members = (0..self.plans.len()).filter(|number| self.plans[*number].group == group);
                for number in members {
                    oracle.entity_removed(number);
                }
            }
            (Op::Cancel(entity) | Op::Restart { entity, .. }, _) => oracle.withdrawn(entity),
            (Op::Advance(ms), _) => self.now += Duration::from_millis(ms),
            (Op::Next(thread) | Op::GoOn { running: thread, .. }, Outcome::Picked(picked)) => {
                self.running[thread] = picked
            }
            (Op::Complete(thread), _) => self.running[thread] = None,
            (Op::Suspend(thread), _) => {
                if let Some(decision) = &self.running[thread] {
                    oracle.ended_by_removal(decision);
                }
                self.suspended.extend(self.running[thread].take());
            }
            (Op::Resume(place), _) => {
                self.suspended.remove(place);
            }
            _ => {}
        }
    }

    /// Compares the visible states of both after an operation.
    fn observe(
        &self,
        op: Op,
        reference: &mut dyn Subject,
        subject: &mut dyn Subject,
        oracle: &mut Oracle,
    ) -> Result<(), String> {
        let after = || format!("after {op} at {}", Ms(self.now));
        if reference.next_due() != subject.next_due() {
            let actual = subject.next_due();
            let expected = reference.next_due();
            return Err(format!("{}, next_due is {actual:?} and should be {expected:?}", after()));
        }
        for entity in 0..self.plans.len() {
            let actual = subject.overruns(entity);
            let expected = reference.overruns(entity);
            if actual != expected {
                return Err(format!("{}, overruns of e{entity} are {actual} and should be {expected}", after()));
            }
        }
        if reference.has_candidates() && !subject.has_candidates() {
            return Err(format!("{}, has_candidates is false, but there is something to run", after()));
        }
        let actual = subject.drain_notes();
        let expected = reference.drain_notes();
        if !subject.is_traced() {
            return Ok(());
        }
        if overruns_first(&actual) != overruns_first(&expected) {
            return Err(format!("{}, the trace is\n  {actual:?}\nand should be\n  {expected:?}", after()));
        }
        actual.iter().try_for_each(|(_, note)| oracle.note(note)).map_err(|broken| format!("{}, {broken}", after()))
    }

    /// Resumes all suspended activations and completes all running ones, until nothing is left to run.
    fn drain(
        &mut self,
        reference: &mut dyn Subject,
        subject: &mut dyn Subject,
        oracle: &mut Oracle,
    ) -> Result<(), String> {
        // Time stands still, so no timer fires for ever. The bound is far above what a scenario leaves.
        for _ in 0..1000 {
            let before = (self.running.clone(), self.suspended.len());
            for _ in 0..self.suspended.len() {
                self.step(Op::Resume(0), reference, subject, oracle)?;
            }
            for _ in 0..self.running.len() {
                self.step(Op::Complete(0), reference, subject, oracle)?;
            }
            for _ in 0..self.running.len() {
                self.step(Op::Next(0), reference, subject, oracle)?;
            }
            if before.1 == 0 && self.running.iter().all(Option::is_none) && before.0.iter().all(Option::is_none) {
                return oracle.finish();
            }
        }
        Err("it never comes to an end, although time stands still".to_owned())
    }
}

/// Returns the notes with all overruns first, because the order of an overrun and of its dispatch in the trace is not
/// specified.
fn overruns_first(notes: &[(Instant, Note)]) -> Vec<(Instant, Note)> {
    let mut sorted = notes.to_vec();
    sorted.sort_by_key(|(_, note)| !matches!(note, Note::Overrun(..)));
    sorted
}
