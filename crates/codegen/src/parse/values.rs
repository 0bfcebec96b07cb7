//! Parser of constants' values and of defaults.

use super::escapes;
use crate::error::Fault;
use crate::model::{Base, Literal, Shape};

/// Parses one value.
pub(crate) fn one(base: &Base, text: &str) -> Result<Literal, Fault> {
    match base {
        Base::Bool => match &*text.to_ascii_lowercase() {
            "true" | "1" => Ok(Literal::Bool(true)),
            "false" | "0" => Ok(Literal::Bool(false)),
            _ => Err(Fault::new(format!("`{text}` is not a Boolean"), "write `true` or `false`")),
        },
        Base::Float32 | Base::Float64 => {
            let value =
                text.parse().map_err(|_| Fault::new(format!("`{text}` is not a number"), "write one such as 1.5"))?;
            let is_finite = *base == Base::Float64 || (value as f32).is_finite() || !f64::is_finite(value);
            if is_finite {
                Ok(Literal::Float(value))
            } else {
                Err(Fault::new(format!("`{text}` is too large"), "use float64"))
            }
        }
        Base::String { max } => string(text, *max, str::len, escapes::of_text),
        Base::WString { max } => string(text, *max, |text| text.encode_utf16().count(), escapes::of_text),
        Base::Nested(of) => Err(Fault::new(format!("a field of type `{of}` has no default"), "leave the value out")),
        _ => whole(base, text),
    }
}

/// Parses a whole number in decimal, or with a prefix in another base, and checks its range.
fn whole(base: &Base, text: &str) -> Result<Literal, Fault> {
    let (least, most) = base.range().expect("only whole numbers are left");
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        Some("0o" | "0O") => (&digits[2..], 8),
        _ if sign > 0 => (digits.strip_prefix('+').unwrap_or(digits), 10),
        _ => (digits, 10),
    };
    // A second sign would be taken otherwise.
    let digits = Some(digits).filter(|digits| !digits.starts_with(['+', '-']));
    let value = digits.and_then(|digits| i128::from_str_radix(digits, radix).ok()).map(|value| sign * value);
    match value.filter(|value| (least..=most).contains(value)) {
        Some(value) => Ok(Literal::Int(value)),
        None => Err(Fault::new(
            format!("`{text}` is not a value of this type"),
            format!("write a whole number from {least} to {most}"),
        )),
    }
}

/// Parses an element of an array's default.
fn element(base: &Base, text: &str) -> Result<Literal, Fault> {
    match base {
        Base::String { max } => string(text, *max, str::len, escapes::of_element),
        Base::WString { max } => string(text, *max, |text| text.encode_utf16().count(), escapes::of_element),
        base => one(base, text),
    }
}

/// Parses a string whose `length` is at most `max`, or of any length if `max` is 0. It may stand in quotes. `unescape`
/// replaces the escapes in it.
fn string(
    text: &str,
    max: usize,
    length: impl Fn(&str) -> usize,
    unescape: impl Fn(&str) -> Result<String, Fault>,
) -> Result<Literal, Fault> {
    let quoted = ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some((quote, inner))
    });
    let value = match quoted {
        None => text.to_owned(),
        Some((quote, inner)) => {
            let escaped = format!("\\{quote}");
            if inner.replace(&escaped, "").contains(quote) {
                let fix = format!("write {escaped} for it, or put the string into the other quotes");
                return Err(Fault::new(format!("{text} has a {quote} inside"), fix));
            }
            inner.replace(&escaped, &quote.to_string())
        }
    };
    let value = unescape(&value)?;
    if max > 0 && length(&value) > max {
        return Err(Fault::new(format!("{text} is longer than its type allows"), format!("use no more than {max}")));
    }
    Ok(Literal::Text(value))
}

/// Parses a default: one value, or a list such as `[1, 2]`.
pub(crate) fn default(base: &Base, shape: Shape, text: &str) -> Result<Vec<Literal>, Fault> {
    let (least, most) = match shape {
        Shape::One => return Ok(vec![one(base, text)?]),
        Shape::Array(length) => (length, length),
        Shape::Sequence { max: 0 } => (0, usize::MAX),
        Shape::Sequence { max } => (0, max),
    };
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).ok_or_else(|| {
        Fault::new(format!("`{text}` is not a default of an array"), "write the elements in brackets, as `[1, 2]`")
    })?;
    let elements = elements(inner).into_iter().map(|text| element(base, text)).collect::<Result<Vec<_>, _>>()?;
    if (least..=most).contains(&elements.len()) {
        return Ok(elements);
    }
    let fix = if least == most { format!("write {least}") } else { format!("write no more than {most}") };
    Err(Fault::new(format!("the default has {} elements", elements.len()), fix))
}

