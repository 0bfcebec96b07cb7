//! Scalars as PyYAML writes them, which is what the tools of ROS 2 use: YAML 1.1.

use std::fmt::Write;

/// Returns a floating-point number as PyYAML writes it: as Python does, with a dot in every number.
pub(crate) fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = python_float(value);
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

/// Returns a floating-point number as Python's `repr` does.
pub(crate) fn python_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..16).contains(&exponent) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Appends a string: as it is, or in quotes where YAML would take it for something else. `indent` is that of further
/// lines, and `is_flow` says that it stands in brackets or braces.
pub(crate) fn append(out: &mut String, text: &str, indent: usize, is_flow: bool) {
    let analysis = Analysis::of(text);
    if !is_other(text) && if is_flow { analysis.flow_plain } else { analysis.block_plain } {
        out.push_str(text);
    } else if analysis.single_quoted {
        append_single_quoted(out, text, indent);
    } else {
        append_double_quoted(out, text);
    }
}

fn append_single_quoted(out: &mut String, text: &str, indent: usize) {
    out.push('\'');
    let mut is_in_break = false;
    for c in text.chars() {
        if is_break(c) {
            if !is_in_break && c == '\n' {
                out.push('\n');
            }
            out.push(c);
            is_in_break = true;
            continue;
        }
        if is_in_break {
            let _ = write!(out, "{:indent$}", "");
            is_in_break = false;
        }
        if c == '\'' {
            out.push('\'');
        }
        out.push(c);
    }
    if is_in_break {
        let _ = write!(out, "{:indent$}", "");
    }
    out.push('\'');
}

fn append_double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        let escaped = match c {
            '\0' => '0',
            '\x07' => 'a',
            '\x08' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\x0b' => 'v',
            '\x0c' => 'f',
            '\r' => 'r',
            '\x1b' => 'e',
            '"' => '"',
            '\\' => '\\',
            '\u{85}' => 'N',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' => {
                out.push(c);
                continue;
            }
            _ => {
                let number = u32::from(c);
                let _ = match number {
                    0..=0xff => write!(out, "\\x{number:02X}"),
                    0x100..=0xffff => write!(out, "\\u{number:04X}"),
                    _ => write!(out, "\\U{number:08X}"),
                };
                continue;
            }
        };
        out.push('\\');
        out.push(escaped);
    }
    out.push('"');
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_space(c: char) -> bool {
    is_break(c) || matches!(c, '\0' | ' ' | '\t' | '\r')
}

/// Notations that a string can have.
struct Analysis {
    flow_plain: bool,
    block_plain: bool,
    single_quoted: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let (Some(&first), Some(&last)) = (chars.first(), chars.last()) else {
            return Self { flow_plain: false, block_plain: true, single_quoted: true };
        };
        let mut block_indicators = text.starts_with("---") || text.starts_with("...");
        let mut flow_indicators = block_indicators;
        let mut has_breaks = false;
        let mut has_special = false;
        let mut has_space_behind_break = false;
        let mut has_break_behind_space = false;
        for (at, &c) in chars.iter().enumerate() {
            let before = if at == 0 { None } else { Some(chars[at - 1]) };
            let is_preceded = before.is_none_or(is_space);
            let is_followed = chars.get(at + 1).is_none_or(|c| is_space(*c));
            if at == 0 {
                let is_indicator = "#,[]{}&*!|>'\"%@`".contains(c);
                flow_indicators |= is_indicator || matches!(c, '?' | ':') || (c == '-' && is_followed);
                block_indicators |= is_indicator || (matches!(c, '?' | ':' | '-') && is_followed);
            } else {
                flow_indicators |= ",?[]{}:".contains(c) || (c == '#' && is_preceded);
                block_indicators |= (c == ':' && is_followed) || (c == '#' && is_preceded);
            }
            has_breaks |= is_break(c);
            let is_unicode = matches!(c, '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
                || ('\u{10000}'..'\u{10ffff}').contains(&c);
            has_special |= c != '\n' && !matches!(c, ' '..='~') && !is_unicode;
            has_space_behind_break |= c == ' ' && before.is_some_and(is_break);
            has_break_behind_space |= is_break(c) && before == Some(' ');
        }
        let is_edge = |c: char| c == ' ' || is_break(c);
        let is_hard = has_space_behind_break || has_break_behind_space || has_special;
        let is_plain = !(is_edge(first) || is_edge(last) || has_breaks || is_hard);
        Self {
            flow_plain: is_plain && !flow_indicators,
            block_plain: is_plain && !block_indicators,
            single_quoted: !is_hard,
        }
    }
}

