//! Monitors of programs whose environment asks for one.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};

use rospin_engine::{FileError, RecordError, Recorder, SinkHandle};
use rospin_trace::monitor::Monitor;
use rospin_trace::settings;

/// The variable of the environment that names the system file with which the program is compared.
const SYSTEM: &str = "ROSPIN_SYSTEM";
/// The variable of the environment that names the file of bounds that were proven for the system file.
const BOUNDS: &str = "ROSPIN_BOUNDS";

/// Reasons for which a program is not monitored although its environment asks for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MonitoringError {
    /// A file cannot be read or is invalid.
    #[error("the program cannot be compared with {SYSTEM}: {0}")]
    File(FileError),
    /// `ROSPIN_BOUNDS` is set, and `ROSPIN_SYSTEM` is not.
    #[error("{BOUNDS} is set, and {SYSTEM} is not; set it to the system file that the bounds were proven for")]
    NoSystem,
    /// The recorder could not be started.
    #[error(transparent)]
    Recorder(#[from] RecordError),
}

static OF_PROCESS: OnceLock<Monitor> = OnceLock::new();

/// Returns the monitor that [`monitor_from_env`] started, for [`on_violation`](Monitor::on_violation) and
/// [`counts`](Monitor::counts); `None` if it started none.
#[must_use]
pub fn monitor() -> Option<Monitor> {
    OF_PROCESS.get().cloned()
}

/// Starts a monitor of everything that the recorder [of the process](Recorder::of_process) records, as the environment
/// asks for: `ROSPIN_SYSTEM` names a system file, and `ROSPIN_BOUNDS` the bounds that
/// `rospin analyze SYSTEM --bounds FILE` has proven for it. The monitor tells of violations on stderr. Returns `None`
/// if neither is set. [`init`](crate::init) calls this; further calls return the same monitor.
///
/// Processor times are recorded, too, which tell a callback that runs too long from one that the kernel does not run,
/// unless `ROSPIN_TRACE_CPU` is `0`.
///
/// # Errors
/// If a file is invalid, `ROSPIN_BOUNDS` is set without `ROSPIN_SYSTEM`, or the recording thread cannot be started.
pub fn monitor_from_env() -> Result<Option<Monitor>, MonitoringError> {
    static STARTING: Mutex<()> = Mutex::new(());
    let _only_one = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(monitor) = OF_PROCESS.get() {
        return Ok(Some(monitor.clone()));
    }
    let file = |variable| std::env::var_os(variable).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from);
    let Some(system) = file(SYSTEM) else {
        return if file(BOUNDS).is_some() { Err(MonitoringError::NoSystem) } else { Ok(None) };
    };
    let monitor = Monitor::load(&system, file(BOUNDS).as_deref()).map_err(MonitoringError::File)?.telling();
    let recorder = Recorder::of_process();
    if std::env::var_os(settings::CPU).is_none_or(|value| value != "0") {
        recorder.set_cpu_times(true);
    }
    watch(&recorder, &monitor)?;
    Ok(Some(OF_PROCESS.get_or_init(|| monitor).clone()))
}

/// Has the monitor watch everything that `recorder` records from now on, and has the recorder record the violations
/// that it finds, for the other sinks. [`Monitor::load`] creates a monitor; [`stop`](SinkHandle::stop) of the handle
/// ends the watch.
///
/// ```
/// use rospin::monitoring::{Monitor, watch};
/// use rospin::recording::Recorder;
/// use rospin::{Context, ContextOptions};
///
/// # let folder = std::env::temp_dir().join(format!("rospin-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("system.toml");
/// # std::fs::write(&file, "duration = \"1 s\"\n[[executor]]\nname = \"main\"\n")?;
/// let recorder = Recorder::new();
/// let context = Context::new(ContextOptions::new().recorder(recorder.clone()));
/// let monitor = Monitor::load(&file, None)?;
/// monitor.on_violation(|violation| eprintln!("into the safe state: {violation}"));
/// let watching = watch(&recorder, &monitor)?;
/// // … spin the context's executors …
/// watching.stop();
/// assert!(monitor.counts().is_empty());
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the recording thread cannot be started.
pub fn watch(recorder: &Recorder, monitor: &Monitor) -> Result<SinkHandle, RecordError> {
    for definition in monitor.definitions() {
        recorder.add_definition(definition);
    }
    let note = recorder.clone();
    monitor.on_violation(move |violation| note.record_event(violation.at, &violation.event()));
    recorder.start(monitor.live_sink())
}
