//! A mutually exclusive group runs one callback at a time.

use rospin_core::trace::TraceEvent;
use rospin_scenario::Scenario;

use super::ready::Books;
use super::{Judge, Rule, Verdict};
use crate::event::{Event, What};

pub(super) struct Exclusion<'a>(Books<'a>);

impl<'a> Exclusion<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        Self(Books::new(scenario))
    }
}

impl Judge for Exclusion<'_> {
    fn rule(&self) -> Rule {
        Rule::GroupExclusion
    }

    fn judge(&mut self, event: &Event) -> Verdict {
        let obstacle = match &event.what {
            What::Scheduler(Some(callback), TraceEvent::Dispatched(_, activation)) => {
                let obstacle = self.0.obstacle(event.executor, *callback, activation);
                obstacle.map(|obstacle| format!("{} was dispatched, although {obstacle}", self.0.name(*callback)))
            }
            _ => None,
        };
        // Another oracle judges activations that were never ready.
        let _ = self.0.enter(event);
        obstacle.map_or(Ok(()), Err)
    }
}
