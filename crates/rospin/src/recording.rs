//! Recordings of everything that the executors of a process do, in a file or as tracepoints. [`init`](crate::init)
//! begins those that the environment asks for.

use std::sync::{Mutex, PoisonError};

use rospin_trace::{Settings, SettingsError};
use rospin_tracetools::{TraceError, trace_from_env};

pub use rospin_engine::{RecordError, Recorder, SinkHandle};

/// Reasons for which a program is not recorded although its environment asks for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// A variable of the environment is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The system file cannot be written, because its folder is not there.
    #[error(transparent)]
    Template(#[from] rospin_learn::SinkError),
    /// The recorder could not be started.
    #[error(transparent)]
    Recorder(#[from] RecordError),
}

/// Starts the recorder [of the process](Recorder::of_process) as the environment asks for: `ROSPIN_TRACE` names the
/// file of a recording, and `ROSPIN_SCENARIO_TEMPLATE` the system file that the program writes of itself when its
/// context is dropped. Does nothing if neither is set, or if it was done already and the recorder is on.
/// [`init`](crate::init) calls it.
///
/// The recording is complete when the process ends by itself: when `main` returns, after SIGINT or SIGTERM too, or by
/// [`std::process::exit`].
///
/// # Errors
/// If a variable is invalid, the folder of the system file is not there, or the recording thread cannot be started.
pub fn record_from_env() -> Result<(), RecordingError> {
    /// True once the recorder was started here.
    static IS_DONE: Mutex<bool> = Mutex::new(false);
    let mut is_done = IS_DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let recorder = Recorder::of_process();
    if *is_done && recorder.is_on() {
        return Ok(());
    }
    let settings = Settings::from_env()?;
    let template = rospin_learn::sink_from_env(Recorder::steady_ns())?;
    // A system file has processor times, unless the recording is told otherwise.
    recorder.set_cpu_times(settings.as_ref().map_or(template.is_some(), |settings| settings.cpu_times));
    if let Some(settings) = settings {
        if let Some(events) = settings.buffer {
            recorder.set_capacity(events);
        }
        recorder.start(settings.sink(Recorder::steady_ns())?)?;
        *is_done = true;
    }
    if let Some(template) = template {
        recorder.start(template)?;
        *is_done = true;
    }
    if *is_done {
        recorder.stop_at_exit();
    }
    Ok(())
}

/// Emits the tracepoints of ros2_tracing for what executors of the [recorder of the process](Recorder::of_process) do
/// from now on, if `ROSPIN_TRACETOOLS` is 1, or the path of ROS 2's `libtracetools.so`. Then tools that read LTTng
/// traces of rclcpp's nodes read those of this program, too. Returns true if tracing began, and false if the variable
/// is not set, empty, or 0. [`init`](crate::init) calls it, and goes on with a warning if it fails.
///
/// Call it before the first node is created: tools learn the names of nodes, topics and callbacks when these are
/// created.
///
/// # Errors
/// If the library cannot be loaded, or was built without tracepoints, or if the recorder emits them already or cannot
/// be started.
pub fn emit_tracepoints_from_env() -> Result<bool, TraceError> {
    trace_from_env(&Recorder::of_process())
}
