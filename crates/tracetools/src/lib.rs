//! The tracepoints of ros2_tracing (`ros2:*`) for rospin's nodes, so that tools that read LTTng traces of rclcpp's
//! nodes read those of rospin's, too.
//!
//! ROS 2's own library `libtracetools.so` emits them. It is loaded when a program runs, so that nothing of ROS 2 is
//! needed to build one. A [`Tracer`] is an observer of a [`Recorder`]: it calls the library on the threads in which
//! things happen, because LTTng notes time and thread itself.

mod address;
mod current;
mod declared;
mod library;
mod tracer;

use rospin_engine::{RecordError, Recorder};

pub use library::LoadError;
pub use tracer::Tracer;

/// The environment variable that switches tracing on.
pub const VARIABLE: &str = "ROSPIN_TRACETOOLS";

/// The name by which the dynamic loader finds the library where ROS 2 is sourced.
const LIBRARY: &str = "libtracetools.so";

/// Reasons for which a program is not traced although its environment asks for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The library could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The recorder has an observer already, or could not be started.
    #[error(transparent)]
    Recorder(#[from] RecordError),
}

/// Emits the tracepoints of what the recorder's executors do from now on, if `ROSPIN_TRACETOOLS` is set: 1 loads
/// `libtracetools.so` as the dynamic loader finds it, and anything else is the library's path. Does nothing if the
/// variable is not set, empty, or 0. Returns true if tracing began.
///
/// Call it before the first node is created, since tools learn the names of nodes, topics and callbacks when these are
/// created. Locks, allocates, and reads files.
///
/// # Errors
/// If the library cannot be loaded, or has no tracepoints. The program can go on without.
pub fn trace_from_env(recorder: &Recorder) -> Result<bool, TraceError> {
    let library = match std::env::var_os(VARIABLE) {
        None => return Ok(false),
        Some(value) if value.is_empty() || value == "0" => return Ok(false),
        Some(value) if value == "1" => LIBRARY.into(),
        Some(path) => path,
    };
    recorder.observe(Tracer::load(&library)?)?;
    Ok(true)
}
