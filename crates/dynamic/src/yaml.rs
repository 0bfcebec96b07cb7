//! Messages as YAML, in the manner of `ros2 topic echo`.

use std::fmt::{self, Display, Formatter};

use crate::message::DynamicMessage;
use crate::value::{Value, scalars};

/// Largest number of elements, or of bytes of a string, that `{}` shows of a field.
const SHOWN_MAX: usize = 128;

impl Display for DynamicMessage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        message(self, 0, f)
    }
}

/// Formats the value on one line, unless it is a message or has several elements.
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

/// Writes the fields, one per line. The first one goes where the cursor is.
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

/// Writes the elements, one per line. The first one goes where the cursor is.
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

/// Defines the format of single values, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        /// Writes a value that has neither fields nor elements.
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

/// Writes a floating-point number that is infinite or not a number, as YAML has it.
fn infinite(value: f64, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str(if value.is_nan() {
        ".nan"
    } else if value > 0.0 {
        ".inf"
    } else {
        "-.inf"
    })
}

/// Writes a string, in quotes where YAML would take it for something else. Cuts a long one unless `f` is alternate
/// (`{:#}`).
fn text(text: &str, f: &mut Formatter<'_>) -> fmt::Result {
    let end = if f.alternate() || text.len() <= SHOWN_MAX { text.len() } else { boundary(text) };
    let shown = &text[..end];
    let rest = if end < text.len() { "..." } else { "" };
    if is_plain(shown) {
        write!(f, "{shown}{rest}")
    } else if shown.chars().any(char::is_control) {
        write!(f, "\"{}{rest}\"", shown.escape_debug())
    } else {
        write!(f, "'{}{rest}'", shown.replace('\'', "''"))
    }
}

/// Returns the position at which a text that is too long is cut: at the end of a character, and at most [`SHOWN_MAX`].
fn boundary(text: &str) -> usize {
    (0..=SHOWN_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Returns true if YAML reads the unquoted text as a string.
fn is_plain(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | '.' | '-' | '+' | ' ' | ',' | '(' | ')');
    let other = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '/'))
        && !text.ends_with(' ')
        && text.chars().all(is_word)
        && !other.contains(&text.to_ascii_lowercase().as_str())
}
