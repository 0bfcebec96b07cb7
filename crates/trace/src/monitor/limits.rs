//! Limits that a system file states, and bounds that an analysis has proven of it, by the names of callbacks and
//! chains.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rospin_core::{ClockKind, EntityKind};
use rospin_scenario::{Bounds, Callback, Fault, Scenario};

use super::arrivals::{Spans, ns};

/// Limits of a system.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    pub(super) callbacks: BTreeMap<String, Arc<Limit>>,
    pub(super) chains: Vec<ChainLimit>,
    /// The policy and the number of threads of each executor, by its name.
    pub(super) executors: BTreeMap<String, (String, u16)>,
}

/// Limits of a callback. `None` stands for no limit.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) kind: EntityKind,
    pub(super) executor: String,
    pub(super) period_ns: Option<u64>,
    pub(super) priority: Option<u32>,
    pub(super) execution_ns: Option<u64>,
    pub(super) deadline_ns: Option<u64>,
    /// Misses that are tolerated, of so many activations in a row.
    pub(super) tolerates: (u64, u64),
    pub(super) bound_ns: Option<u64>,
    /// The largest number of messages that wait at once, as the analysis has proven.
    pub(super) backlog: Option<u64>,
    /// True if newer messages displace older ones in the described system, too: in a join, or where the analysis says
    /// so.
    pub(super) may_lose: bool,
    /// The length of each of its queues; `None` for a timer.
    pub(super) depth: Option<u64>,
    /// The shortest times between arrivals: due times of a timer, or messages from outside.
    pub(super) arrivals: Option<Spans>,
    /// True if there is a release of messages from outside.
    pub(super) is_fed_from_outside: bool,
    /// The callbacks that publish what it takes.
    pub(super) publishers: BTreeSet<String>,
}

/// Limits of a chain.
#[derive(Clone, Debug)]
pub(super) struct ChainLimit {
    pub(super) name: String,
    pub(super) callbacks: Vec<String>,
    pub(super) deadline_ns: Option<u64>,
    pub(super) bound_ns: Option<u64>,
}

impl Limits {
    pub(super) fn new(scenario: &Scenario, bounds: Option<&Bounds>) -> Self {
        let callbacks =
            scenario.callbacks.iter().map(|of| (of.name.clone(), Arc::new(limit(scenario, bounds, of)))).collect();
        let proven = |name: &str| bounds.and_then(|bounds| bounds.chains.iter().find(|chain| chain.name == name));
        let chains = scenario.chains.iter().map(|chain| ChainLimit {
            name: chain.name.clone(),
            callbacks: chain.callbacks.clone(),
            deadline_ns: chain.deadline.map(ns),
            bound_ns: proven(&chain.name).map(|chain| ns(chain.bound)),
        });
        let executors = scenario.executors.iter().map(|of| (of.name.clone(), (of.policy.clone(), of.threads)));
        Self { callbacks, chains: chains.collect(), executors: executors.collect() }
    }
}

fn limit(scenario: &Scenario, bounds: Option<&Bounds>, of: &Callback) -> Limit {
    let proven = bounds.and_then(|bounds| bounds.callbacks.iter().find(|bound| bound.name == of.name));
    // The analysis counts injected overruns as longer execution.
    let extra = scenario.faults.iter().filter_map(|fault| match fault {
        Fault::Overrun { callback, extra, .. } if *callback == of.name => Some(ns(*extra)),
        _ => None,
    });
    let runs = std::iter::once(&of.execution).chain(of.awaits.iter().map(|part| &part.run));
    let execution: u64 = runs.map(|run| ns(run.longest())).fold(0, u64::saturating_add);
    let execution = extra.fold(execution, u64::saturating_add);
    let inputs: Vec<&str> =
        of.joins.iter().chain(&of.subscribes).map(String::as_str).chain([of.name.as_str()]).collect();
    let sends = |to: &[String]| to.iter().any(|to| inputs.contains(&to.as_str()));
    let publishers = scenario.callbacks.iter().filter(|other| sends(&other.publishes)).map(|other| other.name.clone());
    let mut releases = scenario.releases.iter().filter(|release| sends(&release.to));
    let is_fed_from_outside = scenario.releases.iter().any(|release| sends(&release.to));
    let arrivals = match (of.kind, releases.next(), releases.next()) {
        // Due times on another clock are as regular as that clock.
        (EntityKind::Timer, ..) => of.period.filter(|_| of.clock == ClockKind::Steady).map(Spans::timer),
        // Which of several releases a message belongs to cannot be told.
        (_, Some(only), None) if of.joins.is_empty() => Spans::release(only),
        _ => None,
    };
    let group = scenario.groups.iter().find(|group| group.name == of.group);
    Limit {
        kind: of.kind,
        executor: group.map_or_else(String::new, |group| group.executor.clone()),
        period_ns: of.period.map(ns),
        priority: of.priority,
        execution_ns: if execution > 0 { Some(execution) } else { None },
        deadline_ns: of.relative_deadline().map(ns),
        tolerates: of.tolerates.map_or((0, 1), |of| (u64::from(of.misses), u64::from(of.of))),
        bound_ns: proven.map(|bound| ns(bound.bound)),
        backlog: proven.and_then(|bound| bound.backlog),
        may_lose: !of.joins.is_empty() || proven.is_some_and(|bound| bound.may_lose),
        depth: if of.kind != EntityKind::Timer { Some(u64::from(of.depth)) } else { None },
        arrivals,
        is_fed_from_outside,
        publishers: publishers.collect(),
    }
}
