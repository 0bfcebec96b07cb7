//! Errors of descriptions of types, and the limits that they name.

use rospin_wire::TypeNameError;

/// Number of levels that messages may nest: twice as many as those of ROS 2 have. A message of that many levels around
/// a single byte takes about a thousand times as much memory as the payload, which is the worst ratio.
pub(crate) const DEPTH_MAX: usize = 16;

/// Memory that a message with empty sequences may take, in bytes.
pub(crate) const MEMORY_MAX: usize = 1 << 26;

/// Reasons for which a description is not a usable type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageTypeError {
    /// The text is not a description as ROS 2 installs them.
    #[error("this is not a type description in JSON, as ROS 2 Iron and later install it: {reason}")]
    Json {
        /// The problem and its place.
        reason: String,
    },
    /// The name of a type is invalid.
    #[error(transparent)]
    Name(#[from] TypeNameError),
    /// The name of a field is invalid.
    #[error("`{field}` of {message_type} is not a valid name of a field; use letters, digits and underscores")]
    FieldName {
        /// Name of the type.
        message_type: String,
        /// Name of the field.
        field: String,
    },
    /// Two types, or two fields of a type, have the same name.
    #[error("`{name}` is described twice")]
    Duplicate {
        /// Name that was found twice.
        name: String,
    },
    /// The type of a field is not described.
    #[error("field `{field}` of {message_type} is of type `{nested}`, which is not described; add its description")]
    Unknown {
        /// Name of the type.
        message_type: String,
        /// Name of the field.
        field: String,
        /// The field's type.
        nested: String,
    },
    /// A type contains itself.
    #[error("{message_type} contains itself")]
    Recursive {
        /// Name of the type.
        message_type: String,
    },
    /// Messages nest too deeply.
    #[error("messages in {message_type} nest more than {DEPTH_MAX} deep")]
    Deep {
        /// Name of the type.
        message_type: String,
    },
    /// A message takes too much memory even when its sequences are empty.
    #[error("a message of type {message_type} takes more than {MEMORY_MAX} bytes before anything is in it")]
    Large {
        /// Name of the type.
        message_type: String,
    },
    /// A type has no fields.
    #[error("{message_type} has no fields; ROS 2 gives such a type a `uint8 structure_needs_at_least_one_member`")]
    Empty {
        /// Name of the type.
        message_type: String,
    },
    /// The described type is no service.
    #[error("{name} is not described as a service, with a request and a response")]
    NoService {
        /// Name of the type.
        name: String,
    },
    /// The kind of a field is not supported.
    #[error("field `{field}` of {message_type} is {what}, which is not supported")]
    Unsupported {
        /// Name of the type.
        message_type: String,
        /// Name of the field.
        field: String,
        /// The kind.
        what: String,
    },
    /// The type's hash is not the expected one, so it is another version of the type.
    #[error("{name} should have hash {expected}, and has {hash}: these are two versions of it")]
    Hash {
        /// Name of the type.
        name: String,
        /// The expected hash.
        expected: String,
        /// The hash of the description.
        hash: String,
    },
}
