//! The learnt system as text: its TOML with remarks as comments.

use std::collections::BTreeMap;

use crate::Learned;

/// Width of comments.
const WIDTH: usize = 120;

/// Remarks for the reader of a system file: at the top, and above tables.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Remarks {
    /// Paragraphs at the top.
    pub top: Vec<String>,
    /// Remarks above a table, by its section, such as `callback`, and its place in the section.
    pub tables: BTreeMap<(&'static str, usize), Vec<String>>,
}

impl Remarks {
    /// Adds a remark above a table.
    pub(crate) fn add(&mut self, section: &'static str, place: usize, remark: impl Into<String>) {
        self.tables.entry((section, place)).or_default().push(remark.into());
    }
}

impl Learned {
    /// Returns the system file: text that [`Scenario::parse`](rospin_scenario::Scenario::parse) reads.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for (number, paragraph) in self.remarks.top.iter().enumerate() {
            if number > 0 {
                text += "#\n";
            }
            comment(&mut text, paragraph);
        }
        text.push('\n');
        // Names have no line breaks in them, so a line that begins with two brackets begins a table.
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let toml = self.scenario.to_toml();
        let mut lines = toml.lines().peekable();
        while let Some(line) = lines.next() {
            // A table of a single key, for an execution time, is shorter within its callback.
            if line.is_empty()
                && let Some(key) = lines.peek().copied().and_then(single)
            {
                lines.next();
                text += &format!("{key} = {{ {} }}\n", lines.next().unwrap_or_default());
                continue;
            }
            if let Some(section) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
                let place = places.entry(section).or_default();
                let of = self.remarks.tables.iter().find(|((name, at), _)| *name == section && at == place);
                for remark in of.into_iter().flat_map(|(_, remarks)| remarks) {
                    comment(&mut text, remark);
                }
                *place += 1;
            }
            text += line;
            text.push('\n');
        }
        text
    }
}

/// Returns the key that a table has in the one above it, if the line is the header of an execution time or a delay.
fn single(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?.strip_suffix(']')?;
    let is_time = ["callback.execution", "callback.awaits.wait", "callback.awaits.run", "link.delay"].contains(&name);
    if is_time { name.rsplit('.').next() } else { None }
}

/// Appends the remark as lines of comments. Names in it may have any characters.
fn comment(text: &mut String, remark: &str) {
    let mut length = 0;
    for word in remark.split(' ') {
        let word: String = word.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        let letters = word.chars().count();
        if length > 0 && length + 1 + letters > WIDTH {
            text.push('\n');
            length = 0;
        }
        text.push_str(if length == 0 { "# " } else { " " });
        text.push_str(&word);
        length += 1 + letters;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use rospin_scenario::Scenario;

    use super::*;

    #[test]
    fn remarks_are_above_their_tables() {
        let scenario = Scenario::parse(
            "duration = \"1 s\"\n[[executor]]\nname = \"x\"\n[[executor]]\nname = \"[[executor]]\"\n[[executor]]\n\
             name = \"z\"\n",
        );
        let mut learned = Learned { scenario: scenario.unwrap(), remarks: Remarks::default() };
        learned.remarks.top = vec![format!("long {}\r", "word ".repeat(60)), "second".into()];
        learned.remarks.add("executor", 1, "the \u{7} second one");
        learned.remarks.add("executor", 2, "the third one");
        let text = learned.to_toml();
        assert!(text.contains("# the ? second one\n[[executor]]\nname = \"[[executor]]\""), "{text}");
        assert!(text.contains("# the third one\n[[executor]]\nname = \"z\""), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH + 2), "{text}");
        assert_eq!(Scenario::parse(&text).unwrap(), learned.scenario);
    }
}
