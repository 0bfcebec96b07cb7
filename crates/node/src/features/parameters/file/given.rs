//! Values that a file, an argument or the program gives to a parameter before it is declared.

use super::scalar;
use crate::features::parameters::value::{ParameterKind, ParameterValue};
use rospin_dynamic::tree::{Content, Node};

/// Value for a parameter that is not declared yet.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Given {
    Value(ParameterValue),
    /// An empty list. The declaration knows the type of its elements.
    EmptyList,
    /// YAML's null as it is written. It is no value for parameters that may have none, and a text for the others, as in
    /// rcl.
    Null(String),
    /// A value that no parameter can have. The text is the end of a sentence about it.
    Invalid(String),
}

impl Given {
    /// Returns what a node of a file gives.
    pub(super) fn of(node: &Node) -> Self {
        match &node.content {
            Content::Scalar(_) if node.is_nothing() => {
                Self::Invalid("has no value; give it one, or leave it out".to_owned())
            }
            Content::Scalar(scalar) if scalar::is_null(scalar) => Self::Null(scalar.text.clone()),
            Content::Scalar(scalar) => Self::Value(scalar::value_of(scalar)),
            Content::Mapping(_) => {
                Self::Invalid("is a mapping; give it a value, or names with values below it".to_owned())
            }
            Content::List(list) if list.is_empty() => Self::EmptyList,
            Content::List(list) => of_list(list).map_or_else(Self::Invalid, Self::Value),
        }
    }

    /// Returns the value for a parameter of the type `kind`, or of any type if it is `None`. The parameter may have no
    /// value if `is_optional`. The error is the end of a sentence about what was given.
    pub(crate) fn value(
        self,
        kind: Option<ParameterKind>,
        is_optional: bool,
        default: Option<&ParameterValue>,
    ) -> Result<ParameterValue, String> {
        match self {
            Self::Value(value) => Ok(value),
            Self::Null(_) if is_optional => Ok(ParameterValue::NotSet),
            Self::Null(text) => Ok(text.into()),
            Self::Invalid(reason) => Err(reason),
            Self::EmptyList => match kind.or_else(|| default.and_then(ParameterValue::kind)) {
                Some(ParameterKind::ByteArray) => Ok(Vec::<u8>::new().into()),
                Some(ParameterKind::BoolArray) => Ok(Vec::<bool>::new().into()),
                Some(ParameterKind::IntegerArray) => Ok(Vec::<i64>::new().into()),
                Some(ParameterKind::DoubleArray) => Ok(Vec::<f64>::new().into()),
                Some(ParameterKind::StringArray) => Ok(Vec::<String>::new().into()),
                Some(other) if kind.is_some() => Err(format!("is an empty list; the parameter is of type {other}")),
                // Nothing tells the type.
                _ => Ok(ParameterValue::NotSet),
            },
        }
    }
}

/// Returns a list as a value. Its elements must have one type.
fn of_list(list: &[Node]) -> Result<ParameterValue, String> {
    let mut values = Vec::new();
    for node in list {
        match &node.content {
            Content::Scalar(_) if node.is_nothing() => {
                return Err("is a list with an element that has no value".to_owned());
            }
            Content::Scalar(scalar) => values.push(scalar::value_of(scalar)),
            Content::List(_) => return Err("is a list of lists; lists have bools, numbers or strings".to_owned()),
            Content::Mapping(_) => return Err("is a list of mappings; lists have bools, numbers or strings".to_owned()),
        }
    }
    macro_rules! all {
        ($kind:ident) => {
            values
                .iter()
                .map(|value| if let ParameterValue::$kind(value) = value { Some(value.clone()) } else { None })
                .collect::<Option<Vec<_>>>()
        };
    }
    let value = match &values[0] {
        ParameterValue::Bool(_) => all!(Bool).map(ParameterValue::BoolArray),
        ParameterValue::Integer(_) => all!(Integer).map(ParameterValue::IntegerArray),
        ParameterValue::Double(_) => all!(Double).map(ParameterValue::DoubleArray),
        _ => all!(String).map(ParameterValue::StringArray),
    };
    value.ok_or_else(|| {
        let first = kind_of(&values[0]);
        let other = values.iter().map(kind_of).find(|kind| *kind != first).unwrap_or("something else");
        format!("is a list with {first} and {other}; make all of them the same type")
    })
}

/// Returns the kind of a scalar's value, for error messages.
pub(super) fn kind_of(value: &ParameterValue) -> &'static str {
    match value {
        ParameterValue::Bool(_) => "a bool",
        ParameterValue::Integer(_) => "an integer",
        ParameterValue::Double(_) => "a double",
        _ => "a string",
    }
}
