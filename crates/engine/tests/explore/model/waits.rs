//! Waits for ticks of a rate, for time limits, and for services and subscriptions.

use super::super::program::{Clock, Kind, Ms};
use super::{At, Event, Life, Model, Place, Rule, Run, RunState, WaitOn};

/// The ticks of a rate, as far as the model knows.
#[derive(Clone, Debug)]
pub(crate) struct Ticks {
    clock: Clock,
    period: Ms,
    /// The least that the clock showed when the rate began.
    base: Ms,
    /// The number of ticks since then.
    done: u64,
    /// The latest due time of the last tick, or the time when the rate began.
    last: Ms,
}

/// The arrival of an item of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The time on the steady clock.
    pub(crate) at: Ms,
    /// The note at which it was about to be sent.
    pub(crate) sending: At,
    /// The note by which the executor had been told of it; 0 if that is not known.
    pub(crate) told: At,
}

/// A tick that is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick {
    /// The least that the clock showed when the wait began.
    since_min: Ms,
    /// The most that the clock showed at the first poll.
    polled_by: Ms,
    /// The latest due time.
    due_by: Ms,
}

impl Model {
    /// Returns the ticks of a rate that is about to begin.
    pub(crate) fn rate_begins(&self, clock: Clock, period: Ms) -> Ticks {
        Ticks { clock, period, base: self.clocks.reading_min(clock), done: 0, last: Ms::MAX }
    }

    pub(crate) fn rate_began(&self, ticks: &mut Ticks) {
        ticks.last = self.clocks.reading_max(ticks.clock);
    }

    /// Returns the wait for the next tick.
    pub(crate) fn tick_on(&self, ticks: &Ticks, executor: usize) -> (WaitOn, Tick) {
        let Ticks { clock, period, base, done, .. } = *ticks;
        // Other clocks may be set back.
        let not_before = if clock == Clock::Steady { base + period * (done + 1) } else { 0 };
        let tick = Tick { since_min: self.clocks.reading_min(clock), polled_by: Ms::MAX, due_by: Ms::MAX };
        (WaitOn::Sleep { executor, clock, not_before, due_by: Ms::MAX }, tick)
    }

    /// Notes that the wait of this thread for a tick was polled for the first time, which decides its due time.
    pub(crate) fn tick_polled(&mut self, task: usize, ticks: &Ticks, tick: &mut Tick) {
        let Ticks { clock, period, last, .. } = *ticks;
        tick.polled_by = self.clocks.reading_max(clock);
        // A tick that is late is due at once. Other clocks may be set back.
        let is_steady = clock == Clock::Steady;
        tick.due_by = if is_steady { tick.polled_by.max(last + period) } else { tick.polled_by + period };
        let due = tick.due_by;
        let runs = self.runs.iter_mut().filter(|run| run.task == task && run.state == RunState::Running);
        let of_runs = runs.filter_map(|run| run.waits_on.as_mut());
        let of_threads = self.waits.iter_mut().filter(|wait| wait.task == task).map(|wait| &mut wait.on);
        for on in of_runs.chain(of_threads) {
            if let WaitOn::Sleep { due_by, .. } = on
                && *due_by == Ms::MAX
            {
                *due_by = due;
            }
        }
    }

    /// Judges a tick, which said whether it came in time.
    pub(crate) fn ticked(&mut self, ticks: &mut Ticks, tick: Tick, in_time: bool) {
        let Ticks { clock, period, base, done, last } = *ticks;
        ticks.done += 1;
        ticks.last = tick.due_by.min(self.clocks.reading_max(clock));
        if clock != Clock::Steady {
            return;
        }
        let latest = last.saturating_add(period);
        let earliest = base + period * (done + 1);
        if in_time && tick.since_min >= latest {
            let message = format!("a tick that was due by {latest} was waited for from {} on, in time", tick.since_min);
            self.broken(Rule::Future, message);
        }
        if !in_time && tick.polled_by < earliest {
            let message = format!("a tick due at {earliest} or later was late when it was {}", tick.polled_by);
            self.broken(Rule::Future, message);
        }
    }

    /// Returns the wait for a response within a time, which begins now.
    pub(crate) fn within(&self, item: usize, executor: Option<usize>, limit: Ms) -> WaitOn {
        let not_before = self.clocks.reading_min(Clock::Steady) + limit;
        WaitOn::Within { item, executor, not_before, due_by: Ms::MAX }
    }

    pub(crate) fn within_made(&self, on: WaitOn, limit: Ms) -> WaitOn {
        let WaitOn::Within { item, executor, not_before, .. } = on else {
            return on;
        };
        WaitOn::Within { item, executor, not_before, due_by: self.clocks.reading_max(Clock::Steady) + limit }
    }

