//! What travels: CDR behind the four bytes that say so, as every middleware of ROS 2 has it.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};

use super::{ByteOrder, CdrError, append, from_bytes_with};

/// The header of little-endian CDR in its first version, without options.
pub const HEADER: [u8; 4] = [0, 1, 0, 0];

/// Why a payload could not be decoded.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// There is no room for a header.
    #[error("the payload has no CDR header; {length} bytes are too few")]
    Short {
        /// How many bytes there are.
        length: usize,
    },
    /// The header says that it is something else.
    #[error("the payload is in encoding {0:#06x}, not in CDR")]
    Encoding(u16),
    /// What follows is not of this type.
    #[error("the payload is not of this type: {0}")]
    Type(#[from] CdrError),
}

/// Encodes a value behind a header, little-endian.
///
/// # Errors
/// If its type is none that CDR has.
pub fn to_payload<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CdrError> {
    let mut bytes = Vec::new();
    append_payload(&mut bytes, value)?;
    Ok(bytes)
}

/// Encodes a value behind a header, little-endian, and both behind `bytes`.
///
/// # Errors
/// If its type is none that CDR has. What was written until then stays.
pub fn append_payload<T: Serialize + ?Sized>(bytes: &mut Vec<u8>, value: &T) -> Result<(), CdrError> {
    bytes.extend_from_slice(&HEADER);
    // Alignment is counted from where the value begins, which is after the header.
    append(bytes, value)
}

/// Decodes what follows the header. Bytes behind the value are ignored: they are padding.
///
/// # Errors
/// If the payload is none, or not of this type.
pub fn from_payload<T: DeserializeOwned>(payload: &[u8]) -> Result<T, PayloadError> {
    from_payload_with(payload, PhantomData)
}

/// Decodes what follows the header with a seed of serde's, as [`from_payload`] does.
///
/// # Errors
/// If the payload is none, or not of the seed's type.
pub fn from_payload_with<'de, S: DeserializeSeed<'de>>(payload: &'de [u8], seed: S) -> Result<S::Value, PayloadError> {
    let (header, body) = payload.split_first_chunk::<4>().ok_or(PayloadError::Short { length: payload.len() })?;
    // The other two bytes are options, of which CDR has only padding at the end.
    let order = match u16::from_be_bytes([header[0], header[1]]) {
        0 => ByteOrder::Big,
        1 => ByteOrder::Little,
        other => return Err(PayloadError::Encoding(other)),
    };
    Ok(from_bytes_with(body, order, seed)?)
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
