//! What a message has with it in shared memory.

use std::time::{Duration, SystemTime};

use iceoryx2::prelude::ZeroCopySend;
use rospin_node::{Gid, Publication};

/// Room before the bytes of a loan, for the part of the message that is encoded before them.
pub(crate) const HEAD: usize = 4096;
/// Room after the bytes of a loan.
pub(crate) const TAIL: usize = 4096;

/// What a message has with it. Readers check it, since it comes from another process.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, ZeroCopySend)]
#[repr(C)]
pub(crate) struct Header {
    /// Publisher by its id in the middleware.
    pub(crate) publisher: [u8; 16],
    /// Process of the publisher: the upper and the lower half of the number of its node.
    pub(crate) process: [u64; 2],
    /// The number of the message among those of its publisher, beginning with 1.
    pub(crate) number: u64,
    /// Time of the publication on the system clock, in nanoseconds.
    pub(crate) sent_ns: u64,
    /// Place of the payload in the memory.
    pub(crate) at: u64,
    pub(crate) length: u64,
    /// 1 if the publisher is reliable.
    pub(crate) is_reliable: u64,
}

/// Returns the number of a node as messages name it.
pub(crate) const fn halves(node_id: u128) -> [u64; 2] {
    [(node_id >> 64) as u64, node_id as u64]
}

impl Header {
    pub(crate) const fn publisher(&self) -> Gid {
        Gid::new(self.publisher)
    }

    pub(crate) fn publication(&self) -> Publication {
        let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(self.sent_ns));
        Publication { publisher: self.publisher(), number: Some(self.number), time }
    }

    /// Returns the place of the payload in memory of so many bytes; `None` if it is not in there.
    pub(crate) fn range(&self, length: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(self.at).ok()?;
        let end = start.checked_add(usize::try_from(self.length).ok()?)?;
        if end <= length { Some(start..end) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_outside_of_the_memory_is_none() {
        let at = |at, length| Header { at, length, ..Header::default() }.range(10);
        assert_eq!((at(0, 10), at(4, 6), at(10, 0)), (Some(0..10), Some(4..10), Some(10..10)));
        assert_eq!((at(0, 11), at(11, 0), at(u64::MAX, 2), at(2, u64::MAX)), (None, None, None, None));
    }
}
