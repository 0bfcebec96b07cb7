//! Values of parameters, and their types.

use std::fmt::{self, Write as _};

use crate::interfaces::rcl_interfaces::{self as wire, ParameterType};

/// Type of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A Boolean.
    Bool,
    /// A 64-bit integer.
    Integer,
    /// A 64-bit floating-point number.
    Double,
    /// A string.
    String,
    /// An array of bytes.
    ByteArray,
    /// An array of Booleans.
    BoolArray,
    /// An array of integers.
    IntegerArray,
    /// An array of floating-point numbers.
    DoubleArray,
    /// An array of strings.
    StringArray,
}

impl ParameterKind {
    /// Returns the number of the type in messages, see [`ParameterType`].
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Bool => ParameterType::PARAMETER_BOOL,
            Self::Integer => ParameterType::PARAMETER_INTEGER,
            Self::Double => ParameterType::PARAMETER_DOUBLE,
            Self::String => ParameterType::PARAMETER_STRING,
            Self::ByteArray => ParameterType::PARAMETER_BYTE_ARRAY,
            Self::BoolArray => ParameterType::PARAMETER_BOOL_ARRAY,
            Self::IntegerArray => ParameterType::PARAMETER_INTEGER_ARRAY,
            Self::DoubleArray => ParameterType::PARAMETER_DOUBLE_ARRAY,
            Self::StringArray => ParameterType::PARAMETER_STRING_ARRAY,
        }
    }
}

impl ParameterKind {
    /// Returns the type with that number. The type of an unset value is `None`.
    pub(super) fn from_code(code: u8) -> Result<Option<Self>, UnknownType> {
        let kinds = [
            Self::Bool,
            Self::Integer,
            Self::Double,
            Self::String,
            Self::ByteArray,
            Self::BoolArray,
            Self::IntegerArray,
            Self::DoubleArray,
            Self::StringArray,
        ];
        match code {
            ParameterType::PARAMETER_NOT_SET => Ok(None),
            code => kinds.into_iter().find(|kind| kind.code() == code).map(Some).ok_or(UnknownType(code)),
        }
    }
}

/// Formats the type as `ros2 param` names it.
impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::ByteArray => "byte_array",
            Self::BoolArray => "bool_array",
            Self::IntegerArray => "integer_array",
            Self::DoubleArray => "double_array",
            Self::StringArray => "string_array",
        })
    }
}

/// The value of a parameter of any type, or no value.
///
/// ```
/// use rospin::parameters::{ParameterKind, ParameterValue};
///
/// let value = ParameterValue::from(2.5);
/// assert_eq!(value.kind(), Some(ParameterKind::Double));
/// assert_eq!(ParameterValue::from("map"), ParameterValue::String("map".to_owned()));
/// assert_eq!(ParameterValue::NotSet.kind(), None);
/// assert_eq!((value.as_f64(), value.as_i64()), (Some(2.5), None));
/// assert_eq!(ParameterValue::from([1_i64, 2]), ParameterValue::IntegerArray(vec![1, 2]));
/// ```
#[derive(Clone, PartialEq, Debug, Default)]
pub enum ParameterValue {
    /// No value.
    #[default]
    NotSet,
    /// A Boolean.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Double(f64),
    /// A string.
    String(String),
    /// An array of bytes.
    ByteArray(Vec<u8>),
    /// An array of Booleans.
    BoolArray(Vec<bool>),
    /// An array of integers.
    IntegerArray(Vec<i64>),
    /// An array of floating-point numbers.
    DoubleArray(Vec<f64>),
    /// An array of strings.
    StringArray(Vec<String>),
}

impl ParameterValue {
    /// Returns the type, or `None` if there is no value.
    #[must_use]
    pub const fn kind(&self) -> Option<ParameterKind> {
        Some(match self {
            Self::NotSet => return None,
            Self::Bool(_) => ParameterKind::Bool,
            Self::Integer(_) => ParameterKind::Integer,
            Self::Double(_) => ParameterKind::Double,
            Self::String(_) => ParameterKind::String,
            Self::ByteArray(_) => ParameterKind::ByteArray,
            Self::BoolArray(_) => ParameterKind::BoolArray,
            Self::IntegerArray(_) => ParameterKind::IntegerArray,
            Self::DoubleArray(_) => ParameterKind::DoubleArray,
            Self::StringArray(_) => ParameterKind::StringArray,
        })
    }

