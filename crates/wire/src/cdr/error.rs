//! Errors of encoding and decoding.

use std::fmt::Display;

use serde::{de, ser};

/// Errors of encoding and decoding: a value that CDR cannot represent, or bytes that are not a value of the type.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// The bytes end within a value.
    #[error("the payload ends at byte {at}, {missing} bytes before the end of a value")]
    End {
        /// Number of bytes in the input.
        at: usize,
        /// Number of bytes that are missing.
        missing: usize,
    },
    /// A Boolean's byte is neither 0 nor 1. The number is that byte.
    #[error("a Boolean is 0 or 1, not {0}")]
    Bool(u8),
    /// A number is no Unicode character.
    #[error("{0:#x} is not a Unicode character")]
    Char(u32),
    /// The number in front of an optional value is neither 0 (absent) nor 1 (present).
    #[error("an optional value begins with 0 or 1, not with {0}")]
    Option(u32),
    /// A string is not UTF-8.
    #[error("a string is not UTF-8: {0}")]
    Utf8(#[from] std::str::Utf8Error),
    /// A sequence or string is longer than a 32-bit length can say.
    #[error("a sequence has {0} elements, and CDR counts up to 4294967295")]
    Long(usize),
    /// The length of a sequence is not known in advance.
    #[error("CDR needs the length of a sequence before its elements")]
    UnknownLength,
    /// The type needs a self-describing format, which CDR is not.
    #[error("CDR does not describe its content, so its type must be known")]
    NotDescribed,
    /// Any other error that the type reports.
    #[error("{0}")]
    Type(String),
}

impl ser::Error for CdrError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Type(message.to_string())
    }
}

impl de::Error for CdrError {
    fn custom<T: Display>(message: T) -> Self {
        Self::Type(message.to_string())
    }
}
