//! The check: recorded events through a scheduler, decision by decision.

mod difference;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rospin_core::recording::{Event, Step};
use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, EntityId, Instant, Repeated, Scheduler, ThreadIndex};

use super::described::Described;
use super::initial::{Initial, Places};
use super::order::Ordered;
use super::{Candidate, Difference, Policies, Replayed, State, Verdict};
use crate::recording::Recorded;

/// Runs the events of one executor through a scheduler, and compares its decisions with the recorded ones.
#[must_use]
pub fn check_executor(ordered: &Ordered<'_>, described: &Described, policies: &dyn Policies) -> Replayed {
    let mut replayed = Replayed {
        program: described.program.clone(),
        executor: described.name.clone(),
        policy: described.policy.clone(),
        replayed_policy: String::new(),
        threads: described.threads,
        events: ordered.events.len() as u64,
        decisions: 0,
        choices: 0,
        unchecked: 0,
        notes: described.notes.clone(),
        verdict: Verdict::Same,
    };
    if ordered.is_by_time {
        replayed.notes.push(
            "The recording does not say in which order its threads used the executor, because an earlier version \
             wrote it; events are ordered by time."
                .to_owned(),
        );
    }
    if ordered.dropped > 0 {
        replayed.notes.push(format!(
            "{} events are missing, because the buffers of threads were full: what follows them may differ for that \
             reason.",
            ordered.dropped
        ));
    }
    if ordered.is_damaged {
        replayed
            .notes
            .push("The file is damaged or cut off: what follows a gap may differ for that reason.".to_owned());
    }
    if ordered.left_out > 0 {
        replayed.notes.push(format!(
            "{} events were not compared: the recording lacks what other threads did before them.",
            ordered.left_out
        ));
    }
    let initial = match Initial::of(ordered, described) {
        Ok(initial) => initial,
        Err(reason) => {
            replayed.verdict = Verdict::NotChecked(reason);
            return replayed;
        }
    };
    let at_begin = initial.ready.len() + initial.under_way.len();
    if at_begin > 0 {
        replayed.notes.push(format!("The recording begins while {at_begin} activations are ready or under way."));
    }
    let verdict = run(ordered, described, policies, &initial, None, &mut replayed);
    replayed.verdict = match verdict {
        Ok(None) => Verdict::Same,
        Ok(Some(mut found)) => {
            // The choice was taken out of the ready set: once more, up to the moment before.
            let mut again = replayed.clone();
            if let Ok(Some(before)) = run(ordered, described, policies, &initial, Some(found.event), &mut again) {
                found.difference.ready = before.difference.ready;
                found.difference.under_way = before.difference.under_way;
            }
            let known = |candidate: &Candidate| {
                let same = |ready: &&Candidate| {
                    (&ready.callback, ready.sequence, ready.segment)
                        == (&candidate.callback, candidate.sequence, candidate.segment)
                };
                found.difference.ready.iter().find(same).cloned()
            };
            for choice in [&mut found.difference.recorded, &mut found.difference.replayed] {
                if let Some(known) = choice.as_ref().and_then(known) {
                    *choice = Some(known);
                }
            }
            Verdict::Differs(Box::new(found.difference))
        }
        Err(reason) => Verdict::NotChecked(reason),
    };
    replayed
}

/// A segment in a ready set: the entity's place, the sequence and the segment.
type Polled = (usize, u64, u32);

/// A difference, and the place of its event among those of the executor.
struct Found {
    event: usize,
    difference: Difference,
}

/// A replay under way: the scheduler, and the state that the recorded events have led to.
struct Run<'a> {
    described: &'a Described,
    scheduler: Scheduler,
    ids: Vec<EntityId>,
    places: Places,
    /// The activations that threads run, by entity.
    running: Vec<Vec<Activation>>,
    suspended: Vec<Vec<Activation>>,
    /// The number of segments that are ready.
    ready: u64,
    /// The sequence numbers of activations that have not ended.
    live: HashSet<u64>,
    /// The recorded segments of the last polling point, if they are not compared yet.
    polled: Option<Vec<Polled>>,
    /// All segments of the last polling point.
    ready_set: Vec<Polled>,
    /// Events of the replayed policy, such as polling points; `None` if it has none that can be compared.
    told: Option<Arc<Mutex<Vec<TraceEvent>>>>,
    /// True if another policy decides than the recorded one.
    is_another: bool,
}

