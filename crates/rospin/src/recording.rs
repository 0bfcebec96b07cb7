//! Recording of programs whose environment asks for it.

use rospin_engine::{RecordError, Recorder};
use rospin_trace::{Settings, SettingsError};

/// Reasons for which a program is not recorded although its environment asks for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A variable of the environment is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The recorder could not be started.
    #[error(transparent)]
    Recorder(#[from] RecordError),
}

/// Starts the recorder [of the process](Recorder::of_process) as the environment asks for: `ROSPIN_TRACE` names the file of a
/// recording, and `ROSPIN_SCENARIO_TEMPLATE` the system file that the program writes of itself when its context is dropped. Does
/// nothing if neither is set, or if it was done already and the recorder is on. [`init`](crate::init) calls it.
///
/// # Errors
/// If a variable is invalid, the folder of the system file is not there, or the recording thread cannot be started.
pub fn record_from_env() -> Result<(), RecordingError> {
    let recorder = Recorder::of_process();
    if recorder.is_on() {
        return Ok(());
    }
    let Some(settings) = Settings::from_env()? else { return Ok(()) };
    recorder.set_cpu_times(settings.cpu_times);
    settings.buffer.into_iter().for_each(|events| recorder.set_capacity(events));
    recorder.start(settings.sink(Recorder::steady_ns())?)?;
    Ok(())
}
