//! The real scheduler as a subject of scenarios.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_core::policy::Named;
use rospin_core::trace::TraceEvent;
use rospin_core::{
    Activation, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Policy, Priority, Release, Scheduler,
    ThreadIndex, TimerSpec,
};

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;
use crate::subject::Subject;

type Recorded = Arc<Mutex<Vec<(Instant, TraceEvent)>>>;

/// A [`Scheduler`] whose entities and groups have numbers.
pub struct Real {
    scheduler: Scheduler,
    groups: Vec<GroupId>,
    entities: Vec<EntityId>,
    /// Activations that were dispatched and not completed, suspended ones included. The scheduler needs them back.
    under_way: Vec<Activation>,
    recorded: Recorded,
    in_place: u64,
}

impl Real {
    /// Returns an empty scheduler under `policy`.
    #[must_use]
    pub fn new(policy: Box<dyn Policy>) -> Self {
        let mut real = Self::untraced(policy);
        let sink = Arc::clone(&real.recorded);
        real.scheduler.set_trace(Some(Box::new(move |now, event| {
            if let Ok(mut events) = sink.lock() {
                events.push((now, event));
            }
        })));
        real
    }

    /// Returns an empty scheduler under `policy`, which takes the steps that it takes only without a trace.
    #[must_use]
    pub fn untraced(policy: Box<dyn Policy>) -> Self {
        Self {
            scheduler: Scheduler::new(policy),
            groups: Vec::new(),
            entities: Vec::new(),
            under_way: Vec::new(),
            recorded: Recorded::default(),
            in_place: 0,
        }
    }

    /// Returns how often an activation ran in place, see [`Scheduler::first`].
    #[must_use]
    pub const fn in_place(&self) -> u64 {
        self.in_place
    }

    /// Converts an activation. An unknown identifier becomes `usize::MAX`, which differs from any number of the
    /// reference.
    fn decision(&self, activation: &Activation) -> Decision {
        let entity = self.entities.iter().position(|id| *id == activation.entity);
        let group = self.groups.iter().position(|id| *id == activation.group);
        Decision {
            entity: entity.unwrap_or(usize::MAX),
            group: group.unwrap_or(usize::MAX),
            kind: activation.kind,
            priority: activation.priority.0,
            release: activation.release,
            deadline: activation.deadline,
            registration: activation.registration,
            sequence: activation.sequence,
            segment: activation.segment,
        }
    }

    /// Returns the activation that is next and may run in place, as it is named and as it is.
    fn first_in_place(&self) -> Option<(Named, Activation)> {
        let first = self.scheduler.first()?;
        let entity = self.scheduler.entities().find(|id| id.index() == first.entity())?;
        let activation = self.scheduler.pending(entity)?;
        if self.scheduler.may_run_in_place(entity) { Some((first, *activation)) } else { None }
    }

    fn activation(&self, decision: &Decision) -> Activation {
        let entity = self.entities[decision.entity];
        let named = |known: &&Activation| known.entity == entity && known.sequence == decision.sequence;
        *self.under_way.iter().find(named).expect("the comparison only hands back what both gave out")
    }

    fn forget(&mut self, activation: &Activation) {
        self.under_way.retain(|known| known.sequence != activation.sequence);
    }

    fn note(&self, event: TraceEvent) -> Option<Note> {
        Some(match event {
            TraceEvent::Released(activation) => Note::Released(self.decision(&activation)),
            TraceEvent::Antedated(activation) => Note::Antedated(self.decision(&activation)),
            TraceEvent::Dispatched(thread, activation) => Note::Dispatched(thread.0, self.decision(&activation)),
            TraceEvent::Suspended(activation) => Note::Suspended(self.decision(&activation)),
            TraceEvent::Completed(activation) => Note::Completed(self.decision(&activation)),
            TraceEvent::Overrun(id, count) => {
                Note::Overrun(self.entities.iter().position(|known| *known == id).unwrap_or(usize::MAX), count)
            }
            _ => return None,
        })
    }
}