/// Returns true if YAML takes the text, without quotes, for something else than a string: a Boolean, a number, nothing,
/// a date.
pub(crate) fn is_other(text: &str) -> bool {
    if text.is_empty() || matches!(text, "~" | "null" | "Null" | "NULL" | "<<" | "=") {
        return true;
    }
    boolean(text).is_some() || is_integer(text) || is_float(text) || is_date(text)
}

/// Returns the Boolean that YAML takes the text for.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn is_integer(text: &str) -> bool {
    let text = unsigned(text);
    let all = |digits: &str, is_digit: fn(char) -> bool| {
        !digits.is_empty() && digits.chars().all(|c| c == '_' || is_digit(c))
    };
    if let Some(digits) = text.strip_prefix("0b") {
        return all(digits, |c| matches!(c, '0' | '1'));
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |c| c.is_ascii_hexdigit());
    }
    if text == "0" {
        return true;
    }
    if let Some(digits) = text.strip_prefix('0') {
        return all(digits, |c| c.is_digit(8));
    }
    let (first, rest) = text.split_once(':').map_or((text, None), |(first, rest)| (first, Some(rest)));
    first.starts_with(|c: char| c.is_ascii_digit())
        && all(first, |c| c.is_ascii_digit())
        && rest.is_none_or(is_sexagesimal)
}

/// Returns true for what follows the first number of a number in base 60: `30:15`.
fn is_sexagesimal(text: &str) -> bool {
    text.split(':').all(|part| {
        let bytes = part.as_bytes();
        match bytes {
            [one] => one.is_ascii_digit(),
            [ten, one] => (b'0'..=b'5').contains(ten) && one.is_ascii_digit(),
            _ => false,
        }
    })
}

fn is_float(text: &str) -> bool {
    let lower = unsigned(text);
    if matches!(lower, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let Some((whole, rest)) = lower.split_once('.') else { return false };
    let (fraction, exponent) = match rest.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (rest, None),
    };
    let is_exponent = exponent.is_none_or(|exponent| {
        exponent
            .strip_prefix(['-', '+'])
            .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
    });
    let is_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    if whole.is_empty() {
        // A sign before the dot makes it a string.
        return text.starts_with('.')
            && fraction.starts_with(|c: char| c.is_ascii_digit())
            && is_digits(fraction)
            && is_exponent;
    }
    if let Some((first, rest)) = whole.split_once(':') {
        return first.starts_with(|c: char| c.is_ascii_digit())
            && is_digits(first)
            && is_sexagesimal(rest)
            && is_digits(fraction)
            && exponent.is_none();
    }
    whole.starts_with(|c: char| c.is_ascii_digit()) && is_digits(whole) && is_digits(fraction) && is_exponent
}

/// Returns true for what PyYAML takes for a date, such as 2026-11-27, or for a time of a day, such as
/// 2026-11-27T10:00:00Z.
fn is_date(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    if !(rest.digits(4, 4) && rest.one(b"-")) {
        return false;
    }
    let month = rest.digits_taken(2);
    if !(month > 0 && rest.one(b"-")) {
        return false;
    }
    let day = rest.digits_taken(2);
    if rest.0.is_empty() {
        return month == 2 && day == 2;
    }
    let is_separated = rest.one(b"Tt") || rest.blanks() > 0;
    if !(day > 0 && is_separated && rest.digits(1, 2)) {
        return false;
    }
    if !(rest.one(b":") && rest.digits(2, 2) && rest.one(b":") && rest.digits(2, 2)) {
        return false;
    }
    if rest.one(b".") {
        rest.digits_taken(usize::MAX);
    }
    rest.0.is_empty() || is_zone(rest)
}

/// Returns true for a time zone behind a time of a day: `Z`, `+2`, `-02:30`.
fn is_zone(mut rest: Rest<'_>) -> bool {
    rest.blanks();
    if rest.one(b"Z") {
        return rest.0.is_empty();
    }
    if !(rest.one(b"+-") && rest.digits(1, 2)) {
        return false;
    }
    rest.0.is_empty() || (rest.one(b":") && rest.digits(2, 2) && rest.0.is_empty())
}

