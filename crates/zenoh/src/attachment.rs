//! Attachments of messages, requests and responses: their number, the time at which they were sent, and their sender.

use std::time::{SystemTime, UNIX_EPOCH};

use zenoh::bytes::ZBytes;

/// Identity of a publisher or client.
pub(crate) type Gid = [u8; 16];

/// Length of an attachment in bytes.
const LENGTH: usize = 8 + 8 + 1 + size_of::<Gid>();

/// Attachment of `rmw_zenoh_cpp`: two little-endian integers, and the sender behind its length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attachment {
    pub(crate) number: i64,
    /// Time of sending, in nanoseconds since 1970.
    pub(crate) sent_ns: i64,
    pub(crate) source: Gid,
}

impl Attachment {
    /// Returns the attachment of a message, request or response that is sent now.
    pub(crate) fn now(number: i64, source: Gid) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { number, sent_ns: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX), source }
    }

    /// Returns the attachment as bytes.
    pub(crate) fn encode(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[16] = size_of::<Gid>() as u8;
        bytes[17..].copy_from_slice(&self.source);
        bytes
    }

    /// Decodes an attachment; `None` if the bytes are not an attachment of `rmw_zenoh_cpp`.
    pub(crate) fn decode(bytes: &ZBytes) -> Option<Self> {
        // Later versions of `rmw_zenoh_cpp` may append more fields.
        if bytes.len() < LENGTH {
            return None;
        }
        let bytes = bytes.to_bytes();
        let (number, rest) = bytes.split_first_chunk()?;
        let (sent_ns, rest) = rest.split_first_chunk()?;
        let (&[length], rest) = rest.split_first_chunk()?;
        let (source, _) = rest.split_first_chunk()?;
        let this = Self { number: i64::from_le_bytes(*number), sent_ns: i64::from_le_bytes(*sent_ns), source: *source };
        if usize::from(length) == size_of::<Gid>() { Some(this) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_encoded_as_by_zenohs_own_serializer() {
        let attachment = Attachment::now(-7, [3; 16]);
        let mut theirs = zenoh_ext::ZSerializer::new();
        theirs.serialize(attachment.number);
        theirs.serialize(attachment.sent_ns);
        theirs.serialize(attachment.source);
        let theirs = theirs.finish();
        assert_eq!(attachment.encode()[..], *theirs.to_bytes());
        assert_eq!(Attachment::decode(&theirs), Some(attachment));
    }

    #[test]
    fn invalid_ones_are_refused() {
        let good = Attachment::now(1, [9; 16]).encode();
        for length in 0..good.len() {
            assert_eq!(Attachment::decode(&good[..length].into()), None, "{length}");
        }
        let mut bad = good;
        bad[16] = 15;
        assert_eq!(Attachment::decode(&bad.into()), None);
    }
}
