//! Scenarios as TOML, and the places of values in a text.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{CheckError, Path, ScenarioError};
use crate::model::Scenario;

impl Scenario {
    /// Parses a scenario and [checks](Scenario::check) it.
    ///
    /// # Errors
    /// The first error, with its place and its fix.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let mut scenario: Self = toml::from_str(text).map_err(|error| syntax(text, &error))?;
        scenario.fill_in();
        match scenario.check() {
            Ok(()) => Ok(scenario),
            Err(error) => Err(locate(text, &error)),
        }
    }

    /// Formats the scenario as a text that [`parse`](Scenario::parse) reads.
    ///
    /// # Panics
    /// If the scenario would not pass [`check`](Scenario::check): a seed beyond 63 bits, or a probability that is not
    /// a number.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a valid scenario can be written")
    }

    /// Fills in names that a text may leave out if there is only one candidate.
    fn fill_in(&mut self) {
        if let [only] = &self.executors[..] {
            for g in self.groups.iter_mut().filter(|group| group.executor.is_empty()) {
                g.executor.clone_from(&only.name);
            }
        }
        if let [only] = &self.groups[..] {
            let open = self.callbacks.iter_mut().filter(|callback| callback.group.is_empty());
            for callback in open {
                callback.group.clone_from(&only.name);
            }
        }
    }
}

/// Converts an error of the TOML reader, with its place.
pub(crate) fn syntax(text: &str, error: &toml::de::Error) -> ScenarioError {
    let offset = error.span().map_or(0, |span| span.start);
    // The most frequent mistake is a number without a unit, so the error shows one.
    let message = error.message().trim().replace("expected a duration", "expected a duration as in \"500 ms\"");
    // Readers of a scenario do not know Rust's types.
    let message = message.replace("expected u16", "expected a number from 0 to 65535");
    let message = message.replace("expected u32", "expected a number from 0 to 4294967295");
    let missing = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
    let fix = missing.map(|key| fix_of_missing(text, offset, key)).unwrap_or_default();
    let message = format!("{message}{fix}");
    // The message about an unknown key has its name. Another key may stand before it on its line.
    let key = if message.starts_with("unknown field") { Some("") } else { None };
    ScenarioError::at(text, offset, key, message)
}

/// Returns the fix for a table at that offset that lacks `key`: what to add to it.
fn fix_of_missing(text: &str, offset: usize, key: &str) -> String {
    let section = section_at(text, offset).unwrap_or_default();
    let example = match (section.as_str(), key) {
        ("group", "name") => "`name = \"control\"`, or `name = \"*\"` for all groups of its node",
        ("callback", "name") => "`name = \"planner/scan\"`",
        ("thread", "name") => "`name = \"tokio-*\"`",
        (_, "name") => "`name = \"...\"`",
        (_, "executor") => "`executor = \"main\"`",
        (_, "accelerator") => "`accelerator = \"gpu\"`",
        (_, "callbacks") => "`callbacks = [\"lidar/scan\", \"planner/scan\"]`",
        (_, "kind") => "`kind = \"timer\"`, `\"subscription\"` or another one",
        (_, "to") => "`to = [\"/scan\"]`",
        (_, "lock") => "`lock = \"map\"`",
        (_, "type") => "`type = \"package::Type\"`",
        (_, "program") => "`program = \"target/release/robot\"`",
        ("", "duration") => "`duration = \"10 s\"`",
        (_, "delay" | "hold" | "capacity" | "period" | "bound") => return format!("; add `{key} = \"2 ms\"`"),
        (_, "count" | "misses" | "of") => return format!("; add `{key} = 2`"),
        _ => return String::new(),
    };
    if section.is_empty() { format!("; add {example}") } else { format!("; add to this `{section}`: {example}") }
}

/// Returns the name of the section whose table begins at that offset, such as `group` for `[[group]]`.
fn section_at(text: &str, offset: usize) -> Option<String> {
    let top = DeTable::parse(text).ok()?;
    for (name, value) in top.get_ref() {
        let begins = |value: &Spanned<DeValue<'_>>| value.span().start == offset;
        if begins(value) || value.get_ref().as_array().is_some_and(|tables| tables.iter().any(begins)) {
            return Some(name.get_ref().to_string());
        }
    }
    None
}

/// Returns the error of a check with its place in the text, which is known to be TOML.
pub(crate) fn locate(text: &str, error: &CheckError) -> ScenarioError {
    let Path { section, table, key } = &error.path;
    let offset = DeTable::parse(text).ok().and_then(|top| offset_of(top.get_ref(), &error.path));
    let key = key.unwrap_or(if table.is_none() { section } else { "" });
    ScenarioError::at(text, offset.unwrap_or(0), Some(key), error.message.clone())
}

/// Returns the offset of a key's value, or of the nearest enclosing value that exists.
fn offset_of(top: &DeTable<'_>, path: &Path) -> Option<usize> {
    let section = top.get(path.section)?;
    let start = |value: &Spanned<DeValue<'_>>| value.span().start;
    let Some(table) = path.table.and_then(|number| section.get_ref().as_array()?.get(number)) else {
        return Some(start(section));
    };
    let value = path.key.and_then(|key| table.get_ref().as_table()?.get(key));
    Some(value.map_or_else(|| start(table), start))
}
