//! What the library says, as records of the program's log.

use std::ffi::c_char;
use std::slice;
use std::sync::Once;

use super::ffi;

/// Has the library pass on what it says, from the first call on.
pub(super) fn listen() {
    static ONCE: Once = Once::new();
    // SAFETY: the function that is passed lives as long as the program.
    ONCE.call_once(|| unsafe { ffi::rospin_dds_log_to(said) });
}

/// Logs a line. A program without a logger has it on standard error, as any program with Cyclone DDS.
///
/// # Safety
/// The library calls it with a text of that length.
#[expect(clippy::print_stderr, reason = "errors of security must not get lost in a program without a logger")]
unsafe extern "C" fn said(is_warning: i32, line: *const c_char, size: usize) {
    // SAFETY: the text has that length and lives during the call.
    let bytes = unsafe { slice::from_raw_parts(line.cast::<u8>(), size) };
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end();
    if log::max_level() == log::LevelFilter::Off {
        eprintln!("Cyclone DDS: {text}");
    } else if is_warning != 0 {
        log::warn!(target: "rospin", "Cyclone DDS: {text}");
    } else {
        log::info!(target: "rospin", "Cyclone DDS: {text}");
    }
}
