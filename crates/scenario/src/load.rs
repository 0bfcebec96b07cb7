//! Loading of scenarios, with the files that they refer to.

use std::path::Path;
use std::time::Duration;

use crate::check::Table;
use crate::duration;
use crate::error::ScenarioError;
use crate::file::{FileError, TomlFile};
use crate::model::Scenario;
use crate::traffic::Pattern;

/// Maximum number of measured arrivals. More of them do not make the curve more certain.
const TIMES_MAX: usize = 1_000_000;

impl Scenario {
    /// Reads a scenario from a file, and the measured arrivals that it refers to.
    ///
    /// # Errors
    /// If one of the files cannot be read or is invalid.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let file = TomlFile::load("scenario", path)?;
        let mut scenario = Self::parse(file.text()).map_err(|error| file.wrong(error))?;
        scenario.load_measured(file.text(), path).map_err(|error| file.wrong(error))?;
        Ok(scenario)
    }

    /// Reads the measured arrivals that the scenario refers to. `text` is the scenario's own text, from the file at
    /// `path`.
    ///
    /// # Errors
    /// If a file cannot be read or is invalid. The error's place is the line of the scenario that names the file.
    pub fn load_measured(&mut self, text: &str, path: &Path) -> Result<(), ScenarioError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        for (number, release) in self.releases.iter_mut().enumerate() {
            let Pattern::Measured { file, times } = &mut release.pattern else { continue };
            let found = std::fs::read(folder.join(&*file)).map_err(|error| error.to_string());
            let found = found.and_then(|bytes| ScenarioError::text_of(bytes).map_err(|error| error.to_string()));
            match found.and_then(|content| arrivals(&content)) {
                Ok(found) => *times = found,
                Err(reason) => {
                    let wrong = Table("release", number).wrong::<()>("measured", format!("`{file}`: {reason}"));
                    return wrong.map_err(|error| ScenarioError::locate(text, &error));
                }
            }
        }
        Ok(())
    }
}

/// Parses a measurement: one time per line, as a duration or in seconds. `#` starts a comment. Returns the times in
/// order, relative to the earliest one.
fn arrivals(content: &str) -> Result<Vec<Duration>, String> {
    let mut times = Vec::new();
    for (number, line) in content.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let is_plain = line.chars().all(|c| c.is_ascii_digit() || c == '.');
        let time = if is_plain { duration::parse(&format!("{line} s")) } else { duration::parse(line) };
        times.push(time.map_err(|error| format!("line {}: {error}", number + 1))?);
    }
    if times.len() < 2 || times.len() > TIMES_MAX {
        return Err(format!(
            "a measurement has 2 to {TIMES_MAX} arrival times, one a line, as in \"12.5 ms\" or 0.0125"
        ));
    }
    times.sort_unstable();
    let first = times[0];
    for time in &mut times {
        *time -= first;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_durations_or_seconds() {
        let ms = Duration::from_millis;
        assert_eq!(arrivals("# s\n1.5\n\n1.25 # early\n1600 ms\n"), Ok(vec![ms(0), ms(250), ms(350)]));
        assert!(arrivals("1.5\nsoon\n").unwrap_err().starts_with("line 2: `soon` is not a duration"));
        assert!(arrivals("1.5").unwrap_err().contains("2 to 1000000 arrival times"));
    }

    #[test]
    fn a_file_is_read_beside_the_scenario() {
        let folder = std::env::temp_dir().join(format!("rospin-scenario-{}-measured", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = "duration = \"1 s\"\n[[executor]]\nname = \"x\"\n[[group]]\nname = \"g\"\n[[callback]]\n\
                    name = \"a\"\n\
            kind = \"service\"\n[[release]]\nto = [\"a\"]\nmeasured = \"times.txt\"\n";
        let path = folder.join("system.toml");
        std::fs::write(&path, text).unwrap();
        let missing = Scenario::load(&path).unwrap_err().to_string();
        assert!(missing.contains("line 11, column 12, `measured`: `times.txt`: "), "{missing}");
        std::fs::write(folder.join("times.txt"), b"7 ms\n3 \xb5s\n").unwrap();
        let latin = Scenario::load(&path).unwrap_err().to_string();
        assert!(latin.contains("line 11, column 12, `measured`: `times.txt`: line 2, column 3: byte 0xb5"), "{latin}");
        std::fs::write(folder.join("times.txt"), "7 ms\n3 ms\n").unwrap();
        let scenario = Scenario::load(&path).unwrap();
        let Pattern::Measured { times, .. } = &scenario.releases[0].pattern else { panic!("measured") };
        assert_eq!(times, &[Duration::ZERO, Duration::from_millis(4)]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
