//! Payloads through RustDDS, which encodes and decodes by itself: what it is given are bytes as they are.

use std::any::type_name;
use std::fmt;

use bytes::Bytes;
use rospin_wire::cdr::HEADER;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

/// How many bytes of header a payload has, which RustDDS writes and reads itself.
const HEADER_LENGTH: usize = HEADER.len();

/// A payload with its header.
#[derive(Clone)]
pub(crate) struct Raw(pub(crate) Bytes);

impl From<Vec<u8>> for Raw {
    fn from(payload: Vec<u8>) -> Self {
        Self(payload.into())
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = self.0.get(HEADER_LENGTH..).unwrap_or_default();
        // As bytes they would have a length before them.
        let mut bytes = serializer.serialize_tuple(body.len())?;
        body.iter().try_for_each(|byte| bytes.serialize_element(byte))?;
        bytes.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // RustDDS has read the header, and chose a deserializer by it; nothing but its type tells which one.
        let is_big = type_name::<D>().contains("BigEndian");
        let header = if is_big { [0, 0, 0, 0] } else { HEADER };
        deserializer.deserialize_tuple(usize::MAX, Rest(header))
    }
}

/// Reads everything that is left.
struct Rest([u8; HEADER_LENGTH]);

impl<'de> Visitor<'de> for Rest {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Raw, A::Error> {
        let mut payload = self.0.to_vec();
        // There is no length: the end is that there is no byte more.
        while let Ok(Some(byte)) = bytes.next_element::<u8>() {
            payload.push(byte);
        }
        Ok(Raw(payload.into()))
    }
}

#[cfg(test)]
mod tests {
    use byteorder::{BigEndian, LittleEndian};
    use cdr_encoding::{from_bytes, to_vec};
    use rospin_wire::cdr::{from_payload, to_payload};

    use super::*;

    #[test]
    fn bytes_pass_as_they_are() {
        let payload = to_payload(&(1_u8, 2_i64, "ab")).unwrap();
        let sent = to_vec::<_, LittleEndian>(&Raw::from(payload.clone())).unwrap();
        assert_eq!(sent, payload[HEADER_LENGTH..]);
        let (received, _) = from_bytes::<Raw, LittleEndian>(&sent).unwrap();
        assert_eq!(received.0, payload);
    }

    #[test]
    fn either_byte_order_is_told_apart() {
        let sent = to_vec::<_, BigEndian>(&(1_u8, 7_i32)).unwrap();
        let (received, _) = from_bytes::<Raw, BigEndian>(&sent).unwrap();
        assert_eq!(from_payload::<(u8, i32)>(&received.0), Ok((1, 7)));
    }
}
