//! Replays with a change: the simulator runs the recorded arrivals and execution times with another policy, other
//! priorities and so on.

mod change;
mod observed;
mod scenario;
mod table;

use std::io::Write;
use std::path::PathBuf;

use rospin_engine::policy;
use rospin_report::Failure;
use rospin_report::progress::LateProgress;
use rospin_sim::{Outcome, Simulation, SimulationError};
use rospin_trace::{Model, Recording};

use self::observed::System;
use self::scenario::Repeated;
use self::table::Case;

pub(super) use self::change::Changes;

/// The most activations that are simulated, of which about 120 bytes each are kept.
const ACTIVATIONS_MAX: usize = 20_000_000;

/// Reasons for which recordings cannot be simulated.
#[derive(Debug, thiserror::Error)]
enum WhatIfError {
    #[error("{}: has no activation that could run again", path.display())]
    Nothing { path: PathBuf },
    #[error("{}: has {count} activations; a simulation takes up to {ACTIVATIONS_MAX}: record a shorter time", path.display())]
    TooMany { path: PathBuf, count: usize },
    #[error("{}: its policy `{policy}` is the program's own; name another one with --policy", path.display())]
    OwnPolicy { path: PathBuf, policy: String },
    #[error("{}: what was recorded cannot be simulated: {reason}", path.display())]
    Refused { path: PathBuf, reason: SimulationError },
}

/// Simulates the recordings, which were made at the same time, and prints the figures beside the recorded ones.
pub(super) fn run(
    changes: &Changes,
    recordings: &[Recording],
    quiet: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let path = || recordings.first().map(|recording| recording.path.clone()).unwrap_or_default();
    let system = System::of(recordings);
    let count: usize = system.callbacks.iter().map(|callback| callback.activations.len()).sum();
    if count == 0 {
        return Err(Failure::input(WhatIfError::Nothing { path: path() }));
    }
    if count > ACTIVATIONS_MAX {
        return Err(Failure::input(WhatIfError::TooMany { path: path(), count }));
    }
    let same = Repeated::of(&system, &Model::new(recordings), changes.cores);
    let mut changed = same.clone();
    changes.apply(&mut changed).map_err(Failure::input)?;
    let simulated = |repeated: &Repeated| -> Result<Outcome, Failure> {
        let own = repeated.scenario.executors.iter().find(|executor| policy::by_name(&executor.policy).is_err());
        if let Some(executor) = own {
            let policy = executor.policy.clone();
            return Err(Failure::input(WhatIfError::OwnPolicy { path: path(), policy }));
        }
        simulate(repeated, quiet).map_err(|reason| Failure::input(WhatIfError::Refused { path: path(), reason }))
    };
    let mut cases = vec![Case::recorded(&system, &same)];
    let is_own = same.scenario.executors.iter().any(|executor| policy::by_name(&executor.policy).is_err());
    // A policy of the program's own can only be replaced.
    if !is_own || !changes.changes_anything() {
        cases.push(Case::simulated("simulated", &simulated(&same)?));
    }
    if changes.changes_anything() {
        cases.push(Case::simulated("changed", &simulated(&changed)?));
    }
    let seconds = same.scenario.duration.as_secs_f64();
    writeln!(out, "{}: {seconds:.3} s, {count} activations\n", path().display())?;
    let callbacks: Vec<&str> = same.scenario.callbacks.iter().map(|callback| callback.name.as_str()).collect();
    write!(out, "{}", table::render("callback", &callbacks, &cases, |case| &case.callbacks))?;
    if !same.scenario.chains.is_empty() {
        // A chain's name is the list of its callbacks, which is too long for a column.
        let chains: Vec<String> = (1..=same.scenario.chains.len()).map(|number| format!("chain {number}")).collect();
        let names: Vec<&str> = chains.iter().map(String::as_str).collect();
        write!(out, "\n{}", table::render("chain", &names, &cases, |case| &case.chains))?;
        for (name, chain) in chains.iter().zip(&same.scenario.chains) {
            writeln!(out, "{name}: {}", chain.name)?;
        }
    }
    writeln!(out, "\n{}", table::legend(&cases))?;
    same.notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    Ok(())
}

fn simulate(repeated: &Repeated, quiet: bool) -> Result<Outcome, SimulationError> {
    let mut progress = LateProgress::begin(super::NAME, quiet);
    let mut report = |share| progress.at(share);
    let mut simulation = Simulation::new(&repeated.scenario)?.progress(&mut report);
    for (callback, outputs) in repeated.scenario.callbacks.iter().zip(&repeated.outputs) {
        simulation = simulation.outputs(&callback.name, outputs.clone())?;
    }
    let outcome = simulation.run();
    progress.end();
    outcome
}
