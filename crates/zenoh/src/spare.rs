//! Memory of large payloads, which returns to the publisher that lent it.
//!
//! A payload is allocated by the thread that publishes, and freed by the thread that decodes it. For large payloads
//! that costs more than copying the message.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use zenoh::bytes::ZBytes;

/// Length of the shortest payload whose memory is used again. Returning the memory costs about as much as a small
/// allocation.
const LENGTH_MIN: usize = 4 << 10;
/// Length of the longest buffer that is kept, so that no publisher keeps much memory.
const LENGTH_MAX: usize = 1 << 20;
/// Number of buffers that a publisher keeps.
const SPARE_MAX: usize = 4;

/// Buffers of a publisher that hold no payload.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<Vec<u8>>>);

impl Spare {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        // Every change under the lock is complete before anything can panic, so its poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a payload to send, and leaves memory for the next one in its place.
    pub(crate) fn lend(self: &Arc<Self>, payload: &mut Vec<u8>) -> ZBytes {
        if (LENGTH_MIN..=LENGTH_MAX).contains(&payload.len()) {
            let next = self.lock().pop().unwrap_or_default();
            let lent = Lent { bytes: mem::replace(payload, next), home: Arc::downgrade(self) };
            return Bytes::from_owner(lent).into();
        }
        if payload.len() < LENGTH_MIN && payload.capacity() >= LENGTH_MIN {
            // A short message must not keep the memory of a long one while it waits in a queue.
            return payload.as_slice().into();
        }
        mem::take(payload).into()
    }
}

/// Payload that is being sent. Its memory returns to the publisher's buffers when it is dropped.
struct Lent {
    bytes: Vec<u8>,
    home: Weak<Spare>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(home) = self.home.upgrade() else { return };
        let mut spare = home.lock();
        if spare.len() < SPARE_MAX {
            self.bytes.clear();
            spare.push(mem::take(&mut self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_payloads_come_back_and_small_ones_do_not() {
        let spare = Arc::<Spare>::default();
        let mut payload = vec![7; LENGTH_MIN];
        let place = payload.as_ptr();
        let sent = spare.lend(&mut payload);
        assert_eq!((payload.capacity(), sent.len()), (0, LENGTH_MIN));
        assert_eq!(sent.to_bytes().as_ptr(), place);
        drop(sent);
        payload = vec![8; LENGTH_MIN];
        let sent = spare.lend(&mut payload);
        assert_eq!(payload.as_ptr(), place);
        payload.clear();
        payload.extend_from_slice(&[9; 3]);
        let small = spare.lend(&mut payload);
        assert_eq!((small.to_bytes().into_owned(), payload.as_ptr()), (vec![9; 3], place));
        drop((sent, small));
        assert_eq!(spare.lock().len(), 1);
    }

    #[test]
    fn no_more_is_kept_than_a_bound() {
        let spare = Arc::<Spare>::default();
        let sent: Vec<_> = (0..SPARE_MAX + 3).map(|_| spare.lend(&mut vec![0; LENGTH_MIN])).collect();
        drop(sent);
        assert_eq!(spare.lock().len(), SPARE_MAX);
        let mut huge = vec![0; LENGTH_MAX + 1];
        drop(spare.lend(&mut huge));
        assert_eq!((huge.capacity(), spare.lock().len()), (0, SPARE_MAX));
        let late = spare.lend(&mut vec![0; LENGTH_MIN]);
        drop(spare);
        drop(late);
    }
}
