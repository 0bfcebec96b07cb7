//! The rules that must hold while all threads are blocked: by then, everything that could be done was done.

use super::super::program::{Clock, Kind, Ms, Until};
use super::{Life, Model, Rule, RunState, WaitOn};

/// The main thread's observations while all other threads were blocked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) steady: Ms,
    pub(crate) system: Ms,
    pub(crate) ros: Ms,
    pub(crate) ros_active: bool,
    /// By channel: true if it has an item that can be taken.
    pub(crate) full_channels: Vec<bool>,
    /// Lives that watch the losses of others, with those that there are.
    pub(crate) losses: Vec<(usize, u64)>,
}

impl Model {
    /// Returns the number of idle threads of the executor, if all threads are blocked now.
    pub(super) fn idle(&self, executor: usize) -> usize {
        if self.may_be_ending(executor) {
            return 0;
        }
        self.threads_of(executor).saturating_sub(self.busy(executor))
    }

    /// Returns true if the executor's spin may be about to end and wait for callbacks that take long.
    fn may_be_ending(&self, executor: usize) -> bool {
        let state = &self.executors[executor];
        let now = self.clocks.reading_max(Clock::Steady);
        let ends = |spin: &super::spins::Spin| {
            let has_panicked =
                |other: &super::ExecutorState| other.panicked.is_some_and(|panicked| panicked > spin.began);
            spin.main_done
                || spin.may_be_halted
                || (spin.plan.until == Until::Once && spin.started > 0)
                || spin.plan.timeout.is_some_and(|timeout| spin.began_ms + timeout <= now)
                || self
                    .executors
                    .iter()
                    .any(|other| (other.is_companion || std::ptr::eq(other, state)) && has_panicked(other))
        };
        if state.is_companion {
            // While spins are short, a companion's threads come and go.
            let short = |spin: &super::spins::Spin| spin.plan.until != Until::Halted;
            let mut leaders = self.executors.iter().flat_map(|other| &other.spins);
            // The last spin waits for its callbacks.
            let is_late = self.last_end.0 > 0 && self.busy(executor) > 0;
            return is_late || leaders.any(|spin| short(spin) || ends(spin)) || state.panicked.is_some();
        }
        // A spin that begins while companions end waits for them.
        let mut companions = (0..self.executors.len()).filter(|other| self.executors[*other].is_companion);
        let waits = companions.any(|companion| self.busy(companion) > 0);
        // A spin that found nothing ready any more waits for companions, too.
        let waits_for_them = |spin: &super::spins::Spin| spin.started == 0 || spin.plan.until.is_impatient();
        state.spins.iter().any(|spin| ends(spin) || (waits && waits_for_them(spin)))
    }

    /// Returns the number of threads of the executor that are blocked in its callbacks.
    fn busy(&self, executor: usize) -> usize {
        let running = self.runs.iter().filter(|run| run.state == RunState::Running);
        let in_callbacks = running.filter(|run| self.lives[run.life].executor == executor).map(|run| run.task);
        let beside = self.gated.iter().filter(|(_, of)| *of == Some(executor)).map(|(task, _)| *task);
        let mut tasks: Vec<_> = in_callbacks.chain(beside).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks.len()
    }

