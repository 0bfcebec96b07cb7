//! Complaints: problems of a network that its programs should know of, each logged once.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::PoisonError;

use crate::sync::Mutex;

/// The number of complaints after which nothing is told any more. Memory stays bounded, and so does the log.
const TOLD_MAX: usize = 1000;

/// Log of complaints. Each matter is logged once, as a warning; after 1000 matters, nothing is logged any more. In a
/// program without a logger it goes to stderr, as the warnings of `ros2` tools do.
#[derive(Default)]
pub struct Complaints(Mutex<BTreeSet<String>>);

impl Complaints {
    /// Logs `text`, unless something was logged about `matter` before, or about 1000 other matters. Returns true if
    /// `text` was logged.
    ///
    /// It calls the program's logger, so the caller must hold no lock that the logger could need.
    pub fn tell(&self, matter: impl Into<String>, text: &str) -> bool {
        let is_new = {
            let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.len() < TOLD_MAX && told.insert(matter.into())
        };
        if is_new {
            warn(text);
        }
        is_new
    }
}

impl fmt::Debug for Complaints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Complaints").finish_non_exhaustive()
    }
}

/// Logs a warning, or prints it if the program has no logger.
#[expect(clippy::print_stderr, reason = "there is no logger")]
fn warn(text: &str) {
    if log::max_level() == log::LevelFilter::Off {
        eprintln!("[WARN] [rospin]: {text}");
    } else {
        log::warn!(target: "rospin", "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_matter_is_told_once_and_their_number_is_bounded() {
        let complaints = Complaints::default();
        assert!(complaints.tell("a", "the first one"));
        assert!(!complaints.tell("a", "the same in other words"));
        for n in 1..TOLD_MAX {
            complaints.0.lock().unwrap().insert(n.to_string());
        }
        assert!(!complaints.tell("b", "one too many"));
    }
}
