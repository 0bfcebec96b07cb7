//! Paths to fields of a message.

use std::borrow::Cow;

use crate::message::DynamicMessage;
use crate::message_type::{FieldType, MessageType};
use crate::value::Value;

/// Reasons for which a path does not lead to a field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is malformed.
    #[error("`{path}` is not a path to a field; write `name`, `name.name` or `name[0].name`")]
    Malformed {
        /// Path that was given.
        path: String,
    },
    /// A message has no field of that name.
    #[error("`{path}`: {message_type} has no field `{name}`; it has {known}")]
    NoField {
        /// Path that was given.
        path: String,
        /// The type of the message.
        message_type: String,
        /// Name that was given.
        name: String,
        /// The names of the message's fields.
        known: String,
    },
    /// The path asks for a field of a value that is not a message.
    #[error("`{path}`: `{name}` is {field_type}, which has no fields")]
    NoMessage {
        /// Path that was given.
        path: String,
        /// Name of the field.
        name: String,
        /// The field's type.
        field_type: String,
    },
    /// The path asks for an element of a field that is neither an array nor a sequence.
    #[error("`{path}`: `{name}` is {field_type}, which has no elements")]
    NoElements {
        /// Path that was given.
        path: String,
        /// Name of the field.
        name: String,
        /// The field's type.
        field_type: String,
    },
    /// The index is out of range.
    #[error("`{path}`: `{name}` has {length} elements; the first one is `{name}[0]`")]
    OutOfRange {
        /// Path that was given.
        path: String,
        /// Name of the field.
        name: String,
        /// The number of elements.
        length: usize,
    },
}

/// A parsed path: names, each with an optional index.
pub(crate) struct Path<'a> {
    pub(crate) whole: &'a str,
    pub(crate) steps: Vec<Step<'a>>,
}

/// Part of a path: the name of a field, and the index of its element if one is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) name: &'a str,
    pub(crate) index: Option<usize>,
}

impl<'a> Path<'a> {
    /// Parses a path: names with dots between them, each with an optional index in brackets.
    pub(crate) fn parse(whole: &'a str) -> Result<Self, PathError> {
        let steps = whole.split('.').map(Step::parse).collect::<Option<_>>();
        steps.map(|steps| Self { whole, steps }).ok_or_else(|| PathError::Malformed { path: whole.to_owned() })
    }

    /// Returns the index of the step's field among the type's fields.
    pub(crate) fn position(&self, step: Step<'_>, message_type: &MessageType) -> Result<usize, PathError> {
        message_type.position(step.name).ok_or_else(|| PathError::NoField {
            path: self.whole.to_owned(),
            message_type: message_type.name().to_owned(),
            name: step.name.to_owned(),
            known: message_type.fields().iter().map(|field| field.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Returns the error of a path that goes on after this step, whose field is not a message.
    pub(crate) fn no_message(&self, step: Step<'_>, field_type: &FieldType) -> PathError {
        let path = self.whole.to_owned();
        let name = step.name.to_owned();
        PathError::NoMessage { path, name, field_type: field_type.to_string() }
    }

    /// Checks that `value`, that of the step's field, has an element with this index.
    pub(crate) fn check_index(
        &self,
        step: Step<'_>,
        index: usize,
        field_type: &FieldType,
        value: &Value,
    ) -> Result<(), PathError> {
        let path = self.whole.to_owned();
        let name = step.name.to_owned();
        match value.length() {
            None => Err(PathError::NoElements { path, name, field_type: field_type.to_string() }),
            Some(length) if index >= length => Err(PathError::OutOfRange { path, name, length }),
            Some(_) => Ok(()),
        }
    }

    /// Returns the value at the path: borrowed if it is a whole field, a copy if it is an element.
    pub(crate) fn find<'m>(&self, mut message: &'m DynamicMessage) -> Result<Cow<'m, Value>, PathError> {
        let mut steps = self.steps.iter().copied().peekable();
        loop {
            // A parsed path has at least one step.
            let step = steps.next().ok_or_else(|| PathError::Malformed { path: self.whole.to_owned() })?;
            let at = self.position(step, message.message_type())?;
            let field = &message.message_type().fields()[at];
            let value = &message.values()[at];
            let field_type = field.field_type();
            step.index.map_or(Ok(()), |index| self.check_index(step, index, field_type, value))?;
            if steps.peek().is_none() {
                let element = step.index.and_then(|index| value.element(index));
                return Ok(element.map_or(Cow::Borrowed(value), Cow::Owned));
            }
            message = match (value, step.index) {
                (Value::Message(message), None) => message,
                (Value::MessageArray(messages), Some(index)) => &messages[index],
                _ => return Err(self.no_message(step, field_type)),
            };
        }
    }
}

impl<'a> Step<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (name, index) = match text.split_once('[') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(']')?.parse().ok()?)),
        };
        if name.is_empty() || name.contains(']') { None } else { Some(Self { name, index }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart() {
        let step = |name, index| Step { name, index };
        let steps = |path| Path::parse(path).map(|path| path.steps);
        assert_eq!(steps("a"), Ok(vec![step("a", None)]));
        assert_eq!(steps("a.b[3].c"), Ok(vec![step("a", None), step("b", Some(3)), step("c", None)]));
        for path in ["", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[-1]", "a[0", "a0]", "a[0]b", "a[0][1]"] {
            let error = Path::parse(path).err().unwrap();
            assert!(error.to_string().contains("name[0].name"), "{path}: {error}");
        }
    }
}
