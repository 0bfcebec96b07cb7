//! The callbacks that are surely ready, and the order in which they should run.

use super::super::program::{Clock, EntityPlan, Kind, Ms, PolicyKind, Role, Until};
use super::{At, Life, Model, Rule, Run, RunState, WaitOn};

/// A callback that is surely ready.
pub(super) struct Ready {
    what: String,
    life: usize,
    priority: u32,
    /// The time on the steady clock by which it was released.
    release_by: Ms,
    /// The run that has begun already, and waited; `None` if it is to begin.
    run: Option<usize>,
}

impl Ready {
    const fn goes_on(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the life and the run, which tell it from others.
    pub(super) const fn key(&self) -> (usize, Option<usize>) {
        (self.life, self.run)
    }
}

/// The activation that a thread picked, as the scheduler's trace reports it, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Picked {
    pub(crate) priority: u32,
    pub(crate) release: Ms,
    pub(crate) deadline: Ms,
}

/// A pick that a trace reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub(super) executor: usize,
    pub(super) priority: u32,
    pub(super) task: usize,
    at: At,
    /// The next note of the thread. By then the pick has begun, or had nothing to take.
    pub(super) begun: Option<At>,
}

impl Model {
    /// Returns true if the callback could begin if it had an item, for a thread that has seen everything up to `seen`.
    pub(super) fn is_free(&self, number: usize, seen: At) -> bool {
        let life = &self.lives[number];
        let group = self.program.group(life.group);
        if self.threads_of(life.executor) > 1
            && self.last_quiet != self.notes.len()
            && !self.is_given_back(number, seen)
        {
            return false;
        }
        life.is_alive(seen)
            && self.in_flight(number) < self.limit(number)
            && group.is_some_and(|group| group.reentrant || !self.may_be_held(group.id))
    }

    /// Returns true if all threads that had left callbacks of the group had surely given them back when `seen` was
    /// noted.
    fn is_given_back(&self, number: usize, seen: At) -> bool {
        let group = self.lives[number].group;
        // A callback that was left before all threads were blocked has been given back.
        let since_quiet = self.last_quiet.max(1);
        let mut left = self.runs.iter().filter(|run| run.left >= since_quiet && self.lives[run.life].group == group);
        left.all(|run| {
            let since = self.notes.get(run.left..seen).unwrap_or_default();
            since.iter().any(|(by, _)| *by == run.task)
        })
    }

    /// Returns true if a thread may have just picked a callback of the group when `seen` was noted, or since.
    fn may_be_picked(&self, group: usize, seen: At) -> bool {
        let entities = self.program.entities.iter().filter(|plan| plan.group == group);
        let executor = self.program.group(group).map(|group| self.program.runs(group));
        // Jump callbacks precede everything, and have no priority.
        let of = |plan: &EntityPlan| if matches!(plan.kind, Kind::Jump { .. }) { 0 } else { plan.priority };
        let mut priorities = entities.map(of);
        priorities.any(|priority| {
            let of_entity = |pick: &&Pick| Some(pick.executor) == executor && pick.priority == priority;
            let is_open = |pick: &Pick| pick.begun.is_none_or(|begun| begun > seen) && pick.at >= self.last_quiet;
            self.dispatched.iter().filter(of_entity).any(is_open)
        })
    }

    /// Returns the release of an item that surely waits for the callback.
    pub(super) fn surely_waiting(&self, life: &Life, seen: At) -> Option<Ms> {
        let plan = self.program.entity(life.entity)?;
        match plan.kind {
            Kind::Subscription { .. } | Kind::Service { .. } => self.surely_queued(&self.receiver(life, plan)?, seen),
            Kind::Timer { clock, .. } => {
                let due_by = life.timer.as_ref()?.due_by(seen)?;
                let is_quiet = seen >= self.last_quiet && self.last_quiet == self.notes.len();
                let reading = match clock {
                    Clock::Steady => self.clocks.steady_at(seen),
                    Clock::System if is_quiet => self.clocks.reading_min(clock),
                    // Jump callbacks see new time first.
                    Clock::Ros if is_quiet && self.nobody_holds_ros_time() => self.clocks.ros_quiet,
                    Clock::System | Clock::Ros => return None,
                };
                (due_by <= reading).then_some(due_by)
            }
            Kind::Stream { .. } | Kind::Source { .. } | Kind::LossWatch { .. } | Kind::Jump { .. } => None,
        }
    }