/// Runs the events. Returns the first decision that differs; `None` if all are the same. With `stop`, ends before the
/// event at that place instead, with a difference that lists everything that is ready then.
fn run(
    ordered: &Ordered<'_>,
    described: &Described,
    policies: &dyn Policies,
    initial: &Initial,
    stop: Option<usize>,
    replayed: &mut Replayed,
) -> Result<Option<Found>, String> {
    let mut run = Run::new(described, policies, initial, replayed)?;
    (replayed.decisions, replayed.choices) = (0, 0);
    let before = &ordered.events[..initial.first];
    let is_dispatch = |recorded: &&&Recorded| matches!(recorded.event, Event::Dispatched { .. });
    replayed.unchecked = before.iter().filter(is_dispatch).count() as u64;
    let mut anew = ordered.anew.iter().copied().filter(|place| *place >= initial.first).peekable();
    for (number, recorded) in ordered.events.iter().enumerate().skip(initial.first) {
        if anew.next_if_eq(&number).is_some()
            && let Some(initial) = Initial::at(ordered, number, described)?
        {
            // Other threads may have done something before that the recording lacks.
            run = Run::new(described, policies, &initial, replayed)?;
        }
        if stop == Some(number) {
            let difference = run.difference(recorded.at, ThreadIndex(0), replayed.decisions, None, None);
            return Ok(Some(Found { event: number, difference }));
        }
        let event = run.event(recorded.at, &recorded.event, replayed).map_err(|reason| {
            let since = recorded.at.as_nanos().saturating_sub(described.begin_ns) as f64 / 1e6;
            format!(
                "{reason} ({since:.6} ms after the beginning, after {} decisions that are the same)",
                replayed.decisions
            )
        });
        if let Some(difference) = event? {
            return Ok(Some(Found { event: number, difference }));
        }
    }
    Ok(None)
}

impl<'a> Run<'a> {
    fn new(
        described: &'a Described,
        policies: &dyn Policies,
        initial: &Initial,
        replayed: &mut Replayed,
    ) -> Result<Self, String> {
        let policy = policies.policy(&described.name, &described.policy)?;
        policy.name().clone_into(&mut replayed.replayed_policy);
        // Another policy than the recorded one has polling points of its own, or none.
        let polls = policy.name().starts_with("wait-set") && policy.name() == described.policy;
        let is_another = policy.name() != described.policy;
        let (mut scheduler, ids) = described.scheduler(policy)?;
        // Other policies have nothing to tell, and a trace costs time.
        let told = if polls {
            let told = Arc::new(Mutex::new(Vec::new()));
            let into = Arc::clone(&told);
            scheduler.set_trace(Some(Box::new(move |_: Instant, event: TraceEvent| {
                into.lock().unwrap_or_else(PoisonError::into_inner).push(event);
            })));
            Some(told)
        } else {
            None
        };
        let entities = described.entities.len();
        let mut run = Self {
            described,
            scheduler,
            ids,
            places: Places::of(described),
            running: vec![Vec::new(); entities],
            suspended: vec![Vec::new(); entities],
            ready: 0,
            live: HashSet::new(),
            polled: None,
            ready_set: Vec::new(),
            told,
            is_another,
        };
        run.begin(initial)?;
        Ok(run)
    }

