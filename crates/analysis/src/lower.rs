//! Conversion of a scenario's names and times to the numbers of the analysis.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_core::{EntityKind, GroupKind, Overrun, PriorityMap};
use rospin_scenario::{Await, Callback as Plan, Chain, ExecutionTime, Fault, Pattern, Priorities, Release, Scenario};

use crate::accelerators::{Device, Request, Urgent};
use crate::arrivals::Arrivals;
use crate::curves::Curve;
use crate::error::AnalysisError;
use crate::overheads::{Overheads, Reservation};
use crate::system::{Callback, Executor, Outside, Pace, Policy, Way, nanos};

/// Returns the scenario's executors, without callbacks and cores. Refuses policies without an analysis, late starts,
/// and reservations that are invalid or name no executor.
pub(crate) fn executors(
    scenario: &Scenario,
    reservations: &BTreeMap<String, Reservation>,
) -> Result<Vec<Executor>, AnalysisError> {
    for (name, reservation) in reservations {
        let names: Vec<_> = scenario.executors.iter().map(|executor| executor.name.as_str()).collect();
        if !names.contains(&name.as_str()) {
            return Err(AnalysisError::UnknownExecutor { executor: name.clone(), known: names.join(", ") });
        }
        let Reservation { budget, period } = *reservation;
        if budget.is_zero() || budget > period {
            return Err(AnalysisError::Reservation { executor: name.clone(), budget, period });
        }
    }
    let mut executors = Vec::new();
    for plan in &scenario.executors {
        let policy = match plan.policy.as_str() {
            "fifo" => Policy::Fifo,
            "fixed-priority" => Policy::FixedPriority,
            "edf" => Policy::Edf,
            "wait-set-e1" => Policy::WaitSet { timers_inside: false },
            "wait-set-e2" => Policy::WaitSet { timers_inside: true },
            other => {
                let reason = format!("there is no analysis of the policy `{other}`");
                let first = first_callback(scenario, &plan.name);
                return Err(AnalysisError::not_analyzable(first, reason, "choose another `policy`"));
            }
        };
        executors.push(Executor {
            name: plan.name.clone(),
            policy,
            threads: u64::from(plan.threads),
            os_priority: plan.os_priority,
            callbacks: Vec::new(),
            core: 0,
            reservation: reservations.get(&plan.name).copied(),
        });
        if !plan.start.is_zero() && !first_callback(scenario, &plan.name).is_empty() {
            return Err(AnalysisError::not_analyzable(
                first_callback(scenario, &plan.name),
                format!("its executor `{}` starts late, and what arrives before waits for that", plan.name),
                "leave out `start`",
            ));
        }
    }
    Ok(executors)
}

/// Returns the name of an executor's first callback, for an error; an empty one if it has no callbacks.
fn first_callback(scenario: &Scenario, executor: &str) -> String {
    let of = |plan: &&Plan| scenario.groups.iter().any(|group| group.name == plan.group && group.executor == executor);
    scenario.callbacks.iter().find(of).map(|plan| plan.name.clone()).unwrap_or_default()
}

/// Returns the scenario's callbacks. Releases from outside, publishers and locks are added by [`link`] and [`lock`].
pub(crate) fn callbacks(scenario: &Scenario, overheads: &Overheads) -> Result<Vec<Callback>, AnalysisError> {
    let derived = match scenario.priorities {
        Priorities::Given => PriorityMap::default(),
        _ => PriorityMap::picas(&scenario.chains.iter().map(Chain::to_core).collect::<Vec<_>>())?,
    };
    let extra = extra(overheads);
    let mut callbacks = Vec::new();
    for (number, plan) in scenario.callbacks.iter().enumerate() {
        // The scenario passed its check, so the group and the executor exist.
        let Some(group) = scenario.groups.iter().find(|group| group.name == plan.group) else { continue };
        let place = scenario.executors.iter().position(|executor| executor.name == group.executor);
        let Some(executor) = place else { continue };
        let excludes = group.kind == GroupKind::MutuallyExclusive;
        let others = scenario.callbacks.iter().enumerate();
        let mates = others.filter(|(other, mate)| excludes && *other != number && mate.group == plan.group);
        let runs = || std::iter::once(&plan.execution).chain(plan.awaits.iter().map(|pause| &pause.run));
        let waits = || plan.awaits.iter();
        let given = plan.priority.or_else(|| derived.get(&plan.name).map(|priority| priority.0));
        let unloaded: u64 = runs().map(longest).sum();
        let (source, pace) = timer(plan);
        callbacks.push(Callback {
            name: plan.name.clone(),
            group: plan.group.clone(),
            executor,
            kind: plan.kind,
            priority: given.unwrap_or_default(),
            deadline: plan.relative_deadline().map(nanos),
            due: plan.relative_deadline().map(nanos),
            // A missing execution time stays zero, so that it is refused. Overheads must not hide it.
            segments: runs().map(|time| if unloaded == 0 { 0 } else { longest(time) + extra }).collect(),
            waits: waits().map(longest_wait).sum(),
            requests: waits().filter_map(|pause| request(scenario, pause)).collect(),
            shortest: runs().map(shortest).sum::<u64>() + waits().map(shortest_wait).sum::<u64>(),
            instantaneous: runs().any(|time| shortest(time) == 0) || waits().any(|pause| shortest_wait(pause) == 0),
            mates: mates.map(|(other, _)| other).collect(),
            releases_group: plan.releases_group_at_await,
            in_flight: plan.in_flight(group.kind, scenario.executors[executor].threads),
            depth: u64::from(plan.depth),
            waiting_max: waiting_max(plan),
            source,
            pace,
            publishers: Vec::new(),
            ways: Vec::new(),
            joined: vec![Outside { arrivals: Arrivals::Sum(Vec::new()), pace: None }; plan.joins.len()],
            sections: Vec::new(),
            tolerates: plan.tolerates.map(|tolerates| (u64::from(tolerates.misses), u64::from(tolerates.of))),
        });
    }
    Ok(callbacks)
}

