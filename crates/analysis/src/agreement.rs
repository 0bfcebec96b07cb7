//! Tests: our busy window gives the bounds that the crate `response-time-analysis` gives, wherever that has the
//! analysis.

use std::collections::BTreeMap;
use std::time::Duration;

use response_time_analysis::demand::{Aggregate, RBF};
use response_time_analysis::ros2::bw;
use response_time_analysis::supply::Dedicated;
use response_time_analysis::time::{Duration as Length, Service};
use response_time_analysis::wcet::Scalar;
use response_time_analysis::{edf, fifo, fixed_priority};
use rospin_core::EntityKind;
use rospin_scenario::draw::Stream;
use rospin_scenario::{Callback, ExecutionTime, Executor, Group, Pattern, Release, Scenario};

use crate::budget::Budget;
use crate::inside;
use crate::known::Known;
use crate::overheads::Overheads;
use crate::solve;
use crate::system::{Callback as Plan, Policy, System};
use crate::uniprocessor::{has_common_bound, window};

const SYSTEMS: u64 = 2_000;

/// Returns a random scenario. Its times are small, so that ties are frequent, and its load is 95 % at most, or a little
/// more by rounding. With `apart`, each callback has an executor of its own; without, one executor has all of them.
fn scenario(seed: u64, policy: &str, apart: bool) -> Scenario {
    let rng = &mut Stream::new(seed, policy);
    let mut scenario = Scenario::default();
    scenario.duration = Duration::from_secs(1);
    scenario.cores = Some(1);
    let count = 2 + rng.below(4);
    for number in 0..count {
        if apart || number == 0 {
            let mut executor = Executor::new(format!("x{number}"));
            executor.os_priority = 1 + number as u8;
            policy.clone_into(&mut executor.policy);
            scenario.executors.push(executor);
            scenario.groups.push(Group::new(format!("g{number}"), format!("x{number}")));
        }
        let group = if apart { format!("g{number}") } else { "g0".to_owned() };
        let period = 5 + rng.below(40);
        let cost = 1 + rng.below((period * 95 / 100 / count).max(2) - 1);
        let ns = Duration::from_nanos;
        let is_timer = rng.below(2) == 0;
        let kind = if is_timer { EntityKind::Timer } else { EntityKind::Service };
        let mut callback = Callback::new(format!("c{number}"), kind, group);
        callback.priority = Some(number as u32);
        callback.deadline = Some(ns(1 + rng.below(2 * period)));
        callback.execution = ExecutionTime::Fixed(ns(cost));
        if is_timer {
            callback.period = Some(ns(period));
        } else {
            let pattern = Pattern::Periodic { period: ns(period), offset: ns(0), jitter: ns(rng.below(period)) };
            scenario.releases.push(Release::new([&callback.name], pattern));
        }
        scenario.callbacks.push(callback);
    }
    scenario
}

fn systems(policy: &str, apart: bool) -> impl Iterator<Item = (u64, System)> + '_ {
    let system = move |seed| {
        let scenario = scenario(seed, policy, apart);
        System::new(&scenario, &Overheads::default(), &BTreeMap::new()).ok().map(|system| (seed, system))
    };
    (0..SYSTEMS).filter_map(system)
}

fn known<'a>(system: &'a System, budget: &'a Budget) -> Known<'a> {
    Known {
        system,
        budget,
        thresholds: Vec::new(),
        arrivals: system.callbacks.iter().map(|callback| Some(callback.source.clone())).collect(),
        responses: system.callbacks.iter().map(|callback| Some(callback.cost())).collect(),
        receiving: vec![Some(0); system.cores.len()],
        waits: system.callbacks.iter().map(|plan| Some(plan.waits)).collect(),
        counts_queues: false,
    }
}

