//! Payloads as one block of memory.

use bytes::Bytes;
use zenoh::bytes::ZBytes;

/// Returns the bytes as one block, without a copy unless they arrived in several blocks.
pub(crate) fn contiguous(bytes: ZBytes) -> Bytes {
    if bytes.slices().nth(1).is_some() {
        bytes.to_bytes().into_owned().into()
    } else {
        Bytes::from_owner(OnePiece(bytes))
    }
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
}
