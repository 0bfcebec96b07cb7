//! Messages as bytes: CDR behind an encapsulation header of four bytes, and the header of requests and responses.

use rospin_wire::cdr::ByteOrder;

/// Length of the encapsulation header in bytes.
const ENCAPSULATION: usize = 4;

/// Length of a [`Header`] in bytes. No type is aligned to more than half of it, so the message behind it stays aligned.
const HEADER: usize = 16;

/// Errors of a payload that is not a value of its type.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecodeError {
    /// The payload ends before its headers do.
    #[error("the payload is cut short; {length} bytes are too few")]
    Short { length: usize },
    /// The encapsulation header names an encoding other than CDR.
    #[error("the payload is in encoding {0:#06x}, not in CDR")]
    Encoding(u16),
}

/// Header of requests and responses: the client, and the number of its request. Servers return it unchanged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) client: u64,
    pub(crate) number: i64,
}

/// Inserts the header of a call behind the encapsulation header of its payload. The message behind it stays aligned,
/// because the header is twice as long as the largest alignment.
pub(crate) fn insert(payload: &mut Vec<u8>, Header { client, number }: Header) {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&client.to_le_bytes());
    header[8..].copy_from_slice(&number.to_le_bytes());
    let at = ENCAPSULATION.min(payload.len());
    payload.splice(at..at, header);
}

/// Returns the byte order and the payload behind the encapsulation header.
fn payload(bytes: &[u8]) -> Result<(ByteOrder, &[u8]), DecodeError> {
    let short = DecodeError::Short { length: bytes.len() };
    let ([high, low, _, _], payload) = bytes.split_first_chunk().ok_or(short)?;
    match u16::from_be_bytes([*high, *low]) {
        0 => Ok((ByteOrder::Big, payload)),
        1 => Ok((ByteOrder::Little, payload)),
        other => Err(DecodeError::Encoding(other)),
    }
}

/// Returns an error unless the bytes begin with an encapsulation header.
pub(crate) fn check(bytes: &[u8]) -> Result<(), DecodeError> {
    payload(bytes).map(drop)
}

/// Reads the header of a request or response. The error says why the payload has none.
pub(crate) fn header(bytes: &[u8]) -> Result<Header, DecodeError> {
    let (order, payload) = payload(bytes)?;
    let short = || DecodeError::Short { length: bytes.len() };
    let (client, rest) = payload.split_first_chunk().ok_or_else(short)?;
    let (number, _) = rest.split_first_chunk().ok_or_else(short)?;
    Ok(match order {
        ByteOrder::Big => Header { client: u64::from_be_bytes(*client), number: i64::from_be_bytes(*number) },
        ByteOrder::Little => Header { client: u64::from_le_bytes(*client), number: i64::from_le_bytes(*number) },
    })
}

/// Returns the payload of a request or response without the header of the call, with its encapsulation header.
pub(crate) fn body(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let short = DecodeError::Short { length: bytes.len() };
    match (bytes.get(..ENCAPSULATION), bytes.get(ENCAPSULATION + HEADER..)) {
        (Some(encapsulation), Some(body)) => Ok([encapsulation, body].concat()),
        _ => Err(short),
    }
}

#[cfg(test)]
mod tests {
    use rospin_wire::cdr::{from_payload, to_payload};

    use super::*;

    #[test]
    fn a_header_that_was_inserted_is_read() {
        let mut bytes = to_payload(&(3_u8, 4_i64)).unwrap();
        insert(&mut bytes, Header { client: 7, number: -2 });
        assert_eq!(bytes.len(), 4 + 16 + 16);
        assert_eq!(header(&bytes).unwrap(), Header { client: 7, number: -2 });
        assert_eq!(from_payload(&body(&bytes).unwrap()), Ok((3_u8, 4_i64)));
        // To rmw_cyclonedds_cpp, this is one message whose first fields are the header.
        assert_eq!(from_payload(&bytes), Ok((7_u64, -2_i64, 3_u8, 4_i64)));
    }

    #[test]
    fn either_byte_order_is_read() {
        let bytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 5];
        assert_eq!(header(&bytes).unwrap(), Header { client: 9, number: 8 });
        assert_eq!(from_payload(&body(&bytes).unwrap()), Ok(5_u16));
    }

    #[test]
    fn noise_is_refused() {
        for noise in [&[][..], &[0, 1], &[0, 1, 0, 0, 1, 2, 3], &[0, 7, 0, 0, 1, 0, 0, 0], &[9; 40]] {
            assert!(header(noise).is_err(), "{noise:?}");
        }
        assert!(body(&[0, 1, 0, 0, 1, 2, 3]).is_err());
    }
}