    /// Judges that a time limit has passed.
    pub(crate) fn timed_out(&mut self, task: usize, on: WaitOn) {
        self.note(task, Event::Did("is told that its time is over"));
        let WaitOn::Within { not_before, .. } = on else {
            return;
        };
        let now = self.clocks.reading_max(Clock::Steady);
        if now < not_before {
            self.broken(Rule::TooEarly, format!("a time limit until {not_before} passed at {now}"));
        }
    }

    /// Returns true if what a wait needs is surely there.
    pub(super) fn surely_there(&self, on: WaitOn) -> bool {
        let now = self.notes.len();
        match on {
            WaitOn::Service { name } => {
                let is_it = |kind| matches!(kind, Kind::Service { name: of, .. } if of == name);
                self.lives.iter().any(|life| life.is_alive(now) && self.is_kind(life, is_it))
            }
            WaitOn::Subscription { topic } => {
                let is_it = |kind| matches!(kind, Kind::Subscription { inbox, .. } if inbox.topic == topic);
                self.lives.iter().any(|life| life.is_alive(now) && self.is_kind(life, is_it))
            }
            _ => false,
        }
    }

    fn is_kind(&self, life: &Life, is_it: impl Fn(Kind) -> bool) -> bool {
        self.program.entity(life.entity).is_some_and(|plan| is_it(plan.kind))
    }

    /// Judges the end of a wait for a service or a subscription.
    pub(crate) fn came(&mut self, task: usize, on: WaitOn, since: At) {
        self.note(task, Event::Did("is told that what it waits for is there"));
        let may_be = match on {
            WaitOn::Service { name } => {
                let is_it = |kind| matches!(kind, Kind::Service { name: of, .. } if of == name);
                let is_there = |life: &Life| life.closed.is_none_or(|closed| closed > since);
                self.lives.iter().any(|life| is_there(life) && self.is_kind(life, is_it))
            }
            WaitOn::Subscription { topic } => {
                let place = Place::Topic(topic);
                let entities = self.lives.iter().filter_map(|life| {
                    let plan = self.program.entity(life.entity)?;
                    self.receiver(life, plan)
                });
                let queues = self.queues.iter().map(super::queues::QueueLife::receiver);
                let mut all = entities.chain(queues).filter(|receiver| receiver.place == place);
                all.any(|receiver| receiver.closed.is_none_or(|closed| closed > since))
            }
            _ => true,
        };
        if !may_be {
            self.broken(Rule::Future, format!("a wait for {on:?} is over, and there is none"));
        }
    }

    /// Notes that an entity is told how many items another one has lost.
    pub(crate) fn told_of_losses(&mut self, task: usize, life: usize, count: u64) {
        self.note(task, Event::ToldOfLosses { life, count });
        // Threads take the numbers in order, and may begin their callbacks in any order.
        let in_order = self.starts_in_order(life);
        let told = &mut self.lives[life].told;
        let before = told.iter().max().copied().unwrap_or(0);
        let is_known = told.contains(&count);
        told.push(count);
        if count == 0 || is_known || in_order && count <= before {
            self.broken(Rule::Loss, format!("life {life} was told of {before} losses, and then of {count}"));
        }
    }

    /// Judges the time of arrival that the engine has for an item of a source.
    pub(crate) fn arrived(&mut self, task: usize, run: usize, item: Arrival) {
        let Run { life, seen, .. } = self.runs[run];
        let Arrival { at: arrival, sending, told } = item;
        // Before it was told of the item, another notification may have come, with a later time.
        if told == 0 || told > seen || self.may_share_arrival(task, life, sending) {
            return;
        }
        let executor = self.lives[life].executor;
        let picked = self.picked.get(task).copied().flatten().filter(|(of, _)| *of == executor);
        if let Some((_, picked)) = picked.filter(|(_, picked)| picked.release > arrival) {
            let message = format!("life {life} is released at {}, and its item arrived at {arrival}", picked.release);
            self.broken(Rule::Order, message);
        }
    }
    /// Returns true if another thread took an item of the entity since that note, or is about to. Between two steps of
    /// a notification it may have taken the time of arrival for that item. Then this activation counts from the moment
    /// at which the executor found the rest of the notification.
    fn may_share_arrival(&self, task: usize, life: usize, sending: At) -> bool {
        let (executor, priority) = (self.lives[life].executor, self.plan_of(life).priority);
        let of_entity = |pick: &&super::order::Pick| pick.executor == executor && pick.priority == priority;
        let mut others = self.dispatched.iter().filter(|pick| pick.task != task).filter(of_entity);
        self.limit(life) > 1 && others.any(|pick| pick.begun.is_none_or(|begun| begun > sending))
    }
}
