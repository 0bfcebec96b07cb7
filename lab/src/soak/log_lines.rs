//! The log lines of the processes: none may come twice a second, and none may tell of an error. Those of the Zenoh library
//! are counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The time within which a line must not come again: a second, less a margin for lines that are read late.
const AGAIN: Duration = Duration::from_millis(900);
/// The most different lines that are remembered.
const KEPT_MAX: usize = 10_000;

/// Lines by their start and text, with the time of the last one.
#[derive(Debug, Default)]
pub(super) struct LogLines {
    last: BTreeMap<(i64, String), Instant>,
    pub(super) count: u64,
    /// Errors of the Zenoh library. Its routers and sessions log some when connections break.
    pub(super) library_errors: u64,
}

impl LogLines {
    /// Notes a line. Returns what is wrong with it.
    pub(super) fn note(&mut self, boot: i64, line: &str, now: Instant) -> Option<String> {
        self.count += 1;
        if self.last.len() >= KEPT_MAX {
            self.last.retain(|_, last| now.duration_since(*last) < AGAIN);
        }
        let text = without_time(line);
        let is_panic = line.contains("panicked at");
        let is_error = line.starts_with("[ERROR]") || line.starts_with("[FATAL]");
        if !is_panic && text.starts_with("[zenoh") {
            self.library_errors += u64::from(is_error);
            return None;
        }
        let before = self.last.insert((boot, text.to_owned()), now);
        if before.is_some_and(|before| now.duration_since(before) < AGAIN) {
            return Some(format!("start {boot} logged twice within a second: {text}"));
        }
        (is_error || is_panic).then(|| format!("start {boot} logged an error: {text}"))
    }
}

/// Returns the line without the time in it: rclcpp's `[INFO] [123.456] [node]: text`, or Cyclone DDS's `123.456 [0] text`.
fn without_time(line: &str) -> &str {
    let is_time = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if let Some((severity, rest)) = line.split_once("] [")
        && severity.starts_with('[')
        && let Some((time, rest)) = rest.split_once("] ")
        && is_time(time)
    {
        return rest;
    }
    match line.split_once(' ') {
        Some((time, rest)) if is_time(time) => rest.trim_start(),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_may_come_again_later_and_from_others() {
        let (mut lines, now) = (LogLines::default(), Instant::now());
        assert_eq!(lines.note(1, "[WARN] [12.5] [node]: hot", now), None);
        assert_eq!(lines.note(2, "[WARN] [12.5] [node]: hot", now), None);
        assert_eq!(lines.note(1, "[WARN] [12.6] [node]: cold", now), None);
        assert!(lines.note(1, "[WARN] [12.9] [node]: hot", now + Duration::from_millis(400)).is_some());
        assert_eq!(lines.note(1, "[WARN] [14.0] [node]: hot", now + Duration::from_millis(1500)), None);
    }

    #[test]
    fn errors_are_wrong() {
        let mut lines = LogLines::default();
        assert!(lines.note(1, "[ERROR] [1.0] [node]: no", Instant::now()).is_some());
        assert!(lines.note(1, "thread 'main' panicked at x.rs", Instant::now()).is_some());
        assert!(lines.note(1, "[ERROR] [1.0] [zenoh::net]: Unknown token", Instant::now()).is_none());
        assert_eq!(lines.library_errors, 1);
        assert_eq!(without_time("1764281.25 [77] tev: text"), "[77] tev: text");
        assert_eq!(without_time("no time"), "no time");
    }
}
