//! The figures of many simulations.

use std::time::Duration;

use rospin_measure::stats::percentile;
use rospin_scenario::Scenario;
use rospin_sim::Outcome;

use crate::simulate::tables::ms;

/// The percentiles that are told.
pub(super) const PERCENTS: [f64; 3] = [50.0, 95.0, 99.0];
/// Least probability with which an interval has the median.
const CONFIDENCE: f64 = 0.95;

/// Results of a callback or chain in one simulation.
struct Times {
    runs: usize,
    /// Percentiles and longest time in milliseconds; `None` if nothing ran to its end.
    percentiles: Option<[f64; 3]>,
    longest: Option<f64>,
    misses: u64,
}

impl Times {
    fn of(times: impl Iterator<Item = Duration>, misses: u64) -> Self {
        let times: Vec<f64> = times.map(ms).collect();
        let longest = times.iter().copied().max_by(f64::total_cmp);
        let percentiles = longest.map(|longest| PERCENTS.map(|percent| percentile(&times, percent).unwrap_or(longest)));
        Self { runs: times.len(), percentiles, longest, misses }
    }
}

/// Results of the simulation with one seed.
pub(super) struct Seed {
    seed: u64,
    callbacks: Vec<Times>,
    chains: Vec<Times>,
    /// Numbers of the callbacks that starved.
    starved: Vec<usize>,
    /// A text that names what the oracles found wrong, and the command that replays it; `None` if nothing is wrong.
    pub(super) violations: Option<String>,
}

impl Seed {
    pub(super) fn of(scenario: &Scenario, outcome: &Outcome, violations: Option<String>) -> Self {
        let mut responses = vec![Vec::new(); scenario.callbacks.len()];
        for run in &outcome.runs {
            responses[run.callback].push(run.response());
        }
        let callbacks = responses.into_iter().zip(&outcome.callbacks);
        let chains = outcome.chains.iter();
        let starved = outcome.callbacks.iter().enumerate();
        Self {
            seed: outcome.seed,
            callbacks: callbacks.map(|(times, callback)| Times::of(times.into_iter(), callback.misses)).collect(),
            chains: chains.map(|chain| Times::of(chain.instances.iter().map(|at| at.1), chain.misses)).collect(),
            starved: starved
                .filter(|(_, callback)| callback.is_starved(scenario.duration))
                .map(|(number, _)| number)
                .collect(),
            violations,
        }
    }
}

/// A percentile over all simulations, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Percentile {
    /// The median of the percentiles of all simulations.
    pub(super) value: f64,
    /// An interval that has the true median with a probability of at least 95 %; `None` with too few simulations.
    pub(super) interval: Option<(f64, f64)>,
}

impl Percentile {
    /// Returns the median of a percentile, given its value in each simulation, and the interval; `None` without values.
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let value = percentile(&values, 50.0)?;
        let interval = rank(values.len()).map(|rank| (values[rank - 1], values[values.len() - rank]));
        Some(Self { value, interval })
    }
}

/// Returns the largest rank, from 1 on, such that the values of this rank from below and from above enclose the median
/// with a probability of at least 95 %; `None` if even the first and the last one do not, as with 5 values.
fn rank(count: usize) -> Option<usize> {
    // The values below the median are binomially distributed. The interval misses if fewer than `rank` are below it, or
    // fewer than `rank` above it.
    let mut log = -(count as f64) * std::f64::consts::LN_2;
    let (mut below, mut rank) = (0.0, 0);
    while rank < count {
        below += log.exp();
        if 2.0 * below > 1.0 - CONFIDENCE {
            break;
        }
        log += ((count - rank) as f64 / (rank + 1) as f64).ln();
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

/// Figures of a callback or chain over all simulations.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) deadline: Option<Duration>,
    pub(super) runs: usize,
    /// By [percent](PERCENTS); `None` if nothing ran to its end in any simulation.
    pub(super) percentiles: [Option<Percentile>; 3],
    /// The longest time in milliseconds, and the first seed with it.
    pub(super) longest: Option<(f64, u64)>,
    pub(super) misses: u64,
    /// Number of simulations with a miss.
    pub(super) missing: usize,
    /// Seeds with which the callback starved.
    pub(super) starved: Vec<u64>,
}

/// Figures over all simulations.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Figures {
    pub(super) callbacks: Vec<Row>,
    pub(super) chains: Vec<Row>,
}

impl Figures {
    pub(super) fn of(scenario: &Scenario, seeds: &[Seed]) -> Self {
        let callback = |(number, plan): (usize, &rospin_scenario::Callback)| {
            let mut row = row(seeds, &plan.name, plan.relative_deadline(), |seed| &seed.callbacks[number]);
            row.starved.extend(seeds.iter().filter(|seed| seed.starved.contains(&number)).map(|seed| seed.seed));
            row
        };
        let chain = |(number, plan): (usize, &rospin_scenario::Chain)| {
            row(seeds, &plan.name, plan.deadline, |seed| &seed.chains[number])
        };
        Self {
            callbacks: scenario.callbacks.iter().enumerate().map(callback).collect(),
            chains: scenario.chains.iter().enumerate().map(chain).collect(),
        }
    }
}

fn row(seeds: &[Seed], name: &str, deadline: Option<Duration>, of: impl Fn(&Seed) -> &Times) -> Row {
    let mut longest: Option<(f64, u64)> = None;
    for seed in seeds {
        if let Some(time) = of(seed).longest
            && longest.is_none_or(|(known, _)| time > known)
        {
            longest = Some((time, seed.seed));
        }
    }
    let all = |place: usize| seeds.iter().filter_map(|seed| of(seed).percentiles.map(|known| known[place])).collect();
    Row {
        name: name.to_owned(),
        deadline,
        runs: seeds.iter().map(|seed| of(seed).runs).sum(),
        percentiles: [0, 1, 2].map(|place| Percentile::of(all(place))),
        longest,
        misses: seeds.iter().map(|seed| of(seed).misses).sum(),
        missing: seeds.iter().filter(|seed| of(seed).misses > 0).count(),
        starved: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use rospin_scenario::draw::Stream;

    use super::*;

    /// The ranks of the tables in Conover 1999 and of `qbinom(0.025, n, 0.5)`.
    #[test]
    fn ranks_are_those_of_the_binomial_distribution() {
        for (count, expected) in [(0, None), (5, None), (6, Some(1)), (10, Some(2)), (20, Some(6)), (100, Some(40))] {
            assert_eq!(rank(count), expected, "{count}");
        }
        let many = rank(10_000).unwrap();
        assert!((4_895..=4_905).contains(&many), "{many}: about 5000 less 1.96 times 50");
    }

    /// Draws 25 values of a distribution whose median is known, 2,000 times. About 95 % of the intervals contain it.
    #[test]
    fn intervals_have_the_median_as_often_as_they_say() {
        let rng = &mut Stream::new(1, "coverage");
        let mut have = 0;
        for _ in 0..2_000 {
            // The squares are far from a normal distribution. Their median is a quarter.
            let values = (0..25).map(|_| (rng.below(1_000_001) as f64 / 1e6).powi(2)).collect();
            let (low, high) = Percentile::of(values).unwrap().interval.unwrap();
            have += u32::from(low <= 0.25 && 0.25 <= high);
        }
        assert!((1_880..1_960).contains(&have), "{have} of 2000");
    }
}
