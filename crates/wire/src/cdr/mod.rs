//! CDR, the encoding of ROS 2: version 1 of OMG's Common Data Representation, with or without the header of a
//! [payload](to_payload).
//!
//! Numbers are aligned to their size, counted from the first byte. Output is little-endian, as everywhere in ROS 2;
//! input may have either byte order. Sequences and arrays of numbers in generated messages are copied as a whole, see
//! [`field::Bulk`](crate::field::Bulk).
//!
//! ```
//! use rospin_wire::cdr::{ByteOrder, from_bytes, to_vec};
//!
//! let bytes = to_vec(&(1_u8, 2_i32, "ab"))?;
//! assert_eq!(bytes, [1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', 0]);
//! assert_eq!(from_bytes::<(u8, i32, String)>(&bytes, ByteOrder::Little)?, (1, 2, "ab".to_owned()));
//! # Ok::<(), rospin_wire::cdr::CdrError>(())
//! ```

mod blob;
mod bulk;
mod decoder;
mod encoder;
mod error;
mod gap;
mod payload;

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};

pub(crate) use blob::{BLOB, SharedBytes};
pub(crate) use bulk::{ARRAYS, SEQUENCES};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use error::CdrError;
pub use gap::Gap;
pub(crate) use gap::LENT;
pub use payload::{
    HEADER, PayloadError, append_payload, append_payload_around, from_payload, from_payload_with, from_shared_payload,
    from_shared_payload_with, to_payload,
};

/// The order of the bytes of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    /// The most significant byte first.
    Big,
    /// The least significant byte first.
    Little,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") { Self::Big } else { Self::Little };
}

/// Encodes a value, little-endian.
///
/// # Errors
/// If CDR cannot represent the value.
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CdrError> {
    let mut bytes = Vec::new();
    append(&mut bytes, value)?;
    Ok(bytes)
}

/// Appends an encoded value to `bytes`, little-endian. Alignment is counted from the start of the value.
///
/// # Errors
/// If CDR cannot represent the value. The bytes that were written before stay.
pub fn append<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result<(), CdrError> {
    value.serialize(&mut Encoder::new(bytes))
}

/// Decodes a value. Bytes after it are ignored.
///
/// # Errors
/// If the bytes are not a value of this type.
pub fn from_bytes<T: DeserializeOwned>(bytes: &[u8], order: ByteOrder) -> Result<T, CdrError> {
    from_bytes_with(bytes, order, PhantomData)
}

/// Decodes a value with a seed of serde's. Bytes after it are ignored.
///
/// # Errors
/// If the bytes are not a value of the seed's type.
pub fn from_bytes_with<'de, S: DeserializeSeed<'de>>(
    bytes: &'de [u8],
    order: ByteOrder,
    seed: S,
) -> Result<S::Value, CdrError> {
    seed.deserialize(&mut Decoder::new(bytes, order))
}
