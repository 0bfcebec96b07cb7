//! Errors in the input of `rospin analyze`, with their places.

use std::fs;
use std::path::{Path, PathBuf};

use rospin_analysis::AnalysisError;
use rospin_scenario::{CheckError, Scenario, ScenarioError};
use rospin_sim::SimulationError;

/// Reasons for which a scenario cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub(super) enum InputError {
    /// The analysis refused the scenario at `path`.
    #[error("{}{}: {error}", path.display(), place(path, error).unwrap_or_default())]
    Analysis { path: PathBuf, error: AnalysisError },
    /// The scenario cannot be simulated.
    #[error("{}: {error}", path.display())]
    Simulation { path: PathBuf, error: SimulationError },
    /// The deployment file cannot be written.
    #[error("--deploy {}: {reason}; name a file that is not there, in an existing folder", path.display())]
    Deploy { path: PathBuf, reason: String },
    /// The bounds cannot be written.
    #[error("--bounds {}: {reason}; name a file that is not there, in an existing folder", path.display())]
    Bounds { path: PathBuf, reason: String },
    /// The change with this number cannot be made.
    #[error("--apply {number}: {reason}")]
    Apply { number: u16, reason: String },
    /// Nothing has the name that `--critical` gives. `known` lists the names that there are.
    #[error("--critical {name}: there is no callback or chain of that name; known are {known}")]
    Critical { name: String, known: String },
    #[error("--reserve {executor}: two reservations for one executor; leave one out")]
    Reserved { executor: String },
}

/// Returns the place in the file, as `:line:column`, of the entry that the error is about; `None` if it is about none,
/// or the file cannot be read again.
fn place(path: &Path, error: &AnalysisError) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let scenario = Scenario::parse(&text).ok()?;
    let callback = |name: &String| {
        let number = scenario.callbacks.iter().position(|callback| callback.name == *name);
        number.map(|number| CheckError::of_callback(number, ""))
    };
    let about = match error {
        AnalysisError::NoExecutionTime { callback: name }
        | AnalysisError::NeverReleased { callback: name }
        | AnalysisError::NoFeasiblePriorities { callback: name, .. }
        | AnalysisError::NotAnalyzable { callback: name, .. } => callback(name),
        AnalysisError::Cycle { path } => callback(path.first()?),
        AnalysisError::Overloaded { executors, .. } => {
            let first = executors.first()?;
            let number = scenario.executors.iter().position(|executor| executor.name == *first);
            number.map(|number| CheckError::of_executor(number, ""))
        }
        AnalysisError::AcceleratorOverloaded { callbacks, .. } | AnalysisError::GroupOverloaded { callbacks, .. } => {
            callback(callbacks.first()?)
        }
        _ => None,
    };
    let place = ScenarioError::locate(&text, &about?);
    Some(format!(":{}:{}", place.line, place.column))
}
