//! Nothing is lost: every release is dispatched or still waits, every message is taken, displaced or queued, every due
//! time is accounted for.

use std::collections::VecDeque;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, Instant, Overrun};
use rospin_scenario::{Callback, Scenario};

use super::ready::Books;
use super::{Judge, Rule, Verdict};
use crate::event::{Event, What};

/// A timer's due times, as far as the events tell.
#[derive(Clone, Copy, Default)]
struct Timer {
    /// Due time of the last dispatched activation; `None` before the first one.
    last: Option<Instant>,
    /// Number of due times that were given up since the last one that was dispatched.
    given_up: u64,
    /// Number of due times given up that were announced since the last dispatch. They follow the due time of the next
    /// dispatch.
    announced: u64,
}

pub(super) struct Loss<'a> {
    scenario: &'a Scenario,
    books: Books<'a>,
    /// The arrivals of the messages in each callback's queue.
    queues: Vec<VecDeque<Instant>>,
    /// True for each callback whose last message was not notified.
    unnoticed: Vec<bool>,
    timers: Vec<Timer>,
    /// Number of threads of each executor that are awake.
    awake: Vec<i64>,
    spinning: Vec<bool>,
    /// Executor of each thread.
    threads: Vec<usize>,
    /// Sequence number of each executor's last release; `None` before the first one.
    last_sequence: Vec<Option<u64>>,
    /// True for each executor all of whose threads were asleep at the end of the last instant.
    slept_on: Vec<bool>,
}

impl<'a> Loss<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let (callbacks, executors) = (scenario.callbacks.len(), scenario.executors.len());
        let threads = scenario.executors.iter().enumerate();
        Self {
            scenario,
            books: Books::new(scenario),
            queues: vec![VecDeque::new(); callbacks],
            unnoticed: vec![false; callbacks],
            timers: vec![Timer::default(); callbacks],
            awake: vec![0; executors],
            spinning: vec![false; executors],
            threads: threads.flat_map(|(number, plan)| vec![number; usize::from(plan.threads)]).collect(),
            last_sequence: vec![None; executors],
            slept_on: vec![false; executors],
        }
    }

    /// Enters a message into the callback's queue. The error says that the queue exceeds its depth.
    fn arrived(&mut self, callback: usize, at: Instant) -> Verdict {
        let depth = self.scenario.callbacks[callback].depth as usize;
        self.queues[callback].push_back(at);
        self.unnoticed[callback] = false;
        let name = self.books.name(callback);
        let queued = self.queues[callback].len();
        if queued > depth { Err(format!("{name} has {queued} messages queued, and room for {depth}")) } else { Ok(()) }
    }

    /// Removes the oldest message from the queue. The error says that another message than this one was taken or
    /// displaced.
    fn leaves(&mut self, callback: usize, arrival: Option<Instant>) -> Verdict {
        let oldest = self.queues[callback].pop_front();
        if oldest == arrival {
            return Ok(());
        }
        Err(format!(
            "{} takes or drops the message of {arrival:?}, its oldest is of {oldest:?}",
            self.books.name(callback)
        ))
    }

    /// Checks that a new activation has a larger sequence number than all before it in its executor.
    fn released(&mut self, executor: usize, activation: &Activation) -> Verdict {
        if activation.segment > 0 {
            return Ok(());
        }
        let last = self.last_sequence[executor].replace(activation.sequence);
        if last.is_some_and(|last| last >= activation.sequence) {
            return Err(format!("sequence number {} is not new", activation.sequence));
        }
        Ok(())
    }

    /// Checks the due time of a timer's activation: it follows the last one by the period and one more for each due
    /// time that was given up.
    fn timer_dispatched(&mut self, callback: usize, release: Instant) -> Verdict {
        let plan = &self.scenario.callbacks[callback];
        let timer = &mut self.timers[callback];
        let announced = std::mem::take(&mut timer.announced);
        let (last, given_up) = (timer.last.replace(release), std::mem::replace(&mut timer.given_up, announced));
        // The due times of clocks that jump, and of timers with a shifted phase, are on no grid.
        let on_grid = plan.clock == rospin_core::ClockKind::Steady && plan.overrun != Overrun::ShiftPhase;
        match next_due(plan, last, given_up) {
            Some(expected) if on_grid && release != expected => Err(format!(
                "{} was due at {expected:?}, with {given_up} given up, and is run for {release:?}",
                plan.name
            )),
            _ => Ok(()),
        }
    }

    /// Checks that a due timer is noticed: if one thread sleeps and the others run callbacks, the sleeping one must
    /// wake.
    fn due_timers(&self, now: Instant) -> Verdict {
        for (callback, plan) in self.scenario.callbacks.iter().enumerate() {
            let executor = self.books.executors[callback];
            let book = &self.books.of[executor];
            let threads = i64::from(self.scenario.executors[executor].threads);
            let watched = self.awake[executor] < threads && self.awake[executor] == book.running.len() as i64;
            let on_grid = plan.clock == rospin_core::ClockKind::Steady && plan.overrun != Overrun::ShiftPhase;
            let is_timer = plan.kind == rospin_core::EntityKind::Timer;
            if !is_timer || !on_grid || !watched || !self.spinning[executor] {
                continue;
            }
            let Timer { last, given_up, .. } = self.timers[callback];
            let due = next_due(plan, last, given_up).filter(|due| *due <= now);
            if let Some(due) = due.filter(|_| !book.ready.iter().any(|(ready, _)| *ready == callback)) {
                return Err(format!("{} was due at {due:?}, and nobody noticed", plan.name));
            }
        }
        Ok(())
    }

    /// Checks at an instant's end that no queue was forgotten while all threads sleep.
    fn queues(&self) -> Verdict {
        for callback in (0..self.queues.len()).filter(|callback| !self.queues[*callback].is_empty()) {
            let executor = self.books.executors[callback];
            let asleep = self.spinning[executor] && self.awake[executor] == 0;
            let ready = self.books.of[executor].ready.iter().any(|(ready, _)| *ready == callback);
            if asleep && !ready && !self.unnoticed[callback] && !self.books.is_suspended(executor, callback) {
                let name = self.books.name(callback);
                return Err(format!("{name} has messages, nobody knows of them, and all threads are asleep"));
            }
        }
        Ok(())
    }

    /// Checks at a halt that no activation that may run is left if all threads of the executor were asleep at the end
    /// of the last instant.
    fn halted(&mut self, executor: usize) -> Verdict {
        self.spinning[executor] = false;
        let forgotten = self.books.eligible(executor).find(|_| self.slept_on[executor]);
        forgotten.map_or(Ok(()), |(callback, activation)| {
            let name = self.books.name(*callback);
            Err(format!("{name}, released at {:?}, was never dispatched, though all threads slept", activation.release))
        })
    }
}

