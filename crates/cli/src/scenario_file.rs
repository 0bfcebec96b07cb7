//! Scenario files that a user names.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rospin_scenario::{Scenario, ScenarioError};

/// Largest number of activations of a simulation, which keeps about 120 bytes of each.
const ACTIVATIONS_MAX: f64 = 1e7;

/// Reasons for which a file gives no scenario.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScenarioFileError {
    #[error("{}: cannot be read ({reason}); name a scenario file, as in crates/scenario/scenarios", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    /// The text is no valid scenario. The message has the form of a compiler's, so that editors find the place.
    #[error("{}:{}:{}: {}{}", path.display(), error.line, error.column, key(error), error.message)]
    Text { path: PathBuf, error: ScenarioError },
}

/// Returns the key that the error is about, as the beginning of its message; nothing if it is about none.
fn key(error: &ScenarioError) -> String {
    if error.key.is_empty() { String::new() } else { format!("`{}`: ", error.key) }
}

/// Reads a scenario, and the files of measured arrivals that it refers to.
///
/// # Errors
/// If one of the files cannot be read or is invalid. The error has the file, the place and the mistake.
pub(crate) fn read(path: &Path) -> Result<Scenario, ScenarioFileError> {
    let unreadable = |reason| ScenarioFileError::Unreadable { path: path.to_owned(), reason };
    let wrong = |error| ScenarioFileError::Text { path: path.to_owned(), error };
    let text = ScenarioError::text_of(fs::read(path).map_err(unreadable)?).map_err(wrong)?;
    let mut scenario = Scenario::parse(&text).map_err(wrong)?;
    scenario.load_measured(&text, path).map_err(wrong)?;
    Ok(scenario)
}

/// Reads a scenario that is to be simulated, once `change` has changed it.
///
/// # Errors
/// As [`read`] does, and if the simulation would never end, or would have more than [`ACTIVATIONS_MAX`] activations.
pub(crate) fn read_to_simulate(path: &Path, change: impl FnOnce(&mut Scenario)) -> Result<Scenario, ScenarioFileError> {
    let mut scenario = read(path)?;
    change(&mut scenario);
    if let Err(error) = scenario.check_flow(ACTIVATIONS_MAX) {
        let text = fs::read_to_string(path).unwrap_or_default();
        return Err(ScenarioFileError::Text { path: path.to_owned(), error: ScenarioError::locate(&text, &error) });
    }
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_with_file_and_place() {
        let error = read(Path::new("/nowhere.toml")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere.toml: ") && error.contains("name a scenario file"), "{error}");
        let path = std::env::temp_dir().join(format!("rospin-cli-{}-scenario.toml", std::process::id()));
        fs::write(&path, "seed = 1\nduration = \"soon\"\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}:2:12: `duration`: ", path.display())), "{error}");
        fs::remove_file(path).unwrap();
    }
}
