//! Checks of callbacks, topics and locks.

use std::collections::BTreeSet;
use std::time::Duration;

use rospin_core::{DEPTH_MAX, EntityKind};

use crate::callback::{Callback, Tolerance};
use crate::model::Scenario;

use super::{Check, Table, check_execution, known, top, unique};
use crate::printable::is_control;

/// Maximum number of consecutive activations that a tolerance counts.
const TOLERANCE_MAX: u32 = 100_000;

impl Scenario {
    pub(super) fn check_callbacks(&self) -> Check {
        unique("callback", self.callbacks.iter().map(|callback| &callback.name))?;
        let mut topics = BTreeSet::new();
        for topic in &self.topics {
            top("topics", !topic.is_empty(), "a topic has no name; give it one")?;
            let message = || format!("topic `{topic}` has control characters in it; leave them out");
            top("topics", !topic.contains(is_control), message())?;
            top("topics", topics.insert(topic), format!("topic `{topic}` is there twice; leave one out"))?;
            let callback = self.callbacks.iter().any(|callback| callback.name == *topic);
            top("topics", !callback, format!("a topic and a callback are called `{topic}`; rename one of them"))?;
        }
        let mut locks = BTreeSet::new();
        for lock in &self.locks {
            let named = !lock.is_empty() && !lock.contains(is_control);
            top("locks", named, "a lock has no name, or control characters in it; give it one without")?;
            top("locks", locks.insert(lock), format!("lock `{lock}` is there twice; leave one out"))?;
        }
        for (number, callback) in self.callbacks.iter().enumerate() {
            let table = Table("callback", number);
            let groups = self.groups.iter().map(|group| group.name.as_str());
            known(table, "group", "group", &callback.group, groups)?;
            check_kind(table, callback)?;
            let depth = (1..=DEPTH_MAX).contains(&(callback.depth as usize));
            table.require("depth", depth, || format!("a queue holds 1 to {DEPTH_MAX} messages"))?;
            let in_flight = callback.max_in_flight.is_none_or(|count| (1..=1_000).contains(&count));
            table.require("max_in_flight", in_flight, || "from 1 to 1000 activations may be under way".into())?;
            check_execution(table, "execution", &callback.execution)?;
            for pause in &callback.awaits {
                self.check_await(table, pause)?;
            }
            if let Some(topic) = &callback.subscribes {
                known(table, "subscribes", "topic", topic, self.topics.iter().map(String::as_str))?;
            }
            self.check_joins(table, callback)?;
            check_tolerance(table, callback)?;
            self.check_sections(table, callback)?;
            callback
                .publishes
                .iter()
                .try_for_each(|name| known(table, "publishes", "topic", name, self.addresses()))?;
        }
        Ok(())
    }

    fn check_joins(&self, table: Table, callback: &Callback) -> Check {
        let joins = &callback.joins;
        if joins.is_empty() {
            return Ok(());
        }
        let wrong = |message: &str| table.wrong("joins", message);
        if callback.kind != EntityKind::Subscription {
            return wrong("only a subscription joins topics; give it the kind \"subscription\"");
        }
        if callback.subscribes.is_some() {
            return wrong("it listens to a topic already; add that to `joins`, and leave `subscribes` out");
        }
        if joins.len() < 2 {
            return wrong("a join has two topics or more; `subscribes` is for one");
        }
        if let Some(twice) = joins.iter().enumerate().find(|(place, topic)| joins[..*place].contains(topic)) {
            return wrong(&format!("topic `{}` is there twice; leave one out", twice.1));
        }
        joins.iter().try_for_each(|topic| known(table, "joins", "topic", topic, self.topics.iter().map(String::as_str)))
    }

    fn check_sections(&self, table: Table, callback: &Callback) -> Check {
        if callback.locks.is_empty() {
            return Ok(());
        }
        table.require("locks", callback.awaits.is_empty(), || {
            "a callback that awaits takes no locks: they would be held meanwhile; split it".into()
        })?;
        let mut free = Duration::ZERO;
        for section in &callback.locks {
            known(table, "locks", "lock", &section.lock, self.locks.iter().map(String::as_str))?;
            table.require("locks", section.after >= free && !section.hold.is_zero(), || {
                format!(
                    "`{}` is taken before the lock in front of it is given back, or held for no time; one after the \
                     other",
                    section.lock
                )
            })?;
            free = section.after.saturating_add(section.hold);
        }
        table.require("locks", free <= callback.execution.longest(), || {
            "the last lock is held beyond the longest execution time; shorten `after` or `hold`".into()
        })
    }
}

fn check_tolerance(table: Table, callback: &Callback) -> Check {
    let Some(Tolerance { misses, of }) = callback.tolerates else { return Ok(()) };
    let fits = (1..=TOLERANCE_MAX).contains(&of) && misses < of;
    table.require("tolerates", fits, || {
        format!("fewer misses than activations, of 1 to {TOLERANCE_MAX} in a row; write {{ misses = 1, of = 10 }}")
    })?;
    table.require("tolerates", callback.relative_deadline().is_some(), || {
        "there is no deadline to miss; give it a `deadline`".into()
    })
}

/// Checks that the callback's keys are allowed for its kind.
fn check_kind(table: Table, callback: &Callback) -> Check {
    let kind = callback.kind;
    if kind == EntityKind::Timer {
        table.require("period", callback.period != Some(Duration::ZERO), || {
            "the period is zero: it would always be due; give one above, or only an `offset` to fire once".into()
        })?;
        table.require("kind", callback.period.or(callback.offset).is_some(), || {
            "a timer has a `period`, or only an `offset` to fire once".into()
        })?;
    } else {
        let stray = [("period", callback.period.is_some()), ("offset", callback.offset.is_some())];
        for (key, given) in stray {
            table.require(key, !given, || format!("`{key}` is for timers, this is a {kind}; use a [[release]]"))?;
        }
    }
    let subscribes = callback.subscribes.is_none() || kind == EntityKind::Subscription;
    table.require("subscribes", subscribes, || format!("only a subscription listens to a topic, this is a {kind}"))
}
