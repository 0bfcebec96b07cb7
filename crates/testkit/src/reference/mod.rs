//! The naive reference scheduler.
//!
//! It is written from the specification. Everything is a plain vector that is scanned or sorted when it is needed.
//! Nothing is cached, nothing is removed early, and numbers are never reused. It is slow and obvious on purpose.

mod pick;
mod timers;

use std::time::Duration;

use rospin_core::{GroupKind, Instant, Release};

use crate::decision::{Decision, Note};
use crate::scenario::EntityPlan;
use crate::subject::Subject;
pub use pick::ReferencePolicy;
use timers::Timer;

#[derive(Clone, Debug)]
struct Group {
    kind: GroupKind,
    removed: bool,
    /// The activation that holds the group, if the group is mutually exclusive: entity and sequence.
    holder: Option<(usize, u64)>,
    /// The group's activation that a thread runs, if the group is mutually exclusive.
    running: Option<(usize, u64)>,
}

#[derive(Clone, Debug)]
struct Entity {
    plan: EntityPlan,
    removed: bool,
    timer: Option<Timer>,
    /// The activation that was released and not picked, eligible or not.
    pending: Option<Decision>,
    /// Number of activations that were picked and not completed.
    in_flight: u32,
}

/// The reference implementation of the scheduler's specification.
#[derive(Clone, Debug)]
pub struct Reference {
    policy: ReferencePolicy,
    groups: Vec<Group>,
    entities: Vec<Entity>,
    suspended: Vec<Decision>,
    /// Resumed segments that were not picked yet.
    resumed: Vec<Decision>,
    /// The rest of the last ready set, for wait sets only: entity, sequence and segment.
    ready_set: Vec<(usize, u64, u32)>,
    sequences: u64,
    notes: Vec<(Instant, Note)>,
}

impl Reference {
    /// Returns an empty scheduler under `policy`.
    #[must_use]
    pub const fn new(policy: ReferencePolicy) -> Self {
        Self {
            policy,
            groups: Vec::new(),
            entities: Vec::new(),
            suspended: Vec::new(),
            resumed: Vec::new(),
            ready_set: Vec::new(),
            sequences: 0,
            notes: Vec::new(),
        }
    }

    /// Returns all ready activations, even if their group does not admit them: the pending ones of entities below their
    /// limit, and the resumed ones.
    fn ready(&self) -> Vec<Decision> {
        let below_limit = self.entities.iter().filter(|entity| entity.in_flight < entity.plan.max_in_flight);
        let pending = below_limit.filter_map(|entity| entity.pending);
        pending.chain(self.resumed.iter().copied()).collect()
    }

    /// Returns true if the group admits the activation. A reentrant group always does. A mutually exclusive one does
    /// if none of its callbacks runs, and it is free, or this activation holds it, or this activation precedes all.
    fn admits(&self, decision: &Decision) -> bool {
        let group = &self.groups[decision.group];
        let nothing_runs = group.running.is_none();
        let is_free_for_it = group.holder.is_none_or(|holder| holder == decision.identity());
        group.kind == GroupKind::Reentrant || nothing_runs && (is_free_for_it || self.precedes_all(decision))
    }

    /// Returns true if the entity's activations come before all others, as a guest's do.
    fn precedes_all(&self, decision: &Decision) -> bool {
        self.entities[decision.entity].plan.precedes_all
    }

    /// Notes that no thread runs this activation any more.
    fn runs_no_more(&mut self, decision: &Decision) {
        let group = &mut self.groups[decision.group];
        if group.running == Some(decision.identity()) {
            group.running = None;
        }
    }

    /// Frees the group, if this activation holds it.
    fn free_group_held_by(&mut self, decision: &Decision) {
        let group = &mut self.groups[decision.group];
        if group.holder == Some(decision.identity()) {
            group.holder = None;
        }
    }

    fn note(&mut self, now: Instant, note: Note) {
        self.notes.push((now, note));
    }
}

impl Subject for Reference {
    fn add_group(&mut self, kind: GroupKind) {
        self.groups.push(Group { kind, removed: false, holder: None, running: None });
    }

    fn remove_group(&mut self, group: usize) -> bool {
        if self.groups[group].removed {
            return false;
        }
        for entity in 0..self.entities.len() {
            if self.entities[entity].plan.group == group {
                self.remove_entity(entity);
            }
        }
        self.groups[group].removed = true;
        true
    }

    fn add_entity(&mut self, now: Instant, plan: &EntityPlan) -> bool {
        if self.groups.get(plan.group).is_none_or(|group| group.removed) || plan.max_in_flight == 0 {
            return false;
        }
        if plan.timer.is_some_and(|timer| timer.period_ms == Some(0)) {
            return false;
        }
        let timer = plan.timer.map(|timer| Timer::armed(now, timer));
        self.entities.push(Entity { plan: *plan, removed: false, timer, pending: None, in_flight: 0 });
        true
    }

