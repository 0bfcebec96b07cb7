//! Callbacks while they run and wait.

use super::super::program::{Clock, EntityPlan, Kind, PanicPlan};
use super::{At, Event, Life, Model, Rule, WaitOn};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunState {
    Running,
    Suspended,
    Ended,
}

/// An activation: from the beginning of a callback to its end.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) life: usize,
    pub(crate) task: usize,
    pub(crate) state: RunState,
    /// The number of times that it went on after it had waited.
    pub(crate) segments: usize,
    /// The thing that the run awaits, if it awaits something.
    pub(crate) waits_on: Option<WaitOn>,
    /// Note at which the run was last suspended.
    pub(crate) suspended: At,
    /// Note at which the run's thread last left it.
    pub(crate) left: At,
    /// The message or request that the run took, by its number.
    pub(crate) item: Option<usize>,
    /// The note at which it began, and the note up to which its thread had seen everything when it was picked.
    pub(crate) began: At,
    pub(crate) seen: At,
}

impl Model {
    pub(crate) fn plan_of(&self, life: usize) -> &EntityPlan {
        self.program.entity(self.lives[life].entity).expect("lives have plans")
    }

    /// Notes that a callback begins. Returns the number of the activation.
    pub(crate) fn starts(&mut self, task: usize, life: usize, item: Option<usize>) -> usize {
        let executor = self.lives[life].executor;
        let seen = self.seen_by(task, executor);
        let run = self.runs.len();
        let entity = self.lives[life].entity;
        let at = self.note(task, Event::Starts { entity, life, run, item });
        let waits_on = None;
        let state = RunState::Running;
        self.runs.push(Run { life, task, state, segments: 0, waits_on, suspended: 0, left: 0, item, began: at, seen });
        self.open.push(run);
        self.begins(task, run, seen);
        let what = format!("entity {entity} (life {life})");
        let clocks = &self.clocks;
        let timer = self.lives[life].timer.as_mut().map(|timer| timer.starts(at, seen, clocks));
        if let Some(Err((rule, why))) = timer {
            self.broken(rule, format!("timer {what} runs at {:?}: {why}", self.readings()));
        }
        if let Some(item) = item {
            self.takes(life, item, at);
        }
        run
    }

    /// Judges and notes that an entity takes an item.
    fn takes(&mut self, life: usize, item: usize, at: At) {
        let taker = self.lives[life].clone();
        let in_order = self.starts_in_order(life);
        let plan = self.plan_of(life);
        if let Some(receiver) = self.receiver(&taker, plan) {
            self.judge_taken(&receiver, &format!("entity {} (life {life})", taker.entity), item, in_order);
        }
        self.lives[life].taken.push(item);
        self.items[item].taken = Some(at);
    }

    /// Returns true if the callbacks of the entity begin in the order in which they took their items.
    pub(super) fn starts_in_order(&self, life: usize) -> bool {
        let group = self.program.group(self.plan_of(life).group).expect("its group is there");
        let executor = self.lives[life].executor;
        // Of two spins, one is being refused.
        let has_two_spins = self.executors[executor].spins.len() > 1;
        !group.reentrant || (!has_two_spins && self.threads_of(executor) <= 1)
    }

    fn readings(&self) -> String {
        let read = |clock| self.clocks.reading_max(clock);
        let (steady, system) = (read(Clock::Steady), read(Clock::System));
        format!("steady {steady}, system {system}, ROS when last blocked {}", self.clocks.ros_quiet)
    }

    /// Notes that a callback that had waited goes on.
    pub(crate) fn goes_on(&mut self, task: usize, run: usize) {
        let executor = self.lives[self.runs[run].life].executor;
        let seen = self.seen_by(task, executor);
        self.note(task, Event::GoesOn { run });
        let state = &mut self.runs[run];
        state.task = task;
        state.segments += 1;
        state.state = RunState::Running;
        self.begins(task, run, seen);
    }

