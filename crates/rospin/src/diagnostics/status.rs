//! Statuses that tasks fill in.

use std::fmt::Display;

use rospin_msgs::diagnostic_msgs::msg::{DiagnosticStatus, KeyValue};

/// Levels of a status, from harmless to bad, with the numbers that they have in messages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// All is well.
    Ok = DiagnosticStatus::OK,
    /// Something needs attention.
    Warn = DiagnosticStatus::WARN,
    /// Something does not work.
    Error = DiagnosticStatus::ERROR,
    /// There is no news.
    Stale = DiagnosticStatus::STALE,
}

/// The status that a task fills in for one report: a level, a message, and values with their keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Status {
    summary: Option<(Level, String)>,
    values: Vec<(String, String)>,
}

impl Status {
    /// Sets the level and the message, in place of those before.
    pub fn summary(&mut self, level: Level, message: impl Into<String>) {
        self.summary = Some((level, message.into()));
    }

    /// Adds a level and a message to those before, as `mergeSummary` does in C++. The higher level wins. Two messages
    /// are joined by `; ` if both say that all is well, or neither does; otherwise the message that says it is dropped.
    pub fn merge_summary(&mut self, level: Level, message: impl Into<String>) {
        let message = message.into();
        let Some((old_level, old)) = &mut self.summary else {
            return self.summary(level, message);
        };
        if (level > Level::Ok) == (*old_level > Level::Ok) {
            if !old.is_empty() && !message.is_empty() {
                old.push_str("; ");
            }
            old.push_str(&message);
        } else if level > *old_level {
            *old = message;
        }
        *old_level = level.max(*old_level);
    }

    /// Adds a value. Keys may come twice.
    pub fn add(&mut self, key: impl Into<String>, value: impl Display) {
        self.values.push((key.into(), value.to_string()));
    }

    /// Returns the level and the message, or `None` if the task has set none yet.
    #[must_use]
    pub fn get_summary(&self) -> Option<(Level, &str)> {
        self.summary.as_ref().map(|(level, message)| (*level, message.as_str()))
    }

    pub(super) fn into_message(self, name: String, hardware_id: String) -> DiagnosticStatus {
        let (level, message) = self.summary.unwrap_or_else(|| (Level::Error, "No message was set".to_owned()));
        let values = self.values.into_iter().map(|(key, value)| KeyValue { key, value }).collect();
        DiagnosticStatus { level: level as u8, name, message, hardware_id, values }
    }
}
