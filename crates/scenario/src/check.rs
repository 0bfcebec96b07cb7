//! Whether a scenario makes sense: names lead somewhere, nothing is impossible.

use std::collections::BTreeSet;
use std::time::Duration;

use rospin_core::{ChainError, ClockKind, EntityKind, PriorityMap, policy};

use crate::callback::{Callback, ExecutionTime, Tolerance};
use crate::error::{CheckError, Path};
use crate::model::Scenario;
use crate::traffic::{Fault, Limit, Pattern};

/// As many cores as a simulated machine can have.
const CORES_MAX: u16 = 64;
const THREADS_MAX: u16 = 256;
const DEPTH_MAX: u32 = 1_000_000;
const BURST_MAX: u32 = 1_000_000;
const LIMIT_MAX: u32 = 1_000;
const TOLERANCE_MAX: u32 = 100_000;

pub(crate) type Check = Result<(), CheckError>;

/// A table of a section, to complain about its keys.
#[derive(Clone, Copy)]
pub(crate) struct Table(pub(crate) &'static str, pub(crate) usize);

impl Table {
    pub(crate) fn wrong<T>(self, key: &'static str, message: impl Into<String>) -> Result<T, CheckError> {
        let path = Path { section: self.0, table: Some(self.1), key: Some(key) };
        Err(CheckError { path, message: printable(&message.into()) })
    }

    pub(crate) fn require(self, key: &'static str, holds: bool, message: impl FnOnce() -> String) -> Check {
        if holds { Ok(()) } else { self.wrong(key, message()) }
    }
}

fn top(key: &'static str, holds: bool, message: impl Into<String>) -> Check {
    let path = Path { section: key, table: None, key: None };
    if holds { Ok(()) } else { Err(CheckError { path, message: printable(&message.into()) }) }
}

/// True for what makes a terminal do something, or shows text in another order than it has.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// With escapes in place of what must not reach a terminal.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        // Messages of the TOML reader have lines.
        if is_control(c) && c != '\n' { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}

impl Scenario {
    /// Whether the scenario can be run. [`parse`](Scenario::parse) asks by itself.
    ///
    /// # Errors
    /// The first thing that is wrong, and what to do about it.
    pub fn check(&self) -> Result<(), CheckError> {
        top("duration", !self.duration.is_zero(), "the scenario lasts no time; give it a duration above zero")?;
        top("seed", i64::try_from(self.seed).is_ok(), "a seed is at most 9223372036854775807")?;
        top("name", !self.name.contains(is_control), "the name has control characters in it; leave them out")?;
        let cores = format!("a machine has 1 to {CORES_MAX} cores");
        top("cores", self.cores.is_none_or(|cores| (1..=CORES_MAX).contains(&cores)), cores)?;
        top("executor", !self.executors.is_empty(), "nothing runs callbacks; add an [[executor]] with a `name`")?;
        self.check_executors()?;
        self.check_groups()?;
        self.check_callbacks()?;
        self.check_chains()?;
        self.check_releases()?;
        self.check_links()?;
        self.check_faults()
    }

    /// How many cores the executors share.
    #[must_use]
    pub fn core_count(&self) -> u16 {
        self.cores
            .unwrap_or_else(|| self.executors.iter().fold(0, |sum, executor| sum.saturating_add(executor.threads)))
    }

    /// The callbacks that a message to `name` is for: those that subscribe to it or join it, or the one that it names.
    pub fn receivers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (usize, &'a Callback)> {
        let is_for = move |callback: &Callback| {
            callback.subscribes.as_deref() == Some(name)
                || callback.joins.iter().any(|joined| joined == name)
                || (callback.name == name && is_addressed(callback))
        };
        self.callbacks.iter().enumerate().filter(move |(_, callback)| is_for(callback))
    }

    fn check_executors(&self) -> Check {
        unique("executor", self.executors.iter().map(|executor| &executor.name))?;
        let cores = self.core_count();
        for (number, executor) in self.executors.iter().enumerate() {
            let table = Table("executor", number);
            if let Err(error) = policy::by_name(&executor.policy) {
                return table.wrong("policy", error.to_string());
            }
            let threads = (1..=THREADS_MAX).contains(&executor.threads);
            table.require("threads", threads, || format!("an executor has 1 to {THREADS_MAX} threads"))?;
            let priority = (1..=99).contains(&executor.os_priority);
            table.require("os_priority", priority, || {
                "an OS priority is from 1 to 99, the larger the more urgent".into()
            })?;
            if let Some(core) = executor.cores.iter().find(|core| **core >= cores) {
                let message =
                    format!("there is no core {core}; the machine has 0 to {}: see `cores` at the top", cores - 1);
                return table.wrong("cores", message);
            }
            let ends = executor.stop.is_none_or(|stop| stop > executor.start);
            table.require("stop", ends, || "it is halted before it starts; give a later time".into())?;
        }
        let fits = cores <= CORES_MAX;
        top("executor", fits, format!("there are {cores} threads; say with `cores` how many cores they share"))
    }

    fn check_groups(&self) -> Check {
        unique("group", self.groups.iter().map(|group| &group.name))?;
        for (number, group) in self.groups.iter().enumerate() {
            let names = self.executors.iter().map(|executor| executor.name.as_str());
            known(Table("group", number), "executor", "executor", &group.executor, names)?;
        }
        Ok(())
    }

    fn check_callbacks(&self) -> Check {
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
            let depth = (1..=DEPTH_MAX).contains(&callback.depth);
            table.require("depth", depth, || format!("a queue holds 1 to {DEPTH_MAX} messages"))?;
            let in_flight = callback.max_in_flight.is_none_or(|count| (1..=1_000).contains(&count));
            table.require("max_in_flight", in_flight, || "from 1 to 1000 activations may be under way".into())?;
            check_execution(table, "execution", &callback.execution)?;
            for pause in &callback.awaits {
                check_execution(table, "awaits", &pause.wait)?;
                check_execution(table, "awaits", &pause.run)?;
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
                    "`{}` is taken before the lock in front of it is given back, or held for no time; one after the other",
                    section.lock
                )
            })?;
            free = section.after.saturating_add(section.hold);
        }
        table.require("locks", free <= callback.execution.longest(), || {
            "the last lock is held beyond the longest execution time; shorten `after` or `hold`".into()
        })
    }

    /// What a message can be sent to.
    fn addresses(&self) -> impl Iterator<Item = &str> {
        let callbacks = self.callbacks.iter().filter(|callback| is_addressed(callback));
        self.topics.iter().map(String::as_str).chain(callbacks.map(|callback| callback.name.as_str()))
    }

    fn check_chains(&self) -> Check {
        for (number, chain) in self.chains.iter().enumerate() {
            let table = Table("chain", number);
            table.require("name", !chain.name.contains(is_control), || {
                format!("`{}` has control characters in it; leave them out", chain.name)
            })?;
            let names = || self.callbacks.iter().map(|callback| callback.name.as_str());
            chain.callbacks.iter().try_for_each(|name| known(table, "callbacks", "callback", name, names()))?;
        }
        let chains: Vec<_> = self.chains.iter().map(crate::model::Chain::to_core).collect();
        if let Err(error) = PriorityMap::picas(&chains) {
            let (name, key) = match &error {
                ChainError::Duplicate { chain } => (chain, "name"),
                ChainError::Empty { chain } | ChainError::Cycle { chain, .. } => (chain, "callbacks"),
                _ => return top("chain", false, error.to_string()),
            };
            // The last one: of two with one name, the second is one too many.
            let number = self.chains.iter().rposition(|chain| chain.name == *name).unwrap_or(0);
            return Table("chain", number).wrong(key, error.to_string());
        }
        for (number, chain) in self.chains.iter().enumerate() {
            for pair in chain.callbacks.windows(2) {
                self.check_link(Table("chain", number), &pair[0], &pair[1])?;
            }
        }
        Ok(())
    }

    /// Whether data goes from one callback to the other.
    fn check_link(&self, table: Table, from: &str, to: &str) -> Check {
        let publisher = self.callbacks.iter().find(|callback| callback.name == from);
        let sends = publisher.into_iter().flat_map(|callback| &callback.publishes);
        let linked = sends.flat_map(|address| self.receivers(address)).any(|(_, callback)| callback.name == to);
        table.require("callbacks", linked, || match self.callbacks.iter().find(|callback| callback.name == to) {
            Some(timer) if timer.kind == EntityKind::Timer => {
                format!("`{to}` is a timer and takes nothing from `{from}`; let a chain of its own start there")
            }
            Some(Callback { subscribes: Some(topic), .. }) => {
                format!("`{from}` hands nothing on to `{to}`; let it publish `{topic}`")
            }
            _ => format!("`{from}` hands nothing on to `{to}`; let it publish `{to}`"),
        })
    }

    fn check_releases(&self) -> Check {
        for (number, release) in self.releases.iter().enumerate() {
            let table = Table("release", number);
            table.require("to", !release.to.is_empty(), || "it goes to nobody; name a topic or a callback".into())?;
            for name in &release.to {
                let timer = self.callbacks.iter().any(|c| c.name == *name && c.kind == EntityKind::Timer);
                let message = || format!("`{name}` is a timer: its `period` and `offset` release it");
                table.require("to", !timer, message)?;
                known(table, "to", "topic or callback", name, self.addresses())?;
            }
            let shortest_gap = match &release.pattern {
                Pattern::List(times) => shortest_gap(times),
                Pattern::Periodic { period, jitter, .. } => {
                    table.require("period", !period.is_zero(), || "the period is zero; give one above".into())?;
                    period.saturating_sub(*jitter)
                }
                Pattern::Sporadic { min, max, .. } => {
                    table.require("gap", !min.is_zero(), || "the shortest gap is zero; give one above".into())?;
                    table.require("gap", min <= max, || "the first gap is the shorter one; swap them".into())?;
                    *min
                }
                Pattern::Limited { limits, .. } => {
                    table.require("at_most", !limits.is_empty(), || {
                        "there is no limit; write one as in [[3, \"10 ms\"]]: at most 3 in any 10 ms".into()
                    })?;
                    let fits = |limit: &Limit| (1..=LIMIT_MAX).contains(&limit.count) && !limit.within.is_zero();
                    table.require("at_most", limits.iter().all(fits), || {
                        format!("a limit is 1 to {LIMIT_MAX} messages in a time above zero")
                    })?;
                    Duration::ZERO
                }
                Pattern::Measured { file, .. } => {
                    table
                        .require("measured", !file.is_empty(), || "name a file with one arrival time a line".into())?;
                    Duration::ZERO
                }
            };
            if let Some(burst) = release.burst {
                let count = (1..=BURST_MAX).contains(&burst.count);
                table.require("burst", count, || format!("a burst has 1 to {BURST_MAX} messages"))?;
                let fits = burst.spacing.checked_mul(burst.count - 1).is_some_and(|length| length <= shortest_gap);
                table.require("burst", fits, || "a burst lasts beyond the next one; shorten its spacing".into())?;
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Check {
        let mut seen = BTreeSet::new();
        for (number, link) in self.links.iter().enumerate() {
            let table = Table("link", number);
            table.require("to", !link.to.is_empty(), || "it leads to nobody; name a topic or a callback".into())?;
            for name in &link.to {
                known(table, "to", "topic or callback", name, self.addresses())?;
                table.require("to", seen.insert(name), || {
                    format!("there is a link to `{name}` already; leave one out")
                })?;
            }
            check_execution(table, "delay", &link.delay)?;
        }
        Ok(())
    }

    fn check_faults(&self) -> Check {
        for (number, fault) in self.faults.iter().enumerate() {
            let table = Table("fault", number);
            let (callback, probability) = match fault {
                Fault::Overrun { callback, probability, .. } | Fault::LostNotification { callback, probability } => {
                    (callback, *probability)
                }
                Fault::SpuriousNotification { callback, period } => {
                    table.require("period", !period.is_zero(), || "the period is zero; give one above".into())?;
                    (callback, 1.0)
                }
                Fault::ClockJump { clock, .. } => {
                    let can_be_set = *clock != ClockKind::Steady;
                    table.require("clock", can_be_set, || "the steady clock is never set; name another one".into())?;
                    continue;
                }
            };
            known(
                table,
                "callback",
                "callback",
                callback,
                self.callbacks.iter().map(|callback| callback.name.as_str()),
            )?;
            let is_probability = (0.0..=1.0).contains(&probability);
            table.require("probability", is_probability, || "a probability is from 0 to 1".into())?;
            let notified = matches!(fault, Fault::Overrun { .. }) || self.addresses().any(|name| name == callback);
            table.require("callback", notified, || format!("`{callback}` is a timer: nobody notifies it"))?;
        }
        Ok(())
    }
}

/// No two with one name, and none without.
pub(crate) fn unique<'a>(section: &'static str, names: impl Iterator<Item = &'a String>) -> Check {
    let mut seen = BTreeSet::new();
    for (number, name) in names.enumerate() {
        let table = Table(section, number);
        table.require("name", !name.is_empty(), || format!("this {section} has no name; give it one"))?;
        table.require("name", !name.contains(is_control), || {
            format!("`{name}` has control characters in it; leave them out")
        })?;
        table.require("name", seen.insert(name), || {
            format!("there is a {section} `{name}` already; rename one of them")
        })?;
    }
    Ok(())
}

pub(crate) fn known<'a>(
    table: Table,
    key: &'static str,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> Check {
    let names: Vec<_> = names.collect();
    table.require(key, names.contains(&name), || {
        let known = names.join(", ");
        match (name.is_empty(), known.is_empty()) {
            (_, true) => format!("there is no {what} `{name}`, nor any other; declare it"),
            (true, _) => format!("say which {what}; known are {known}"),
            _ => format!("there is no {what} `{name}`; known are {known}"),
        }
    })
}

/// Whether messages can be sent to the callback by its name.
fn is_addressed(callback: &Callback) -> bool {
    callback.kind != EntityKind::Timer && callback.joins.is_empty()
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

/// Whether the keys go with the kind.
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

fn check_execution(table: Table, key: &'static str, time: &ExecutionTime) -> Check {
    match time {
        ExecutionTime::Fixed(_) => Ok(()),
        ExecutionTime::Uniform(min, max) => {
            table.require(key, min <= max, || "the first time is the shorter one; swap them".into())
        }
        ExecutionTime::List(times) => table.require(key, !times.is_empty(), || "the list is empty; add a time".into()),
        ExecutionTime::Recorded(bins) => {
            let any = bins.iter().any(|bin| bin.count > 0);
            table.require(key, any, || "nothing was recorded; add a time and how often it was seen".into())
        }
    }
}

fn shortest_gap(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap_or(Duration::MAX)
}
