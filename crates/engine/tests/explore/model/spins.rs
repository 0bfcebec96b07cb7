//! Spins: the callbacks that run in them, and their ends.

use super::super::program::{Clock, Ms, Program, Role, SpinPlan, Until};
use super::{At, Event, Model, Rule, Run, RunState, SpinResult};

/// Facts about an executor.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExecutorState {
    /// The spins under way. There are several if threads try to spin the executor while another one does.
    pub(crate) spins: Vec<Spin>,
    pub(crate) halts_begun: usize,
    /// The note at which the last halt that is done began.
    pub(crate) halted: Option<At>,
    /// The threads that are just halting the executor, with the notes at which they began.
    halting: Vec<(usize, At)>,
    /// The number of spins that ended because of a halt.
    halted_ends: usize,
    /// The note at which a callback panicked in a group that halts then.
    pub(crate) panicked: Option<At>,
    pub(crate) dropping: Option<At>,
    pub(crate) dropped: Option<At>,
    pub(crate) is_companion: bool,
    pub(crate) threads: usize,
    /// The last note at which all threads were blocked and the executor had an idle one.
    pub(super) looked_at: At,
}

/// A spin under way.
#[derive(Clone, Debug)]
pub(crate) struct Spin {
    pub(crate) plan: SpinPlan,
    pub(crate) task: usize,
    pub(crate) began: At,
    pub(super) began_ms: Ms,
    /// The latest time of its beginning, known once all threads were blocked.
    pub(super) began_max: Option<Ms>,
    /// The number of callbacks and segments that ran in the spin.
    pub(crate) started: usize,
    /// The callbacks that were surely ready when the spin began, and have not run since. `had` is the number of those
    /// that have.
    ready: Vec<(usize, Option<usize>)>,
    had: usize,
    /// The most callbacks that may have been ready when the spin began, known once one has run.
    most_ready: usize,
    pub(crate) main_done: bool,
    /// True if a halt was requested since the spin began, or was under way then.
    pub(super) may_be_halted: bool,
    /// True if no other thread has tried to spin the executor meanwhile.
    is_alone: bool,
    /// The note since which no other thread tries to.
    pub(super) alone_since: At,
}

impl Spin {
    /// Returns the time at which its timeout has surely passed.
    pub(super) fn ends_by(&self) -> Option<Ms> {
        Some(self.began_max? + self.plan.timeout?)
    }
}

impl ExecutorState {
    /// Returns the spin under way, if there is exactly one.
    pub(crate) fn spin(&self) -> Option<&Spin> {
        self.spins.first().filter(|_| self.spins.len() == 1)
    }

    pub(super) fn all(program: &Program) -> Vec<Self> {
        let count = program.executors.iter().map(|executor| executor.id + 1).max().unwrap_or(0);
        let mut all = vec![Self::default(); count];
        for executor in &program.executors {
            all[executor.id].is_companion = executor.role == Role::Companion;
            all[executor.id].threads = usize::from(executor.threads);
        }
        all
    }
}

impl Model {
    pub(crate) fn spin_begins(&mut self, task: usize, executor: usize, plan: SpinPlan) {
        let began = self.note(task, Event::SpinBegins { executor, plan });
        let began_ms = self.clocks.reading_min(Clock::Steady);
        let state = &mut self.executors[executor];
        let may_be_halted = state.halts_begun > state.halted_ends;
        let spins = &mut state.spins;
        spins.push(Spin {
            plan,
            task,
            began,
            began_ms,
            began_max: None,
            started: 0,
            ready: Vec::new(),
            had: 0,
            most_ready: 0,
            main_done: false,
            may_be_halted,
            is_alone: true,
            alone_since: began,
        });
        if spins.len() > 1 {
            spins.iter_mut().for_each(|spin| spin.is_alone = false);
        } else if plan.until == Until::Some {
            let ready: Vec<_> = self.ready(executor, began).map(|ready| ready.key()).collect();
            self.executors[executor].spins[0].ready = ready;
        }
    }