/// The part of a text that is not read yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// Takes the next character if it is one of these.
    fn one(&mut self, of: &[u8]) -> bool {
        match self.0.split_first() {
            Some((first, rest)) if of.contains(first) => {
                self.0 = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes digits, at most so many, and returns their number.
    fn digits_taken(&mut self, max: usize) -> usize {
        let mut taken = 0;
        while taken < max && self.one(b"0123456789") {
            taken += 1;
        }
        taken
    }

    /// Takes digits. Returns false if there are too few.
    fn digits(&mut self, min: usize, max: usize) -> bool {
        self.digits_taken(max) >= min
    }

    /// Takes blanks and tabs, and returns their number.
    fn blanks(&mut self) -> usize {
        let mut taken = 0;
        while self.one(b" \t") {
            taken += 1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> String {
        let mut out = String::new();
        append(&mut out, text, 2, false);
        out
    }

    #[test]
    fn strings_are_quoted_as_pyyaml_quotes_them() {
        for (text, expected) in [
            ("", "''"),
            ("map", "map"),
            ("Hello World: 1", "'Hello World: 1'"),
            ("Hello, World!", "Hello, World!"),
            ("a:b", "a:b"),
            ("a: ", "'a: '"),
            ("it's", "it's"),
            ("'quoted'", "'''quoted'''"),
            ("true", "'true'"),
            ("y", "y"),
            ("12", "'12'"),
            ("1_2", "'1_2'"),
            ("1e3", "1e3"),
            ("1.0e+3", "'1.0e+3'"),
            ("1:30", "'1:30'"),
            ("1:99", "1:99"),
            ("0x1F", "'0x1F'"),
            ("089", "089"),
            ("2026-11-27", "'2026-11-27'"),
            ("2026-11-27T10:00:00Z", "'2026-11-27T10:00:00Z'"),
            ("2026-11-27 10:00:00", "'2026-11-27 10:00:00'"),
            ("2026-1-7t1:00:00.5 +01:30", "'2026-1-7t1:00:00.5 +01:30'"),
            ("2026-11-27 \t10:00:00.-3", "\"2026-11-27 \\t10:00:00.-3\""),
            ("2026-1-7", "2026-1-7"),
            ("2026-11-27T10:00", "2026-11-27T10:00"),
            ("2026-11-27 10:00:00 o", "2026-11-27 10:00:00 o"),
            ("2026-11-27 10:00:00+1:3", "2026-11-27 10:00:00+1:3"),
            ("~", "'~'"),
            ("-", "'-'"),
            ("-a", "-a"),
            ("- a", "'- a'"),
            ("a #b", "'a #b'"),
            ("a#b", "a#b"),
            ("@b", "'@b'"),
            ("two\nlines", "'two\n\n  lines'"),
            ("end\n", "'end\n\n  '"),
            ("a\n b", "\"a\\n b\""),
            ("tab\t", "\"tab\\t\""),
            ("\0", "\"\\0\""),
            ("\x7f", "\"\\x7F\""),
            ("ä 😀", "ä 😀"),
            ("<<", "'<<'"),
            ("...", "'...'"),
            ("<sequence type: double, length: 3>", "'<sequence type: double, length: 3>'"),
        ] {
            assert_eq!(block(text), expected, "{text:?}");
        }
    }

    #[test]
    fn strings_in_brackets_are_quoted_more_often() {
        let flow = |text: &str| {
            let mut out = String::new();
            append(&mut out, text, 2, true);
            out
        };
        assert_eq!(flow("a, b"), "'a, b'");
        assert_eq!(flow("a:b"), "'a:b'");
        assert_eq!(flow("map"), "map");
    }

    #[test]
    fn numbers_are_written_as_python_writes_them() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.5, "1.5"),
            (f64::from(0.1_f32), "0.10000000149011612"),
            (1e-4, "0.0001"),
            (1e-5, "1.0e-05"),
            (1.5e-7, "1.5e-07"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (1e300, "1.0e+300"),
            (f64::NAN, ".nan"),
            (f64::NEG_INFINITY, "-.inf"),
        ] {
            assert_eq!(float(value), expected);
        }
        assert_eq!(python_float(1e-5), "1e-05");
        assert_eq!(python_float(f64::INFINITY), "inf");
    }
}
