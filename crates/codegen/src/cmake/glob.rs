//! Files that match a pattern, as `file(GLOB)` finds them.

use std::fs;
use std::path::{Path, PathBuf};

/// The deepest folder below another one in which files are looked for.
pub(crate) const LEVELS_MAX: usize = 16;

/// Returns the files that match a pattern, sorted. The pattern is relative to `base`, or absolute. With `deep`, its
/// last part is looked for in all folders below.
pub(super) fn files(base: &Path, pattern: &str, deep: bool) -> Vec<PathBuf> {
    let mut folders = vec![if pattern.starts_with('/') { PathBuf::from("/") } else { base.to_owned() }];
    let parts: Vec<_> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let Some((last, before)) = parts.split_last() else { return Vec::new() };
    for part in before {
        let mut next = Vec::new();
        for folder in &folders {
            if is_pattern(part) {
                next.extend(entries(folder).into_iter().filter(|path| path.is_dir() && has_name(path, part)));
            } else {
                next.push(folder.join(part));
            }
        }
        folders = next;
    }
    let mut found = Vec::new();
    for folder in &folders {
        collect(folder, last, if deep { LEVELS_MAX } else { 0 }, &mut found);
    }
    found.sort();
    found
}

/// Adds the files of a folder, and of the folders in it down to so many levels.
fn collect(folder: &Path, pattern: &str, levels: usize, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if levels > 0 && path.is_dir() && !path.is_symlink() {
            collect(&path, pattern, levels - 1, found);
        } else if path.is_file() && has_name(&path, pattern) {
            found.push(path);
        }
    }
}

/// Returns the entries of a folder; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// Returns true if the name of a file matches.
fn has_name(path: &Path, pattern: &str) -> bool {
    let name: Vec<_> = path.file_name().unwrap_or_default().to_string_lossy().chars().collect();
    matches(&pattern.chars().collect::<Vec<_>>(), &name)
}

/// Returns true if the pattern matches the name: `*` is any text, `?` a character, and `[a-c]` one of several.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let mut at = 0;
    let mut char = 0;
    // The place after the last `*`, and the first character that it does not cover. On a mismatch it covers one more.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if at == pattern.len() && char == name.len() {
            return true;
        }
        if pattern.get(at) == Some(&'*') {
            at += 1;
            star = Some((at, char));
            continue;
        }
        if let Some(length) = name.get(char).and_then(|found| one(&pattern[at..], *found)) {
            (at, char) = (at + length, char + 1);
            continue;
        }
        match &mut star {
            Some((after, covered)) if *covered < name.len() => {
                *covered += 1;
                (at, char) = (*after, *covered);
            }
            _ => return false,
        }
    }
}

/// Returns the length of the pattern's first element, if it matches the character.
fn one(pattern: &[char], found: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            let end = 2 + pattern.iter().skip(2).position(|char| *char == ']')?;
            let is_inverse = matches!(pattern[1], '!' | '^');
            let set = &pattern[1 + usize::from(is_inverse)..end];
            let mut is_in = false;
            let mut at = 0;
            while at < set.len() {
                if set.get(at + 1) == Some(&'-') && at + 2 < set.len() {
                    is_in |= (set[at]..=set[at + 2]).contains(&found);
                    at += 3;
                } else {
                    is_in |= set[at] == found;
                    at += 1;
                }
            }
            if is_in != is_inverse { Some(end + 1) } else { None }
        }
        char if *char == found => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*.msg", "A.msg", true),
            ("*.msg", "A.srv", false),
            ("[A-C]?.*", "Bx.msg", true),
            ("[!A-C]*", "B.msg", false),
            ("*a*b*", "xaybz", true),
            ("*a*b", "xaybz", false),
            ("[", "[", false),
        ] {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(matches(&chars(pattern), &chars(name)), expected, "{pattern} {name}");
        }
    }
}