    /// Returns all callbacks of the executor that are surely ready.
    pub(super) fn ready(&self, executor: usize, seen: At) -> impl Iterator<Item = Ready> + '_ {
        let of_executor = move |life: &Life| life.executor == executor;
        let begin =
            (0..self.lives.len()).filter(move |number| of_executor(&self.lives[*number])).filter_map(move |number| {
                let life = &self.lives[number];
                let release_by =
                    if self.is_free(number, seen) { self.surely_waiting(life, seen)? } else { return None };
                let what = format!("entity {} (life {number})", life.entity);
                Some(Ready { what, life: number, priority: self.plan_of(number).priority, release_by, run: None })
            });
        let go_on = self.open.iter().filter_map(move |number| {
            let run = &self.runs[*number];
            let life = &self.lives[run.life];
            let waits = run.state == RunState::Suspended && run.suspended <= seen && life.is_alive(seen);
            if life.executor != executor || !waits {
                return None;
            }
            let plan = self.plan_of(run.life);
            let reentrant = self.program.group(life.group).is_some_and(|group| group.reentrant);
            let holds = !reentrant && !plan.releases_group;
            // A jump callback may run as a guest, and the holder waits for it.
            let is_guest = |other: &Run| other.state == RunState::Running && self.lives[other.life].group == life.group;
            let has_guest = || self.open_runs().any(is_guest);
            let has_group = reentrant || (holds && !has_guest()) || !self.may_be_held(life.group);
            let is_over = |on| self.is_over(on, Some(executor), seen);
            if !has_group || !run.waits_on.is_some_and(is_over) {
                return None;
            }
            let what = format!("run {number} of entity {}, which has waited for {:?}", life.entity, run.waits_on);
            let inherited = if holds { self.inherited(life.group, seen) } else { 0 };
            Some(Ready {
                what,
                life: run.life,
                priority: plan.priority.max(inherited),
                release_by: Ms::MAX,
                run: Some(*number),
            })
        });
        begin.chain(go_on)
    }

    /// Returns the highest priority of the callbacks that surely wait for the holder of the group.
    fn inherited(&self, group: usize, seen: At) -> u32 {
        let lives = (0..self.lives.len()).filter(|number| self.lives[*number].group == group);
        let waiting = lives.filter(|number| {
            let life = &self.lives[*number];
            life.is_alive(seen) && self.in_flight(*number) == 0 && self.surely_waiting(life, seen).is_some()
        });
        waiting.map(|number| self.plan_of(number).priority).max().unwrap_or(0)
    }

    /// Returns true if the wait of a callback or a spin of `on_executor` is surely over.
    pub(super) fn is_over(&self, on: WaitOn, on_executor: Option<usize>, seen: At) -> bool {
        let is_quiet = self.last_quiet == self.notes.len();
        match on {
            WaitOn::Sleep { executor, clock, due_by, .. } => {
                // The executor that polls a sleep wakes it. For other threads, the executor of the handle does.
                let tends = on_executor.unwrap_or(executor);
                let state = self.executors.get(tends);
                if state.is_some_and(|state| state.dropped.is_some_and(|dropped| dropped <= seen)) {
                    return is_quiet;
                }
                let serves = if is_quiet { self.idle(tends) > 0 } else { on_executor.is_some() };
                let reading = match clock {
                    Clock::Steady => self.clocks.steady_at(seen),
                    Clock::System if is_quiet => self.clocks.reading_min(clock),
                    // Jump callbacks see new time first.
                    Clock::Ros if is_quiet && self.nobody_holds_ros_time() => self.clocks.ros_quiet,
                    Clock::System | Clock::Ros => return false,
                };
                serves && due_by <= reading
            }
            WaitOn::Call { item } => is_quiet && self.is_answered(item),
            WaitOn::Within { item, executor, not_before, due_by } => {
                let of_time = |executor| WaitOn::Sleep { executor, clock: Clock::Steady, not_before, due_by };
                let is_late = executor.or(on_executor).is_some_and(|by| self.is_over(of_time(by), on_executor, seen));
                is_late || is_quiet && self.is_answered(item)
            }
            WaitOn::Service { .. } | WaitOn::Subscription { .. } => is_quiet && self.surely_there(on),
            WaitOn::Itself => true,
            WaitOn::Barrier => is_quiet && self.nobody_holds_ros_time(),
        }
    }

    /// Returns true if the request has an answer, or never will have one.
    fn is_answered(&self, item: usize) -> bool {
        let mut takers = self.runs.iter().filter(|run| run.item == Some(item)).peekable();
        if takers.peek().is_some() {
            return takers.all(|run| run.state == RunState::Ended);
        }
        let sent = &self.items[item];
        let served = |life: &Life| {
            let is_service = matches!(self.program.entity(life.entity).map(|plan| plan.kind),
                Some(Kind::Service { name, .. }) if super::lives::Place::Service(name) == sent.place);
            is_service && life.creating < sent.sent.unwrap_or(At::MAX)
        };
        self.lives.iter().filter(|life| served(life)).all(|life| life.gone)
    }

    /// Returns a callback that is surely ready, as text; `None` if there is none.
    pub(super) fn first_ready(&self, executor: usize, seen: At) -> Option<String> {
        self.ready(executor, seen).next().map(|ready| ready.what)
    }

    /// Judges the order when `run` begins or goes on: no callback that was surely ready at its pick should have come
    /// first.
    pub(super) fn judge_order(&mut self, task: usize, run: usize, seen: At) {
        let life = self.runs[run].life;
        let executor = self.lives[life].executor;
        let plan = self.plan_of(life);
        if matches!(plan.kind, Kind::Jump { .. }) {
            return;
        }
        let Some(policy) = self.program.executor(executor).map(|executor| executor.policy) else {
            return;
        };
        let threads = self.threads_of(executor);
        // If several threads pick, the order can be judged only if the picks of all of them are known.
        if threads == 0 || threads > 1 && !self.is_traced(executor) {
            return;
        }
        let is_segment = self.runs[run].segments > 0;
        let priority = if is_segment {
            // The callback may have inherited the priority of callbacks that waited for it.
            let group = self.lives[life].group;
            let lives = (0..self.lives.len()).filter(|other| self.lives[*other].group == group);
            lives.map(|other| self.plan_of(other).priority).max().unwrap_or(0)
        } else {
            plan.priority
        };
        let picked = self.picked.get(task).copied().flatten();
        // A callback may spin another executor, and the pick may be that one's.
        let picked = picked.filter(|(of, _)| *of == executor).map(|(_, picked)| picked);
        let deadline_of = |life: usize| {
            let plan = self.plan_of(life);
            let longest = self.lives[life].timer.as_ref().map(|timer| timer.longest_wait());
            let period = longest.filter(|_| matches!(plan.kind, Kind::Timer { periodic: true, .. }));
            plan.deadline.or(period)
        };
        let goes_first = |ready: &Ready| {
            let is_other = ready.life != life && (threads == 1 || !ready.goes_on());
            if !is_other || threads > 1 && self.may_be_picked(self.lives[ready.life].group, seen) {
                return false;
            }
            match (policy, picked) {
                (PolicyKind::FixedPriority, Some(picked)) if !is_segment && ready.priority == priority => {
                    !ready.goes_on() && ready.release_by < picked.release
                }
                (PolicyKind::FixedPriority, _) => ready.priority > priority,
                (PolicyKind::Fifo, Some(picked)) if !is_segment => ready.release_by < picked.release,
                (PolicyKind::Edf, Some(picked)) if !is_segment => {
                    let deadline = deadline_of(ready.life);
                    deadline.is_some_and(|deadline| ready.release_by.saturating_add(deadline) < picked.deadline)
                }
                _ => false,
            }
        };
        let first = self.ready(executor, seen).find(goes_first);
        if let Some(first) = first {
            let entity = self.lives[life].entity;
            let Ready { what, priority: urgent, release_by, .. } = first;
            let message = format!(
                "entity {entity} (run {run}, priority {priority}, {picked:?}) runs before {what} \
                 (priority {urgent}, released by {release_by}) under {policy:?}"
            );
            self.broken(Rule::Order, message);
        }
    }

    /// Returns the number of picks that the executor's trace has reported since then.
    pub(super) fn picks_since(&self, executor: usize, since: At) -> usize {
        self.dispatched.iter().filter(|pick| pick.executor == executor && pick.at >= since).count()
    }

    /// Returns true if the scheduler of that executor has a trace.
    pub(crate) fn is_traced(&self, executor: usize) -> bool {
        let plan = self.program.executor(executor);
        plan.is_some_and(|plan| {
            // A trace changes the engine's way, so there is one only if a judge needs it.
            let orders = matches!(plan.policy, PolicyKind::Fifo | PolicyKind::Edf);
            let several = plan.policy == PolicyKind::FixedPriority && plan.threads > 1 && plan.id % 2 == 0;
            let ties = plan.policy == PolicyKind::FixedPriority && plan.id % 2 == 0 && self.has_ties;
            // With a trace no callback runs in place, and short spins should also follow spins in which some did.
            let counts = plan.spins.iter().any(|spin| spin.until == Until::Some) && plan.spins.len() % 2 == 0;
            plan.role != Role::Companion && (orders || several || ties || counts)
        })
    }

    /// Notes a pick of this thread on that executor, as the trace reports it.
    pub(crate) fn picked(&mut self, task: usize, executor: usize, picked: Picked) {
        let at = self.notes.len();
        self.dispatched.push(Pick { executor, priority: picked.priority, task, at, begun: None });
        if self.picked.len() <= task {
            self.picked.resize(task + 1, None);
        }
        self.picked[task] = Some((executor, picked));
    }
}