/// Returns the due time after `last`, which was dispatched last, with `given_up` due times in between; the first due
/// time if none was dispatched. Returns `None` after the only due time of a timer that fires once.
fn next_due(plan: &Callback, last: Option<Instant>, given_up: u64) -> Option<Instant> {
    match last {
        None => Some(Instant::ZERO + plan.first_due()),
        Some(last) => Some(last + plan.period? * u32::try_from(given_up + 1).unwrap_or(u32::MAX)),
    }
}

impl Judge for Loss<'_> {
    fn rule(&self) -> Rule {
        Rule::NothingLost
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        let entered = self.books.enter(event);
        match event.what {
            What::SpinStarted => self.spinning[event.executor] = true,
            What::Halted => return self.halted(event.executor),
            What::Woken(thread) => self.awake[self.threads[thread]] += 1,
            What::Parked(thread) => self.awake[self.threads[thread]] -= 1,
            What::Arrived(callback) => return self.arrived(callback, event.at),
            What::NotificationLost(callback) => self.unnoticed[callback] = true,
            What::Dropped(callback, arrival) => return self.leaves(callback, Some(arrival)),
            What::Took(callback, arrival) => return self.leaves(callback, arrival),
            What::Settled => {
                for (slept_on, awake) in self.slept_on.iter_mut().zip(&self.awake) {
                    *slept_on = *awake == 0;
                }
                return self.queues().and_then(|()| self.due_timers(event.at));
            }
            What::Scheduler(_, TraceEvent::Released(activation)) => return self.released(event.executor, &activation),
            What::Scheduler(Some(callback), TraceEvent::Overrun(_, count)) => self.timers[callback].announced += count,
            What::Scheduler(Some(callback), TraceEvent::Dispatched(_, activation)) => {
                entered?;
                let timer = activation.kind == rospin_core::EntityKind::Timer && activation.segment == 0;
                return if timer { self.timer_dispatched(callback, activation.release) } else { Ok(()) };
            }
            _ => {}
        }
        entered
    }
}
