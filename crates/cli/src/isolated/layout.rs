//! The lines of a template: where its entries stand, and how one is rewritten while all others stay as they are.

use std::ops::Range;

/// The lines of an entry in a list of the file, without the blank lines and comments after it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Place {
    pub(super) lines: Range<usize>,
    /// The column in which its keys begin.
    pub(super) column: usize,
}

/// Returns the lines of the text with their ends.
pub(super) fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the places of the entries in the list that the top level of the file has below the key `section`, in their
/// order. A list in braces or brackets has none.
pub(super) fn places(lines: &[&str], section: &str) -> Vec<Place> {
    let is_start = |line: &&str| line.strip_prefix(section).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let Some(start) = lines.iter().position(is_start) else { return Vec::new() };
    let mut places: Vec<Place> = Vec::new();
    let mut dash = None;
    for (number, line) in lines.iter().enumerate().skip(start + 1) {
        if is_empty(line) {
            continue;
        }
        let depth = depth(line);
        let item = line[depth..].strip_prefix("- ");
        if depth == 0 && item.is_none() {
            break;
        }
        if let Some(item) = item
            && *dash.get_or_insert(depth) == depth
        {
            let column = line.len() - item.trim_start_matches(' ').len();
            places.push(Place { lines: number..number + 1, column });
        } else if let Some(place) = places.last_mut() {
            place.lines.end = number + 1;
        }
    }
    places
}

/// Returns the lines of an entry without those of the keys that `is_gone` names, and with the lines of `settings` in
/// the place of the first of them; `None` if its first line has no key, or one of these.
pub(super) fn rewritten(
    lines: &[&str],
    place: &Place,
    is_gone: impl Fn(&str) -> bool,
    settings: &[String],
) -> Option<String> {
    let first = key(&lines[place.lines.start][place.column..])?;
    if is_gone(first) {
        return None;
    }
    let mut kept = String::new();
    let mut settings = Some(settings);
    let mut is_inside_gone = false;
    for line in &lines[place.lines.clone()] {
        let depth = depth(line);
        let is_first = kept.is_empty();
        if !is_first && !is_empty(line) && depth <= place.column {
            // A list stands below its key, deeper or as deep as that.
            let is_element = depth == place.column && line[depth..].starts_with("- ");
            is_inside_gone = if is_element { is_inside_gone } else { key(&line[depth..]).is_some_and(&is_gone) };
            if is_inside_gone && let Some(settings) = settings.take() {
                add(&mut kept, settings, place.column);
            }
        }
        if !is_inside_gone || is_empty(line) {
            kept += line;
        }
    }
    if let Some(settings) = settings {
        add(&mut kept, settings, place.column);
    }
    Some(kept)
}

/// Appends lines at a column, after the end of the line before.
fn add(text: &mut String, lines: &[String], column: usize) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    for line in lines {
        *text += &format!("{:column$}{line}\n", "");
    }
}

/// Returns the key at the beginning of a text such as `nice: 0`.
fn key(text: &str) -> Option<&str> {
    let (key, rest) = text.trim_end().split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_word && (rest.is_empty() || rest.starts_with(' '))).then_some(key)
}

/// Returns the number of spaces before the line.
fn depth(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// True if the line is blank or a comment.
fn is_empty(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "other:\n  - id: a\nlist:   # a comment\n  - id: a\n    x: [1]\n\n  # of b\n  - id: b\n    y:\n    - 1\n    - 2\n    z: 3\n\nend:\n  - id: c\n";

    #[test]
    fn entries_are_those_of_the_section_without_what_stands_between_them() {
        let lines = lines(TEXT);
        let places = places(&lines, "list");
        assert_eq!(places, [Place { lines: 3..5, column: 4 }, Place { lines: 7..12, column: 4 }]);
        assert_eq!(super::places(&lines, "lis"), []);
        assert_eq!(super::places(&["list: [{ id: 1 }]\n"], "list"), []);
    }

    #[test]
    fn keys_go_with_their_lists_and_settings_come_in_their_place() {
        let lines = lines(TEXT);
        let place = &places(&lines, "list")[1];
        let settings = ["w: 4".to_owned()];
        let text = |gone: &str| rewritten(&lines, place, |key| key == gone, &settings);
        assert_eq!(text("y").unwrap(), "  - id: b\n    w: 4\n    z: 3\n");
        assert_eq!(text("none").unwrap(), "  - id: b\n    y:\n    - 1\n    - 2\n    z: 3\n    w: 4\n");
        assert_eq!(text("id"), None);
    }
}