/// Returns the bound that the library finds for a callback; `Some(None)` if it finds none, and `None` if it has no
/// analysis of the case. With `alone`, the callback is one of several of its executor, which is alone on its core.
/// Without, each executor on the core has one callback, and executors preempt each other.
fn known_instance(known: &Known<'_>, callback: usize, alone: bool) -> Option<Option<u64>> {
    let system = known.system;
    let plan = &system.callbacks[callback];
    let executor = &system.executors[plan.executor];
    let unlike = inside::applies(system, plan.executor) || system.callbacks.iter().any(Plan::is_async);
    if system.receive > 0 || unlike {
        return None;
    }
    let limit = Length::from(system.limit);
    let cost = |callback: usize| Scalar::new(Service::from(system.callbacks[callback].cost()));
    let demand = |callback: usize| Some(RBF::new(known.seen(callback)?, cost(callback)));
    let mates = || executor.callbacks.iter().copied().filter(|other| *other != callback);
    let found = if !alone {
        let higher: Option<Vec<_>> = system.elsewhere(callback).map(demand).collect();
        let own = demand(callback)?;
        fixed_priority::fully_preemptive::dedicated_uniproc_rta(&own, &higher?, limit)
    } else {
        match executor.policy {
            Policy::FixedPriority if mates().all(|other| system.callbacks[other].priority != plan.priority) => {
                use fixed_priority::fully_nonpreemptive::{TaskUnderAnalysis, dedicated_uniproc_rta};
                let less_urgent = |other: &usize| system.callbacks[*other].priority < plan.priority;
                let blocking = mates().filter(less_urgent).map(|other| system.blocking(other)).max().unwrap_or(0);
                let higher: Option<Vec<_>> = mates().filter(|other| !less_urgent(other)).map(demand).collect();
                let (arrivals, blocking_bound) = (known.seen(callback)?, Service::from(blocking));
                let task = TaskUnderAnalysis { wcet: cost(callback), arrivals: &arrivals, blocking_bound };
                dedicated_uniproc_rta(&task, &higher?, limit)
            }
            Policy::Edf if !system.callbacks.iter().any(|plan| plan.instantaneous || plan.deadline.is_none()) => {
                use edf::fully_nonpreemptive::{InterferingTask, dedicated_uniproc_rta};
                let others: Option<Vec<_>> = mates().map(|other| known.seen(other)).collect();
                let others = others?;
                let deadline = |other: usize| Length::from(system.callbacks[other].deadline.unwrap_or(0));
                let task =
                    |other: usize, arrivals| InterferingTask { wcet: cost(other), arrivals, deadline: deadline(other) };
                let own = known.seen(callback)?;
                let others: Vec<_> = mates().zip(&others).map(|(other, arrivals)| task(other, arrivals)).collect();
                dedicated_uniproc_rta(&task(callback, &own), &others, limit)
            }
            Policy::Fifo => {
                let all: Option<Vec<_>> = executor.callbacks.iter().map(|other| demand(*other)).collect();
                fifo::dedicated_uniproc_rta(&Aggregate::new(all?), limit)
            }
            _ => return None,
        }
    };
    Some(found.ok().map(u64::from))
}

fn compare(policy: &str, apart: bool) {
    let mut compared = 0;
    for (seed, system) in systems(policy, apart) {
        let budget = Budget::of(u64::MAX, None);
        let known = known(&system, &budget);
        for callback in 0..system.callbacks.len() {
            let theirs = known_instance(&known, callback, !apart).expect("this is one");
            let ours = window(&known, callback).and_then(|window| window.bound());
            assert_eq!(ours, theirs, "{policy}, seed {seed}, callback {callback}: {:?}", system.callbacks);
            compared += usize::from(ours.is_some());
        }
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn fixed_priority() {
    compare("fixed-priority", false);
}

#[test]
fn preemptive() {
    compare("fixed-priority", true);
}

#[test]
fn edf() {
    compare("edf", false);
}

#[test]
fn fifo() {
    compare("fifo", false);
}

/// One search finds the bound of a whole FIFO executor.
#[test]
fn fifo_has_one_bound_for_all() {
    let mut compared = 0;
    for (seed, system) in systems("fifo", false) {
        let budget = Budget::of(u64::MAX, None);
        let known = known(&system, &budget);
        assert!(has_common_bound(&known, 0), "seed {seed}");
        let bounds: Vec<_> = (0..system.callbacks.len()).map(|callback| solve::bound(&known, callback).bound).collect();
        assert!(bounds.iter().all(|bound| *bound == bounds[0]), "seed {seed}: {bounds:?}");
        compared += usize::from(bounds[0].is_some());
    }
    assert!(compared > 500, "{compared}");
}

/// Timers outside the ready set are what the analysis of Blass et al. is about; inside, they are polled like all
/// others.
#[test]
fn wait_set() {
    for policy in ["wait-set-e1", "wait-set-e2"] {
        let mut compared = 0;
        for (seed, system) in systems(policy, false) {
            let budget = Budget::of(u64::MAX, None);
            let mut known = known(&system, &budget);
            // Assumed response times. Any values serve a comparison.
            known.responses.iter_mut().for_each(|response| *response = Some(1 + seed % 100));
            let outside = system.executors[0].policy == Policy::WaitSet { timers_inside: false };
            let is_timer = |callback: usize| outside && system.callbacks[callback].kind == EntityKind::Timer;
            let costs: Vec<_> = system.callbacks.iter().map(|plan| Scalar::new(Service::from(plan.cost()))).collect();
            let mut order: Vec<_> = (0..costs.len()).collect();
            order.sort_by_key(|callback| (system.callbacks[*callback].kind, *callback));
            let workload: Vec<_> = (0..costs.len())
                .map(|callback| {
                    let place = order.iter().position(|other| *other == callback).unwrap_or_default() as i32;
                    let kind =
                        if is_timer(callback) { bw::CallbackType::Timer } else { bw::CallbackType::Polled(place) };
                    let source = &system.callbacks[callback].source;
                    bw::Callback::new(Length::from(1 + seed % 100), source, &costs[callback], kind)
                })
                .collect();
            for callback in (0..costs.len()).filter(|callback| !is_timer(*callback)) {
                let limit = Length::from(system.limit);
                let theirs = bw::rta_subchain(&Dedicated::new(), &workload, &[&workload[callback]], limit);
                let ours = window(&known, callback).and_then(|window| window.bound());
                assert_eq!(ours, theirs.ok().map(u64::from), "{policy}, seed {seed}, callback {callback}");
                compared += usize::from(ours.is_some());
            }
        }
        assert!(compared > 2_000, "{policy}: {compared}");
    }
}