/// Splits at commas that are not in quotes.
fn elements(text: &str) -> Vec<&str> {
    let mut elements = Vec::new();
    let mut begin = 0;
    let mut quote = None;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (None, '"' | '\'') if text[begin..at].trim().is_empty() => quote = Some(char),
            (None, ',') => {
                elements.push(text[begin..at].trim());
                begin = at + 1;
            }
            (Some(open), _) if char == open && before != '\\' => quote = None,
            _ => {}
        }
        before = char;
    }
    let last = text[begin..].trim();
    if !(elements.is_empty() && last.is_empty()) {
        elements.push(last);
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_their_range() {
        assert_eq!(one(&Base::Uint64, "18446744073709551615").unwrap(), Literal::Int(u64::MAX.into()));
        assert_eq!(one(&Base::Int64, "-9223372036854775808").unwrap(), Literal::Int(i64::MIN.into()));
        assert_eq!(one(&Base::Uint8, "0xff").unwrap(), Literal::Int(255));
        for text in ["--5", "-+5", "++5", "0x-5", "-0x+5"] {
            assert!(one(&Base::Int64, text).is_err(), "{text}");
        }
        assert!(one(&Base::Int8, "128").unwrap_err().fix.contains("from -128 to 127"));
        assert!(
            one(&Base::Uint8, "1.0").is_err() && one(&Base::Uint8, "").is_err() && one(&Base::Float32, "1e39").is_err()
        );
    }

    #[test]
    fn strings_keep_what_is_in_their_quotes() {
        let text = |text: &str| one(&Base::String { max: 0 }, text);
        assert_eq!(text("'a \"b\" '").unwrap(), Literal::Text("a \"b\" ".to_owned()));
        assert_eq!(text("\"a \\\"b\\\"\"").unwrap(), Literal::Text("a \"b\"".to_owned()));
        assert_eq!(text("bare words").unwrap(), Literal::Text("bare words".to_owned()));
        assert!(text("\"a\"b\"").is_err());
        assert!(one(&Base::String { max: 2 }, "abc").is_err());
    }

    /// The values are those that `rosidl_adapter` and `rosidl_parser` make of the text.
    #[test]
    fn escapes_are_those_of_rosidl() {
        for (written, value) in [
            (r#""a\tb""#, "a\tb"),
            (r#""C:\\dir""#, "C:\\dir"),
            (r#""C:\dir""#, "C:\\dir"),
            (r"a\tb", "a\tb"),
            (r"'a\'b'", "a'b"),
            (r#""a\"b""#, "a\"b"),
            (r#""\x41\101""#, "AA"),
            (r#""\q""#, "\\q"),
            (r#""a\\\\b""#, "a\\b"),
            (r#""\\t""#, "\t"),
            (r#""\\x41 \\\\x41""#, "A \\x41"),
            (r#""\0""#, "\0"),
            ("\"\u{e9}\"", "\u{e9}"),
        ] {
            assert_eq!(one(&Base::String { max: 0 }, written).unwrap(), Literal::Text(value.to_owned()), "{written}");
        }
        assert!(one(&Base::String { max: 0 }, r#""\x4""#).unwrap_err().problem.contains("`\\x4`"));
        let list = r#"["a\tb", "C:\\dir", "a\\\\b", "\\t", a\tb]"#;
        let elements = default(&Base::String { max: 0 }, Shape::Sequence { max: 0 }, list).unwrap();
        let expected = ["a\tb", "C:\\dir", "a\\\\b", "\\t", "a\tb"];
        assert_eq!(elements, expected.map(|text| Literal::Text(text.to_owned())));
    }

    #[test]
    fn defaults_of_arrays_have_the_right_number_of_elements() {
        let strings = default(&Base::String { max: 0 }, Shape::Sequence { max: 0 }, "[\"a, b\", 'c', \"\"]").unwrap();
        assert_eq!(strings, ["a, b", "c", ""].map(|text| Literal::Text(text.to_owned())));
        assert_eq!(default(&Base::Int8, Shape::Sequence { max: 0 }, "[]").unwrap(), []);
        assert!(default(&Base::Int8, Shape::Array(2), "[1]").unwrap_err().fix.contains("write 2"));
        assert!(default(&Base::Int8, Shape::Sequence { max: 1 }, "[1, 2]").is_err());
        assert!(default(&Base::Int8, Shape::Array(1), "1").is_err());
    }
}
