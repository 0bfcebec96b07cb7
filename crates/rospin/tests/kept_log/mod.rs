//! The log records of a test program.

use std::sync::{Mutex, OnceLock, PoisonError};

use rospin::log;

static RECORDS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Kept;

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        RECORDS.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
    }

    fn flush(&self) {}
}

/// Keeps the warnings and errors that are logged from now on.
pub(crate) fn keep_log() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        log::set_logger(&Kept).unwrap();
        log::set_max_level(log::LevelFilter::Warn);
    });
}

/// Returns the texts so far that have `part`.
pub(crate) fn logged(part: &str) -> Vec<String> {
    let records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    records.iter().filter(|record| record.contains(part)).cloned().collect()
}