    /// Judges a moment at which all threads are blocked.
    pub(crate) fn judge_quiet(&mut self, seen: &Seen) {
        self.clocks_are_quiet(seen.steady, seen.system, seen.ros, seen.ros_active);
        let now = self.notes.len();
        // A thread that is blocked in a slow drop may have more to drop.
        let is_dropped = |life: &usize| {
            self.in_flight(*life) == 0 && self.gated.is_empty() && self.busy(self.lives[*life].executor) == 0
        };
        let gone: Vec<_> = (0..self.lives.len()).filter(is_dropped).collect();
        for life in gone {
            let life = &mut self.lives[life];
            if life.dropped.is_some() {
                life.closed.get_or_insert(now);
                life.gone = true;
            }
        }
        // A spin that begins while companions end waits for them.
        let companions: Vec<_> =
            (0..self.executors.len()).filter(|other| self.executors[*other].is_companion).collect();
        if companions.iter().all(|companion| self.busy(*companion) == 0) {
            let spins = self.executors.iter_mut().flat_map(|executor| &mut executor.spins);
            spins.for_each(|spin| _ = spin.began_max.get_or_insert(seen.steady));
        }
        for executor in 0..self.executors.len() {
            self.judge_spin(executor);
            if self.idle(executor) > 0 {
                self.judge_idle(executor, seen);
            }
        }
        self.judge_waits();
        if self.nobody_holds_ros_time() && !self.clocks.ros_is_as_asked(seen.ros, seen.ros_active) {
            let (ros, active) = (seen.ros, seen.ros_active);
            let message = format!("ROS time is {ros}, active: {active}, and not what it was asked to be");
            self.broken(Rule::RosTime, message);
        }
    }

    fn judge_spin(&mut self, executor: usize) {
        let state = &self.executors[executor];
        // A spin waits for the callbacks of its executor and of companions.
        let is_busy = |other: &usize| {
            let goes_along = *other == executor || self.executors[*other].is_companion;
            // A companion's callback may be the one that spins.
            let is_nested = |run: &super::Run| state.spin().is_some_and(|spin| spin.task == run.task);
            let nested = self.runs.iter().filter(|run| run.state == RunState::Running && is_nested(run)).count();
            goes_along && self.busy(*other) > if *other == executor { 0 } else { nested }
        };
        let Some(spin) = state.spin().filter(|_| !(0..self.executors.len()).any(|other| is_busy(&other))) else {
            return;
        };
        let now = self.clocks.reading_min(Clock::Steady);
        let reasons = [
            (state.halted.is_some_and(|halts| halts > spin.alone_since), "it was halted"),
            (spin.plan.until.is_impatient(), "all threads are blocked"),
            (spin.plan.until == Until::Once && spin.started > 0, "a callback ran"),
            (spin.ends_by().is_some_and(|end| end <= now), "its time is over"),
            (state.panicked.is_some_and(|panicked| panicked > spin.began), "a callback panicked"),
            (spin.main_done, "the awaited future resolved"),
        ];
        if let Some((_, why)) = reasons.iter().find(|(holds, _)| *holds) {
            self.broken(Rule::SpinEnd, format!("the spin of executor {executor} goes on, although {why}"));
        }
    }

    fn judge_idle(&mut self, executor: usize, seen: &Seen) {
        let now = self.notes.len();
        let what = format!("while all threads are blocked and executor {executor} has an idle one");
        if let Some(ready) = self.first_ready(executor, now) {
            self.broken(Rule::Forgotten, format!("{ready} is ready, {what}"));
        }
        let waits_for_channel = |life: &Life| {
            let kind = self.program.entity(life.entity).map(|plan| plan.kind);
            match kind {
                Some(Kind::Stream { channel } | Kind::Source { channel, .. }) => seen.full_channels[channel],
                _ => false,
            }
        };
        let forgotten = (0..self.lives.len()).find(|number| {
            let life = &self.lives[*number];
            life.executor == executor && waits_for_channel(life) && self.is_free(*number, now)
        });
        if let Some(forgotten) = forgotten {
            let entity = self.lives[forgotten].entity;
            self.broken(Rule::Forgotten, format!("entity {entity} (life {forgotten}) has something to take, {what}"));
        }
        for (number, count) in &seen.losses {
            let life = &self.lives[*number];
            let told = life.told.iter().max().copied().unwrap_or(0);
            if life.executor == executor && told != *count && self.is_free(*number, now) {
                self.broken(Rule::Forgotten, format!("life {number} was told of {told} losses of {count}, {what}"));
            }
        }
    }

