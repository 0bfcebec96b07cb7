//! Random systems, analysed and simulated: no simulation exceeds a bound.

use rospin_analysis::{Analysis, AnalysisError, Report};
use rospin_scenario::Scenario;
use rospin_sim::oracle::Oracles;
use rospin_sim::{Outcome, Simulation};

/// Bounds of callbacks and chains, compared with the longest times seen.
#[derive(Default, Debug)]
pub(crate) struct Compared {
    pub(crate) bounds: u32,
    pub(crate) unbounded: u32,
    ratios: f64,
    /// The largest of the longest times seen, as a share of the bound.
    pub(crate) largest: f64,
}

impl Compared {
    /// Returns the mean of the longest times seen, as shares of the bounds.
    pub(crate) fn mean(&self) -> f64 {
        self.ratios / f64::from(self.bounds.max(1))
    }
}

/// Compares the systems that belong to `seeds`; those that are overloaded are left out. `also` looks at each of the
/// others.
pub(crate) fn compare(
    seeds: impl Iterator<Item = u64>,
    random: impl Fn(u64) -> Scenario,
    mut also: impl FnMut(&Scenario, &Report, &Outcome),
) -> Compared {
    let mut compared = Compared::default();
    for seed in seeds {
        let scenario = random(seed);
        let report = match Analysis::new(&scenario).run() {
            Ok(report) => report,
            Err(
                AnalysisError::Overloaded { .. }
                | AnalysisError::GroupOverloaded { .. }
                | AnalysisError::AcceleratorOverloaded { .. },
            ) => continue,
            Err(error) => panic!("{error}\n{}", scenario.to_toml()),
        };
        let mut oracles = Oracles::new(&scenario);
        let outcome = Simulation::new(&scenario).unwrap().observe(&mut oracles).run().unwrap();
        assert_eq!(oracles.violations(), [], "{seed}: {}", scenario.to_toml());
        let callbacks = report.callbacks.iter().zip(&outcome.callbacks);
        let callbacks = callbacks.map(|(known, seen)| (&seen.name, known.bound, seen.response.max));
        let chains = report.chains.iter().zip(&outcome.chains);
        let chains = chains.map(|(known, seen)| (&seen.name, known.latency, seen.latency.max));
        for (name, bound, longest) in callbacks.chain(chains) {
            let Some(bound) = bound else {
                compared.unbounded += 1;
                continue;
            };
            let text = || format!("{seed}: `{name}` took {longest:?}, bound {bound:?}\n{}", scenario.to_toml());
            assert!(longest <= bound, "{}", text());
            let ratio = longest.as_secs_f64() / bound.as_secs_f64();
            compared.bounds += 1;
            compared.ratios += ratio;
            compared.largest = compared.largest.max(ratio);
        }
        also(&scenario, &report, &outcome);
    }
    compared
}
