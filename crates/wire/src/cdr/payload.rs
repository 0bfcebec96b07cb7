//! Payloads: CDR after a header of four bytes, as every middleware of ROS 2 sends it.

use std::marker::PhantomData;

use bytes::Bytes;
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};

use super::{ByteOrder, CdrError, Decoder, Encoder, Gap, append, from_bytes_with};

/// The header of little-endian CDR version 1, without options.
pub const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Reasons for which a payload could not be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The payload is shorter than the header's four bytes.
    #[error("the payload has no CDR header; {length} bytes are too few")]
    Short {
        /// Number of bytes in the payload.
        length: usize,
    },
    /// The header names another encoding.
    #[error("the payload is in encoding {0:#06x}, not in CDR")]
    Encoding(u16),
    /// The bytes after the header are not a value of the type.
    #[error("the payload is not of this type: {0}")]
    Type(#[from] CdrError),
}

/// Encodes a value with a header, little-endian.
///
/// # Errors
/// If CDR cannot represent the value.
pub fn to_payload<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CdrError> {
    let mut bytes = Vec::new();
    append_payload(&mut bytes, value)?;
    Ok(bytes)
}

/// Appends a header and an encoded value to `bytes`, little-endian.
///
/// # Errors
/// If CDR cannot represent the value. The bytes that were written before stay.
pub fn append_payload<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result<(), CdrError> {
    bytes.extend_from_slice(&HEADER);
    // Alignment is counted from the start of the value, which is after the header.
    append(bytes, value)
}

/// Does what [`append_payload`] does, but leaves out the bytes of one [`Blob`](crate::Blob) for which `is_lent` returns
/// true, and returns the place where they belong. They are in [memory](crate::BlobMemory) that no clone of the blob
/// shares. The payload is complete if the result is `None`.
///
/// # Errors
/// If CDR cannot represent the value. The bytes that were written before stay.
pub fn append_payload_around<T: Serialize + ?Sized>(
    bytes: &mut Vec<u8>,
    value: &T,
    is_lent: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<Gap>, CdrError> {
    bytes.extend_from_slice(&HEADER);
    let mut encoder = Encoder::around(bytes, is_lent);
    value.serialize(&mut encoder)?;
    Ok(encoder.gap())
}

/// Decodes the value after the header. Bytes after the value are ignored, because they are padding.
///
/// # Errors
/// If the header or the value is invalid.
pub fn from_payload<T: DeserializeOwned>(payload: &[u8]) -> Result<T, PayloadError> {
    from_payload_with(payload, PhantomData)
}

/// Decodes the value after the header with a seed of serde's, see [`from_payload`].
///
/// # Errors
/// If the header or the value is invalid.
pub fn from_payload_with<'de, S: DeserializeSeed<'de>>(payload: &'de [u8], seed: S) -> Result<S::Value, PayloadError> {
    let (order, body) = split(payload)?;
    Ok(from_bytes_with(body, order, seed)?)
}

/// Decodes the value after the header, see [`from_payload`]. Its [`Blob`](crate::Blob)s of at least 64 KiB that are at
/// least half of the payload share the payload's memory, and keep it.
///
/// # Errors
/// If the header or the value is invalid.
pub fn from_shared_payload<T: DeserializeOwned>(payload: &Bytes) -> Result<T, PayloadError> {
    from_shared_payload_with(payload, PhantomData)
}

/// Decodes the value after the header with a seed of serde's, see [`from_shared_payload`].
///
/// # Errors
/// If the header or the value is invalid.
pub fn from_shared_payload_with<'de, S: DeserializeSeed<'de>>(
    payload: &'de Bytes,
    seed: S,
) -> Result<S::Value, PayloadError> {
    let (order, body) = split(payload)?;
    Ok(seed.deserialize(&mut Decoder::sharing(payload, body, order))?)
}

/// Returns the byte order that the header says, and the bytes after it.
fn split(payload: &[u8]) -> Result<(ByteOrder, &[u8]), PayloadError> {
    let (header, body) = payload.split_first_chunk::<4>().ok_or(PayloadError::Short { length: payload.len() })?;
    // The other two bytes are options. CDR uses them only for the padding at the end.
    match u16::from_be_bytes([header[0], header[1]]) {
        0 => Ok((ByteOrder::Big, body)),
        1 => Ok((ByteOrder::Little, body)),
        other => Err(PayloadError::Encoding(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_begins_after_the_header() {
        let bytes = to_payload(&(1_u8, 2_i64, "ab")).unwrap();
        let expected = [&[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], &2_i64.to_le_bytes(), &3_u32.to_le_bytes(), b"ab\0"];
        assert_eq!(bytes, expected.concat());
        let decoded: (u8, i64, String) = from_payload(&bytes).unwrap();
        assert_eq!(decoded, (1, 2, "ab".to_owned()));
    }

    #[test]
    fn either_byte_order_is_understood_and_nothing_else() {
        let big = |first, second| [&[first, second, 0, 0][..], &7_i32.to_be_bytes()].concat();
        assert_eq!(from_payload::<i32>(&big(0, 0)), Ok(7));
        assert_eq!(from_payload::<i32>(&big(0, 3)), Err(PayloadError::Encoding(3)));
        for length in 0..4 {
            assert_eq!(from_payload::<i32>(&vec![0; length]), Err(PayloadError::Short { length }));
        }
        assert!(matches!(from_payload::<i32>(&[0; 7]), Err(PayloadError::Type(_))));
    }
}
