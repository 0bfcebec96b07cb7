//! Settings of a recording, from environment variables of the program.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rospin_core::recording::Sink;

use crate::file::{FileSink, ProcessName};
use crate::flight::FlightSink;
use crate::rotate::{RotatingSink, Rotation};

/// Variable with the path of the file that is recorded into. `%p` in it stands for the number of the process.
pub const FILE: &str = "ROSPIN_TRACE";
/// Variable with the number of seconds that a flight recorder keeps. Without it, everything is recorded.
pub const FLIGHT: &str = "ROSPIN_TRACE_FLIGHT";
/// Variable with the largest number of files that a flight recorder writes: 10 unless it is set.
pub const FLIGHT_FILES: &str = "ROSPIN_TRACE_FLIGHT_FILES";
/// Variable with the size in MiB from which on a file is followed by the next one.
pub const SIZE_MAX: &str = "ROSPIN_TRACE_MAX_SIZE";
/// Variable with the number of seconds after which a file is followed by the next one.
pub const DURATION_MAX: &str = "ROSPIN_TRACE_MAX_DURATION";
/// Variable with the number of files that are kept if a recording has several. Without it, all are.
pub const KEEP: &str = "ROSPIN_TRACE_KEEP";
/// Variable that is `1` if the processor time of threads is recorded.
pub const CPU: &str = "ROSPIN_TRACE_CPU";
/// Variable with the number of events that the buffer of each thread holds, at most [`BUFFER_MAX`].
pub const BUFFER: &str = "ROSPIN_TRACE_BUFFER";
/// The largest number of events that the buffer of a thread may hold: 768 MiB for each thread that records.
pub const BUFFER_MAX: usize = 1 << 24;

/// Settings of a recording.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The path of the file; a flight recorder makes the paths of its files from it. If it is a folder, the files are
    /// created in it, with the name of the program.
    pub file: PathBuf,
    /// The time that a flight recorder keeps; `None` to record everything.
    pub window: Option<Duration>,
    /// The largest number of files of a flight recorder.
    pub files: u32,
    /// The limits of the files; `None` to record into one.
    pub rotation: Option<Rotation>,
    /// True if the processor time of threads is recorded.
    pub cpu_times: bool,
    /// The number of events that the buffer of each thread holds; `None` for the engine's default.
    pub buffer: Option<usize>,
}

/// Reasons for which a program cannot be recorded as its environment says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A variable has an invalid value.
    #[error("{variable} is `{value}`; it must be {must}")]
    Invalid {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// Values that it may have.
        must: &'static str,
    },
    /// A variable needs another one, or excludes it.
    #[error("{variable} is set {but}")]
    Alone {
        /// The variable.
        variable: &'static str,
        /// Description of the other one.
        but: String,
    },
    /// The folder in which the file should be created is not there.
    #[error("{FILE}: the folder {} is not there; create it", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
    },
}

impl Settings {
    /// Returns the settings in the environment, or `None` if `ROSPIN_TRACE` is not set.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn from_env() -> Result<Option<Self>, SettingsError> {
        Self::from(|variable| std::env::var_os(variable))
    }

    fn from(read: impl Fn(&str) -> Option<OsString>) -> Result<Option<Self>, SettingsError> {
        let read = |variable| read(variable).filter(|value| !value.is_empty());
        let Some(file) = read(FILE) else { return Ok(None) };
        let parse = |variable: &'static str, must: &'static str, least: f64| match read(variable) {
            None => Ok(None),
            Some(value) => {
                let text = value.to_string_lossy().into_owned();
                let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= least);
                let number = number.filter(|number| *number <= 1e9);
                number.map(Some).ok_or(SettingsError::Invalid { variable, value: text, must })
            }
        };
        let window = parse(FLIGHT, "a number of seconds from 0.1 to 1000000000", 0.1)?;
        let files = parse(FLIGHT_FILES, "a number of files from 1 to 1000000000", 1.0)?;
        let bytes_max = parse(SIZE_MAX, "a number of MiB from 0.1 to 1000000000", 0.1)?;
        let duration_max = parse(DURATION_MAX, "a number of seconds from 0.1 to 1000000000", 0.1)?;
        let keep = parse(KEEP, "a number of files from 1 to 1000000000", 1.0)?;
        let rotation = Rotation {
            bytes_max: bytes_max.map(|mib| (mib * 1_048_576.0) as u64),
            duration_max: duration_max.map(Duration::from_secs_f64),
            keep: keep.map(|files| files as u32),
        };
        let rotation =
            if rotation.bytes_max.is_some() || rotation.duration_max.is_some() { Some(rotation) } else { None };
        if keep.is_some() && rotation.is_none() {
            let but = format!("without {SIZE_MAX} or {DURATION_MAX}, so there is one file; set one of them, too");
            return Err(SettingsError::Alone { variable: KEEP, but });
        }
        if window.is_some() && rotation.is_some() {
            let but = format!("with {FLIGHT}, whose files have its seconds; unset one of them");
            let variable = if bytes_max.is_some() { SIZE_MAX } else { DURATION_MAX };
            return Err(SettingsError::Alone { variable, but });
        }
        let cpu_times = parse(CPU, "0 or 1", 0.0)?;
        let must = "a number of events from 16 to 16777216, of 48 bytes each, for each thread";
        let buffer = parse(BUFFER, must, 16.0)?;
        if let Some(events) = buffer.filter(|events| *events > BUFFER_MAX as f64) {
            return Err(SettingsError::Invalid { variable: BUFFER, value: events.to_string(), must });
        }
        Ok(Some(Self {
            file: with_process(&file),
            window: window.map(Duration::from_secs_f64),
            files: files.map_or(10, |files| files as u32),
            rotation,
            cpu_times: cpu_times.is_some_and(|value| value > 0.0),
            buffer: buffer.map(|events| events as usize),
        }))
    }

    /// Returns the sink of the recording: a [`FlightSink`] if the settings have a window, a [`RotatingSink`] if they
    /// limit the files, else a [`FileSink`]. The latter creates its file when there is a first event. If the file is
    /// there already, the number of the process is added to its name, so that nothing is overwritten. `steady_ns` is
    /// the present time of the steady clock, in nanoseconds.
    ///
    /// # Errors
    /// If the folder of the file is not there.
    pub fn sink(&self, steady_ns: u64) -> Result<Box<dyn Sink>, SettingsError> {
        let process = ProcessName::of_this(steady_ns);
        let file = if self.file.is_dir() { in_folder(&self.file, &process) } else { self.file.clone() };
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(SettingsError::Folder { folder: folder.to_owned() });
        }
        Ok(match (self.window, self.rotation) {
            (Some(window), _) => Box::new(FlightSink::new(&file, &process, window, self.files)),
            (None, Some(rotation)) => Box::new(RotatingSink::new(&file, &process, rotation)),
            (None, None) => Box::new(FileSink::new(&file, &process)),
        })
    }
}

