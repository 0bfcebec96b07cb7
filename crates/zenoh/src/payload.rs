//! Payloads as one block of memory.

use bytes::Bytes;
use zenoh::bytes::ZBytes;

/// Returns the bytes as one block that a message may keep for as long as it wants. Copies bytes that arrived in several
/// blocks, or in shared memory, because the sender has little of that memory, and other processes can write to it.
///
/// A block that arrived in one receive buffer keeps this buffer of Zenoh's, which allocates another one then. It has
/// less than 64 KiB, and the decoder shares only longer fields with messages.
pub(crate) fn contiguous(bytes: ZBytes) -> Bytes {
    if bytes.slices().nth(1).is_some() || is_shared_memory(&bytes) {
        bytes.to_bytes().into_owned().into()
    } else {
        Bytes::from_owner(OnePiece(bytes))
    }
}

/// Returns true if the bytes are in memory that several processes see.
#[cfg(feature = "shared-memory")]
fn is_shared_memory(bytes: &ZBytes) -> bool {
    bytes.as_shm().is_some()
}

/// Returns false: without the feature, Zenoh has no shared memory.
#[cfg(not(feature = "shared-memory"))]
const fn is_shared_memory(_: &ZBytes) -> bool {
    false
}

/// Bytes that are contiguous.
struct OnePiece(ZBytes);

impl AsRef<[u8]> for OnePiece {
    fn as_ref(&self) -> &[u8] {
        self.0.slices().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use zenoh::bytes::ZBytes;

    use super::*;

    #[test]
    fn one_piece_is_not_copied() {
        let block = vec![7_u8; 100];
        let place = block.as_ptr();
        let bytes = contiguous(block.into());
        assert_eq!((bytes.as_ptr(), bytes.len()), (place, 100));
    }

    #[test]
    fn several_pieces_become_one() {
        let mut writer = ZBytes::writer();
        writer.append(ZBytes::from(vec![1, 2]));
        writer.append(ZBytes::from(vec![3]));
        assert_eq!(contiguous(writer.finish()), [1, 2, 3][..]);
        assert!(contiguous(ZBytes::new()).is_empty());
    }

    /// The place of a message in shared memory is free for the next one as soon as the message has arrived.
    #[cfg(feature = "shared-memory")]
    #[test]
    fn shared_memory_is_copied() {
        use zenoh::Wait;
        use zenoh::shm::{GarbageCollect, ShmProviderBuilder};

        let provider = ShmProviderBuilder::default_backend(1 << 16).wait().unwrap();
        let alloc = || provider.alloc(40_000).with_policy::<GarbageCollect>().wait();
        let mut block = alloc().unwrap();
        block.fill(7);
        let bytes = ZBytes::from(block);
        assert!(alloc().is_err(), "there is room for one");
        let copy = contiguous(bytes);
        alloc().unwrap().fill(8);
        assert_eq!(copy, [7; 40_000][..]);
    }
}
