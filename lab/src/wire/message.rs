//! Messages: a number and the time of sending at the end of the bytes, whatever precedes them.

/// Number of bytes of the stamp, which every message ends in.
const STAMP: usize = 16;

/// Number of a message that only finds out if the other end answers.
pub(super) const HELLO: u64 = u64::MAX;
/// Number of the message that precedes those at a fixed rate. The other end reads its counters when it gets this
/// message.
pub(super) const BEGIN: u64 = u64::MAX - 1;
/// Number of the last message, which ends the measurement.
pub(super) const END: u64 = u64::MAX - 2;
/// Number of messages that are only counted.
pub(super) const COUNTED: u64 = u64::MAX - 3;

/// Returns the bytes of a message of that size. No message is shorter than its stamp.
pub(super) fn bytes(size: usize) -> Vec<u8> {
    vec![7; size.max(STAMP)]
}

/// Writes the message's number and the time of sending at its end. Does nothing if the message is shorter than that.
pub(super) fn stamp(bytes: &mut [u8], number: u64, sent_ns: u64) {
    if let Some((_, stamp)) = bytes.split_last_chunk_mut::<STAMP>() {
        stamp[..8].copy_from_slice(&number.to_le_bytes());
        stamp[8..].copy_from_slice(&sent_ns.to_le_bytes());
    }
}

/// Returns the message's number and its time of sending, in nanoseconds; `None` if the message is too short for them.
pub(super) fn read_stamp(bytes: &[u8]) -> Option<(u64, u64)> {
    let (_, stamp) = bytes.split_last_chunk::<STAMP>()?;
    let half = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| stamp[at + index]));
    Some((half(0), half(8)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        for size in [0, 16, 4096] {
            let mut bytes = bytes(size);
            stamp(&mut bytes, 7, 9);
            assert_eq!(read_stamp(&bytes), Some((7, 9)));
        }
        assert_eq!(read_stamp(&[1, 2]), None);
    }
}