/// Returns how many activations of a callback can wait at one time. A timer whose run starts late skips due times before
/// it waits again.
fn waiting_max(plan: &Plan) -> u64 {
    match (plan.kind, plan.overrun) {
        (EntityKind::Timer, Overrun::CatchUp(limit)) => 1 + u64::from(limit),
        (EntityKind::Timer, _) => 1,
        _ => u64::from(plan.depth),
    }
}

/// Returns the time in nanoseconds that the machine adds to every segment.
pub(crate) fn extra(overheads: &Overheads) -> u64 {
    nanos(overheads.dispatch) + nanos(overheads.wake_up)
}

/// Returns the scenario's accelerators.
pub(crate) fn devices(scenario: &Scenario) -> Vec<Device> {
    let of = |plan: &rospin_scenario::Accelerator| {
        let policy = match plan.policy.as_str() {
            "edf" => Policy::Edf,
            "fifo" => Policy::Fifo,
            _ => Policy::FixedPriority,
        };
        let urgent = plan.urgent.map(|from| Urgent { from, block: nanos(plan.block) });
        Device { name: plan.name.clone(), policy, lanes: u64::from(plan.lanes), urgent }
    };
    scenario.accelerators.iter().map(of).collect()
}

/// Returns the request that an await is; `None` if it awaits something else than an accelerator.
fn request(scenario: &Scenario, pause: &Await) -> Option<Request> {
    let name = pause.accelerator.as_ref()?;
    let device = scenario.accelerators.iter().position(|accelerator| accelerator.name == *name)?;
    let segments = pause.segments.iter().map(longest).collect();
    Some(Request { device, priority: pause.priority, segments })
}

/// Returns the longest time that an await takes. For a request to an accelerator, that is the time without contention,
/// to which [`waits`](crate::accelerators::waits) adds the wait for others.
fn longest_wait(pause: &Await) -> u64 {
    longest(&pause.wait) + pause.segments.iter().map(longest).sum::<u64>()
}

/// Returns the shortest time that an await takes.
fn shortest_wait(pause: &Await) -> u64 {
    shortest(&pause.wait) + pause.segments.iter().map(shortest).sum::<u64>()
}

pub(crate) fn longest(time: &ExecutionTime) -> u64 {
    nanos(time.longest())
}

fn shortest(time: &ExecutionTime) -> u64 {
    let found = match time {
        ExecutionTime::Fixed(time) => Some(*time),
        ExecutionTime::Uniform(min, _) => Some(*min),
        ExecutionTime::List(times) => times.iter().min().copied(),
        ExecutionTime::Recorded(bins) => bins.iter().filter(|bin| bin.count > 0).map(|bin| bin.time).min(),
        _ => None,
    };
    found.map_or(0, nanos)
}

/// Returns a timer's due times, and the pace at which they are sure to come, which a timer that fires once does not
/// have. For other callbacks, returns no arrivals. An overrun policy that skips or shifts due times only makes them
/// rarer.
fn timer(plan: &Plan) -> (Arrivals, Option<Pace>) {
    match (plan.kind, plan.period) {
        (EntityKind::Timer, Some(period)) => {
            let pace = Pace { gap: nanos(period), first: nanos(plan.first_due()) };
            (Arrivals::every(nanos(period)), Some(pace))
        }
        (EntityKind::Timer, None) => (Arrivals::Once { count: 1 }, None),
        _ => (Arrivals::Sum(Vec::new()), None),
    }
}

/// Adds releases from outside, and the publishers of each callback.
pub(crate) fn link(scenario: &Scenario, callbacks: &mut [Callback]) {
    let input = |plan: &Plan, name: &String| plan.joins.iter().position(|topic| topic == name);
    for release in &scenario.releases {
        let (arrivals, pace) = outside(release);
        for name in &release.to {
            for (receiver, plan) in scenario.receivers(name) {
                let callback = &mut callbacks[receiver];
                match input(plan, name) {
                    Some(input) => {
                        let Outside { arrivals: known, pace: known_pace } = &mut callback.joined[input];
                        add(known, known_pace, &arrivals, pace);
                    }
                    None => add(&mut callback.source, &mut callback.pace, &arrivals, pace),
                }
            }
        }
    }
    for (publisher, plan) in scenario.callbacks.iter().enumerate() {
        for name in &plan.publishes {
            let delay = scenario.links.iter().find(|link| link.to.contains(name)).map(|link| &link.delay);
            let (shortest, longest) = delay.map_or((0, 0), |delay| (shortest(delay), longest(delay)));
            for (receiver, plan) in scenario.receivers(name) {
                callbacks[receiver].publishers.push(publisher);
                let input = input(plan, name).unwrap_or(0);
                callbacks[receiver].ways.push(Way { shortest, longest, input });
            }
        }
    }
}