    fn judge_waits(&mut self) {
        let now = self.notes.len();
        let is_stuck = |wait: &super::Wait| {
            // A spin that is over does not poll its future any more, and may still wait for other threads.
            let is_polled = wait.main_of.is_none_or(|executor| {
                let until = self.executors[executor].spin().map(|spin| spin.plan.until);
                self.busy(executor) == 0 && until == Some(Until::Halted) && !self.may_be_ending(executor)
            });
            is_polled && self.is_over(wait.on, wait.main_of, now)
        };
        if let Some(wait) = self.waits.iter().find(|wait| is_stuck(wait)) {
            let message = format!("{wait:?} goes on, although it is over");
            self.broken(Rule::Future, message);
        }
    }

    /// Returns true if ROS time has no reason to stand still: no jump callback waits for a callback that runs.
    pub(super) fn nobody_holds_ros_time(&self) -> bool {
        let blocks = |number: usize| {
            let life = &self.lives[number];
            let kind = self.program.entity(life.entity).map(|plan| plan.kind);
            let is_there = matches!(kind, Some(Kind::Jump { .. })) && !life.gone;
            let waits = is_there && self.may_run(life.executor);
            let exclusive = self.program.group(life.group).is_some_and(|group| !group.reentrant);
            let holder = self.holder(life.group, usize::MAX).filter(|_| exclusive);
            let on = holder.map(|holder| &self.runs[holder]);
            let held = on.is_some_and(|run| run.state == RunState::Running);
            waits && (held || self.in_flight(number) > 0 || self.idle(life.executor) == 0)
        };
        !(0..self.lives.len()).any(blocks)
    }

    // ---- waits outside of callbacks ----

    /// Notes that the thread blocks until the next round.
    pub(crate) fn gated(&mut self, task: usize, executor: Option<usize>) {
        self.note(task, super::Event::TakesLong { executor });
        self.gated.push((task, executor));
    }

    pub(crate) fn passed(&mut self, task: usize) {
        self.note(task, super::Event::HasTakenLong);
        if let Some(at) = self.gated.iter().rposition(|(gated, _)| *gated == task) {
            self.gated.swap_remove(at);
        }
    }

    pub(crate) fn blocks(&mut self, task: usize, on: WaitOn, main_of: Option<usize>) {
        let since = self.note(task, super::Event::Blocked { task_waits: Some(on) });
        self.waits.push(super::Wait { task, since, on, main_of });
    }

    pub(crate) fn unblocks(&mut self, task: usize, main_of: Option<usize>) {
        self.note(task, super::Event::Unblocked);
        if let Some(at) = self.waits.iter().position(|wait| wait.task == task && wait.main_of == main_of) {
            self.waits.swap_remove(at);
        }
    }

    /// Judges the end of a sleep.
    pub(crate) fn slept(&mut self, task: usize, on: WaitOn, since: super::At, ok: bool) {
        self.note(task, super::Event::Slept { ok });
        let WaitOn::Sleep { executor, clock, not_before, .. } = on else {
            return;
        };
        let highest = self.clocks.highest_since(clock, since);
        if ok && let Some(highest) = highest.filter(|highest| *highest < not_before) {
            let message = format!("a sleep until {not_before} ended when the clock {clock:?} showed {highest}");
            self.broken(Rule::TooEarly, message);
        }
        if !ok && self.executors.iter().all(|state| state.dropping.is_none()) {
            self.broken(Rule::Future, format!("a sleep on executor {executor} failed, which is there"));
        }
    }

    /// Returns the wait of a sleep that begins now.
    pub(crate) fn sleep_on(&self, executor: usize, clock: Clock, duration: Ms) -> WaitOn {
        let not_before = self.clocks.reading_min(clock) + duration;
        WaitOn::Sleep { executor, clock, not_before, due_by: Ms::MAX }
    }

    /// Returns the wait after the sleep was created.
    pub(crate) fn sleep_made(&self, on: WaitOn, duration: Ms) -> WaitOn {
        let WaitOn::Sleep { executor, clock, not_before, .. } = on else {
            return on;
        };
        WaitOn::Sleep { executor, clock, not_before, due_by: self.clocks.reading_max(clock) + duration }
    }
}
