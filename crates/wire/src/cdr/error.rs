//! What can be wrong with values and bytes.

use std::fmt::Display;

use serde::{de, ser};

/// A value that CDR cannot hold, or bytes that are not of the type they are read as.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CdrError {
    /// The bytes end within a value.
    #[error("the payload ends at byte {at}, {missing} bytes before its last value does")]
    End {
        /// The number of bytes that there are.
        at: usize,
        /// The number of bytes that the value lacks.
        missing: usize,
    },
    /// A Boolean is neither 0 nor 1.
    #[error("a Boolean is 0 or 1, not {0}")]
    Bool(u8),
    /// A character is not Unicode.
    #[error("{0:#x} is no Unicode character")]
    Char(u32),
    /// An optional value is neither absent nor present.
    #[error("an optional value begins with 0 or 1, not with {0}")]
    Option(u32),
    /// A string is not UTF-8.
    #[error("a string is not UTF-8: {0}")]
    Utf8(#[from] std::str::Utf8Error),
    /// A sequence has more elements than its 32 bits of length can say.
    #[error("a sequence has {0} elements, and CDR counts up to 4294967295")]
    Long(usize),
    /// The length of a sequence is unknown until its last element.
    #[error("CDR wants the length of a sequence before its elements")]
    UnknownLength,
    /// The type asks the bytes what they hold, which CDR does not say.
    #[error("CDR does not say what it holds, so the type must")]
    NotDescribed,
    /// Anything else that the type finds wrong.
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
