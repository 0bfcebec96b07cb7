//! Reading and setting fields.

use std::borrow::Cow;

use super::fit::Misfit;
use super::message::DynamicMessage;
use super::message_type::FieldType;
use super::path::{Path, PathError, Step};
use super::value::{Value, WrongValue};

/// Why a field could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetFieldError {
    /// There is none.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It is of another type.
    #[error("`{path}` is {found}, not {expected}; ask for that type, or for a `Value`")]
    WrongType {
        /// The path.
        path: String,
        /// What was asked for.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}

/// Why a field could not be set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetFieldError {
    /// There is none.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It is something else.
    #[error("`{path}` is {field_type}, which {found} is not")]
    WrongType {
        /// The path.
        path: String,
        /// What the field is.
        field_type: String,
        /// What it was to be set to.
        found: String,
    },
    /// It holds not so many elements or bytes, or more of them.
    #[error("`{path}` is {field_type}, which a length of {length} does not fit")]
    WrongLength {
        /// The path.
        path: String,
        /// What the field is.
        field_type: String,
        /// How many there are.
        length: usize,
    },
}

impl DynamicMessage {
    /// What is at the path.
    ///
    /// # Errors
    /// If there is nothing.
    pub fn value(&self, path: &str) -> Result<Cow<'_, Value>, PathError> {
        Path::parse(path)?.find(self)
    }

    /// What is at the path, as what it is in Rust: `f64`, `String`, `Vec<u8>`, `DynamicMessage` and so on.
    ///
    /// # Errors
    /// If there is nothing, or something else.
    pub fn get<T: TryFrom<Value, Error: Into<WrongValue>>>(&self, path: &str) -> Result<T, GetFieldError> {
        let value = self.value(path)?.into_owned();
        value.try_into().map_err(|error: T::Error| {
            let WrongValue { expected, found } = error.into();
            GetFieldError::WrongType { path: path.to_owned(), expected, found }
        })
    }

    /// Sets what is at the path. Numbers become of the kind that the field is: an integer any number that can be so large, a
    /// floating-point number a longer or a shorter one.
    ///
    /// # Errors
    /// If there is no such field, or it is none that can have this value; then the message is as it was.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), SetFieldError> {
        let path = Path::parse(path)?;
        set(self, &path, &path.steps, value.into())
    }
}

fn set(message: &mut DynamicMessage, path: &Path<'_>, steps: &[Step<'_>], value: Value) -> Result<(), SetFieldError> {
    let Some((&step, rest)) = steps.split_first() else {
        return Err(PathError::Malformed { path: path.whole.to_owned() }.into());
    };
    let message_type = message.message_type().clone();
    let at = path.position(step, &message_type)?;
    let (field_type, there) = (message_type.fields()[at].field_type(), &mut message.values_mut()[at]);
    if let Some(index) = step.index {
        path.check_index(step, index, field_type, there)?;
    }
    match (there, step.index) {
        (there, None) if rest.is_empty() => *there = fit(value, field_type, path)?,
        (there, Some(index)) if rest.is_empty() => {
            let (FieldType::Array { of, .. } | FieldType::Sequence { of, .. }) = field_type else {
                return Err(path.no_message(step, field_type).into());
            };
            there.set_element(index, fit(value, of, path)?);
        }
        (Value::Message(message), None) => return set(message, path, rest, value),
        (Value::MessageArray(messages), Some(index)) => return set(&mut messages[index], path, rest, value),
        _ => return Err(path.no_message(step, field_type).into()),
    }
    Ok(())
}

fn fit(value: Value, field_type: &FieldType, path: &Path<'_>) -> Result<Value, SetFieldError> {
    value.fit(field_type).map_err(|misfit| {
        let (path, field_type) = (path.whole.to_owned(), field_type.to_string());
        match misfit {
            Misfit::Kind(found) => SetFieldError::WrongType { path, field_type, found },
            Misfit::Length(length) => SetFieldError::WrongLength { path, field_type, length },
        }
    })
}