    /// Brings the scheduler into the state at the beginning.
    fn begin(&mut self, initial: &Initial) -> Result<(), String> {
        let resumed = initial.ready.iter().filter(|ready| ready.segment > 0);
        let resumed = resumed.map(|ready| (ready.entity, ready.sequence, ready.segment - 1, false));
        let mut under_way: Vec<_> = initial.under_way.iter().copied().chain(resumed).collect();
        // Those that freed their group come before those that hold it, and before those that run in it.
        let frees_group = |entity: usize| {
            let entity = &self.described.entities[entity];
            entity.frees_group || entity.precedes_all
        };
        under_way.sort_by_key(|(entity, .., runs)| (*runs, !frees_group(*entity)));
        for (entity, sequence, segment, runs) in under_way {
            self.start_under_way(entity, sequence, segment, runs)?;
        }
        for ready in &initial.ready {
            self.release(ready.entity, ready.sequence, ready.segment, ready.release, ready.deadline)?;
        }
        if !self.is_another {
            let polled = initial.ready.iter().filter(|ready| ready.is_polled);
            let polled: Vec<Polled> = polled.map(|of| (of.entity, of.sequence, of.segment)).collect();
            let of_scheduler: Vec<_> =
                polled.iter().map(|(entity, sequence, segment)| (self.ids[*entity], *sequence, *segment)).collect();
            self.scheduler.repeat_ready_set(&of_scheduler);
            self.ready_set = polled;
        }
        Ok(())
    }

    fn start_under_way(&mut self, entity: usize, sequence: u64, segment: u32, runs: bool) -> Result<(), String> {
        let at = Instant::ZERO;
        let name = || self.described.entities[entity].name.clone();
        let contradiction = format!(
            "the recording contradicts itself: `{}` is under way when it begins, and so is another callback of its \
             group",
            name()
        );
        self.release(entity, sequence, 0, at, Instant::MAX)?;
        let mut activation = self.scheduler.repeat_dispatch(self.ids[entity], sequence, 0).ok_or(contradiction)?;
        self.ready = self.ready.saturating_sub(1);
        activation.segment = segment;
        if runs {
            self.running[entity].push(activation);
        } else {
            self.scheduler.suspend(at, &activation);
            self.suspended[entity].push(activation);
        }
        Ok(())
    }

    fn release(
        &mut self,
        entity: usize,
        sequence: u64,
        segment: u32,
        release: Instant,
        deadline: Instant,
    ) -> Result<(), String> {
        let is_new = segment > 0 || self.live.insert(sequence);
        let repeated = Repeated { entity: self.ids[entity], sequence, segment, release, deadline };
        if !is_new || !self.scheduler.repeat_release(&repeated, false) {
            return Err(self.contradiction(entity, sequence, "is released although it is ready or under way"));
        }
        self.ready += 1;
        if segment > 0 {
            self.suspended[entity].retain(|suspended| suspended.sequence != sequence);
        }
        Ok(())
    }

    fn antedate(&mut self, step: &Step, release: Instant, deadline: Instant) -> Result<(), String> {
        let entity = self.places.find(step)?;
        let former = self.scheduler.pending(self.ids[entity]).map(|former| former.sequence);
        if let Some(former) = former {
            self.live.remove(&former);
        }
        let Step { sequence, segment, .. } = *step;
        let repeated = Repeated { entity: self.ids[entity], sequence, segment, release, deadline };
        if segment > 0 || !self.live.insert(sequence) || !self.scheduler.repeat_release(&repeated, true) {
            return Err(self.contradiction(entity, sequence, "gets another release although it is not ready"));
        }
        Ok(())
    }

    fn contradiction(&self, entity: usize, sequence: u64, what: &str) -> String {
        let name = &self.described.entities[entity].name;
        format!("the recording contradicts itself: `{name}` #{sequence} {what}; events are missing or damaged")
    }

