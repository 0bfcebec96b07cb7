//! Warnings of a test program, which are kept instead of printed.

use std::sync::{Mutex, Once, PoisonError};

use log::{LevelFilter, Log, Metadata, Record};

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct KeptLog;

impl Log for KeptLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "rospin"
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            WARNINGS.lock().unwrap_or_else(PoisonError::into_inner).push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Keeps the warnings and errors of rospin from now on. Any test of the program may call it.
///
/// # Panics
/// If the program has another logger.
pub fn keep_warnings() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        log::set_logger(&KeptLog).expect("no other logger");
        log::set_max_level(LevelFilter::Warn);
    });
}

/// Returns the warnings so far that have all of these parts in them.
#[must_use]
pub fn warnings_with(parts: &[&str]) -> Vec<String> {
    let warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    warnings.iter().filter(|warning| parts.iter().all(|part| warning.contains(part))).cloned().collect()
}
