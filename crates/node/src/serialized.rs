//! Messages as they travel, for programs that record, play back or bridge topics without a look into them.

use std::fmt;

use bytes::Bytes;
use rospin_wire::cdr::{CdrError, PayloadError, from_shared_payload, to_payload};

use crate::callback::Given;
use crate::message::{Decode, Encode, Message};

/// An encoded message: a header of four bytes, which names the encoding, and the value in it. Cheap to clone; clones
/// share the bytes.
///
/// ```
/// use rospin::message::SerializedMessage;
/// use rospin::msgs::std_msgs::msg::UInt32;
///
/// let message = SerializedMessage::serialize(&UInt32 { data: 7 })?;
/// assert_eq!(message.as_bytes(), [0, 1, 0, 0, 7, 0, 0, 0]);
/// assert_eq!(message.deserialize::<UInt32>()?, UInt32 { data: 7 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SerializedMessage(Bytes);

impl SerializedMessage {
    /// Returns the message that consists of these bytes, a header and a value. The value is not looked at.
    ///
    /// # Errors
    /// If there are fewer than the header's four bytes.
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<Self, PayloadError> {
        let bytes = bytes.into();
        match bytes.len() {
            length @ 0..4 => Err(PayloadError::Short { length }),
            _ => Ok(Self(bytes)),
        }
    }

    /// Encodes a message. Allocates.
    ///
    /// # Errors
    /// If CDR cannot represent it.
    pub fn serialize<M: Message>(message: &M) -> Result<Self, CdrError> {
        to_payload(message).map(|payload| Self(payload.into()))
    }

    /// Decodes the message. Its large [`Blob`](crate::Blob)s share its bytes.
    ///
    /// # Errors
    /// If it is not of this type, or not in CDR.
    pub fn deserialize<M: Message>(&self) -> Result<M, PayloadError> {
        from_shared_payload(&self.0)
    }

    /// Returns the bytes, with the header.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the bytes, with the header, without a copy.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl fmt::Debug for SerializedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SerializedMessage").field("length", &self.0.len()).finish_non_exhaustive()
    }
}

impl Given for SerializedMessage {}

impl Encode for SerializedMessage {
    fn append_to(&self, payload: &mut Vec<u8>) -> Result<(), CdrError> {
        payload.extend_from_slice(&self.0);
        Ok(())
    }
}

/// Decoder that leaves messages as they are.
#[derive(Clone, Copy)]
pub(crate) struct Undecoded;

impl Decode for Undecoded {
    type Message = SerializedMessage;

    fn decode(&self, payload: &Bytes) -> Result<SerializedMessage, PayloadError> {
        SerializedMessage::from_bytes(payload.clone())
    }
}
