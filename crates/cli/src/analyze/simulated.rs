//! Longest times in simulations of a system, which are shown beside the bounds.

use std::time::Duration;

use rospin_scenario::Scenario;
use rospin_sim::{Simulation, SimulationError, Statistics};

/// The longest times in several simulations; `None` for a callback or chain that never ran to its end.
pub(super) struct Seen {
    /// Number of simulations, each with a seed of its own.
    pub(super) seeds: u64,
    /// Times from release to end, by callback in the scenario's order.
    pub(super) callbacks: Vec<Option<Duration>>,
    /// Times from the release of the first callback to the end of the last one, by chain in the scenario's order.
    pub(super) chains: Vec<Option<Duration>>,
}

/// Runs `seeds` simulations: the first with the scenario's seed, the others with the seeds after it. Calls `progress`
/// with the share of all simulations that is done, 0 to 1.
pub(super) fn simulate(
    scenario: &Scenario,
    seeds: u64,
    progress: &mut dyn FnMut(f64),
) -> Result<Seen, SimulationError> {
    let mut seen =
        Seen { seeds, callbacks: vec![None; scenario.callbacks.len()], chains: vec![None; scenario.chains.len()] };
    for number in 0..seeds {
        let mut share = |share: f64| progress((number as f64 + share) / seeds as f64);
        let seed = scenario.seed.wrapping_add(number);
        let outcome = Simulation::new(scenario)?.seed(seed).progress(&mut share).run()?;
        let callbacks = outcome.callbacks.iter().map(|callback| &callback.response);
        raise(&mut seen.callbacks, callbacks);
        raise(&mut seen.chains, outcome.chains.iter().map(|chain| &chain.latency));
    }
    Ok(seen)
}

/// Raises each time in `longest` to the maximum of the statistics with the same place, if they have counted anything.
fn raise<'a>(longest: &mut [Option<Duration>], statistics: impl Iterator<Item = &'a Statistics>) {
    for (longest, statistics) in longest.iter_mut().zip(statistics) {
        *longest = (*longest).max((statistics.count > 0).then_some(statistics.max));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_all_seeds() {
        let mut scenario = Scenario::parse(rospin_scenario::examples::CHAIN).unwrap();
        scenario.duration = Duration::from_millis(500);
        let mut shares = Vec::new();
        let many = simulate(&scenario, 5, &mut |share| shares.push(share)).unwrap();
        let first = simulate(&scenario, 1, &mut |_| {}).unwrap();
        assert!(many.callbacks.iter().zip(&first.callbacks).all(|(many, first)| many >= first));
        assert!(many.callbacks > first.callbacks);
        assert!(shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)));
        scenario.duration = Duration::from_nanos(1);
        assert_eq!(simulate(&scenario, 1, &mut |_| {}).unwrap().callbacks, [None; 6]);
    }
}
