//! What travels beside each message, request and response: its number, when it was sent, and by whom.

use std::time::{SystemTime, UNIX_EPOCH};

use zenoh::bytes::ZBytes;

/// Whom something is from: 16 bytes, different for every publisher and every client.
pub(crate) type Gid = [u8; 16];

const LENGTH: usize = 8 + 8 + 1 + size_of::<Gid>();

/// The attachment of `rmw_zenoh_cpp`: two little-endian integers, and bytes with their length before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attachment {
    pub(crate) number: i64,
    /// Nanoseconds since 1970.
    pub(crate) sent_ns: i64,
    pub(crate) source: Gid,
}

impl Attachment {
    /// Of something that is sent now.
    pub(crate) fn now(number: i64, source: Gid) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { number, sent_ns: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX), source }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let length = [size_of::<Gid>() as u8];
        [&self.number.to_le_bytes()[..], &self.sent_ns.to_le_bytes(), &length, &self.source].concat()
    }

    /// The attachment, if it is one.
    pub(crate) fn decode(bytes: &ZBytes) -> Option<Self> {
        // Longer than it is now, it may be from a later version.
        if bytes.len() < LENGTH {
            return None;
        }
        let bytes = bytes.to_bytes();
        let (number, rest) = bytes.split_first_chunk()?;
        let (sent_ns, rest) = rest.split_first_chunk()?;
        let (&[length], rest) = rest.split_first_chunk()?;
        let (source, _) = rest.split_first_chunk()?;
        let this = Self { number: i64::from_le_bytes(*number), sent_ns: i64::from_le_bytes(*sent_ns), source: *source };
        (usize::from(length) == size_of::<Gid>()).then_some(this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_zenohs_own_serializer_makes_of_it() {
        let attachment = Attachment::now(-7, [3; 16]);
        let mut theirs = zenoh_ext::ZSerializer::new();
        theirs.serialize(attachment.number);
        theirs.serialize(attachment.sent_ns);
        theirs.serialize(attachment.source);
        let theirs = theirs.finish();
        assert_eq!(attachment.encode(), theirs.to_bytes().into_owned());
        assert_eq!(Attachment::decode(&theirs), Some(attachment));
    }

    #[test]
    fn what_is_none_is_refused() {
        let good = Attachment::now(1, [9; 16]).encode();
        for length in 0..good.len() {
            assert_eq!(Attachment::decode(&good[..length].into()), None, "{length}");
        }
        let mut bad = good;
        bad[16] = 15;
        assert_eq!(Attachment::decode(&bad.into()), None);
    }
}
