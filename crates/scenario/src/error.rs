//! Errors in a scenario, with their places.

use crate::printable::printable;

/// Error in a scenario. [`ScenarioError`] adds the place in a text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {message}", .path.describe())]
#[non_exhaustive]
pub struct CheckError {
    /// Place: a section, the number of its table, and a key.
    pub(crate) path: Path,
    /// Description of the problem and its fix.
    pub message: String,
}

impl CheckError {
    /// Returns an error about a callback, by its number in the scenario, from 0.
    #[must_use]
    pub fn of_callback(number: usize, message: impl Into<String>) -> Self {
        Self::of("callback", number, message)
    }

    /// Returns an error about an executor, by its number in the scenario, from 0.
    #[must_use]
    pub fn of_executor(number: usize, message: impl Into<String>) -> Self {
        Self::of("executor", number, message)
    }

    fn of(section: &'static str, number: usize, message: impl Into<String>) -> Self {
        let path = Path { section, table: Some(number), key: Some("name") };
        Self { path, message: printable(&message.into()) }
    }
}

/// A place in a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    /// The section: `callback` for `[[callback]]`, or a key at the top.
    pub(crate) section: &'static str,
    /// The number of the section's table, from 0; `None` for a key at the top.
    pub(crate) table: Option<usize>,
    /// Key of the table that the error is about; `None` if it is about the whole table.
    pub(crate) key: Option<&'static str>,
}

impl Path {
    /// Returns the place in words, for errors without a text.
    pub(crate) fn describe(&self) -> String {
        match (self.table, self.key) {
            (Some(table), Some(key)) => format!("`{key}` of {} {table}", self.section),
            (Some(table), None) => format!("{} {table}", self.section),
            (None, _) => format!("`{}`", self.section),
        }
    }
}

/// Error in the text of a scenario, with its place and its fix.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}{}: {message}", in_key(key))]
#[non_exhaustive]
pub struct ScenarioError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Number of the column in characters, from 1.
    pub column: usize,
    /// Key of the value; empty if the error is about no key.
    pub key: String,
    /// Description of the problem and its fix.
    pub message: String,
}

/// Returns the key as a part of the error's sentence.
fn in_key(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(", `{key}`") }
}

impl ScenarioError {
    /// Returns the error at a byte of the text, about `key`, or with `None` about the last key before that byte on its
    /// line.
    pub(crate) fn at(text: &str, offset: usize, key: Option<&str>, message: String) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        // An offset after the final line break belongs to the last line with text.
        let line = (before.matches('\n').count() + 1).min(text.lines().count().max(1));
        let column = text[line_start..offset].chars().count() + 1;
        let key = key.map_or_else(|| key_before(&text[line_start..offset]), str::to_owned);
        Self { line, column, key: printable(&key), message: printable(&message) }
    }

    /// Returns the content of a file as text.
    ///
    /// # Errors
    /// If the content is not UTF-8. The error has the place of the first byte that is not, and the fix.
    pub fn text_of(bytes: Vec<u8>) -> Result<String, Self> {
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            // The bytes before `valid` are UTF-8.
            let before = String::from_utf8_lossy(&bytes[..valid]);
            let line_start = before.rfind('\n').map_or(0, |at| at + 1);
            let column = before[line_start..].chars().count() + 1;
            let byte = bytes.get(valid).copied().unwrap_or_default();
            let message = format!("byte 0x{byte:02x} is not UTF-8; save the file as UTF-8, or replace this character");
            Self { line: before.matches('\n').count() + 1, column, key: String::new(), message }
        })
    }

    /// Returns `error` with its line, column and key in `text`, the text that the [`Scenario`](crate::Scenario) was
    /// parsed from.
    #[must_use]
    pub fn locate(text: &str, error: &CheckError) -> Self {
        crate::parse::locate(text, error)
    }
}

/// Returns the last key before a value on its line.
fn key_before(line: &str) -> String {
    let Some(equals) = line.rfind('=') else {
        return String::new();
    };
    let is_key = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let left = line[..equals].trim_end();
    let start =
        left.rfind(|c: char| !is_key(c)).map_or(0, |at| at + left[at..].chars().next().map_or(1, char::len_utf8));
    left[start..].to_owned()
}
