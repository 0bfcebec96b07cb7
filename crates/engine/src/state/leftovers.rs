//! What comes up while the state is borrowed, and runs code of the user's: incidents to tell of, callbacks and payloads to drop.

use std::any::Any;

use rospin_core::Scheduler;
use rospin_core::policy::Fifo;

use super::State;
use crate::body::Body;
use crate::changes::CHANGES_A_STEP;
use crate::incident::{Incident, contain};
use crate::shared::Shared;

/// What came up while the state was borrowed, and is dealt with once it is not: user code runs in both.
#[derive(Default)]
#[must_use]
pub(crate) struct Leftovers {
    pub(crate) incidents: Vec<Incident>,
    /// Callbacks and payloads of what was removed.
    pub(crate) garbage: Vec<Box<dyn Any + Send>>,
}

impl Leftovers {
    pub(crate) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.garbage.is_empty()
    }

    /// Tells the user of incidents, and drops the garbage. A panic in there is the user's, and ends there.
    pub(crate) fn deal_with(self, executor: &Shared) {
        for incident in &self.incidents {
            contain(|| (executor.report)(incident));
        }
        for garbage in self.garbage {
            contain(|| drop(garbage));
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

    /// Takes the incidents, and one thing of the user's to drop: what is urgent does not wait for more. Where many things come
    /// to be dropped, one in so many of them, so that they do not become more and more.
    pub(crate) fn take_some_leftovers(&mut self) -> Leftovers {
        let Leftovers { incidents, garbage } = &mut self.leftovers;
        let count = garbage.len().min(1 + garbage.len() / (2 * CHANGES_A_STEP));
        let garbage = garbage.split_off(garbage.len() - count);
        Leftovers { incidents: std::mem::take(incidents), garbage }
    }

    /// Has something of the user's dropped where no lock is held.
    pub(crate) fn discard(&mut self, garbage: Box<dyn Body>) {
        self.leftovers.garbage.push(garbage);
    }

    /// Everything that holds user code, to be dropped where no lock is held.
    pub(crate) fn take_contents(&mut self) -> Leftovers {
        let callbacks = std::mem::take(&mut self.entities).into_iter().flatten().flat_map(|entity| entity.slots);
        let payloads = std::mem::take(&mut self.groups).into_iter().flatten().filter_map(|group| group.payload);
        let scheduler = std::mem::replace(&mut self.scheduler, Scheduler::new(Box::new(Fifo::new())));
        let mut contents = self.take_leftovers();
        let garbage = &mut contents.garbage;
        garbage.extend(callbacks.filter_map(|slot| slot.callback).map(|callback| callback as _));
        garbage.extend(payloads);
        garbage.append(&mut self.detached);
        garbage.push(Box::new(scheduler));
        contents
    }
}
