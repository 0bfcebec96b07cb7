//! Recording of programs whose environment asks for it.

use rospin_engine::{RecordError, Recorder};
use rospin_trace::{Settings, SettingsError};

/// Reasons for which a program is not recorded although `ROSPIN_TRACE` is set.
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

/// Starts the recorder [of the process](Recorder::of_process) as the environment asks for: `ROSPIN_TRACE` names the file. Does
/// nothing if that is not set, or the recorder is on already. [`init`](crate::init) calls it.
///
/// # Errors
/// If a variable is invalid, or the recording thread cannot be started.
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
