//! Conditions of `if` and `elseif`.

use std::cmp::Ordering;
use std::path::Path;

use super::run::Run;

/// A word of a condition, after expansion.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// True if it was in quotes. Such a word is not the name of a variable.
    pub(super) is_quoted: bool,
}

/// Returns the truth of a condition. What is not known, as a target or the result of a command, is false.
pub(super) fn holds(run: &Run<'_>, words: &[Word]) -> bool {
    let mut reader = Reader { run, words, at: 0 };
    reader.any()
}

/// The words of a condition that are not read yet.
struct Reader<'a> {
    run: &'a Run<'a>,
    words: &'a [Word],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Takes the next word if it is this operator.
    fn take(&mut self, operator: &str) -> bool {
        let is_next = self.words.get(self.at).is_some_and(|word| !word.is_quoted && word.text == operator);
        self.at += usize::from(is_next);
        is_next
    }

    fn next(&mut self) -> Option<&'a Word> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word)
    }

    /// Reads conditions between which `OR` stands.
    fn any(&mut self) -> bool {
        let mut result = self.all();
        while self.take("OR") {
            result |= self.all();
        }
        result
    }

    /// Reads conditions between which `AND` stands.
    fn all(&mut self) -> bool {
        let mut result = self.not();
        while self.take("AND") {
            result &= self.not();
        }
        result
    }

    /// Reads a condition with any number of `NOT` before it.
    fn not(&mut self) -> bool {
        let mut is_inverse = false;
        while self.take("NOT") {
            is_inverse = !is_inverse;
        }
        self.test() != is_inverse
    }

    /// Reads a condition in parentheses, a test, a comparison, or one word.
    fn test(&mut self) -> bool {
        if self.take("(") {
            let result = self.any();
            self.take(")");
            return result;
        }
        for unary in ["EXISTS", "IS_DIRECTORY", "IS_ABSOLUTE", "DEFINED", "COMMAND", "TARGET", "POLICY", "TEST"] {
            if self.take(unary) {
                let Some(word) = self.next() else { return false };
                return match unary {
                    "EXISTS" => Path::new(&word.text).exists(),
                    "IS_DIRECTORY" => Path::new(&word.text).is_dir(),
                    "IS_ABSOLUTE" => Path::new(&word.text).is_absolute(),
                    "DEFINED" => self.run.is_defined(&word.text),
                    _ => false,
                };
            }
        }
        let Some(left) = self.next() else { return false };
        let operator = self.words.get(self.at).filter(|word| !word.is_quoted).map(|word| word.text.as_str());
        let Some(operator) = operator.filter(|operator| is_comparison(operator)) else {
            return self.is_true(left);
        };
        self.at += 1;
        let Some(right) = self.next() else { return false };
        let left_value = self.value(left);
        match operator {
            "IN_LIST" => {
                let list = self.run.variable(&right.text).unwrap_or_default();
                list.split(';').any(|item| item == left_value)
            }
            "MATCHES" => matches(left_value, &right.text),
            _ => compare(operator, left_value, self.value(right)),
        }
    }

    /// Returns the value of a variable, or the word itself.
    fn value(&self, word: &'a Word) -> &'a str {
        if word.is_quoted { &word.text } else { self.run.variable(&word.text).unwrap_or(&word.text) }
    }

    /// Returns the truth of a single word: a constant, or a variable whose value is not a false constant.
    fn is_true(&self, word: &Word) -> bool {
        constant(&word.text).unwrap_or_else(|| {
            let value = if word.is_quoted { None } else { self.run.variable(&word.text) };
            value.is_some_and(|value| constant(value) != Some(false))
        })
    }
}

/// Returns the truth of a constant; `None` for other texts.
fn constant(text: &str) -> Option<bool> {
    match &*text.to_ascii_uppercase() {
        "1" | "ON" | "YES" | "TRUE" | "Y" => Some(true),
        "" | "0" | "OFF" | "NO" | "FALSE" | "N" | "IGNORE" | "NOTFOUND" => Some(false),
        upper if upper.ends_with("-NOTFOUND") => Some(false),
        upper => upper.parse::<f64>().ok().map(|number| number != 0.0),
    }
}

fn is_comparison(operator: &str) -> bool {
    let plain = operator.trim_start_matches("VERSION_").trim_start_matches("STR");
    matches!(operator, "IN_LIST" | "MATCHES")
        || matches!(plain, "EQUAL" | "LESS" | "GREATER" | "LESS_EQUAL" | "GREATER_EQUAL")
}

/// Compares numbers, texts (`STR`) or versions (`VERSION_`).
fn compare(operator: &str, left: &str, right: &str) -> bool {
    let versions = |text: &str| text.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u64>>();
    let (order, plain) = if let Some(plain) = operator.strip_prefix("VERSION_") {
        let mut left = versions(left);
        let mut right = versions(right);
        let length = left.len().max(right.len());
        left.resize(length, 0);
        right.resize(length, 0);
        (Some(left.cmp(&right)), plain)
    } else if let Some(plain) = operator.strip_prefix("STR") {
        (Some(left.cmp(right)), plain)
    } else {
        let left = left.trim().parse::<f64>();
        let right = right.trim().parse::<f64>();
        (left.ok().zip(right.ok()).and_then(|(left, right)| left.partial_cmp(&right)), operator)
    };
    match plain {
        "EQUAL" => order == Some(Ordering::Equal),
        "LESS" => order == Some(Ordering::Less),
        "GREATER" => order == Some(Ordering::Greater),
        "LESS_EQUAL" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// Returns true if a text matches one of the alternatives of a pattern. They are plain texts with `^` or `$` at their
/// ends, as in the conditions of interface packages. Others match nothing.
fn matches(text: &str, pattern: &str) -> bool {
    pattern.trim_start_matches('(').trim_end_matches(')').split('|').any(|alternative| {
        let plain = alternative.trim_start_matches('^').trim_end_matches('$');
        match (alternative.starts_with('^'), alternative.ends_with('$')) {
            (true, true) => text == plain,
            (true, false) => text.starts_with(plain),
            (false, true) => text.ends_with(plain),
            (false, false) => text.contains(plain),
        }
    })
}
