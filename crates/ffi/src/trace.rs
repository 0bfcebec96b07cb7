//! Recordings of what all executors of the process do.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rospin_engine::{Instant, RecordError, Recorder};
use rospin_trace::{FileSink, ProcessName, Settings};

use crate::arguments::{given, needed_text};
use crate::foreign::instant;
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of, value_of};

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

/// True while something is recorded. Neither blocks nor locks. Calls of the functions below do nothing otherwise, but
/// the publishers that they name are known to later recordings.
#[unsafe(no_mangle)]
pub extern "C" fn rospin_trace_is_on() -> bool {
    value_of(false, || Recorder::of_process().is_on())
}

/// The numbers of the publishers that have names, by their ids.
static NAMED: Mutex<BTreeMap<[u8; 16], u64>> = Mutex::new(BTreeMap::new());

/// Names the topic of a publisher, such as "/robot/image". `publisher` is its id, which no other one has: 16 bytes. Its
/// name is kept until it is forgotten. Locks and allocates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_trace_name_publisher(publisher: *const u8, topic: *const c_char) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let (publisher, topic) = unsafe { (id(publisher)?, needed_text(topic, "topic")?) };
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        named.entry(publisher).or_insert_with(|| Recorder::of_process().add_publisher(publisher, topic));
        Ok(ROSPIN_OK)
    })
}

/// Forgets the name of a publisher, which sends nothing any more. Does nothing if it has none. Locks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_trace_forget_publisher(publisher: *const u8) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let publisher = unsafe { id(publisher) }?;
        let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = named.remove(&publisher) {
            Recorder::of_process().remove_publisher(number);
        }
        Ok(ROSPIN_OK)
    })
}

/// Records that the calling thread publishes a message, at the time `at_ns` on the steady clock: a callback that runs on
/// the thread has published it. `number` tells the messages of a publisher apart. One message to several places, with
/// one time, counts as one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_trace_sent(publisher: *const u8, number: u64, at_ns: i64) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let publisher = unsafe { id(publisher) }?;
        Recorder::of_process().sent(|| instant(at_ns), publisher, number);
        Ok(ROSPIN_OK)
    })
}

/// Records that the calling thread has taken the message of that publisher and number: for the callback that runs on
/// the thread, or is about to, when an entity's `take` calls it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_trace_received(publisher: *const u8, number: u64) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let publisher = unsafe { id(publisher) }?;
        Recorder::of_process().received(|| Instant::from_nanos(Recorder::steady_ns()), publisher, number);
        Ok(ROSPIN_OK)
    })
}

/// Returns the id of a publisher.
///
/// # Safety
/// The pointer is NULL, or points to 16 bytes.
unsafe fn id(publisher: *const u8) -> Result<[u8; 16], Failure> {
    // SAFETY: the caller promises it.
    unsafe { given(publisher.cast::<[u8; 16]>(), "publisher") }.copied()
}

fn started<T>(started: Result<T, RecordError>) -> Result<rospin_status, Failure> {
    let _sink = started.map_err(|error| Failure::system(&error))?;
    Recorder::of_process().stop_at_exit();
    Ok(ROSPIN_OK)
}
