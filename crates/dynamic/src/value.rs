//! Values of fields.

use std::convert::Infallible;

use crate::message::DynamicMessage;

/// Calls a macro with every kind of scalar: its variant, the variant of many, its Rust type, its ROS name.
macro_rules! scalars {
    ($apply:ident) => {
        $apply! {
            Bool BoolArray bool "bool",
            Int8 Int8Array i8 "int8",
            UInt8 UInt8Array u8 "uint8",
            Int16 Int16Array i16 "int16",
            UInt16 UInt16Array u16 "uint16",
            Int32 Int32Array i32 "int32",
            UInt32 UInt32Array u32 "uint32",
            Int64 Int64Array i64 "int64",
            UInt64 UInt64Array u64 "uint64",
            Float32 Float32Array f32 "float32",
            Float64 Float64Array f64 "float64",
        }
    };
}
pub(crate) use scalars;

/// Value of a field. Arrays and sequences share variants; the type has their lengths and bounds.
///
/// ```
/// use rospin::dynamic::Value;
///
/// assert_eq!(Value::from(2.5), Value::Float64(2.5));
/// assert_eq!(Value::from("map"), Value::String("map".to_owned()));
/// assert_eq!(Value::from(vec![1_u8, 2]), Value::UInt8Array(vec![1, 2]));
/// assert_eq!(f64::try_from(Value::Float64(2.5)), Ok(2.5));
/// let error = f64::try_from(Value::from("map")).unwrap_err();
/// assert_eq!(error.to_string(), "this is string, not float64");
/// ```
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Value {
    /// A Boolean.
    Bool(bool),
    /// An 8-bit integer.
    Int8(i8),
    /// An 8-bit unsigned integer. ROS 2 also calls it `byte` or `char`.
    UInt8(u8),
    /// A 16-bit integer.
    Int16(i16),
    /// A 16-bit unsigned integer.
    UInt16(u16),
    /// A 32-bit integer.
    Int32(i32),
    /// A 32-bit unsigned integer.
    UInt32(u32),
    /// A 64-bit integer.
    Int64(i64),
    /// A 64-bit unsigned integer.
    UInt64(u64),
    /// A 32-bit floating-point number.
    Float32(f32),
    /// A 64-bit floating-point number.
    Float64(f64),
    /// A string.
    String(String),
    /// A message.
    Message(DynamicMessage),
    /// Booleans.
    BoolArray(Vec<bool>),
    /// 8-bit integers.
    Int8Array(Vec<i8>),
    /// 8-bit unsigned integers.
    UInt8Array(Vec<u8>),
    /// 16-bit integers.
    Int16Array(Vec<i16>),
    /// 16-bit unsigned integers.
    UInt16Array(Vec<u16>),
    /// 32-bit integers.
    Int32Array(Vec<i32>),
    /// 32-bit unsigned integers.
    UInt32Array(Vec<u32>),
    /// 64-bit integers.
    Int64Array(Vec<i64>),
    /// 64-bit unsigned integers.
    UInt64Array(Vec<u64>),
    /// 32-bit floating-point numbers.
    Float32Array(Vec<f32>),
    /// 64-bit floating-point numbers.
    Float64Array(Vec<f64>),
    /// Strings.
    StringArray(Vec<String>),
    /// Messages.
    MessageArray(Vec<DynamicMessage>),
}

/// Error of a conversion: the value's type is not the one that was requested.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is {found}, not {expected}")]
pub struct WrongValue {
    /// The type that was requested.
    pub expected: &'static str,
    /// The type of the value.
    pub found: String,
}

/// Implements conversions between values and Rust types: the variant, the variant of many, the Rust type, and both
/// names for errors.
macro_rules! conversions {
    ($($one:ident $many:ident $rust:ty, $name:expr, $names:expr;)*) => {$(
        impl From<$rust> for Value {
            fn from(value: $rust) -> Self {
                Self::$one(value)
            }
        }

        impl From<Vec<$rust>> for Value {
            fn from(values: Vec<$rust>) -> Self {
                Self::$many(values)
            }
        }

        impl<const LENGTH: usize> From<[$rust; LENGTH]> for Value {
            fn from(values: [$rust; LENGTH]) -> Self {
                Self::$many(values.into())
            }
        }

        impl TryFrom<Value> for $rust {
            type Error = WrongValue;

            fn try_from(value: Value) -> Result<Self, WrongValue> {
                match value {
                    Value::$one(value) => Ok(value),
                    other => Err(WrongValue { expected: $name, found: other.kind() }),
                }
            }
        }

        impl TryFrom<Value> for Vec<$rust> {
            type Error = WrongValue;

            fn try_from(value: Value) -> Result<Self, WrongValue> {
                match value {
                    Value::$many(values) => Ok(values),
                    other => Err(WrongValue { expected: $names, found: other.kind() }),
                }
            }
        }
    )*};
}

/// Implements what values of all kinds have in common, from the list of [`scalars`].
macro_rules! of_scalars {
    ($($one:ident $many:ident $rust:ident $name:literal,)*) => {
        conversions! { $($one $many $rust, $name, concat!($name, "[]");)* }

        impl Value {
            /// Returns the ROS name of the value's type, such as `float64` or, for arrays and sequences, `float64[]`.
            /// For an empty list of messages it is `no messages`.
            #[must_use]
            pub fn kind(&self) -> String {
                match self {
                    $(
                        Self::$one(_) => $name.to_owned(),
                        Self::$many(_) => concat!($name, "[]").to_owned(),
                    )*
                    Self::String(_) => "string".to_owned(),
                    Self::StringArray(_) => "string[]".to_owned(),
                    Self::Message(message) => message.message_type().name().to_owned(),
                    Self::MessageArray(messages) => match messages.first() {
                        Some(message) => format!("{}[]", message.message_type().name()),
                        None => "no messages".to_owned(),
                    },
                }
            }

            /// Returns the number of elements, or `None` if the value is neither an array nor a sequence.
            #[must_use]
            pub const fn length(&self) -> Option<usize> {
                Some(match self {
                    $(Self::$many(values) => values.len(),)*
                    Self::StringArray(values) => values.len(),
                    Self::MessageArray(values) => values.len(),
                    _ => return None,
                })
            }

            /// Returns a copy of the element with this index, or `None` if the index is not below the length, or the
            /// value is neither an array nor a sequence.
            #[must_use]
            pub fn element(&self, index: usize) -> Option<Self> {
                Some(match self {
                    $(Self::$many(values) => Self::$one(*values.get(index)?),)*
                    Self::StringArray(values) => Self::String(values.get(index)?.clone()),
                    Self::MessageArray(values) => Self::Message(values.get(index)?.clone()),
                    _ => return None,
                })
            }

            /// Sets one element, which must exist, to a value of its kind.
            pub(crate) fn set_element(&mut self, index: usize, element: Self) {
                match (self, element) {
                    $((Self::$many(values), Self::$one(value)) => values[index] = value,)*
                    (Self::StringArray(values), Self::String(value)) => values[index] = value,
                    (Self::MessageArray(values), Self::Message(value)) => values[index] = value,
                    _ => {}
                }
            }
        }
    };
}

scalars!(of_scalars);
conversions! {
    String StringArray String, "string", "string[]";
    Message MessageArray DynamicMessage, "a message", "messages";
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<Vec<&str>> for Value {
    fn from(values: Vec<&str>) -> Self {
        Self::StringArray(values.into_iter().map(str::to_owned).collect())
    }
}

impl From<Infallible> for WrongValue {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}
