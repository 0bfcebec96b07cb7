//! The library's own messages, as records of the program's log.
//!
//! The library calls with locks of its own held, and where a program publishes its log over DDS, a record can be the
//! reason for the next one: so there is a limit.

use std::ffi::c_char;
use std::io::Write;
use std::panic::catch_unwind;
use std::slice;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use super::ffi;

/// Largest number of lines that are logged within an [`INTERVAL`].
const LINES_MAX: u32 = 20;
/// Time for which lines are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Has the library pass on what it says, from the first call on.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    // SAFETY: the function that is passed lives as long as the program.
    ONCE.call_once(|| unsafe { ffi::rospin_dds_log_to(said) });
}

/// Lines of the current interval, and those that were left out.
struct Limit {
    since: Option<Instant>,
    lines: u32,
    left_out: u32,
}

impl Limit {
    /// Returns how many lines were left out before this one; `None` if this one must be left out.
    fn admit(&mut self, now: Instant) -> Option<u32> {
        if self.since.is_none_or(|since| now.duration_since(since) >= INTERVAL) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == LINES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

static LIMIT: Mutex<Limit> = Mutex::new(Limit { since: None, lines: 0, left_out: 0 });

/// Logs a line. A program without a logger has it on standard error, as any program with Cyclone DDS.
///
/// # Safety
/// The library calls it with a text of that length.
unsafe extern "C" fn said(is_warning: i32, line: *const c_char, size: usize) {
    // SAFETY: the text has that length and lives during the call.
    let bytes = unsafe { slice::from_raw_parts(line.cast::<u8>(), size) };
    // A program's logger may panic, and must not unwind into the library.
    let _ = catch_unwind(|| log_line(is_warning != 0, String::from_utf8_lossy(bytes).trim_end()));
}

fn log_line(is_warning: bool, text: &str) {
    let admitted = LIMIT.lock().unwrap_or_else(PoisonError::into_inner).admit(Instant::now());
    let Some(left_out) = admitted else { return };
    let more = if left_out > 0 { format!(" ({left_out} lines before it were left out)") } else { String::new() };
    if log::max_level() == log::LevelFilter::Off {
        // Nobody can be told that standard error is closed.
        let _ = writeln!(std::io::stderr(), "Cyclone DDS: {text}{more}");
    } else if is_warning {
        log::warn!(target: "rospin", "Cyclone DDS: {text}{more}");
    } else {
        log::info!(target: "rospin", "Cyclone DDS: {text}{more}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_lines_is_cut_and_counted() {
        let mut limit = Limit { since: None, lines: 0, left_out: 0 };
        let begin = Instant::now();
        assert!((0..LINES_MAX).all(|_| limit.admit(begin) == Some(0)));
        assert!((0..7).all(|_| limit.admit(begin + INTERVAL / 2).is_none()));
        assert_eq!(limit.admit(begin + INTERVAL), Some(7));
        assert_eq!(limit.admit(begin + INTERVAL), Some(0));
    }
}
