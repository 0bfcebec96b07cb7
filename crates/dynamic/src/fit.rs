//! Conversion of values to a field's type, where only the kind of number differs.

use crate::message_type::FieldType;
use crate::value::{Value, scalars};

/// Reasons for which a value does not fit a field.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Misfit {
    /// The value has another type, or is a number that the field's type cannot hold. The text has the value's type or
    /// the number.
    Kind(String),
    /// The value has this number of elements, or of bytes of a string, which does not fit.
    Length(usize),
}

/// A number of any kind.
#[derive(Clone, Copy)]
enum Number {
    Bool(bool),
    Integer(i128),
    Float(f64),
}

/// A type of numbers that a field can have.
trait Scalar: Sized {
    /// Converts a number; `None` if this type cannot hold it.
    fn from_number(number: Number) -> Option<Self>;
}

impl Scalar for bool {
    fn from_number(number: Number) -> Option<Self> {
        if let Number::Bool(value) = number { Some(value) } else { None }
    }
}

/// Implements the conversion of integers of these types.
macro_rules! integers {
    ($($rust:ident)*) => {$(
        impl Scalar for $rust {
            fn from_number(number: Number) -> Option<Self> {
                if let Number::Integer(value) = number { value.try_into().ok() } else { None }
            }
        }

        impl From<$rust> for Number {
            fn from(value: $rust) -> Self {
                Self::Integer(value.into())
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

impl Scalar for f64 {
    fn from_number(number: Number) -> Option<Self> {
        match number {
            Number::Bool(_) => None,
            // The conversion may lose precision, as a literal does.
            Number::Integer(value) => Some(value as Self),
            Number::Float(value) => Some(value),
        }
    }
}

impl Scalar for f32 {
    fn from_number(number: Number) -> Option<Self> {
        let wide = f64::from_number(number)?;
        // The conversion may lose precision. A finite number that would become infinite is refused.
        let narrow = wide as Self;
        if narrow.is_finite() || !wide.is_finite() { Some(narrow) } else { None }
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Self::Float(value.into())
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

/// Converts all numbers; `None` if this type cannot hold one of them, or if `numbers` is `None`.
fn all<T: Scalar>(numbers: Option<Vec<Number>>) -> Option<Vec<T>> {
    numbers?.into_iter().map(T::from_number).collect()
}

/// Implements the conversion of values, from the list of scalars.
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        impl Value {
            /// Returns the value as a number; `None` if it is not a number.
            fn number(&self) -> Option<Number> {
                Some(match self {
                    $(Self::$one(value) => (*value).into(),)*
                    _ => return None,
                })
            }

            /// Returns the elements as numbers; `None` if the value is not an array or a sequence of numbers.
            fn numbers(&self) -> Option<Vec<Number>> {
                Some(match self {
                    $(Self::$many(values) => values.iter().map(|value| (*value).into()).collect(),)*
                    _ => return None,
                })
            }

            /// Converts the value to the field's type.
            pub(crate) fn fit(self, to: &FieldType) -> Result<Self, Misfit> {
                let misfit = |value: &Self| Misfit::Kind(value.shown());
                match (to, self) {
                    $(
                        (FieldType::$one, value @ Self::$one(_)) => Ok(value),
                        (FieldType::$one, value) => {
                            let fitted = value.number().and_then($rust::from_number).map(Self::$one);
                            fitted.ok_or_else(|| misfit(&value))
                        }
                    )*
                    (FieldType::String { max }, Self::String(text)) => match max {
                        Some(max) if text.len() > *max => Err(Misfit::Length(text.len())),
                        _ => Ok(Self::String(text)),
                    },
                    (FieldType::Message(of), Self::Message(message)) if message.message_type() == of => {
                        Ok(Self::Message(message))
                    }
                    (FieldType::Array { of, length }, value) => value.fit_many(of, |found| found == *length),
                    (FieldType::Sequence { of, max }, value) => {
                        value.fit_many(of, |found| max.is_none_or(|max| found <= max))
                    }
                    (_, value) => Err(misfit(&value)),
                }
            }

            /// Converts an array or a sequence whose length passes `fits`.
            fn fit_many(self, of: &FieldType, fits: impl Fn(usize) -> bool) -> Result<Self, Misfit> {
                let misfit = |value: &Self| Misfit::Kind(value.shown());
                if let Some(length) = self.length().filter(|length| !fits(*length)) {
                    return Err(Misfit::Length(length));
                }
                match (of, self) {
                    $(
                        (FieldType::$one, value @ Self::$many(_)) => Ok(value),
                        (FieldType::$one, value) => {
                            all(value.numbers()).map(Self::$many).ok_or_else(|| misfit(&value))
                        }
                    )*
                    (FieldType::String { max }, Self::StringArray(texts)) => {
                        let longest = texts.iter().map(String::len).max().unwrap_or_default();
                        match max {
                            Some(max) if longest > *max => Err(Misfit::Length(longest)),
                            _ => Ok(Self::StringArray(texts)),
                        }
                    }
                    (FieldType::Message(of), Self::MessageArray(messages))
                        if messages.iter().all(|message| message.message_type() == of) =>
                    {
                        Ok(Self::MessageArray(messages))
                    }
                    (_, value) => Err(misfit(&value)),
                }
            }

            /// Returns a text for error messages: a number or a Boolean itself, and the type of any other value.
            fn shown(&self) -> String {
                match self {
                    $(Self::$one(value) => format!("{value:?}"),)*
                    other => other.kind(),
                }
            }
        }
    };
}

scalars!(of_scalars);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_what_the_field_is() {
        assert_eq!(Value::from(7).fit(&FieldType::UInt8), Ok(Value::UInt8(7)));
        assert_eq!(Value::from(7).fit(&FieldType::Float32), Ok(Value::Float32(7.0)));
        assert_eq!(Value::from(0.1).fit(&FieldType::Float32), Ok(Value::Float32(0.1)));
        assert_eq!(Value::from(u64::MAX).fit(&FieldType::UInt64), Ok(Value::UInt64(u64::MAX)));
        let infinite = Value::from(f64::INFINITY).fit(&FieldType::Float32);
        assert_eq!(infinite, Ok(Value::Float32(f32::INFINITY)));
        for (value, to, shown) in [
            (Value::from(256), FieldType::UInt8, "256"),
            (Value::from(-1), FieldType::UInt64, "-1"),
            (Value::from(1.0), FieldType::Int32, "1.0"),
            (Value::from(1), FieldType::Bool, "1"),
            (Value::from(true), FieldType::Int8, "true"),
            (Value::from(1e300), FieldType::Float32, "1e300"),
            (Value::from("1"), FieldType::Int8, "string"),
            (Value::from([1]), FieldType::Int32, "int32[]"),
        ] {
            assert_eq!(value.fit(&to), Err(Misfit::Kind(shown.to_owned())), "{to}");
        }
    }

    #[test]
    fn bounds_are_kept() {
        let text = FieldType::String { max: Some(4) };
        assert_eq!(Value::from("four").fit(&text), Ok(Value::from("four")));
        assert_eq!(Value::from("fünf").fit(&text), Err(Misfit::Length(5)));
        let array = FieldType::Array { of: Box::new(FieldType::UInt8), length: 2 };
        assert_eq!(Value::from([1, 2]).fit(&array), Ok(Value::from([1_u8, 2])));
        assert_eq!(Value::from([1_u8]).fit(&array), Err(Misfit::Length(1)));
        let sequence = FieldType::Sequence { of: Box::new(text), max: Some(2) };
        assert_eq!(Value::from(vec!["a"]).fit(&sequence), Ok(Value::from(vec!["a"])));
        assert_eq!(Value::from(vec!["a", "b", "c"]).fit(&sequence), Err(Misfit::Length(3)));
        assert_eq!(Value::from(vec!["too long"]).fit(&sequence), Err(Misfit::Length(8)));
        assert_eq!(Value::from([1]).fit(&sequence), Err(Misfit::Kind("int32[]".to_owned())));
    }
}
