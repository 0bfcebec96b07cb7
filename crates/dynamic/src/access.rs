//! Reading and setting fields.

use std::borrow::Cow;

use crate::fit::Misfit;
use crate::message::DynamicMessage;
use crate::message_type::FieldType;
use crate::path::{Path, PathError, Step};
use crate::value::{Value, WrongValue};

/// Reasons for which a field could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GetFieldError {
    /// The path does not lead to a field.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The field has another type.
    #[error("`{path}` is {found}, not {expected}; ask for that type, or for a `Value`")]
    WrongType {
        /// Path that was given.
        path: String,
        /// The type that was requested.
        expected: &'static str,
        /// The type of the field.
        found: String,
    },
}

/// Reasons for which a field could not be set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetFieldError {
    /// The path does not lead to a field.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The value does not fit the field's type.
    #[error("`{path}` is {field_type}, which cannot hold {found}")]
    WrongType {
        /// Path that was given.
        path: String,
        /// The field's type.
        field_type: String,
        /// The value's type.
        found: String,
    },
    /// The number of elements or bytes does not fit the field's type.
    #[error("`{path}` is {field_type}, which cannot have a length of {length}")]
    WrongLength {
        /// Path that was given.
        path: String,
        /// The field's type.
        field_type: String,
        /// The number of elements or bytes in the value.
        length: usize,
    },
}

impl DynamicMessage {
    /// Returns the value at a path.
    ///
    /// # Errors
    /// If the path does not lead to a field.
    pub fn value(&self, path: &str) -> Result<Cow<'_, Value>, PathError> {
        Path::parse(path)?.find(self)
    }

    /// Returns the value at a path as a Rust type: `f64`, `String`, `Vec<u8>`, `DynamicMessage` and so on.
    ///
    /// # Errors
    /// If the path does not lead to a field, or the field has another type.
    pub fn get<T: TryFrom<Value, Error: Into<WrongValue>>>(&self, path: &str) -> Result<T, GetFieldError> {
        let value = self.value(path)?.into_owned();
        value.try_into().map_err(|error: T::Error| {
            let WrongValue { expected, found } = error.into();
            GetFieldError::WrongType { path: path.to_owned(), expected, found }
        })
    }

    /// Sets the value at a path. Numbers are converted to the field's type: an integer to any type that can hold it, a
    /// floating-point number to the other width.
    ///
    /// # Errors
    /// If the path does not lead to a field, or the value does not fit it. The message is unchanged then.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), SetFieldError> {
        let path = Path::parse(path)?;
        set(self, &path, &path.steps, value.into())
    }
}

/// Sets the value at the end of `steps`, which is a part of `path` that begins at `message`.
fn set(message: &mut DynamicMessage, path: &Path<'_>, steps: &[Step<'_>], value: Value) -> Result<(), SetFieldError> {
    let Some((&step, rest)) = steps.split_first() else {
        return Err(PathError::Malformed { path: path.whole.to_owned() }.into());
    };
    let message_type = message.message_type().clone();
    let at = path.position(step, &message_type)?;
    let field_type = message_type.fields()[at].field_type();
    let there = &mut message.values_mut()[at];
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

/// Converts a value to the field's type, for the field at `path`.
fn fit(value: Value, field_type: &FieldType, path: &Path<'_>) -> Result<Value, SetFieldError> {
    fit_at(value, field_type, path.whole)
}

/// Converts a value to the field's type, for the field at `path`.
pub(crate) fn fit_at(value: Value, field_type: &FieldType, path: &str) -> Result<Value, SetFieldError> {
    value.fit(field_type).map_err(|misfit| {
        let path = path.to_owned();
        let field_type = field_type.to_string();
        match misfit {
            Misfit::Kind(found) => SetFieldError::WrongType { path, field_type, found },
            Misfit::Length(length) => SetFieldError::WrongLength { path, field_type, length },
        }
    })
}
