//! Words of an IDL file.

use crate::error::Fault;
use crate::parse::unescape_idl;

/// A word of a file.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Word {
    /// Name, keyword or number. Names have their scopes: `geometry_msgs::msg::Point`.
    Name(String),
    /// String, without quotes and escapes.
    Text(String),
    /// A sign such as `{`.
    Sign(char),
}

/// Returns the words of a text, each with the number of its line. Comments and lines for the preprocessor are left out.
///
/// # Errors
/// Names the line.
pub(super) fn words(text: &str) -> Result<Vec<(Word, usize)>, (usize, Fault)> {
    let mut words = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (word, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if first == '#' || rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else {
                return Err((line, Fault::new("a comment has no end", "close it with `*/`")));
            };
            (None, end + 4)
        } else if first == '"' || rest.starts_with("L\"") {
            let begin = if first == '"' { 1 } else { 2 };
            let Some(length) = end_of_text(&rest[begin..]) else {
                return Err((line, Fault::new("a string has no end", "close it with `\"`")));
            };
            let text = unescape_idl(&rest[begin..begin + length]).map_err(|fault| (line, fault))?;
            (Some(Word::Text(text)), begin + length + 1)
        } else if is_part(first) {
            let end = end_of_name(rest);
            (Some(Word::Name(rest[..end].to_owned())), end)
        } else {
            (Some(Word::Sign(first)), first.len_utf8())
        };
        if let Some(word) = word {
            words.push((word, line));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    Ok(words)
}

fn is_part(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '-' | '+')
}

/// Returns the length of the name, keyword or number at the beginning of a text.
fn end_of_name(text: &str) -> usize {
    let mut end = 0;
    while let Some(char) = text[end..].chars().next() {
        if is_part(char) {
            end += char.len_utf8();
        } else if text[end..].starts_with("::") {
            end += 2;
        } else {
            break;
        }
    }
    end
}

/// Returns the length of a string up to its closing quotes.
fn end_of_text(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, char) in text.char_indices() {
        if char == '"' && !is_escaped {
            return Some(at);
        }
        is_escaped = char == '\\' && !is_escaped;
    }
    None
}