    /// Returns the value if it is a Boolean. Values of all types are converted by [`TryFrom`], too:
    /// `i64::try_from(value)`.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// Returns the value if it is an integer.
    #[must_use]
    #[doc(alias = "as_int")]
    pub const fn as_i64(&self) -> Option<i64> {
        if let Self::Integer(value) = self { Some(*value) } else { None }
    }

    /// Returns the value if it is a floating-point number. An integer is none.
    #[must_use]
    #[doc(alias = "as_double")]
    pub const fn as_f64(&self) -> Option<f64> {
        if let Self::Double(value) = self { Some(*value) } else { None }
    }

    /// Returns the value if it is a string.
    #[must_use]
    #[doc(alias = "as_string")]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(value) = self { Some(value) } else { None }
    }

    /// Returns the number of the type in messages, see [`ParameterType`].
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self.kind() {
            Some(kind) => kind.code(),
            None => ParameterType::PARAMETER_NOT_SET,
        }
    }

    /// Returns the name of the type, for error messages.
    pub(crate) fn kind_name(&self) -> String {
        self.kind().map_or_else(|| "not set".to_owned(), |kind| kind.to_string())
    }
}

/// Formats the value as in a parameter file.
impl fmt::Display for ParameterValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSet => f.write_str("not set"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Double(value) => Double(*value).fmt(f),
            Self::String(value) => Quoted(value).fmt(f),
            Self::ByteArray(values) => write!(f, "{values:?}"),
            Self::BoolArray(values) => write!(f, "{values:?}"),
            Self::IntegerArray(values) => write!(f, "{values:?}"),
            Self::DoubleArray(values) => list(f, values.iter().copied().map(Double)),
            Self::StringArray(values) => list(f, values.iter().map(|value| Quoted(value))),
        }
    }
}

/// Formats values as a list in YAML.
fn list(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = impl fmt::Display>) -> fmt::Result {
    f.write_str("[")?;
    for (number, value) in values.enumerate() {
        write!(f, "{}{value}", if number == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}

/// Formats a number as YAML.
struct Double(f64);

impl fmt::Display for Double {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            value if value.is_nan() => f.write_str(".nan"),
            f64::INFINITY => f.write_str(".inf"),
            f64::NEG_INFINITY => f.write_str("-.inf"),
            value => write!(f, "{value:?}"),
        }
    }
}

/// Formats a string in YAML's double quotes. YAML has Rust's escapes, except for characters by number.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            let escape = c.escape_debug();
            match u32::from(c) {
                _ if c == '\'' => f.write_char(c)?,
                // An escape longer than a backslash and a letter is written by its number.
                code if escape.len() > 2 => write!(f, "\\U{code:08x}")?,
                _ => write!(f, "{escape}")?,
            }
        }
        f.write_str("\"")
    }
}

/// A type number that ROS 2 does not define.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0} is not the number of a parameter type; those are numbers from 0 to 9")]
pub struct UnknownType(pub u8);

impl TryFrom<wire::ParameterValue> for ParameterValue {
    type Error = UnknownType;

    fn try_from(value: wire::ParameterValue) -> Result<Self, UnknownType> {
        Ok(match value.r#type {
            ParameterType::PARAMETER_NOT_SET => Self::NotSet,
            ParameterType::PARAMETER_BOOL => Self::Bool(value.bool_value),
            ParameterType::PARAMETER_INTEGER => Self::Integer(value.integer_value),
            ParameterType::PARAMETER_DOUBLE => Self::Double(value.double_value),
            ParameterType::PARAMETER_STRING => Self::String(value.string_value),
            ParameterType::PARAMETER_BYTE_ARRAY => Self::ByteArray(value.byte_array_value.into_vec()),
            ParameterType::PARAMETER_BOOL_ARRAY => Self::BoolArray(value.bool_array_value),
            ParameterType::PARAMETER_INTEGER_ARRAY => Self::IntegerArray(value.integer_array_value),
            ParameterType::PARAMETER_DOUBLE_ARRAY => Self::DoubleArray(value.double_array_value),
            ParameterType::PARAMETER_STRING_ARRAY => Self::StringArray(value.string_array_value),
            unknown => return Err(UnknownType(unknown)),
        })
    }
}

