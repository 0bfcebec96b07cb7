//! Default values of fields.

use std::str::FromStr;

use crate::message::DynamicMessage;
use crate::message_type::FieldType;
use crate::value::{Value, scalars};

/// Implements default values, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        impl FieldType {
            /// Returns the default of a field whose description has the text `text`. ROS 2 does not specify how
            /// defaults are written, so a text that cannot be read counts as no default.
            pub(crate) fn default_value(&self, text: &str) -> Value {
                match self {
                    $(Self::$one => Value::$one(scalar(text).unwrap_or_default()),)*
                    Self::String { max } => {
                        let fits = max.is_none_or(|max| text.len() <= max);
                        Value::String(if fits { text.to_owned() } else { String::new() })
                    }
                    Self::Message(message_type) => Value::Message(DynamicMessage::new(message_type)),
                    Self::Array { of, length } => match &**of {
                        $(Self::$one => {
                            let values = many(text).filter(|values: &Vec<_>| values.len() == *length);
                            Value::$many(values.unwrap_or_else(|| vec![$rust::default(); *length]))
                        })*
                        Self::Message(message_type) => {
                            Value::MessageArray(vec![DynamicMessage::new(message_type); *length])
                        }
                        // There are no arrays of arrays.
                        _ => Value::StringArray(vec![String::new(); *length]),
                    },
                    Self::Sequence { of, max } => match &**of {
                        $(Self::$one => {
                            let fits = |values: &Vec<_>| max.is_none_or(|max| values.len() <= max);
                            Value::$many(many(text).filter(fits).unwrap_or_default())
                        })*
                        Self::Message(_) => Value::MessageArray(Vec::new()),
                        _ => Value::StringArray(Vec::new()),
                    },
                }
            }
        }
    };
}

scalars!(of_scalars);

/// Parses a number or a Boolean, as Rust or Python writes it; `None` if it is not one.
fn scalar<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    text.parse().or_else(|_| text.to_ascii_lowercase().parse()).ok()
}

/// Parses numbers between brackets or parentheses; `None` if these are missing, or a number cannot be read.
fn many<T: FromStr>(text: &str) -> Option<Vec<T>> {
    let text = text.trim();
    let inner = text.strip_prefix(['[', '('])?.strip_suffix([']', ')'])?;
    let inner = inner.trim().trim_end_matches(',');
    if inner.is_empty() { Some(Vec::new()) } else { inner.split(',').map(scalar).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_read_where_they_can_be() {
        assert_eq!(FieldType::Int8.default_value("-7"), Value::Int8(-7));
        assert_eq!(FieldType::Bool.default_value("True"), Value::Bool(true));
        assert_eq!(FieldType::Float32.default_value("2.5"), Value::Float32(2.5));
        assert_eq!(FieldType::UInt8.default_value("-7"), Value::UInt8(0));
        assert_eq!(FieldType::String { max: None }.default_value("a map"), Value::from("a map"));
        assert_eq!(FieldType::String { max: Some(3) }.default_value("a map"), Value::from(""));
        let sequence = |max| FieldType::Sequence { of: Box::new(FieldType::Int32), max };
        assert_eq!(sequence(None).default_value("(1, -2)"), Value::from([1, -2]));
        assert_eq!(sequence(Some(3)).default_value("[1,]"), Value::from([1]));
        assert_eq!(sequence(Some(1)).default_value("[1, 2]"), Value::Int32Array(Vec::new()));
        assert_eq!(sequence(None).default_value("[one]"), Value::Int32Array(Vec::new()));
        let array = FieldType::Array { of: Box::new(FieldType::Bool), length: 2 };
        assert_eq!(array.default_value("[True, False]"), Value::from([true, false]));
        assert_eq!(array.default_value("[True]"), Value::from([false, false]));
    }
}
