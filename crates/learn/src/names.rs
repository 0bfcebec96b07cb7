//! Names that a system file can have: not empty, without control characters, and each only once.

use std::collections::BTreeSet;

/// Names that are in use.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<String>);

impl Names {
    /// Returns the name that is wanted, with as many of the qualifiers in brackets as it takes to be the only one, or
    /// else with a number.
    pub(crate) fn unique(&mut self, wanted: &str, qualifiers: &[&str]) -> String {
        let wanted = clean(wanted);
        let qualified = |count: usize| match count {
            0 => wanted.clone(),
            _ => {
                format!("{wanted} ({})", qualifiers[..count].iter().map(|of| clean(of)).collect::<Vec<_>>().join(", "))
            }
        };
        let with_words = (0..=qualifiers.len()).map(qualified);
        let longest = qualified(qualifiers.len());
        let with_numbers = (2_u64..).map(|number| format!("{longest} {number}"));
        let mut free = with_words.chain(with_numbers).filter(|name| !self.0.contains(name));
        let name = free.next().unwrap_or(longest.clone());
        self.0.insert(name.clone());
        name
    }
}

/// Returns the name with `?` for each character that no name in a file may have; `unnamed` for an empty name.
fn clean(name: &str) -> String {
    let is_control = |c: char| {
        c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
    };
    let clean: String = name.chars().map(|c| if is_control(c) { '?' } else { c }).collect();
    if clean.is_empty() { "unnamed".to_owned() } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_collide() {
        let mut names = Names::default();
        let mut next = |wanted| names.unique(wanted, &["main", "robot 7"]);
        assert_eq!(next("scan"), "scan");
        assert_eq!(next("scan"), "scan (main)");
        assert_eq!(next("scan"), "scan (main, robot 7)");
        assert_eq!(next("scan"), "scan (main, robot 7) 2");
        assert_eq!(next("scan (main)"), "scan (main) (main)");
        assert_eq!(next(""), "unnamed");
        assert_eq!(next("a\nb\u{202e}"), "a?b?");
    }
}
