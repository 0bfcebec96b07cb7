//! User code that must not run while the state is borrowed: reports of incidents, and the drops of callbacks and
//! payloads.

use std::any::Any;

use rospin_core::policy::Fifo;
use rospin_core::{Activation, Instant, Scheduler};

use super::State;
use crate::changes::CHANGES_A_STEP;
use crate::incident::{Incident, MissedDeadline};
use crate::panics::contain_and_log;
use crate::shared::Shared;
use crate::work::{Callback, Label};

/// Incidents and garbage that came up while the state was borrowed. Both are dealt with later, since both run user
/// code.
#[derive(Default)]
#[must_use]
pub(crate) struct Leftovers {
    pub(crate) incidents: Vec<Incident>,
    /// Missed deadlines, if the context has a function for them.
    pub(crate) misses: Vec<MissedDeadline>,
    /// Callbacks and payloads of removed entities and groups.
    pub(crate) garbage: Vec<Box<dyn Any + Send>>,
}

impl Leftovers {
    pub(crate) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.misses.is_empty() && self.garbage.is_empty()
    }

    /// Counts a deadline that was missed at `now`, and has it reported if the context has a function for that. The time
    /// that the entity waited for the first spin does not count: due times of timers are counted from their creation,
    /// and nobody promised that the spin comes in time.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_miss(
        &mut self,
        executor: &Shared,
        scheduler: &Scheduler,
        label: &Label,
        activation: &Activation,
        now: Instant,
    ) {
        let deadline = activation.deadline;
        let release = if activation.segment == 0 {
            activation.release
        } else {
            // A later segment has the time at which it was woken.
            scheduler.relative_deadline(activation.entity).map_or(deadline, |relative| deadline - relative)
        };
        let due = match executor.first_spin_after(release) {
            Some(first) => deadline + (first - release),
            None => deadline,
        };
        if now <= due {
            return;
        }
        let count = label.losses.add_miss();
        if executor.report_miss.is_some() {
            self.misses.push(MissedDeadline {
                executor: executor.name.clone(),
                group: label.group.to_string(),
                entity: label.entity.to_string(),
                lateness: now - due,
                count,
            });
        }
    }

    /// Reports the incidents, and drops the garbage. Panics of that user code end here.
    pub(crate) fn deal_with(self, executor: &Shared) {
        for incident in &self.incidents {
            contain_and_log("the function for incidents", || (executor.report)(incident));
        }
        for (missed, report) in self.misses.iter().zip(executor.report_miss.iter().cycle()) {
            contain_and_log("the function for missed deadlines", || report(missed));
        }
        for garbage in self.garbage {
            contain_and_log("a callback or payload that was dropped", || drop(garbage));
        }
    }
}

impl State {
    pub(crate) fn has_leftovers(&self) -> bool {
        !self.leftovers.is_empty()
    }

    pub(crate) fn take_leftovers(&mut self) -> Leftovers {
        std::mem::take(&mut self.leftovers)
    }

    /// Takes the incidents and a small part of the garbage, so that an urgent callback does not wait for all of it. The
    /// part grows with the garbage, so that garbage does not pile up.
    pub(crate) fn take_some_leftovers(&mut self) -> Leftovers {
        let Leftovers { incidents, misses, garbage } = &mut self.leftovers;
        let count = garbage.len().min(1 + garbage.len() / (2 * CHANGES_A_STEP));
        let garbage = garbage.split_off(garbage.len() - count);
        Leftovers { incidents: std::mem::take(incidents), misses: std::mem::take(misses), garbage }
    }

    /// Has the callback dropped when no lock is held.
    pub(crate) fn drop_later(&mut self, callback: Box<Callback>) {
        self.leftovers.garbage.push(Box::new(callback));
    }

    /// Takes everything that holds user code, to be dropped when no lock is held.
    pub(crate) fn take_contents(&mut self) -> Leftovers {
        let callbacks = std::mem::take(&mut self.entities).into_iter().flatten().flat_map(|entity| entity.slots);
        let payloads = std::mem::take(&mut self.groups).into_iter().flatten().filter_map(|group| group.payload);
        let scheduler = std::mem::replace(&mut self.scheduler, Scheduler::new(Box::new(Fifo::new())));
        let mut contents = self.take_leftovers();
        let garbage = &mut contents.garbage;
        garbage.extend(callbacks.filter_map(|slot| slot.callback).map(|callback| Box::new(callback) as _));
        garbage.extend(payloads);
        garbage.append(&mut self.detached);
        garbage.push(Box::new(scheduler));
        contents
    }
}
