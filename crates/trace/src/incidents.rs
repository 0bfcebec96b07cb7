//! The reasons for which a flight recorder writes the last seconds.

use std::collections::HashMap;

use rospin_core::recording::{Definition, Event, LOSS_CAUSES, VIOLATIONS, Words};

use crate::monitor::RoundSorter;
use crate::overdue::{Overdue, Told, Watch};

/// The nanoseconds after which callbacks that do not run are looked for again.
const LOOK: u64 = 10_000_000;
/// The largest number of names that are remembered.
const NAMES: usize = 1 << 16;

/// The events of a program, followed for incidents. What is late because its executor did not spin yet is none.
#[derive(Default)]
pub(crate) struct Incidents {
    watch: Watch,
    order: RoundSorter,
    /// Names of callbacks, by executor and place.
    names: HashMap<(u16, u32), String>,
    next_look: u64,
}

impl Incidents {
    pub(crate) fn define(&mut self, definition: &Definition) {
        self.watch.define(definition);
        if let Definition::Entity { executor, entity, name, .. } = definition {
            let key = (*executor, *entity as u32);
            if self.names.len() < NAMES || self.names.contains_key(&key) {
                self.names.insert(key, name.clone());
            }
        }
    }

    /// Takes further events of a thread.
    pub(crate) fn add(&mut self, thread: u32, events: &[Words]) {
        self.order.add(thread, events);
    }

    /// Returns the first incident among the events that are in their order, if there is one. `is_last` tells that none
    /// come after those that were added.
    pub(crate) fn find(&mut self, is_last: bool) -> Option<String> {
        let events = if is_last { self.order.flush() } else { self.order.end_round() };
        let mut found = None;
        for (thread, at, event) in events {
            let at = at.as_nanos();
            let reason = self.reason(at, &event);
            self.watch.event(thread, at, &event);
            let reason = reason.or_else(|| self.look(at));
            found = found.or(reason);
        }
        found
    }

    fn reason(&self, at: u64, event: &Event) -> Option<String> {
        match *event {
            Event::Completed { step, deadline, .. }
                if at > deadline.as_nanos().saturating_add(self.watch.before_spin(&step)) =>
            {
                Some("a deadline was missed".to_owned())
            }
            Event::Lost { cause, .. } => {
                Some(format!("an item was lost: {}", LOSS_CAUSES.get(usize::from(cause)).unwrap_or(&"unknown")))
            }
            Event::Overrun { executor, entity, count }
                if count > self.watch.skipped_before_spin(executor, entity, at, count) =>
            {
                Some("a timer skipped a due time".to_owned())
            }
            Event::Violation { kind, .. } => {
                Some(format!("a callback {}", VIOLATIONS.get(usize::from(kind)).unwrap_or(&"violated a limit")))
            }
            Event::Incident { .. } => Some("a callback panicked or failed".to_owned()),
            _ => None,
        }
    }

    /// Returns a sentence about a callback that should run and does not.
    fn look(&mut self, at: u64) -> Option<String> {
        if at < self.next_look {
            return None;
        }
        self.next_look = at.saturating_add(LOOK);
        let overdue = self.watch.overdue(at);
        let Overdue { of, kind, for_ns, is_at_least, limit_ns, reason, culprit, .. } = *overdue.first()?;
        let name = |of: (u16, u64)| self.names.get(&(of.0, of.1 as u32)).map(String::as_str);
        let told = Told { kind, for_ns, is_at_least, limit_ns, reason, culprit: culprit.and_then(name) };
        Some(format!("{} {}", name(of).unwrap_or("a callback"), told.text()))
    }
}