    fn remove_entity(&mut self, entity: usize) -> bool {
        if self.entities[entity].removed {
            return false;
        }
        self.entities[entity].removed = true;
        self.entities[entity].pending = None;
        self.entities[entity].timer = None;
        let waiting = self.suspended.iter().chain(&self.resumed).copied();
        let ended: Vec<Decision> = waiting.filter(|decision| decision.entity == entity).collect();
        self.suspended.retain(|decision| decision.entity != entity);
        self.resumed.retain(|decision| decision.entity != entity);
        for decision in ended {
            self.free_group_held_by(&decision);
        }
        true
    }

    fn release(&mut self, release: Instant, entity: usize) -> Release {
        let known = &self.entities[entity];
        if known.removed {
            return Release::Unknown;
        }
        let plan = known.plan;
        let period = known.timer.as_ref().and_then(|timer| timer.period);
        let relative = plan.deadline_ms.map(Duration::from_millis).or(period);
        let at_limit = known.in_flight >= plan.max_in_flight;
        if let Some(pending) = &mut self.entities[entity].pending {
            let minds = plan.precedes_all || !matches!(self.policy, ReferencePolicy::WaitSet(_));
            if release < pending.release && (at_limit || minds) {
                if !at_limit {
                    pending.sequence = self.sequences;
                    self.sequences += 1;
                }
                pending.release = release;
                pending.deadline = relative.map_or(Instant::MAX, |relative| release + relative);
                let antedated = Note::Antedated(*pending);
                self.note(release, antedated);
            }
            return Release::AlreadyReady;
        }
        let decision = Decision {
            entity,
            group: plan.group,
            kind: plan.kind,
            priority: plan.priority,
            release,
            deadline: relative.map_or(Instant::MAX, |relative| release + relative),
            registration: entity as u64,
            sequence: self.sequences,
            segment: 0,
        };
        self.sequences += 1;
        self.entities[entity].pending = Some(decision);
        self.note(release, Note::Released(decision));
        Release::Ready
    }

    fn next(&mut self, now: Instant, thread: u16) -> Option<Decision> {
        self.release_due_timers(now);
        let picked = self.pick()?;
        if self.groups[picked.group].kind == GroupKind::MutuallyExclusive {
            let group = &mut self.groups[picked.group];
            group.running = Some(picked.identity());
            if group.holder.is_none() {
                group.holder = Some(picked.identity());
            }
        }
        if picked.segment == 0 {
            self.entities[picked.entity].pending = None;
            self.entities[picked.entity].in_flight += 1;
            self.rearm_timer(now, &picked);
        } else {
            self.resumed.retain(|resumed| resumed.identity() != picked.identity());
        }
        self.note(now, Note::Dispatched(thread, picked));
        Some(picked)
    }

    fn complete(&mut self, now: Instant, decision: &Decision) {
        self.runs_no_more(decision);
        self.free_group_held_by(decision);
        self.entities[decision.entity].in_flight -= 1;
        self.note(now, Note::Completed(*decision));
    }

    fn suspend(&mut self, now: Instant, decision: &Decision) {
        self.runs_no_more(decision);
        let entity = &mut self.entities[decision.entity];
        if entity.removed {
            // The removal of an entity ends its suspended activations, this one as soon as it is suspended. Neither is
            // recorded.
            entity.in_flight -= 1;
            self.free_group_held_by(decision);
            return;
        }
        if entity.plan.releases_group_at_await || entity.plan.precedes_all {
            self.free_group_held_by(decision);
        }
        self.suspended.push(*decision);
        self.note(now, Note::Suspended(*decision));
    }

    fn resume(&mut self, now: Instant, entity: usize, sequence: u64) -> bool {
        let Some(at) = self.suspended.iter().position(|decision| decision.identity() == (entity, sequence)) else {
            return false;
        };
        let suspended = self.suspended.remove(at);
        let segment = Decision { release: now, segment: suspended.segment + 1, ..suspended };
        self.resumed.push(segment);
        self.note(now, Note::Released(segment));
        true
    }

    fn cancel_timer(&mut self, entity: usize) -> bool {
        let Some(timer) = &mut self.entities[entity].timer else {
            return false;
        };
        timer.due = None;
        self.entities[entity].pending = None;
        true
    }

    fn restart_timer(&mut self, entity: usize, due: Instant, period_ms: Option<u64>) -> bool {
        if !self.cancel_timer(entity) {
            return false;
        }
        if let Some(timer) = &mut self.entities[entity].timer {
            timer.due = Some(due);
            timer.period = period_ms.filter(|ms| *ms > 0).map(Duration::from_millis).or(timer.period);
        }
        true
    }

    fn next_due(&self) -> Option<Instant> {
        self.entities.iter().filter_map(|entity| entity.timer.as_ref()?.due).min()
    }

    fn overruns(&self, entity: usize) -> u64 {
        self.entities[entity].timer.as_ref().map_or(0, |timer| timer.overruns)
    }

    fn has_candidates(&self) -> bool {
        self.ready().iter().any(|decision| self.admits(decision))
    }

    fn drain_notes(&mut self) -> Vec<(Instant, Note)> {
        std::mem::take(&mut self.notes)
    }
}