    pub(crate) fn spin_ended(&mut self, task: usize, executor: usize, result: SpinResult) {
        let seen = self.seen_by(task, executor);
        // After a spin's end its leftovers are dropped, and companions are waited for.
        let last = self.notes.iter().rev().find(|(by, _)| *by == task).map(|(_, event)| event);
        let is_left =
            |event: &Event| matches!(event, Event::HasTakenLong | Event::Incident { .. } | Event::Abandoned { .. });
        let is_late = self.has_companions() || last.is_some_and(is_left);
        self.note(task, Event::SpinEnded { executor, result: result.clone() });
        self.waits.retain(|wait| wait.main_of != Some(executor));
        let spins = &mut self.executors[executor].spins;
        let Some(at) = spins.iter().rposition(|spin| spin.task == task) else {
            return;
        };
        let spin = spins.remove(at);
        let now = self.notes.len();
        self.last_end = (now, self.runs.iter().any(|run| run.task == task && run.state == RunState::Running));
        let spins = &mut self.executors[executor].spins;
        if let [other] = &mut spins[..] {
            other.alone_since = now;
        }
        let may_be_refused = !spin.is_alone || self.has_companions();
        if result != SpinResult::AlreadySpinning || !may_be_refused {
            self.judge_spin_end(executor, &spin, &result, if is_late { 0 } else { seen });
        }
    }

    fn has_companions(&self) -> bool {
        self.executors.iter().any(|executor| executor.is_companion)
    }

    fn judge_spin_end(&mut self, executor: usize, spin: &Spin, result: &SpinResult, seen: At) {
        let plan = spin.plan;
        let what = format!("the spin of executor {executor} ended with {result:?}");
        let steady = self.clocks.reading_max(Clock::Steady);
        let companions_panicked = self.executors.iter().any(|other| other.is_companion && other.panicked.is_some());
        let state = &mut self.executors[executor];
        let fits = match result {
            SpinResult::Done => plan.until != Until::Halted && plan.main.is_none(),
            SpinResult::Halted => {
                state.halted_ends += 1;
                state.halted_ends <= state.halts_begun && plan.main.is_none()
            }
            SpinResult::Resolved => plan.main.is_some(),
            SpinResult::Unresolved => plan.main.is_some() && (plan.until != Until::Halted || state.halts_begun > 0),
            SpinResult::Timeout => plan.timeout.is_some_and(|timeout| spin.began_ms + timeout <= steady),
            SpinResult::Panicked => state.panicked.take().is_some() || companions_panicked,
            SpinResult::AlreadySpinning => false,
            SpinResult::Other(_) => companions_panicked,
        };
        if !fits {
            self.broken(Rule::SpinEnd, format!("{what}, for no reason"));
        }
        if spin.is_alone && plan.until == Until::Once && spin.started > 1 {
            self.broken(Rule::SpinEnd, format!("{what} after {} callbacks, and was to end after one", spin.started));
        }
        let is_done = spin.is_alone && *result == SpinResult::Done && plan.until == Until::All;
        if is_done && let Some(waiting) = self.first_ready(executor, seen) {
            self.broken(Rule::Forgotten, format!("{what}, while {waiting} was ready"));
        }
        if spin.is_alone && *result == SpinResult::Done && plan.until == Until::Some && self.is_traced(executor) {
            let is_left = |ready: &(usize, Option<usize>)| spin.ready.contains(ready);
            let left = self.ready(executor, spin.began).map(|ready| ready.key()).filter(is_left).count();
            let picks = self.picks_since(executor, spin.began);
            if left > 0 && picks < spin.had + left {
                let message = format!("{what} after {picks} picks, of {} and {left} left that were ready", spin.had);
                self.broken(Rule::SpinEnd, message);
            }
        }
    }

    /// Returns the most callbacks of the executor that may have been ready when a spin began at that note, before any
    /// callback ran in it: one to begin for each entity, and all that had begun and waited.
    fn most_ready(&self, executor: usize, began: At) -> usize {
        let lives = self.lives.iter().filter(|life| life.executor == executor);
        let may_begin = lives.filter(|life| life.dropped.is_none_or(|dropped| dropped > began)).count();
        let runs = self.runs.iter().filter(|run| self.lives[run.life].executor == executor && run.began <= began);
        may_begin + runs.filter(|run| run.state != RunState::Ended || run.left > began).count()
    }

    /// Returns true if the executor's callbacks may run now.
    pub(crate) fn may_run(&self, executor: usize) -> bool {
        let state = &self.executors[executor];
        // Companions spin along with any leader. If the last leader spun within a callback of a companion, its end
        // cannot wait for that companion.
        let along = || self.executors.iter().any(|other| !other.spins.is_empty()) || self.last_end.1;
        !state.spins.is_empty() || (state.is_companion && along())
    }

