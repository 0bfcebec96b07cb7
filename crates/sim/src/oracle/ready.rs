//! An oracle's own record of ready, running and suspended activations, for all executors.

use rospin_core::trace::TraceEvent;
use rospin_core::{Activation, GroupKind};
use rospin_scenario::{Callback, Scenario};

use crate::event::{Event, What};

/// Returns true for segments of the same activation.
fn same(a: &Activation, b: &Activation) -> bool {
    (a.entity, a.sequence) == (b.entity, b.sequence)
}

/// Record of one executor.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    /// Activations that were released and not dispatched, with their callbacks.
    pub(super) ready: Vec<(usize, Activation)>,
    /// Activations that a thread runs, with their callbacks.
    pub(super) running: Vec<(usize, Activation)>,
    /// Activations that await something, with their callbacks.
    suspended: Vec<(usize, Activation)>,
    /// Number of ready activations that were suspended before.
    resumed: usize,
}

impl Book {
    /// Returns the ready activations that were suspended before. Without asynchronous callbacks there are none, and no
    /// search is needed.
    fn resumed(&self) -> impl Iterator<Item = &(usize, Activation)> {
        let searched = if self.resumed > 0 { self.ready.len() } else { 0 };
        self.ready[..searched].iter().filter(|(_, ready)| ready.segment > 0)
    }
}

/// The records of all executors.
#[derive(Debug)]
pub(super) struct Books<'a> {
    scenario: &'a Scenario,
    pub(super) of: Vec<Book>,
    /// The group's kind and the maximum number of activations at once, for each callback.
    limits: Vec<(GroupKind, u32)>,
    /// The executor of each callback.
    pub(super) executors: Vec<usize>,
}

impl<'a> Books<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let group = |callback: &Callback| scenario.groups.iter().find(|group| group.name == callback.group);
        let executor = |callback: &Callback| {
            let group = group(callback)?;
            scenario.executors.iter().position(|executor| executor.name == group.executor)
        };
        let limits = scenario.callbacks.iter().map(|callback| {
            let kind = group(callback).map_or(GroupKind::MutuallyExclusive, |group| group.kind);
            let threads = executor(callback).map_or(1, |executor| scenario.executors[executor].threads);
            (kind, callback.in_flight(kind, threads))
        });
        Self {
            scenario,
            of: vec![Book::default(); scenario.executors.len()],
            limits: limits.collect(),
            executors: scenario.callbacks.iter().map(|callback| executor(callback).unwrap_or(0)).collect(),
        }
    }

    /// Records an event of a scheduler. The error says what does not fit the record.
    pub(super) fn enter(&mut self, event: &Event) -> Result<(), String> {
        let What::Scheduler(Some(callback), decision) = &event.what else {
            return Ok(());
        };
        let (callback, name) = (*callback, &self.scenario.callbacks[*callback].name);
        let book = &mut self.of[event.executor];
        match decision {
            TraceEvent::Released(activation) => {
                book.suspended.retain(|(_, suspended)| !same(suspended, activation));
                book.resumed += usize::from(activation.segment > 0);
                book.ready.push((callback, *activation));
            }
            TraceEvent::Antedated(activation) => {
                book.ready.retain(|(_, ready)| ready.entity != activation.entity || ready.segment > 0);
                book.resumed += usize::from(activation.segment > 0);
                book.ready.push((callback, *activation));
            }
            TraceEvent::Dispatched(_, activation) => {
                let at = book.ready.iter().position(|(_, ready)| ready == activation);
                let ready = at.map(|at| book.ready.remove(at));
                book.resumed -= usize::from(ready.is_some_and(|(_, ready)| ready.segment > 0));
                book.running.push((callback, *activation));
                if ready.is_none() {
                    return Err(format!("{name} #{} was dispatched without being ready", activation.sequence));
                }
            }
            TraceEvent::Suspended(activation) => {
                book.running.retain(|(_, running)| !same(running, activation));
                book.suspended.push((callback, *activation));
            }
            TraceEvent::Completed(activation) => book.running.retain(|(_, running)| !same(running, activation)),
            _ => {}
        }
        Ok(())
    }

    /// Returns what keeps the activation from running, as words for an error: the group's holder, or the limit of its
    /// own callback. `None` if nothing does.
    pub(super) fn obstacle(&self, executor: usize, callback: usize, activation: &Activation) -> Option<String> {
        let plans = &self.scenario.callbacks;
        let book = &self.of[executor];
        let (kind, in_flight) = self.limits[callback];
        if kind == GroupKind::MutuallyExclusive {
            let in_group = |other: usize| plans[other].group == plans[callback].group;
            let holds = |(other, holder): &&(usize, Activation)| in_group(*other) && !same(holder, activation);
            let keeps = |(other, _): &&(usize, Activation)| !plans[*other].releases_group_at_await;
            let waiting = book.suspended.iter().chain(book.resumed()).filter(keeps);
            if let Some((holder, _)) = book.running.iter().chain(waiting).find(holds) {
                return Some(format!("its group is held by {}", plans[*holder].name));
            }
        }
        let own = self.under_way(executor, callback, activation);
        (activation.segment == 0 && own >= in_flight as usize).then(|| format!("{own} of it are under way"))
    }

    /// Returns how many other activations of the callback have started and not ended.
    fn under_way(&self, executor: usize, callback: usize, activation: &Activation) -> usize {
        let book = &self.of[executor];
        let under_way = book.running.iter().chain(&book.suspended).chain(book.resumed());
        under_way.filter(|(other, known)| *other == callback && !same(known, activation)).count()
    }

    /// Returns the ready activations that wait for a resumed one, because it holds their group: it inherits their
    /// urgency. There are none if it holds no group.
    pub(super) fn waiting_for(
        &self,
        executor: usize,
        callback: usize,
        activation: &Activation,
    ) -> impl Iterator<Item = &(usize, Activation)> {
        let plans = &self.scenario.callbacks;
        let holds = activation.segment > 0
            && self.limits[callback].0 == GroupKind::MutuallyExclusive
            && !plans[callback].releases_group_at_await;
        let (group, activation) = (&plans[callback].group, *activation);
        self.of[executor].ready.iter().filter(move |(other, ready)| {
            let is_below_limit =
                ready.segment > 0 || self.under_way(executor, *other, ready) < self.limits[*other].1 as usize;
            holds && plans[*other].group == *group && !same(ready, &activation) && is_below_limit
        })
    }

    /// Returns the executor's activations that may run, with their callbacks.
    pub(super) fn eligible(&self, executor: usize) -> impl Iterator<Item = &(usize, Activation)> {
        let free = move |(callback, ready): &&(usize, Activation)| self.obstacle(executor, *callback, ready).is_none();
        self.of[executor].ready.iter().filter(free)
    }

    /// Returns true if an activation of the callback is suspended.
    pub(super) fn is_suspended(&self, executor: usize, callback: usize) -> bool {
        self.of[executor].suspended.iter().any(|(suspended, _)| *suspended == callback)
    }

    pub(super) fn name(&self, callback: usize) -> &str {
        &self.scenario.callbacks[callback].name
    }
}
