//! Log records, passed on to a function of the caller.

use std::ffi::{CString, c_char, c_void};
use std::sync::{PoisonError, RwLock};

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of};

/// Level of a log message: an error.
pub const ROSPIN_LOG_ERROR: i32 = 1;
/// Level of a log message: a warning.
pub const ROSPIN_LOG_WARN: i32 = 2;
/// Level of a log message: an information.
pub const ROSPIN_LOG_INFO: i32 = 3;
/// Level of a log message: for debugging.
pub const ROSPIN_LOG_DEBUG: i32 = 4;
/// Level of a log message: for debugging of rospin itself.
pub const ROSPIN_LOG_TRACE: i32 = 5;

/// The function that log records go to, with the data that it is called with.
#[derive(Clone, Copy)]
struct Target {
    log: unsafe extern "C" fn(data: *mut c_void, level: i32, message: *const c_char),
    data: *mut c_void,
}

// SAFETY: the header demands a function that any thread may call with the data.
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

struct Forward(RwLock<Option<Target>>);

static FORWARD: Forward = Forward(RwLock::new(None));

impl Log for Forward {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record<'_>) {
        let target = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Target { log, data }) = target.filter(|_| self.enabled(record.metadata())) {
            let message = CString::new(record.args().to_string().replace('\0', " ")).unwrap_or_default();
            let level = match record.level() {
                Level::Error => ROSPIN_LOG_ERROR,
                Level::Warn => ROSPIN_LOG_WARN,
                Level::Info => ROSPIN_LOG_INFO,
                Level::Debug => ROSPIN_LOG_DEBUG,
                Level::Trace => ROSPIN_LOG_TRACE,
            };
            // SAFETY: the header demands such a function and such data.
            unsafe { log(data, level, message.as_ptr()) };
        }
    }

    fn flush(&self) {}
}

/// Sends rospin's log messages to a function, for the whole process: callbacks that fail, names in deployment files
/// that the program does not have, settings that threads could not get. `level_max` is the least important level that
/// is sent. Another call replaces the function, which may still be called by threads that log just then. NULL drops
/// messages, as at the beginning. `log` is called by any thread, and should not block.
///
/// ROSPIN_ERROR_INVALID if the process has a logger of a Rust program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_set_log(
    log: Option<unsafe extern "C" fn(data: *mut c_void, level: i32, message: *const c_char)>,
    data: *mut c_void,
    level_max: i32,
) -> rospin_status {
    status_of(|| {
        let level = match level_max {
            ROSPIN_LOG_ERROR => LevelFilter::Error,
            ROSPIN_LOG_WARN => LevelFilter::Warn,
            ROSPIN_LOG_INFO => LevelFilter::Info,
            ROSPIN_LOG_DEBUG => LevelFilter::Debug,
            ROSPIN_LOG_TRACE => LevelFilter::Trace,
            _ => return Err(Failure::invalid(format!("there is no log level {level_max}"))),
        };
        let is_ours = log::set_logger(&FORWARD).is_ok() || std::ptr::addr_eq(log::logger(), &raw const FORWARD);
        if !is_ours {
            return Err(Failure::invalid("the process has another logger"));
        }
        *FORWARD.0.write().unwrap_or_else(PoisonError::into_inner) = log.map(|log| Target { log, data });
        log::set_max_level(level);
        Ok(ROSPIN_OK)
    })
}
