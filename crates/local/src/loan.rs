//! Memory that a publisher lends: a sample of iceoryx2 with room for the rest of a message around the bytes.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use iceoryx2::sample_mut::SampleMut;
use rospin_engine::Mutex;
use rospin_node::{BlobMemory, BlobMemoryError, LentBytes};

use crate::header::{HEAD, Header};
use crate::shared::Ipc;

/// Memory of one message, before it is sent.
pub(crate) type Sample = SampleMut<Ipc, [u8], Header>;

/// Loans of a publisher.
pub(crate) struct Loans {
    /// Number of those that may still be made.
    left: AtomicUsize,
    /// Those whose bytes have become those of a blob.
    blobs: Mutex<Vec<Weak<Loan>>>,
}

/// Right to one loan, which is given back when this is dropped.
pub(crate) struct Right(Arc<Loans>);

impl Drop for Right {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::Relaxed);
    }
}

impl Loans {
    /// Returns the loans of a publisher that may make so many at a time.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(most), blobs: Mutex::default() })
    }

    /// Returns the right to one more loan, if there is one left.
    pub(crate) fn right(self: &Arc<Self>) -> Option<Right> {
        let less = |left: usize| left.checked_sub(1);
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).ok()?;
        Some(Right(Arc::clone(self)))
    }

    fn add(&self, loan: &Arc<Loan>) {
        let mut loans = self.blobs.lock();
        loans.retain(|other| other.strong_count() > 0);
        loans.push(Arc::downgrade(loan));
    }

    /// Returns the loans whose bytes are those: one that is lent, and any number of those that are on their way, in whose
    /// place it is.
    fn find(&self, address: usize, length: usize) -> Vec<Arc<Loan>> {
        let loans = self.blobs.lock();
        let is_there = |loan: &Arc<Loan>| loan.address == address && loan.length == length;
        loans.iter().filter_map(Weak::upgrade).filter(is_there).collect()
    }

    /// Returns true if those are the bytes of a loan.
    pub(crate) fn has(&self, bytes: &[u8]) -> bool {
        !self.find(bytes.as_ptr().addr(), bytes.len()).is_empty()
    }

    /// Takes the memory of the loan whose bytes are those.
    pub(crate) fn take(&self, address: usize, length: usize) -> Option<Sample> {
        let (sample, _right) = self.find(address, length).iter().find_map(|loan| loan.lent.lock().take())?;
        Some(sample)
    }
}

/// Memory that is lent, and is being written to.
pub(crate) struct Lent {
    // Dropped before the right, which somebody takes at once.
    sample: Sample,
    length: usize,
    right: Right,
}

impl Lent {
    pub(crate) const fn new(sample: Sample, length: usize, right: Right) -> Self {
        Self { sample, length, right }
    }
}

/// Returns the place of the bytes of a loan in its memory.
pub(crate) const fn place(length: usize) -> Range<usize> {
    HEAD..HEAD + length
}

impl LentBytes for Lent {
    fn as_slice(&self) -> &[u8] {
        &self.sample.payload()[place(self.length)]
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        let place = place(self.length);
        &mut self.sample.payload_mut()[place]
    }

    fn into_memory(self: Box<Self>) -> Arc<dyn BlobMemory> {
        let address = self.as_slice().as_ptr().addr();
        let Self { sample, length, right } = *self;
        let loans = Arc::clone(&right.0);
        let loan = Arc::new(Loan { address, length, lent: Mutex::new(Some((sample, right))) });
        loans.add(&loan);
        loan
    }
}

/// Memory that is lent, as that of a blob.
struct Loan {
    address: usize,
    length: usize,
    /// `None` once the message is on its way. Nobody reads the blob then: see `PublisherEnd::publish_around`.
    lent: Mutex<Option<(Sample, Right)>>,
}

impl Loan {
    fn read<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R, BlobMemoryError> {
        match &*self.lent.lock() {
            Some((sample, _)) => Ok(read(&sample.payload()[place(self.length)])),
            None => Err(BlobMemoryError("it was published".to_owned())),
        }
    }
}

impl BlobMemory for Loan {
    fn len(&self) -> usize {
        self.length
    }

    fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
        self.read(Bytes::copy_from_slice)
    }

    fn read_in_place(&self, read: &mut dyn FnMut(&[u8])) -> Result<(), BlobMemoryError> {
        self.read(read)
    }
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan").field("length", &self.length).finish_non_exhaustive()
    }
}
