//! Prints what becomes of the case study III of PiCAS: for each chain the paper's bound, our bounds with the paper's
//! allocation, with the one that is found from there, and with the one that is found without its cores, and the longest
//! latency that simulations of each see.
//!
//! `cargo run --release -p rospin-analysis --example picas`

#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::fmt::Write;
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
    println!("{}", table()?);
    Ok(())
}

/// Returns the table of the twelve chains, as it is in the book, with a line that counts those that hold.
pub(crate) fn table() -> Result<String, Box<dyn std::error::Error>> {
    let paper = Scenario::parse(include_str!("../../scenario/scenarios/picas_case_study.toml"))?;
    let assigned = Assignment::picas(&Analysis::new(&paper))?.apply(&paper);
    let mut free = paper.clone();
    free.executors.iter_mut().for_each(|executor| executor.cores.clear());
    let found = Assignment::picas(&Analysis::new(&free))?.apply(&free);
    let mut columns = Vec::new();
    for scenario in [&paper, &assigned, &found] {
        columns.push((Analysis::new(scenario).run()?, longest(scenario)?));
    }
    let mut text =
        "| chain | deadline | paper | paper's allocation | simulated | none longer than there | simulated | own \
        allocation | simulated |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    let ms = |time: Duration| time.as_micros().div_ceil(100) as f64 / 10.0;
    for (place, chain) in paper.chains.iter().enumerate() {
        let deadline = chain.deadline.map_or(0, |deadline| deadline.as_millis());
        let number = chain.name.trim_start_matches("chain ");
        write!(text, "| {number} | {deadline} | {:.1} |", ms(Duration::from_micros(PAPER_US[place])))?;
        for (report, seen) in &columns {
            let bound = report.chains[place].latency.map_or(f64::INFINITY, ms);
            write!(text, " {bound:.1} | {:.1} |", ms(seen[place]))?;
        }
        writeln!(text)?;
    }
    let held = |report: &Report| report.chains.iter().filter(|chain| chain.holds).count().to_string();
    let held: Vec<_> = columns.iter().map(|(report, _)| held(report)).collect();
    writeln!(text, "| hold | | | {} | | {} | | {} | |", held[0], held[1], held[2])?;
    Ok(text)
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
