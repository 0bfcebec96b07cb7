//! `--seeds`: one simulation for each of many seeds, on all cores, and how sure the percentiles are.
//!
//! Activations of one simulation depend on each other, so they tell nothing about how sure their percentiles are.
//! Simulations with different seeds do not. So each percentile is the median over the simulations of the percentile in
//! each of them, with an interval that has that median with a confidence of at least 95 %. The ends of the interval are
//! two of the values, whose ranks follow from the binomial distribution: each simulation is below the median with a
//! probability of at most a half, whatever the distribution of the values (Conover, "Practical Nonparametric
//! Statistics", 1999, section 3.2; David and Nagaraja, "Order Statistics", 2003, section 7.1).
//!
//! Nothing depends on how many cores there are, or on which simulation ends first.

mod figures;
mod output;

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::outputs::{Files, WithoutReader};
use rospin_report::progress::LateProgress;
use rospin_scenario::Scenario;
use rospin_sim::SimulationError;
use rospin_sim::oracle::Oracles;

use super::options::{NAME, Options};
use super::{InputError, simulate_beside};
use figures::{Figures, Seed};
use output::Many;

/// Runs the scenario for `count` seeds, from its own one on, and prints, writes and judges the results.
pub(super) fn run(
    options: &Options,
    scenario: &Scenario,
    count: u64,
    files: Files,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut progress = LateProgress::begin(NAME, options.outputs.quiet);
    let seeds = simulate(options, scenario, count, threads, &mut |share| progress.at(share));
    progress.end();
    let seeds = seeds.map_err(|error| Failure::input(InputError { path: options.file.clone(), error }))?;
    let many = Many {
        machine: Machine::read(),
        file: &options.file,
        scenario,
        count,
        figures: Figures::of(scenario, &seeds),
        violations: seeds.into_iter().find_map(|seed| seed.violations),
    };
    let (mut silent, mut without_reader) = (io::sink(), WithoutReader::new(out));
    let out: &mut dyn Write = if options.outputs.quiet { &mut silent } else { &mut without_reader };
    many.print(out)?;
    files.write(out, || many.json(), || many.page())?;
    many.judge()
}

/// Runs the scenario for `count` seeds on so many threads. Returns the results in the order of the seeds.
///
/// # Errors
/// The first error in the order of the seeds, of those that began before one failed.
fn simulate(
    options: &Options,
    scenario: &Scenario,
    count: u64,
    threads: usize,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Seed>, SimulationError> {
    let (next, has_failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = |results: mpsc::Sender<(u64, Result<Seed, SimulationError>)>| {
        while !has_failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return;
            }
            let result = one(options, scenario, scenario.seed.wrapping_add(number));
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            if results.send((number, result)).is_err() {
                return;
            }
        }
    };
    let mut found = Vec::new();
    thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads.min(usize::try_from(count).unwrap_or(usize::MAX)) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        for result in results {
            found.push(result);
            progress(found.len() as f64 / count as f64);
        }
    });
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, result)| result).collect()
}

/// Runs the scenario with one seed, and checks its decisions.
fn one(options: &Options, scenario: &Scenario, seed: u64) -> Result<Seed, SimulationError> {
    let mut seeded = scenario.clone();
    seeded.seed = seed;
    let mut oracles = Oracles::new(&seeded);
    let outcome = simulate_beside(&seeded, Vec::new(), (&mut oracles, None), &mut |_| {})?;
    let violations = oracles.report(&options.replay(seed));
    Ok(Seed::of(&seeded, &outcome, violations))
}

#[cfg(test)]
mod tests {
    use rospin_report::output_options::FromArguments;
    use rospin_scenario::ExecutionTime;

    use super::*;
    use crate::simulate::tables::ms;

    fn random() -> Scenario {
        let mut scenario = Scenario::parse(rospin_scenario::examples::CHAIN).unwrap();
        for callback in &mut scenario.callbacks {
            callback.execution = ExecutionTime::Uniform(callback.execution.longest() / 4, callback.execution.longest());
        }
        scenario.duration = std::time::Duration::from_millis(500);
        scenario
    }

    fn many(options: &Options, scenario: &Scenario, count: u64, threads: usize) -> Figures {
        Figures::of(scenario, &simulate(options, scenario, count, threads, &mut |_| {}).unwrap())
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let (options, scenario) = (Options::from_arguments(&["chain.toml"]).unwrap(), random());
        let one = many(&options, &scenario, 20, 1);
        assert_eq!(one, many(&options, &scenario, 20, 3));
        let mut other = scenario;
        other.seed = 100;
        assert_ne!(one, many(&options, &other, 20, 1));
    }

    #[test]
    fn one_seed_has_the_figures_of_its_simulation() {
        let (options, scenario) = (Options::from_arguments(&["chain.toml"]).unwrap(), random());
        let outcome = rospin_sim::Simulation::new(&scenario).unwrap().run().unwrap();
        let figures = many(&options, &scenario, 1, 1);
        let (row, callback) = (&figures.callbacks[1], &outcome.callbacks[1]);
        assert_eq!((row.name.as_str(), row.runs), ("detect", callback.response.count));
        assert_eq!(row.percentiles[2].unwrap().value, ms(callback.response.p99));
        assert_eq!(row.percentiles[2].unwrap().interval, None, "one simulation tells no interval");
        assert_eq!(row.longest, Some((ms(callback.response.max), scenario.seed)));
        assert_eq!(figures.chains[0].runs, outcome.chains[0].latency.count);
    }

    #[test]
    fn progress_ends_at_the_whole() {
        let (options, scenario) = (Options::from_arguments(&["chain.toml"]).unwrap(), random());
        let mut shares = Vec::new();
        simulate(&options, &scenario, 4, 2, &mut |share| shares.push(share)).unwrap();
        assert_eq!(shares, [0.25, 0.5, 0.75, 1.0]);
    }
}