    /// Judges the beginning of a callback, or of a segment of one.
    fn begins(&mut self, task: usize, run: usize, seen: At) {
        let life = self.runs[run].life;
        let Life { entity, executor, group, dropped, .. } = self.lives[life].clone();
        let what = format!("entity {entity} (life {life}, run {run})");
        if dropped.is_some_and(|dropped| dropped <= seen) {
            self.broken(Rule::Gone, format!("{what} runs after it was dropped"));
        }
        if !self.may_run(executor) {
            self.broken(Rule::OutsideSpin, format!("{what} runs while executor {executor} does not spin"));
        }
        let reentrant = self.program.group(group).is_some_and(|group| group.reentrant);
        // A jump callback does not wait for callbacks of its group that are suspended.
        let is_jump = matches!(self.plan_of(life).kind, Kind::Jump { .. });
        let excludes = |other: &usize| !is_jump || self.runs[*other].state == RunState::Running;
        if !reentrant && let Some(other) = self.holder(group, run).filter(excludes) {
            let other = self.runs[other].life;
            self.broken(Rule::Exclusion, format!("{what} runs while life {other} has group {group}"));
        }
        let running = self.open_runs().filter(|other| other.state == RunState::Running);
        let same = running.filter(|other| other.life == life).count();
        if same > self.limit(life) {
            self.broken(Rule::Exclusion, format!("{what} runs {same} times at once"));
        }
        let is_there = self.lives[life].dropping.is_none() && !self.lives[life].broken;
        if is_there && self.in_flight(life) > self.limit(life) {
            let (count, limit) = (self.in_flight(life), self.limit(life));
            self.broken(Rule::Exclusion, format!("{what} is the {count} th in flight, of {limit}"));
        }
        self.count_start(executor, task, run);
        self.judge_order(task, run, seen);
    }

    /// Returns the activation other than `but` that has the mutually exclusive group.
    ///
    /// If there are several, returns one that runs: a jump callback runs beside a suspended one.
    pub(crate) fn holder(&self, group: usize, but: usize) -> Option<usize> {
        let holds = |number: &usize| {
            let run = &self.runs[*number];
            let life = &self.lives[run.life];
            let plan = self.plan_of(run.life);
            let is_there = || life.dropping.is_none() && !life.broken;
            let waiting = || run.state == RunState::Suspended && !plan.releases_group && is_there();
            life.group == group && *number != but && (run.state == RunState::Running || waiting())
        };
        let mut holders = self.open.iter().copied().filter(holds);
        let first = holders.next()?;
        let runs = |number: &usize| self.runs[*number].state == RunState::Running;
        Some(holders.chain([first]).find(runs).unwrap_or(first))
    }

    /// Returns true if an activation has the mutually exclusive group, or may still have it.
    pub(super) fn may_be_held(&self, group: usize) -> bool {
        // An entity that was dropped keeps its group until its future is dropped, at the latest when all threads are
        // blocked.
        let keeps = |run: &Run| run.state == RunState::Suspended && !self.plan_of(run.life).releases_group;
        let lingers = self.last_quiet != self.notes.len()
            && self.open_runs().any(|run| self.lives[run.life].group == group && keeps(run));
        lingers || self.holder(group, usize::MAX).is_some()
    }

    /// Returns the number of activations that the entity may have under way.
    pub(crate) fn limit(&self, life: usize) -> usize {
        let plan = self.plan_of(life);
        let group = self.program.group(plan.group).expect("its group is there");
        let threads = self.program.executor(self.lives[life].executor).map_or(1, |executor| executor.threads);
        let default = if plan.by_group {
            1
        } else if plan.asynchronous {
            16
        } else {
            usize::from(threads)
        };
        let several = group.reentrant || (plan.asynchronous && plan.releases_group);
        match plan.kind {
            Kind::Jump { .. } => 1,
            _ if several => plan.max_in_flight.map_or(default, |count| count as usize),
            _ => 1,
        }
    }

