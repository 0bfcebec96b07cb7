//! Messages as bytes: CDR with the four bytes before it that say so.

use std::marker::PhantomData;

use rospin_wire::cdr::{ByteOrder, CdrError, append, from_bytes_with};
use serde::Serialize;
use serde::de::{DeserializeOwned, DeserializeSeed};
use zenoh::bytes::ZBytes;

/// The header of what we send: little-endian, no options.
const HEADER: [u8; 4] = [0, 1, 0, 0];

/// A payload that is not what its type says.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    #[error("the payload has no CDR header; {length} bytes are too few")]
    Short { length: usize },
    #[error("the payload is in encoding {0:#06x}, not in CDR")]
    Encoding(u16),
    #[error("the payload is not of this type: {0}")]
    Type(#[from] CdrError),
}

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CdrError> {
    let mut bytes = HEADER.to_vec();
    // It aligns to where it begins, which is after the header.
    append(&mut bytes, value)?;
    Ok(bytes)
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &ZBytes) -> Result<T, DecodeError> {
    decode_with(payload, PhantomData)
}

pub(crate) fn decode_with<S, T>(payload: &ZBytes, seed: S) -> Result<T, DecodeError>
where
    S: for<'de> DeserializeSeed<'de, Value = T>,
{
    let bytes = payload.to_bytes();
    let (header, body) = bytes.split_first_chunk::<4>().ok_or(DecodeError::Short { length: bytes.len() })?;
    // The other two bytes are options, of which CDR has only padding at the end.
    let order = match u16::from_be_bytes([header[0], header[1]]) {
        0 => ByteOrder::Big,
        1 => ByteOrder::Little,
        other => return Err(DecodeError::Encoding(other)),
    };
    Ok(from_bytes_with(body, order, seed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignment_begins_after_the_header() {
        let bytes = encode(&(1_u8, 2_i64, "ab")).unwrap();
        let expected = [&[0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0][..], &2_i64.to_le_bytes(), &3_u32.to_le_bytes(), b"ab\0"];
        assert_eq!(bytes, expected.concat());
        let decoded: (u8, i64, String) = decode(&bytes.into()).unwrap();
        assert_eq!(decoded, (1, 2, "ab".to_owned()));
    }

    #[test]
    fn either_byte_order_is_understood_and_nothing_else() {
        let big = |first, second| ZBytes::from([&[first, second, 0, 0][..], &7_i32.to_be_bytes()].concat());
        assert_eq!(decode::<i32>(&big(0, 0)).unwrap(), 7);
        assert!(matches!(decode::<i32>(&big(0, 3)), Err(DecodeError::Encoding(3))));
        for length in 0..4 {
            assert!(matches!(decode::<i32>(&vec![0; length].into()), Err(DecodeError::Short { .. })));
        }
        assert!(matches!(decode::<i32>(&vec![0; 7].into()), Err(DecodeError::Type(_))));
    }
}