    fn event(&mut self, at: Instant, event: &Event, replayed: &mut Replayed) -> Result<Option<Difference>, String> {
        match event {
            Event::Released { step, release, deadline } => {
                let entity = self.places.find(step)?;
                self.release(entity, step.sequence, step.segment, *release, *deadline)?;
            }
            Event::Antedated { step, release, deadline } => self.antedate(step, *release, *deadline)?,
            Event::PollingPoint { .. } => self.polled = Some(Vec::new()),
            Event::Collected { step } => {
                let entity = self.places.find(step)?;
                if let Some(polled) = &mut self.polled {
                    polled.push((entity, step.sequence, step.segment));
                }
            }
            Event::Dispatched { step, thread, .. } => {
                return self.dispatched(at, step, ThreadIndex(u16::from(*thread)), replayed);
            }
            Event::Suspended { step, .. } => {
                let entity = self.places.find(step)?;
                if let Some(mut activation) = take(&mut self.running[entity], step.sequence) {
                    // A snapshot does not tell the segment of what runs.
                    activation.segment = step.segment;
                    self.scheduler.suspend(at, &activation);
                    self.suspended[entity].push(activation);
                }
            }
            Event::Completed { step, .. } => {
                let entity = self.places.find(step)?;
                if let Some(activation) = take(&mut self.running[entity], step.sequence) {
                    self.scheduler.complete(at, &activation);
                    self.live.remove(&step.sequence);
                }
            }
            Event::Withdrawn { step } => self.withdrawn(at, step)?,
            Event::Discarded { thread, .. } => {
                return Ok(self.discarded(at, ThreadIndex(u16::from(*thread)), replayed.decisions));
            }
            _ => {}
        }
        Ok(None)
    }

    fn withdrawn(&mut self, at: Instant, step: &Step) -> Result<(), String> {
        let entity = self.places.find(step)?;
        let was_suspended = take(&mut self.suspended[entity], step.sequence).is_some();
        self.live.remove(&step.sequence);
        if self.scheduler.repeat_withdrawal(self.ids[entity], step.sequence) {
            self.ready = self.ready.saturating_sub(u64::from(!was_suspended));
        } else if let Some(activation) = take(&mut self.running[entity], step.sequence) {
            // Its entity was removed while it ran, and it ended at an await.
            self.scheduler.complete(at, &activation);
        }
        Ok(())
    }

    /// Handles that a wait set found nothing to run and discarded its ready set. Returns a difference if the replay has
    /// something to run.
    fn discarded(&mut self, at: Instant, thread: ThreadIndex, decisions: u64) -> Option<Difference> {
        if self.is_another {
            return None;
        }
        let replayed = self.scheduler.next(at, thread)?;
        let choice = self.candidate(&replayed, State::MayRun);
        let mut difference = self.difference(at, thread, decisions + 1, None, Some(choice));
        difference.what = Some("the recorded thread found nothing to run, and discarded its ready set".to_owned());
        Some(difference)
    }

    fn dispatched(
        &mut self,
        at: Instant,
        step: &Step,
        thread: ThreadIndex,
        replayed: &mut Replayed,
    ) -> Result<Option<Difference>, String> {
        let entity = self.places.find(step)?;
        let polled = self.polled.take();
        replayed.decisions += 1;
        replayed.choices += u64::from(self.ready > 1);
        let choice = self.scheduler.next(at, thread);
        let what = self.compare_polls(polled);
        match choice {
            Some(activation)
                if what.is_none()
                    && activation.entity == self.ids[entity]
                    && (activation.sequence, activation.segment) == (step.sequence, step.segment) =>
            {
                self.ready = self.ready.saturating_sub(1);
                self.running[entity].push(activation);
                Ok(None)
            }
            choice => {
                let choice = choice.map(|activation| self.candidate(&activation, State::MayRun));
                let recorded = self.named(entity, step);
                let mut difference = self.difference(at, thread, replayed.decisions, Some(recorded), choice);
                difference.what = what;
                Ok(Some(difference))
            }
        }
    }
}

fn take(activations: &mut Vec<Activation>, sequence: u64) -> Option<Activation> {
    let place = activations.iter().position(|activation| activation.sequence == sequence)?;
    Some(activations.swap_remove(place))
}