/// Adds more arrivals from outside to those that are known.
fn add(known: &mut Arrivals, known_pace: &mut Option<Pace>, more: &Arrivals, pace: Option<Pace>) {
    *known_pace = Pace::least(known_pace.iter().copied().chain(pace));
    *known = match std::mem::replace(known, Arrivals::Sum(Vec::new())) {
        Arrivals::Sum(parts) if parts.is_empty() => more.clone(),
        Arrivals::Sum(mut parts) => {
            parts.push(more.clone());
            Arrivals::Sum(parts)
        }
        single => Arrivals::Sum(vec![single, more.clone()]),
    };
}

/// Adds critical sections, by the number of their lock.
pub(crate) fn lock(scenario: &Scenario, callbacks: &mut [Callback]) {
    let number = |name: &String| scenario.locks.iter().position(|lock| lock == name);
    for (callback, plan) in callbacks.iter_mut().zip(&scenario.callbacks) {
        let sections = plan.locks.iter();
        callback.sections =
            sections.filter_map(|section| Some((number(&section.lock)?, nanos(section.hold)))).collect();
    }
}

/// Returns the arrivals of a release, and the times by which they are sure to come.
fn outside(release: &Release) -> (Arrivals, Option<Pace>) {
    let (burst, spacing) = release.burst.map_or((1, 0), |burst| (u64::from(burst.count), nanos(burst.spacing)));
    let repeated = |gap: u64, jitter: u64| {
        // The messages of a very long burst count as arriving at one instant.
        let curve = if burst > 1 && spacing > 0 { Curve::bursts(gap, burst, spacing) } else { None };
        curve
            .map_or(Arrivals::Repeated { gap, jitter, burst }, |curve| Arrivals::Curved { curve: curve.into(), jitter })
    };
    let curved = |curve: Option<Curve>| {
        curve.map_or(Arrivals::Sum(Vec::new()), |curve| Arrivals::Curved { curve: curve.into(), jitter: 0 })
    };
    match &release.pattern {
        Pattern::Periodic { period, offset, jitter } => {
            let (gap, jitter) = (nanos(*period), nanos(*jitter));
            (repeated(gap, jitter), Some(Pace { gap: gap + jitter, first: nanos(*offset) + jitter }))
        }
        Pattern::Sporadic { offset, min, max } => {
            (repeated(nanos(*min), 0), Some(Pace { gap: nanos(*max), first: nanos(*offset) }))
        }
        Pattern::List(times) => {
            let apart = |at: &Duration| (0..burst).map(move |number| nanos(*at) + number * spacing).collect::<Vec<_>>();
            (Arrivals::listed(&times.iter().flat_map(apart).collect::<Vec<_>>(), 1), None)
        }
        Pattern::Limited { limits, .. } => {
            let limits: Vec<_> = limits.iter().map(|limit| (u64::from(limit.count), nanos(limit.within))).collect();
            (curved(Curve::limited(&limits)), None)
        }
        Pattern::Measured { times, .. } => {
            (curved(Curve::measured(&times.iter().copied().map(nanos).collect::<Vec<_>>())), None)
        }
        _ => (Arrivals::every(1), None),
    }
}

/// Applies the scenario's faults: adds the extra time of overruns, and refuses other faults, for which there is no
/// bound.
pub(crate) fn inject(scenario: &Scenario, callbacks: &mut [Callback]) -> Result<(), AnalysisError> {
    for fault in &scenario.faults {
        let (name, reason) = match fault {
            Fault::Overrun { callback, probability, extra } => {
                if let Some(found) = callbacks.iter_mut().find(|known| known.name == *callback)
                    && *probability > 0.0
                    && let Some(first) = found.segments.first_mut()
                {
                    *first += nanos(*extra);
                }
                continue;
            }
            Fault::LostNotification { callback, .. } => {
                (callback.clone(), "a message whose notification is lost waits for the next one")
            }
            Fault::SpuriousNotification { callback, .. } => {
                (callback.clone(), "notifications for nothing are not part of the model")
            }
            _ => {
                let timer = callbacks.iter().position(|callback| callback.kind == EntityKind::Timer);
                let name = timer.map_or_else(String::new, |timer| callbacks[timer].name.clone());
                (name, "there is no bound on when timers of a clock that is set are due")
            }
        };
        return Err(AnalysisError::not_analyzable(name, reason, "leave this [[fault]] out"));
    }
    Ok(())
}