/// Converts a plan for the real scheduler.
fn spec(number: usize, plan: &EntityPlan, group: GroupId) -> EntitySpec {
    let spec = EntitySpec::new(format!("e{number}"), plan.kind, group)
        .priority(Priority(plan.priority))
        .max_in_flight(plan.max_in_flight)
        .releases_group_at_await(plan.releases_group_at_await)
        .precedes_all(plan.precedes_all);
    match plan.deadline_ms {
        Some(ms) => spec.deadline(Duration::from_millis(ms)),
        None => spec,
    }
}

impl Subject for Real {
    fn add_group(&mut self, kind: GroupKind) {
        self.groups.push(self.scheduler.add_group(kind));
    }

    fn remove_group(&mut self, group: usize) -> bool {
        self.scheduler.remove_group(self.groups[group])
    }

    fn add_entity(&mut self, now: Instant, plan: &EntityPlan) -> bool {
        let Some(group) = self.groups.get(plan.group) else {
            return false;
        };
        let spec = spec(self.entities.len(), plan, *group);
        let added = match plan.timer {
            None => self.scheduler.add_entity(spec),
            Some(timer) => {
                let due = now + Duration::from_millis(timer.first_due_ms);
                let when = match timer.period_ms {
                    Some(ms) => TimerSpec::periodic(due, Duration::from_millis(ms)),
                    None => TimerSpec::one_shot(due),
                };
                // Also for a one-shot timer, because it may be restarted with a period.
                self.scheduler.add_timer(spec, when.overrun(timer.overrun))
            }
        };
        let accepted = added.is_ok();
        self.entities.extend(added);
        accepted
    }

    fn remove_entity(&mut self, entity: usize) -> bool {
        self.scheduler.remove_entity(self.entities[entity])
    }

    fn release(&mut self, release: Instant, entity: usize) -> Release {
        self.scheduler.release(release, self.entities[entity])
    }

    fn next(&mut self, now: Instant, thread: u16) -> Option<Decision> {
        let activation = self.scheduler.next(now, ThreadIndex(thread))?;
        self.forget(&activation);
        self.under_way.push(activation);
        Some(self.decision(&activation))
    }

    fn complete(&mut self, now: Instant, decision: &Decision) {
        let activation = self.activation(decision);
        self.scheduler.complete(now, &activation);
        self.forget(&activation);
    }

    fn run_through(&mut self, now: Instant, thread: u16, release: Option<Instant>) -> Option<Decision> {
        let is_timer_due = self.scheduler.next_due().is_some_and(|due| due <= now);
        if let Some((first, activation)) = self.first_in_place().filter(|_| !is_timer_due) {
            self.in_place += 1;
            let named = self.scheduler.ran_first(first, release);
            assert_eq!(named, self.scheduler.first(), "what is named afterwards is the first one");
            return Some(self.decision(&activation));
        }
        let decision = self.next(now, thread)?;
        if let Some(release) = release.filter(|_| decision.kind != EntityKind::Timer) {
            self.release(release, decision.entity);
        }
        self.complete(now, &decision);
        Some(decision)
    }

    fn suspend(&mut self, now: Instant, decision: &Decision) {
        let activation = self.activation(decision);
        self.scheduler.suspend(now, &activation);
    }

    fn resume(&mut self, now: Instant, entity: usize, sequence: u64) -> bool {
        self.scheduler.resume(now, self.entities[entity], sequence)
    }

    fn cancel_timer(&mut self, entity: usize) -> bool {
        self.scheduler.cancel_timer(self.entities[entity])
    }

    fn restart_timer(&mut self, entity: usize, due: Instant, period_ms: Option<u64>) -> bool {
        self.scheduler.restart_timer(self.entities[entity], due, period_ms.map(Duration::from_millis))
    }

    fn next_due(&self) -> Option<Instant> {
        self.scheduler.next_due()
    }

    fn overruns(&self, entity: usize) -> u64 {
        self.scheduler.overruns(self.entities[entity])
    }

    fn has_candidates(&self) -> bool {
        self.scheduler.has_candidates()
    }

    fn is_traced(&self) -> bool {
        self.scheduler.is_traced()
    }

    fn drain_notes(&mut self) -> Vec<(Instant, Note)> {
        let events = self.recorded.lock().map(|mut events| std::mem::take(&mut *events)).unwrap_or_default();
        events.into_iter().filter_map(|(now, event)| Some((now, self.note(event)?))).collect()
    }
}
