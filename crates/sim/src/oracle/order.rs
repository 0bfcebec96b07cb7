//! Order: the dispatched activation is the policy's first one of those that may run.

use std::cmp::Reverse;

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, EntityKind};
use rospin_scenario::Scenario;

use super::ready::Books;
use super::{Judge, Rule, Verdict};
use crate::event::{Event, What};

pub(super) struct OrderRule<'a> {
    scenario: &'a Scenario,
    books: Books<'a>,
    /// The ready set of each executor's last polling point. Activations that were dispatched since are still in it.
    ready_sets: Vec<Vec<Activation>>,
}

impl<'a> OrderRule<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let ready_sets = vec![Vec::new(); scenario.executors.len()];
        Self { scenario, books: Books::new(scenario), ready_sets }
    }

    /// Checks that the activation is the first one in the order of the executor's policy. Policies that this oracle
    /// does not know pass.
    fn dispatched(&self, executor: usize, callback: usize, activation: &Activation) -> Verdict {
        self.check_stamps(callback, activation)?;
        let first = match self.scenario.executors[executor].policy.as_str() {
            "fifo" => self.first(executor, |_| 0),
            "fixed-priority" => self.first(executor, |ready| Reverse(ready.priority)),
            "edf" => self.first(executor, |ready| ready.deadline),
            "wait-set-e1" => self.due_timer(executor).or_else(|| self.first_of_set(executor)),
            "wait-set-e2" => self.first_of_set(executor),
            _ => return Ok(()),
        };
        let name = self.books.name(callback);
        match first {
            Some((_, first)) if first == activation => Ok(()),
            Some((other, _)) => Err(format!("{name} was dispatched before {}", self.books.name(*other))),
            None => Err(format!("{name} was dispatched, and should not have been")),
        }
    }

    /// Checks that an activation has the priority and the deadline of the scenario.
    fn check_stamps(&self, callback: usize, activation: &Activation) -> Verdict {
        let plan = &self.scenario.callbacks[callback];
        if plan.priority.is_some_and(|priority| priority != activation.priority.0) {
            return Err(format!("{} has priority {}", plan.name, activation.priority));
        }
        let due = plan.relative_deadline().map(|deadline| activation.release + deadline);
        if activation.segment == 0 && due.is_some_and(|due| due != activation.deadline) {
            return Err(format!("{} has the deadline {:?}", plan.name, activation.deadline));
        }
        Ok(())
    }

    /// Returns the eligible activation with the smallest key; equal ones by release, registration and sequence. The
    /// holder of a group inherits all of that from activations that wait for the group. `None` if no activation may
    /// run.
    fn first<K: Ord>(&self, executor: usize, key: impl Fn(&Activation) -> K) -> Option<&(usize, Activation)> {
        let own = |ready: &Activation| (key(ready), ready.release, ready.registration, ready.sequence);
        let inherited = |(callback, ready): &&(usize, Activation)| {
            let waiting = self.books.waiting_for(executor, *callback, ready);
            waiting.map(|(_, waiting)| own(waiting)).min().map_or(own(ready), |best| best.min(own(ready)))
        };
        self.books.eligible(executor).min_by_key(inherited)
    }

    /// Returns the due timer that was registered first; `None` if no timer may run.
    fn due_timer(&self, executor: usize) -> Option<&(usize, Activation)> {
        let timers = self.books.eligible(executor).filter(|(_, ready)| ready.kind == EntityKind::Timer);
        timers.min_by_key(|(_, ready)| (ready.registration, ready.sequence))
    }

    /// Returns the first activation of the ready set that may run: by kind, then by registration.
    fn first_of_set(&self, executor: usize) -> Option<&(usize, Activation)> {
        let set = &self.ready_sets[executor];
        let in_set = self.books.eligible(executor).filter(|(_, ready)| set.contains(ready));
        in_set.min_by_key(|(_, ready)| (ready.kind, ready.registration, ready.sequence))
    }
}

impl Judge for OrderRule<'_> {
    fn rule(&self) -> Rule {
        Rule::Order
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        let verdict = match &event.what {
            What::Scheduler(_, TraceEvent::PollingPoint(_)) => {
                self.ready_sets[event.executor].clear();
                Ok(())
            }
            What::Scheduler(_, TraceEvent::Collected(activation)) => {
                self.ready_sets[event.executor].push(*activation);
                Ok(())
            }
            What::Scheduler(Some(callback), TraceEvent::Dispatched(_, activation)) => {
                self.dispatched(event.executor, *callback, activation)
            }
            _ => Ok(()),
        };
        // Another oracle judges activations that were never ready.
        let _ = self.books.enter(event);
        verdict
    }
}
