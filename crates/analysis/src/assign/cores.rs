//! Which executor gets which core: a chain on one core where it fits (Choi et al. 2022).

use std::cmp::Reverse;

use rospin_scenario::Scenario;

use crate::system::System;

/// Cores by executor, for those with one thread; executors with several keep what they have.
///
/// Chains in the order of their criticality, each on the least loaded core that has room for all of its executors that
/// have none yet; those of a chain that fits nowhere, and those in no chain, one by one on the least loaded core.
pub(super) fn allocate(scenario: &Scenario, system: &System) -> Vec<(String, Vec<u16>)> {
    let rates = system.rates();
    let cost = |callback: &usize| rates[*callback] * system.callbacks[*callback].cost() as f64;
    let load: Vec<f64> = system.executors.iter().map(|executor| executor.callbacks.iter().map(cost).sum()).collect();
    let mut left: Vec<usize> = (0..system.executors.len())
        .filter(|number| system.executors[*number].threads == 1 && !system.executors[*number].callbacks.is_empty())
        .collect();
    let mut used = vec![0.0; usize::from(scenario.core_count())];
    let mut found = Vec::new();
    let mut put = |members: &[usize], used: &mut Vec<f64>, core: usize| {
        for member in members {
            used[core] += load[*member];
            found.push((system.executors[*member].name.clone(), vec![core as u16]));
        }
    };
    let mut chains: Vec<_> = scenario.chains.iter().collect();
    chains.sort_by_key(|chain| Reverse(chain.criticality));
    for chain in chains {
        let is_in = |executor: &usize| {
            let callbacks = &system.executors[*executor].callbacks;
            callbacks.iter().any(|callback| chain.callbacks.contains(&system.callbacks[*callback].name))
        };
        let members: Vec<usize> = left.iter().copied().filter(is_in).collect();
        let together: f64 = members.iter().map(|member| load[*member]).sum();
        let core = least_loaded(&used);
        if used[core] + together <= 1.0 {
            left.retain(|executor| !members.contains(executor));
            put(&members, &mut used, core);
        }
    }
    // The heaviest first: what is light fits into what is left.
    left.sort_by(|one, other| load[*other].total_cmp(&load[*one]));
    for executor in left {
        let core = least_loaded(&used);
        put(&[executor], &mut used, core);
    }
    found
}

fn least_loaded(used: &[f64]) -> usize {
    (0..used.len()).min_by(|one, other| used[*one].total_cmp(&used[*other])).unwrap_or(0)
}
