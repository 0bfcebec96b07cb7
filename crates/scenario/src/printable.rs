//! Text that is safe to print on a terminal.

/// Returns true for characters that control a terminal, or that change the order of the text.
pub(crate) fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Returns the text with control characters escaped, so that it is safe to print.
pub(crate) fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        // Messages of the TOML reader have line breaks.
        if is_control(c) && c != '\n' { printable.extend(c.escape_default()) } else { printable.push(c) }
    }
    printable
}
