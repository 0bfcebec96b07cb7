//! Violations on stderr: the first of each callback and kind, and later ones now and then.

use std::collections::BTreeMap;
use std::time::Duration;

use rospin_core::Instant;

use super::violation::{Violation, ViolationKind};

/// The least time between two violations of the same callback and kind that are told.
const PAUSE: Duration = Duration::from_secs(10);
/// The largest number of callbacks and kinds that are told of.
const LINES: usize = 1_000;

/// The last line about a callback and kind: its time, and the number of violations that were left out since.
struct Told {
    at: Instant,
    left_out: u64,
}

/// Printer of violations.
#[derive(Default)]
pub(super) struct Teller {
    pub(super) is_on: bool,
    told: BTreeMap<(String, ViolationKind), Told>,
}

impl Teller {
    pub(super) fn tell(&mut self, violation: &Violation) {
        if let Some(line) = self.line(violation) {
            print(&line);
        }
    }

    pub(super) fn remark(&self, remark: &str) {
        if self.is_on {
            print(remark);
        }
    }

    /// Prints how many violations of each callback and kind were left out since its last line.
    pub(super) fn sum_up(&mut self) {
        for ((name, kind), told) in &mut self.told {
            let left_out = std::mem::take(&mut told.left_out);
            if left_out > 0 {
                print(&format!("`{name}` {} {left_out} more times", kind.as_str()));
            }
        }
    }

    /// Returns the line to print for the violation; `None` if it is left out.
    fn line(&mut self, violation: &Violation) -> Option<String> {
        let key = (violation.subject().to_owned(), violation.kind);
        if !self.is_on || self.told.len() >= LINES && !self.told.contains_key(&key) {
            return None;
        }
        match self.told.get_mut(&key) {
            None => {
                self.told.insert(key, Told { at: violation.at, left_out: 0 });
                Some(violation.to_string())
            }
            Some(told) if violation.at.saturating_since(told.at) < PAUSE => {
                told.left_out += 1;
                None
            }
            Some(told) => {
                told.at = violation.at;
                let left_out = std::mem::take(&mut told.left_out);
                let more = if left_out > 0 {
                    format!(" ({left_out} more times since it was told last)")
                } else {
                    String::new()
                };
                Some(format!("{violation}{more}"))
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "the robot's engineer must see it, also where nothing logs")]
fn print(line: &str) {
    eprintln!("rospin: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::violation::Cause;

    #[test]
    fn a_callback_that_is_always_late_is_told_once_in_ten_seconds() {
        let mut teller = Teller { is_on: true, ..Teller::default() };
        let mut lines = |seconds: f64, callback: &str| {
            teller.line(&Violation {
                at: Instant::from_nanos((seconds * 1e9) as u64),
                kind: ViolationKind::Deadline,
                callback: callback.to_owned(),
                executor: "main".to_owned(),
                chain: None,
                measured: 3_000_000,
                limit: 1_000_000,
                cause: Cause::Itself,
                culprit: None,
                numbers: (0, 0, 0, 0),
            })
        };
        let told = "callback `a` missed its deadline: 3ms instead of at most 1ms, by its own execution";
        assert_eq!(lines(0.0, "a").as_deref(), Some(told));
        assert!(lines(0.1, "b").is_some());
        assert_eq!((lines(1.0, "a"), lines(9.9, "a")), (None, None));
        assert_eq!(lines(10.0, "a"), Some(format!("{told} (2 more times since it was told last)")));
    }
}
