//! Messages as text, in the manner of `ros2 topic echo`: YAML.

use std::fmt::{self, Display, Formatter};

use super::message::DynamicMessage;
use super::value::{Value, scalars};

/// How many elements and bytes of a field are shown, unless all of them are wanted.
const SHOWN_MAX: usize = 128;

impl Display for DynamicMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        message(self, 0, f)
    }
}

/// A value by itself, on one line unless it is a message or more than one of anything.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(of) => message(of, 0, f),
            Self::MessageArray(_) | Self::StringArray(_) => many(self, 0, f),
            _ if self.length().is_some() => many(self, 0, f),
            _ => one(self, f),
        }
    }
}

/// The fields, one a line, the first one where the line is already.
fn message(of: &DynamicMessage, indent: usize, f: &mut Formatter<'_>) -> fmt::Result {
    for (at, (name, value)) in of.fields().enumerate() {
        if at > 0 {
            write!(f, "\n{:indent$}", "")?;
        }
        write!(f, "{name}:")?;
        match value {
            Value::Message(nested) => {
                let indent = indent + 2;
                write!(f, "\n{:indent$}", "")?;
                message(nested, indent, f)?;
            }
            value if value.length() == Some(0) => f.write_str(" []")?,
            value if value.length().is_some() => {
                write!(f, "\n{:indent$}", "")?;
                many(value, indent, f)?;
            }
            value => {
                f.write_str(" ")?;
                one(value, f)?;
            }
        }
    }
    Ok(())
}

/// The elements, one a line, the first one where the line is already.
fn many(of: &Value, indent: usize, f: &mut Formatter<'_>) -> fmt::Result {
    let length = of.length().unwrap_or_default();
    if length == 0 {
        return f.write_str("[]");
    }
    let shown = if f.alternate() { length } else { length.min(SHOWN_MAX) };
    for at in 0..shown {
        if at > 0 {
            write!(f, "\n{:indent$}", "")?;
        }
        f.write_str("- ")?;
        match of {
            Value::MessageArray(messages) => message(&messages[at], indent + 2, f)?,
            Value::StringArray(texts) => text(&texts[at], f)?,
            others => others.element(at).map_or(Ok(()), |element| one(&element, f))?,
        }
    }
    if shown < length { write!(f, "\n{:indent$}- '...'", "") } else { Ok(()) }
}

macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        /// What has neither fields nor elements.
        fn one(value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
            match value {
                Value::Float32(value) if !value.is_finite() => infinite(f64::from(*value), f),
                Value::Float64(value) if !value.is_finite() => infinite(*value, f),
                $(Value::$one(value) => write!(f, "{value:?}"),)*
                Value::String(value) => text(value, f),
                _ => Ok(()),
            }
        }
    };
}

scalars!(of_scalars);

fn infinite(value: f64, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(if value.is_nan() {
        ".nan"
    } else if value > 0.0 {
        ".inf"
    } else {
        "-.inf"
    })
}

/// A string, in quotes where YAML would take it for something else.
fn text(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let end = if f.alternate() || text.len() <= SHOWN_MAX { text.len() } else { boundary(text) };
    let (shown, rest) = (&text[..end], if end < text.len() { "..." } else { "" });
    if is_plain(shown) {
        write!(f, "{shown}{rest}")
    } else if shown.chars().any(char::is_control) {
        write!(f, "\"{}{rest}\"", shown.escape_debug())
    } else {
        write!(f, "'{}{rest}'", shown.replace('\'', "''"))
    }
}

/// Where a text that is too long is cut, at the end of a character.
fn boundary(text: &str) -> usize {
    (0..=SHOWN_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Whether it is a string for YAML without quotes.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | '+' | ' ' | ',' | '(' | ')');
    let other = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '/'))
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !other.contains(&text.to_ascii_lowercase().as_str())
}