/// Returns the path of a file in the folder that no other process has: the name and the number of the process.
fn in_folder(folder: &Path, process: &ProcessName) -> PathBuf {
    let name = if process.name.is_empty() { "program" } else { &process.name };
    folder.join(format!("{name}-{}.mcap", process.process))
}

/// Returns the path with the number of the process for each `%p`.
fn with_process(path: &OsStr) -> PathBuf {
    match path.to_str() {
        Some(path) => PathBuf::from(path.replace("%p", &std::process::id().to_string())),
        None => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let read = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into());
        Settings::from(read).map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_is_recorded_without_a_file() {
        assert_eq!(settings(&[(FLIGHT, "nonsense")]), Ok(None));
        assert_eq!(settings(&[(FILE, "")]), Ok(None));
    }

    #[test]
    fn mistakes_name_the_variable_and_the_values_that_it_may_have() {
        for (variable, value) in [(FLIGHT, "-1"), (FLIGHT, "NaN"), (BUFFER, "1"), (CPU, "yes"), (FLIGHT_FILES, "0")] {
            let error = settings(&[(FILE, "a.mcap"), (variable, value)]).unwrap_err();
            assert!(error.starts_with(&format!("{variable} is `{value}`; it must be ")), "{error}");
        }
    }

    #[test]
    fn limits_of_files_need_each_other_and_exclude_a_flight_recorder() {
        let with = |more: &[(&str, &str)]| settings(&[&[(FILE, "a.mcap")], more].concat());
        let rotation = with(&[(SIZE_MAX, "0.5"), (KEEP, "3")]).unwrap().unwrap().rotation;
        assert_eq!(rotation, Some(Rotation { bytes_max: Some(524_288), duration_max: None, keep: Some(3) }));
        assert_eq!(with(&[]).unwrap().unwrap().rotation, None);
        for (more, text) in [
            (&[(KEEP, "3")][..], "ROSPIN_TRACE_KEEP is set without ROSPIN_TRACE_MAX_SIZE or ROSPIN_TRACE_MAX_DURATION"),
            (&[(DURATION_MAX, "9"), (FLIGHT, "9")], "ROSPIN_TRACE_MAX_DURATION is set with ROSPIN_TRACE_FLIGHT"),
            (&[(SIZE_MAX, "0")], "ROSPIN_TRACE_MAX_SIZE is `0`; it must be a number of MiB"),
            (&[(DURATION_MAX, "1"), (KEEP, "0")], "ROSPIN_TRACE_KEEP is `0`; it must be"),
        ] {
            let error = with(more).unwrap_err();
            assert!(error.starts_with(text), "{error}");
        }
    }

    #[test]
    fn a_buffer_that_no_machine_has_room_for_is_an_error() {
        let with = |events: &str| settings(&[(FILE, "a.mcap"), (BUFFER, events)]);
        for events in ["1e9", "1000000000", "16777217", "1e300"] {
            let error = with(events).unwrap_err();
            assert!(error.starts_with("ROSPIN_TRACE_BUFFER is `") && error.contains("from 16 to 16777216"), "{error}");
        }
        assert_eq!(with("16777216").unwrap().unwrap().buffer, Some(BUFFER_MAX));
    }

    #[test]
    fn a_folder_gets_a_file_for_each_process() {
        let folder = std::env::temp_dir().join(format!("rospin-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (variables, ending) in
            [(&[][..], ".mcap"), (&[(FLIGHT, "5")], "-1.mcap"), (&[(SIZE_MAX, "1")], "-0001.mcap")]
        {
            let all = [&[(FILE, folder.to_str().unwrap())], variables].concat();
            let mut sink = settings(&all).unwrap().unwrap().sink(0).unwrap();
            sink.record(1, &[[5, 7, 0, 0, 0, 0]]);
            sink.trigger("the test");
            sink.flush();
            drop(sink);
            let name = ProcessName::of_this(0).name;
            let file = folder.join(format!("{name}-{}{ending}", std::process::id()));
            assert!(file.is_file(), "{} is missing", file.display());
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn processes_have_files_of_their_own() {
        let with = settings(&[(FILE, "/tmp/a-%p.mcap"), (FLIGHT, "2.5"), (CPU, "1")]).unwrap().unwrap();
        let process = std::process::id();
        assert_eq!(with.file, PathBuf::from(format!("/tmp/a-{process}.mcap")));
        assert_eq!((with.window, with.cpu_times, with.buffer), (Some(Duration::from_millis(2500)), true, None));
    }
}