    /// Returns the runs that have not ended.
    pub(super) fn open_runs(&self) -> impl Iterator<Item = &Run> {
        self.open.iter().map(|number| &self.runs[*number])
    }

    /// Notes that a run ended at that note.
    fn close(&mut self, run: usize, at: At) {
        self.runs[run].state = RunState::Ended;
        self.runs[run].left = at;
        self.open.retain(|open| *open != run);
    }

    pub(crate) fn in_flight(&self, life: usize) -> usize {
        self.open_runs().filter(|run| run.life == life).count()
    }

    pub(crate) fn waits(&mut self, task: usize, run: usize, on: WaitOn) {
        self.note(task, Event::Waits { run, on });
        self.runs[run].waits_on = Some(on);
    }

    pub(crate) fn waited(&mut self, run: usize) {
        self.runs[run].waits_on = None;
    }

    pub(crate) fn suspends(&mut self, task: usize, run: usize) {
        let at = self.note(task, Event::Suspends { run });
        let run = &mut self.runs[run];
        run.state = RunState::Suspended;
        run.suspended = at;
        run.left = at;
    }

    pub(crate) fn ends(&mut self, task: usize, run: usize) {
        let at = self.note(task, Event::Ends { run });
        self.close(run, at);
    }

    pub(crate) fn abandoned(&mut self, task: usize, run: usize) {
        if self.runs[run].state == RunState::Ended {
            return;
        }
        let at = self.note(task, Event::Abandoned { run });
        self.close(run, at);
        let life = &self.lives[self.runs[run].life];
        if life.dropping.is_none() && !life.broken {
            self.broken(Rule::Future, format!("the future of run {run} was dropped before its end"));
        }
    }

    /// Notes that the callback is about to panic.
    pub(crate) fn panics(&mut self, task: usize, run: usize) {
        let at = self.note(task, Event::Panics { run });
        self.close(run, at);
        self.panics += 1;
        let life = self.runs[run].life;
        let group = self.program.group(self.lives[life].group).expect("its group is there");
        match group.on_panic {
            PanicPlan::Continue => {}
            PanicPlan::Remove => {
                self.lives[life].dropping.get_or_insert(at);
                self.lives[life].removed_by_panic = true;
            }
            PanicPlan::Halt => {
                let executor = self.lives[life].executor;
                self.executors[executor].panicked = Some(at);
            }
        }
    }
}

impl Model {
    /// Notes that an incident was reported.
    pub(crate) fn incident(&mut self, task: usize, entity: &str, text: String) {
        let at = self.note(task, Event::Incident { entity: entity.to_owned(), text });
        self.incidents += 1;
        // An entity that is removed after a panic is removed before the report.
        let number = entity.strip_prefix('e').and_then(|number| number.parse::<usize>().ok());
        let is_it = |life: &&mut Life| Some(life.entity) == number && life.removed_by_panic;
        let mut candidates = self.lives.iter_mut().filter(is_it);
        // If the entity has several lives, the report does not say which one panicked.
        if let (Some(life), None) = (candidates.next(), candidates.next()) {
            life.dropped.get_or_insert(at);
        }
    }

    /// Notes that a stream is about to panic.
    pub(crate) fn stream_panics(&mut self, task: usize, life: usize) {
        let at = self.note(task, Event::Did("a stream panics"));
        // The thread has the group until the activation is completed.
        let (state, waits_on, item) = (RunState::Ended, None, None);
        let (began, seen) = (0, 0);
        self.runs.push(Run { life, task, state, segments: 0, waits_on, suspended: 0, left: at, item, began, seen });
        self.panics += 1;
        self.lives[life].broken = true;
        let group = self.program.group(self.lives[life].group).expect("its group is there");
        if group.on_panic == PanicPlan::Halt {
            let executor = self.lives[life].executor;
            self.executors[executor].panicked = Some(at);
        }
    }
}
