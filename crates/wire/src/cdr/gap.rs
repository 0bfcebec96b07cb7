//! Bytes that an encoder leaves out, because they lie already where the payload goes.
//!
//! A publisher may lend memory for the bytes of a message. When the message is published, only what is before and after
//! these bytes is to be written there. So a [`Blob`](crate::Blob) whose memory is lent, and that nobody else reads, is
//! a newtype with a name that this codec knows. The publisher is asked if the memory is its own. If it is, the encoder
//! notes the place in the payload where the bytes belong, and goes on as if it had written them.

/// The name of the newtype around bytes in memory that is lent, and that nobody else reads.
pub(crate) const LENT: &str = "rospin_wire::Lent";

/// Place in an encoded payload where bytes were left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gap {
    /// Number of bytes of the payload before it.
    pub at: usize,
    /// Address of the bytes that belong there.
    pub address: usize,
    /// Their number, which is not zero.
    pub length: usize,
}

/// Search of an encoder for bytes that it leaves out. It leaves out those of one blob at most.
pub(super) struct Search<'a> {
    /// Function that returns true for bytes that lie where the payload goes.
    pub(super) is_lent: &'a dyn Fn(&[u8]) -> bool,
    /// True if the next bytes are those of a blob whose memory nobody else reads.
    pub(super) is_next: bool,
    pub(super) found: Option<Gap>,
}

impl std::fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Search").field("found", &self.found).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use serde::Serialize;

    use super::*;
    use crate::cdr::{append_payload_around, from_payload, to_payload};
    use crate::{Blob, BlobMemory, BlobMemoryError};

    struct Memory(Vec<u8>);

    impl BlobMemory for Memory {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
            Ok(self.0.clone().into())
        }

        fn read_in_place(&self, read: &mut dyn FnMut(&[u8])) -> Result<(), BlobMemoryError> {
            read(&self.0);
            Ok(())
        }
    }

    #[derive(Serialize)]
    struct Cloud {
        frame: String,
        data: Blob,
        is_dense: bool,
        stamp: f64,
        second: Blob,
    }

    fn cloud(memory: &Arc<Memory>) -> Cloud {
        let data = Blob::from_memory(Arc::clone(memory) as _);
        Cloud { frame: "map".to_owned(), data, is_dense: true, stamp: 2.5, second: Blob::from([1, 2]) }
    }

    /// Encodes a message around the memory, and puts its bytes into the gap.
    fn around(message: &Cloud, memory: &Memory) -> (Option<Gap>, Vec<u8>) {
        let mut payload = Vec::new();
        let own = memory.0.as_ptr();
        let gap = append_payload_around(&mut payload, message, &|bytes| bytes.as_ptr() == own).unwrap();
        if let Some(gap) = gap {
            payload.splice(gap.at..gap.at, memory.0.iter().copied());
        }
        (gap, payload)
    }

    #[test]
    fn the_rest_is_encoded_as_if_the_bytes_were_there() {
        for length in [1, 3, 7, 8, 100_001] {
            let memory = Arc::new(Memory((0..length).map(|at: u32| at.to_le_bytes()[0]).collect()));
            let message = cloud(&memory);
            let (gap, payload) = around(&message, &memory);
            let gap = gap.expect("the bytes are left out");
            assert_eq!((gap.address, gap.length), (memory.0.as_ptr() as usize, memory.0.len()));
            assert_eq!(payload, to_payload(&message).unwrap());
        }
    }

    #[test]
    fn bytes_that_others_read_or_have_lent_are_written() {
        let memory = Arc::new(Memory(vec![7; 50]));
        let message = cloud(&memory);
        let clone = message.data.clone();
        let (gap, payload) = around(&message, &memory);
        assert_eq!((gap, payload), (None, to_payload(&message).unwrap()));
        drop(clone);
        let mut payload = Vec::new();
        assert_eq!(append_payload_around(&mut payload, &message, &|_| false).unwrap(), None);
        assert_eq!(payload, to_payload(&message).unwrap());
        assert!(around(&message, &memory).0.is_some());
    }

    #[test]
    fn no_bytes_are_no_gap_and_of_two_blobs_one_is_left_out() {
        let memory = Arc::new(Memory(Vec::new()));
        let message = cloud(&memory);
        assert_eq!(around(&message, &memory), (None, to_payload(&message).unwrap()));
        let memory = Arc::new(Memory(vec![7; 50]));
        let mut message = cloud(&memory);
        message.second = Blob::from_memory(Arc::clone(&memory) as _);
        let (gap, payload) = around(&message, &memory);
        assert!(gap.is_some());
        assert_eq!(payload, to_payload(&message).unwrap());
    }

    #[test]
    fn other_codecs_see_the_bytes() {
        let memory = Arc::new(Memory(vec![1, 2]));
        let data = Blob::from_memory(Arc::clone(&memory) as _);
        assert_eq!(from_payload::<Vec<u8>>(&to_payload(&data).unwrap()).unwrap(), [1, 2]);
        assert_eq!(serde_json::to_string(&data).unwrap(), "[1,2]");
    }
}
