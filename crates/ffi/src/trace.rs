//! Recordings of what all executors of the process do.

use std::ffi::c_char;
use std::io;
use std::path::Path;

use rospin_engine::{RecordError, Recorder};
use rospin_trace::{FileSink, ProcessName, Settings};

use crate::arguments::needed_text;
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of};

/// Records what all executors of the process do, as programs in Rust do: ROSPIN_TRACE names the file, and
/// ROSPIN_TRACE_FLIGHT and others say how. Does nothing if ROSPIN_TRACE is not set.
#[unsafe(no_mangle)]
pub extern "C" fn rospin_trace_start_from_env() -> rospin_status {
    status_of(|| {
        let settings = Settings::from_env().map_err(|error| Failure::invalid(error.to_string()))?;
        let Some(settings) = settings else { return Ok(ROSPIN_OK) };
        let recorder = Recorder::of_process();
        recorder.set_cpu_times(settings.cpu_times);
        if let Some(events) = settings.buffer {
            recorder.set_capacity(events);
        }
        let sink = settings.sink(Recorder::steady_ns()).map_err(|error| Failure::system(&error))?;
        started(recorder.start(sink))
    })
}

/// Records what all executors of the process do from now on, as an MCAP file, which `rospin trace` reads. The file must
/// not exist yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_trace_start(file: *const c_char) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let file = Path::new(unsafe { needed_text(file, "file") }?);
        let name = ProcessName::of_this(Recorder::steady_ns());
        let sink = FileSink::create(file, &name);
        let sink = sink.map_err(|error| Failure::system(&io::Error::other(format!("{}: {error}", file.display()))))?;
        started(Recorder::of_process().start(sink))
    })
}

/// Completes all recordings. Otherwise they are completed when the process exits.
#[unsafe(no_mangle)]
pub extern "C" fn rospin_trace_stop() -> rospin_status {
    status_of(|| {
        Recorder::of_process().stop();
        Ok(ROSPIN_OK)
    })
}

fn started<T>(started: Result<T, RecordError>) -> Result<rospin_status, Failure> {
    let _sink = started.map_err(|error| Failure::system(&error))?;
    Recorder::of_process().stop_at_exit();
    Ok(ROSPIN_OK)
}
