//! Prints what becomes of the case study III of PiCAS: for each chain the paper's bound, our bound with the paper's
//! allocation and with the one that is found, and the longest latency that simulations of both see.
//!
//! `cargo run --release -p rospin-analysis --example picas`

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::time::Duration;

use rospin_analysis::{Analysis, Assignment, Report};
use rospin_scenario::Scenario;
use rospin_sim::Simulation;

/// Bounds of the twelve chains by the formula of the paper's `picas_casestudy.m`, in microseconds.
const PAPER_US: [u64; 12] =
    [18_400, 75_600, 63_100, 45_100, 47_900, 378_000, 248_200, 569_700, 421_000, 712_800, 406_800, 794_400];
/// The virtual time of a simulation with the releases of the file, and of one that begins at a critical instant.
const LENGTHS: [Duration; 2] = [Duration::from_secs(60), Duration::from_secs(20)];
const SEEDS: u64 = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paper = Scenario::parse(include_str!("../../scenario/scenarios/picas_case_study.toml"))?;
    let found = Assignment::picas(&Analysis::new(&paper))?.apply(&paper);
    let (with_paper, with_found) = (Analysis::new(&paper).run()?, Analysis::new(&found).run()?);
    let (seen_paper, seen_found) = (longest(&paper)?, longest(&found)?);
    println!("| chain | deadline | paper's bound | its allocation: our bound | seen | found: our bound | seen |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    for (place, chain) in paper.chains.iter().enumerate() {
        let bound = |report: &Report| report.chains[place].latency.map_or(f64::INFINITY, ms);
        println!(
            "| {} | {:.0} ms | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
            chain.name,
            chain.deadline.map_or(0.0, ms),
            ms(Duration::from_micros(PAPER_US[place])),
            bound(&with_paper),
            ms(seen_paper[place]),
            bound(&with_found),
            ms(seen_found[place]),
        );
    }
    let held = |report: &Report| report.chains.iter().filter(|chain| chain.holds).count();
    println!("{} chains hold with the paper's allocation, {} with the one found", held(&with_paper), held(&with_found));
    for executor in &found.executors {
        println!("{}: core {:?}, OS priority {}", executor.name, executor.cores, executor.os_priority);
    }
    Ok(())
}

/// Returns the longest latency of each chain that simulations see.
fn longest(scenario: &Scenario) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let mut simulated = Analysis::new(scenario).critical_instants(LENGTHS[1]);
    for seed in 0..SEEDS {
        let mut drawn = scenario.clone();
        (drawn.seed, drawn.duration) = (seed, LENGTHS[0]);
        simulated.push(drawn);
    }
    let mut longest = vec![Duration::ZERO; scenario.chains.len()];
    for scenario in &simulated {
        let outcome = Simulation::new(scenario)?.run()?;
        let seen = outcome.chains.iter().map(|chain| chain.latency.max);
        longest.iter_mut().zip(seen).for_each(|(longest, seen)| *longest = seen.max(*longest));
    }
    Ok(longest)
}
