//! End-to-end bounds, by compositional analysis: each callback's bound holds from the arrival of its message, with the
//! jitter that its predecessors give it, so along a chain they add up. Inside one executor, less will do: see
//! [`end_to_end`].
//!
//! Reaction time and data age after Dürr et al. (CODES+ISSS 2019) and Günzel et al. (RTAS 2023): in a chain whose links
//! are events, only its start is sampled, so both are the latency and one longest gap between two starts.

use std::time::Duration;

use rospin_core::EntityKind;
use rospin_scenario::{Chain, Scenario};

use crate::end_to_end;
use crate::report::ChainBound;
use crate::solve::{Known, Solution};
use crate::system::System;

/// How many messages may wait at once; `None` for timers, and if nothing is known.
pub(crate) fn backlog(system: &System, solution: &Solution, callback: usize) -> Option<u64> {
    if system.callbacks[callback].kind == EntityKind::Timer {
        return None;
    }
    let bound = solution.found[callback].bound?;
    let by_rate = solution.arrivals[callback].as_ref()?.number(bound);
    Some(end_to_end::backlog(system, callback).map_or(by_rate, |inside| inside.min(by_rate)))
}

/// Whether a message can be displaced before it is taken.
pub(crate) fn may_lose(system: &System, solution: &Solution, callback: usize) -> bool {
    let plan = &system.callbacks[callback];
    plan.kind != EntityKind::Timer && backlog(system, solution, callback).is_none_or(|waiting| waiting > plan.depth)
}

pub(crate) fn bound(scenario: &Scenario, solution: &Solution, known: &Known<'_>, chain: &Chain) -> ChainBound {
    let system = known.system;
    let place = |name: &String| scenario.callbacks.iter().position(|callback| callback.name == *name);
    let members: Vec<usize> = chain.callbacks.iter().filter_map(place).collect();
    let sum: Option<u64> = members.iter().map(|member| solution.found[*member].bound).sum();
    known.budget.begin(known.budget.whole() / 8);
    let whole = end_to_end::bound(known, &members);
    let latency = sum.into_iter().chain(whole).min();
    let lossy: Vec<_> = members.iter().filter(|member| may_lose(system, solution, **member)).collect();
    let lossless = latency.filter(|_| lossy.is_empty());
    let first = &system.callbacks[members[0]];
    let gap = first.longest_gap.filter(|_| first.publishers.is_empty());
    // A timer that runs later than its next due time may skip it.
    let late = solution.found[members[0]].bound.unwrap_or(0);
    let gap = gap.map(|gap| if first.kind == EntityKind::Timer && late > gap { gap + late } else { gap });
    let sampled = if first.kind == EntityKind::Timer { gap } else { Some(0) };
    let sum = |more: Option<u64>| Some(Duration::from_nanos(lossless? + more?));
    let latency = latency.map(Duration::from_nanos);
    ChainBound {
        name: chain.name.clone(),
        latency,
        reaction_time: sum(sampled),
        data_age: sum(gap),
        deadline: chain.deadline,
        holds: latency.is_some_and(|latency| chain.deadline.is_none_or(|deadline| latency <= deadline)),
        lossy: lossy.into_iter().map(|member| system.callbacks[*member].name.clone()).collect(),
    }
}