impl From<ParameterValue> for wire::ParameterValue {
    fn from(value: ParameterValue) -> Self {
        let empty = Self { r#type: value.code(), ..Self::default() };
        match value {
            ParameterValue::NotSet => empty,
            ParameterValue::Bool(bool_value) => Self { bool_value, ..empty },
            ParameterValue::Integer(integer_value) => Self { integer_value, ..empty },
            ParameterValue::Double(double_value) => Self { double_value, ..empty },
            ParameterValue::String(string_value) => Self { string_value, ..empty },
            ParameterValue::ByteArray(value) => Self { byte_array_value: value.into(), ..empty },
            ParameterValue::BoolArray(bool_array_value) => Self { bool_array_value, ..empty },
            ParameterValue::IntegerArray(integer_array_value) => Self { integer_array_value, ..empty },
            ParameterValue::DoubleArray(double_array_value) => Self { double_array_value, ..empty },
            ParameterValue::StringArray(string_array_value) => Self { string_array_value, ..empty },
        }
    }
}

/// A change of parameters, as `/parameter_events` reports it. Watchers are told of `new` and `changed` alike, and not
/// of `deleted`.
#[derive(Default)]
pub(super) struct Change {
    pub(super) new: Vec<ParameterSetting>,
    pub(super) changed: Vec<ParameterSetting>,
    pub(super) deleted: Vec<ParameterSetting>,
}

/// Parameter's name and its new value.
#[derive(Clone, PartialEq, Debug)]
pub struct ParameterSetting {
    /// Name of the parameter.
    pub name: String,
    /// New value of the parameter.
    pub value: ParameterValue,
}

impl ParameterSetting {
    /// Returns a setting of the parameter called `name` to `value`.
    #[must_use]
    pub fn new(name: impl Into<String>, value: impl Into<ParameterValue>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// A name and a value: `("max_speed", 0.5)`.
impl<N: Into<String>, T: Into<ParameterValue>> From<(N, T)> for ParameterSetting {
    fn from(setting: (N, T)) -> Self {
        let (name, value) = setting;
        Self::new(name, value)
    }
}

impl TryFrom<wire::Parameter> for ParameterSetting {
    type Error = UnknownType;

    fn try_from(parameter: wire::Parameter) -> Result<Self, UnknownType> {
        Ok(Self { name: parameter.name, value: parameter.value.try_into()? })
    }
}

impl From<ParameterSetting> for wire::Parameter {
    fn from(setting: ParameterSetting) -> Self {
        Self { name: setting.name, value: setting.value.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::parameters::ParameterFile;
    use crate::names::NodeName;

    #[test]
    fn values_survive_the_wire() {
        let values = [
            ParameterValue::NotSet,
            true.into(),
            i64::MIN.into(),
            0.5.into(),
            "text".into(),
            vec![0_u8, 255].into(),
            vec![true, false].into(),
            vec![1_i64, -1].into(),
            vec![1.0, f64::INFINITY].into(),
            vec!["a".to_owned()].into(),
        ];
        for (code, value) in (0..).zip(values) {
            assert_eq!(value.code(), code);
            assert_eq!(ParameterKind::from_code(code), Ok(value.kind()));
            assert_eq!(ParameterValue::try_from(wire::ParameterValue::from(value.clone())), Ok(value));
        }
    }

    #[test]
    fn the_text_of_a_value_can_be_put_into_a_parameter_file() {
        let values: [ParameterValue; 9] = [
            true.into(),
            i64::MIN.into(),
            f64::INFINITY.into(),
            f64::NEG_INFINITY.into(),
            1e300.into(),
            "it's \"quoted\" \\ \n\r\t\0\u{1b}\u{7f}\u{85}\u{feff}\u{301}\u{1F916}\u{e0001}".into(),
            "".into(),
            vec![-0.0, f64::INFINITY].into(),
            vec!["a, b".to_owned(), "\u{7}".to_owned()].into(),
        ];
        let node = NodeName::new("/", "arm").unwrap();
        let read = |value: &ParameterValue| {
            let file = ParameterFile::parse(&format!("arm: {{ros__parameters: {{it: {value}}}}}"));
            let given = file.unwrap().of_node(&node).next().expect("it is there").1;
            given.value(None, true, None).unwrap()
        };
        for value in values {
            assert_eq!(read(&value), value, "{value}");
        }
        assert!(matches!(read(&f64::NAN.into()), ParameterValue::Double(value) if value.is_nan()));
    }

    #[test]
    fn an_unknown_type_from_the_wire_is_an_error() {
        let value = wire::ParameterValue { r#type: 10, ..wire::ParameterValue::default() };
        assert_eq!(ParameterValue::try_from(value), Err(UnknownType(10)));
    }
}
