//! Bytes that a decoded value shares with the payload.
//!
//! Serde hands slices to a value, from which nothing that owns memory can be made without a copy. A thread-local with
//! the payload would have to be set before every decoding, and be right in those that nest. So a [`Blob`](crate::Blob)
//! is a newtype with a name that this codec knows. Inside it, this codec answers the request for bytes with an error
//! that owns them. An error is the only value of the codec's own type that serde lets through, and the standard
//! library's `Error::source` gives it back its type.
//!
//! A part is shared if it has at least 64 KiB and is at least half of its payload. Smaller ones are copied, so that
//! none keeps much more memory than its own. Nothing waits for the memory of a payload: Cyclone DDS allocates it for
//! each message, Zenoh's receive buffers have less than 64 KiB, and what arrives in shared memory is copied at once.

use bytes::Bytes;
use serde::de::{Deserializer, Visitor};

use super::{CdrError, Decoder};

/// The name of the newtype around bytes that may be shared.
pub(crate) const BLOB: &str = "rospin_wire::Blob";

/// Length of the shortest field that is shared. Below it, the copy takes a few microseconds. Above it, the field was in
/// no receive buffer of Zenoh's, which have 65,535 bytes each and would have to be replaced while the field is there.
/// The inputs of fuzz targets are shorter than that.
pub(super) const SHARED_MIN: usize = if cfg!(fuzzing) { 8 } else { 64 << 10 };

/// Bytes of the payload, on their way to a blob.
#[derive(Debug, thiserror::Error)]
#[error("a newtype has the name of bytes that are shared, and is none")]
pub(crate) struct SharedBytes(pub(crate) Bytes);

/// The answers of a [`BlobDecoder`] besides a decoded value.
#[derive(Debug, thiserror::Error)]
pub(super) enum BlobError {
    #[error(transparent)]
    Cdr(CdrError),
    /// Bytes that the blob shares, which is no error.
    #[error("{0}")]
    Shared(#[source] SharedBytes),
}

impl serde::de::Error for BlobError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self::Cdr(CdrError::custom(message))
    }
}

impl From<BlobError> for CdrError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Cdr(error) => error,
            BlobError::Shared(unwanted) => Self::Type(unwanted.to_string()),
        }
    }
}

/// The deserializer of a blob's bytes.
pub(super) struct BlobDecoder<'a, 'de>(pub(super) &'a mut Decoder<'de>);

impl<'de> Deserializer<'de> for BlobDecoder<'_, 'de> {
    type Error = BlobError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, BlobError> {
        Err(BlobError::Cdr(CdrError::Type("a newtype has the name of bytes, and is none".to_owned())))
    }

    /// Returns bytes that are shared as the source of an error, and gives the visitor others to copy.
    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, BlobError> {
        let bytes = self.0.get_length().and_then(|length| self.0.get(length)).map_err(BlobError::Cdr)?;
        match self.0.share(bytes) {
            Some(shared) => Err(BlobError::Shared(SharedBytes(shared))),
            None => visitor.visit_borrowed_bytes(bytes),
        }
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
