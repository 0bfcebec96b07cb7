//! Work conservation: no thread is idle while a callback may run, and no core while a thread is runnable.

use rospin_scenario::Scenario;

use super::ready::Books;
use super::{Judge, Rule, Verdict};
use crate::event::{Event, What};

/// Thread as the events show it.
#[derive(Clone, Copy, Debug)]
struct Thread {
    executor: usize,
    /// True from its waking to its parking, also while it has no core or waits for a lock.
    awake: bool,
    core: Option<usize>,
    /// Lock that the thread waits for.
    blocked: Option<usize>,
}

pub(super) struct Conservation<'a> {
    scenario: &'a Scenario,
    books: Books<'a>,
    threads: Vec<Thread>,
    spinning: Vec<bool>,
    /// The owner of each lock.
    owners: Vec<Option<usize>>,
    /// True if something happened since the cores and threads were checked last.
    touched: bool,
}

impl<'a> Conservation<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let threads = scenario.executors.iter().enumerate().flat_map(|(executor, plan)| {
            vec![Thread { executor, awake: false, core: None, blocked: None }; usize::from(plan.threads)]
        });
        let spinning = vec![false; scenario.executors.len()];
        let owners = vec![None; scenario.locks.len()];
        Self { scenario, books: Books::new(scenario), threads: threads.collect(), spinning, owners, touched: false }
    }

    /// Returns true if the scenario lets the thread use the core.
    fn may_use(&self, thread: &Thread, core: usize) -> bool {
        let cores = &self.scenario.executors[thread.executor].cores;
        cores.is_empty() || cores.iter().any(|own| usize::from(*own) == core)
    }

    /// Returns the thread's OS priority, or that of a more urgent thread that waits for a lock which this one holds.
    fn urgency(&self, thread: usize) -> u8 {
        let own = |thread: &Thread| self.scenario.executors[thread.executor].os_priority;
        let waits = |other: &&Thread| other.blocked.is_some_and(|lock| self.owners[lock] == Some(thread));
        let waiting = self.threads.iter().filter(waits).map(own);
        waiting.chain([own(&self.threads[thread])]).max().unwrap_or(0)
    }

    /// Enters an event of a lock. The error says that a thread waits for a free lock, or that two have one.
    fn lock(&mut self, what: What) -> Verdict {
        match what {
            What::Blocked(thread, lock) => {
                self.threads[thread].blocked = Some(lock);
                if self.owners[lock].is_none() {
                    return Err(format!("thread {thread} waits for lock {lock}, which is free"));
                }
            }
            What::Locked(thread, lock) => {
                self.threads[thread].blocked = None;
                if let Some(other) = self.owners[lock].replace(thread) {
                    return Err(format!("threads {other} and {thread} both have lock {lock}"));
                }
            }
            What::Unlocked(_, lock) => self.owners[lock] = None,
            _ => {}
        }
        Ok(())
    }

    /// Checks the cores: each has one thread, which may use it. No thread waits for a core that is idle or has a less
    /// urgent thread.
    fn judge_cores(&self) -> Verdict {
        let mut owners: Vec<Option<usize>> = vec![None; usize::from(self.scenario.core_count())];
        for (number, thread) in self.threads.iter().enumerate() {
            let Some(core) = thread.core else {
                continue;
            };
            if let Some(other) = owners[core].replace(number) {
                return Err(format!("threads {other} and {number} both have core {core}"));
            }
            if !self.may_use(thread, core) {
                return Err(format!("thread {number} has core {core}, which is not for it"));
            }
        }
        let can_run = |thread: &Thread| thread.awake && thread.core.is_none() && thread.blocked.is_none();
        for (number, thread) in self.threads.iter().enumerate().filter(|(_, thread)| can_run(thread)) {
            for (core, owner) in owners.iter().enumerate().filter(|(core, _)| self.may_use(thread, *core)) {
                match owner {
                    None => return Err(format!("core {core} is idle while thread {number} could use it")),
                    Some(owner) if self.urgency(*owner) < self.urgency(number) => {
                        return Err(format!("thread {owner} has core {core} while the more urgent {number} waits"));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Checks that no thread of a spinning executor sleeps while an activation may run that no thread is awake for.
    fn judge_threads(&self) -> Verdict {
        for executor in (0..self.spinning.len()).filter(|executor| self.spinning[*executor]) {
            let own = self.threads.iter().enumerate().filter(|(_, thread)| thread.executor == executor);
            let asleep = own.clone().find(|(_, thread)| !thread.awake);
            // A woken thread without a callback waits for a core, and picks a callback once it has one.
            let awake = own.filter(|(_, thread)| thread.awake).count();
            let asks = awake > self.books.of[executor].running.len();
            if let Some((number, _)) = asleep.filter(|_| !asks)
                && let Some((callback, _)) = self.books.eligible(executor).next()
            {
                return Err(format!("{} could run, and thread {number} is idle", self.books.name(*callback)));
            }
        }
        Ok(())
    }
}

impl Judge for Conservation<'_> {
    fn rule(&self) -> Rule {
        Rule::WorkConservation
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        // Another oracle judges activations that were never ready.
        let _ = self.books.enter(event);
        match event.what {
            What::SpinStarted => self.spinning[event.executor] = true,
            What::Halted => self.spinning[event.executor] = false,
            What::Woken(thread) => self.threads[thread].awake = true,
            What::Parked(thread) => self.threads[thread].awake = false,
            What::Placed(thread, core) => self.threads[thread].core = Some(core),
            What::Displaced(thread, _) => self.threads[thread].core = None,
            What::Blocked(..) | What::Locked(..) | What::Unlocked(..) => {
                self.touched = true;
                return self.lock(event.what);
            }
            What::Settled => {
                if std::mem::take(&mut self.touched) {
                    return self.judge_threads().and_then(|()| self.judge_cores());
                }
                return Ok(());
            }
            _ => {}
        }
        self.touched = true;
        Ok(())
    }
}