    /// Returns the note at which the spin under way began.
    pub(crate) fn spin_began(&self, executor: usize) -> Option<At> {
        self.executors[executor].spins.iter().map(|spin| spin.began).min()
    }

    /// Returns the number of threads of its spin.
    pub(crate) fn threads_of(&self, executor: usize) -> usize {
        let state = &self.executors[executor];
        match state.spin() {
            Some(spin) if spin.plan.until != Until::Halted => 1,
            Some(_) => state.threads,
            None if state.is_companion && self.executors.iter().any(|other| !other.spins.is_empty()) => state.threads,
            None => 0,
        }
    }

    pub(super) fn count_start(&mut self, executor: usize, task: usize, run: usize) {
        let began = self.executors[executor].spins.first().filter(|spin| spin.is_alone).map(|spin| spin.began);
        let Some(began) = began else {
            return;
        };
        let most_ready = self.most_ready(executor, began);
        let Run { life, segments, .. } = self.runs[run];
        let is_left_alone = self.lives[life].timer.as_ref().is_none_or(|timer| timer.is_left_alone_since(began));
        let spin = &mut self.executors[executor].spins[0];
        spin.started += 1;
        if spin.started == 1 {
            spin.most_ready = most_ready;
        }
        let key = (life, (segments > 0).then_some(run));
        if let Some(at) = spin.ready.iter().position(|ready| *ready == key) {
            spin.ready.swap_remove(at);
            spin.had += usize::from(is_left_alone);
        }
        let until = spin.plan.until;
        let owner = spin.task;
        if until == Until::Some && spin.started > spin.most_ready {
            let message = format!(
                "the spin of executor {executor} runs callback {}, and at most {} were ready when it began",
                spin.started, spin.most_ready
            );
            self.broken(Rule::SpinEnd, message);
        }
        if until != Until::Halted && owner != task {
            let message =
                format!("a callback of executor {executor} runs on thread {task}, but thread {owner} spins it");
            self.broken(Rule::SpinEnd, message);
        }
    }

    pub(crate) fn halts(&mut self, task: usize, executor: usize) {
        let at = self.note(task, Event::Halts { executor });
        self.executors[executor].halts_begun += 1;
        self.executors[executor].halting.push((task, at));
        self.executors[executor].spins.iter_mut().for_each(|spin| spin.may_be_halted = true);
    }

    pub(crate) fn halted(&mut self, task: usize, executor: usize) {
        self.note(task, Event::Halted { executor });
        let state = &mut self.executors[executor];
        if let Some(at) = state.halting.iter().position(|(halting, _)| *halting == task) {
            let (_, began) = state.halting.swap_remove(at);
            state.halted = state.halted.max(Some(began));
        }
    }

    pub(crate) fn drops_executor(&mut self, task: usize, executor: usize) {
        let at = self.note(task, Event::DropsExecutor { executor });
        let mut gone = vec![executor];
        // Companions go with the last of the other executors, or before.
        gone.extend((0..self.executors.len()).filter(|other| self.executors[*other].is_companion));
        for executor in gone {
            self.executors[executor].dropping.get_or_insert(at);
            for life in self.lives.iter_mut().filter(|life| life.executor == executor) {
                life.dropping.get_or_insert(at);
            }
        }
    }

    pub(crate) fn dropped_executor(&mut self, task: usize, executor: usize) {
        let at = self.note(task, Event::DroppedExecutor { executor });
        self.executors[executor].dropped = Some(at);
        let of = self.program.clone();
        let left = |other: &usize| {
            let is_there = of.executor(*other).is_some_and(|other| other.role != Role::Companion);
            is_there && self.executors[*other].dropped.is_none()
        };
        let all_gone = (0..self.executors.len()).all(|other| !left(&other));
        let companion = (0..self.executors.len()).filter(|other| all_gone && self.executors[*other].is_companion);
        for executor in companion.chain([executor]).collect::<Vec<_>>() {
            self.executors[executor].dropped = Some(at);
            for life in self.lives.iter_mut().filter(|life| life.executor == executor) {
                life.dropped.get_or_insert(at);
            }
        }
    }
}

impl Model {
    /// Notes that the future that the spin awaits has resolved.
    pub(crate) fn main_is_done(&mut self, executor: usize) {
        if let Some(spin) = self.executors[executor].spins.first_mut() {
            spin.main_done = true;
        }
    }
}
