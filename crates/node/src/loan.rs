//! Memory that a publisher lends for the bytes of a message.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use rospin_wire::{Blob, BlobMemory};

/// Memory that the middleware's side of a publisher lends. It is given back when this value, or the memory that it
/// becomes, is dropped.
pub trait LentBytes: Send + 'static {
    /// Returns the bytes.
    fn as_slice(&self) -> &[u8];

    /// Returns the bytes, to be written.
    fn as_mut_slice(&mut self) -> &mut [u8];

    /// Returns the memory as that of a blob, which nobody can write to any more.
    fn into_memory(self: Box<Self>) -> Arc<dyn BlobMemory>;
}

/// Bytes for a message of one publisher, in memory from which other processes may read them without a copy. See
/// [`Publisher::borrow_loaned_bytes`](crate::Publisher::borrow_loaned_bytes).
///
/// It is written like a slice, and then becomes the [`Blob`] of a message. Its bytes have any value at first. Memory
/// that is not published is given back when it is dropped.
pub struct LoanedBytes(Held);

enum Held {
    Own(Vec<u8>),
    Lent(Box<dyn LentBytes>),
}

impl LoanedBytes {
    /// Returns bytes in memory of this process.
    pub(crate) fn own(length: usize) -> Self {
        Self(Held::Own(vec![0; length]))
    }

    /// Returns bytes in memory that the middleware lends.
    pub(crate) fn lent(bytes: Box<dyn LentBytes>) -> Self {
        Self(Held::Lent(bytes))
    }

    /// Returns true if other processes can read the bytes where they are. Otherwise they are in memory of this process:
    /// because the middleware lends none for this publisher, or had none left.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        matches!(self.0, Held::Lent(_))
    }
}

impl Deref for LoanedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Own(bytes) => bytes,
            Held::Lent(bytes) => bytes.as_slice(),
        }
    }
}

impl DerefMut for LoanedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Held::Own(bytes) => bytes,
            Held::Lent(bytes) => bytes.as_mut_slice(),
        }
    }
}

impl From<LoanedBytes> for Blob {
    fn from(bytes: LoanedBytes) -> Self {
        match bytes.0 {
            Held::Own(bytes) => bytes.into(),
            Held::Lent(bytes) => Self::from_memory(bytes.into_memory()),
        }
    }
}

impl fmt::Debug for LoanedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, is_shared) = (self.len(), self.is_shared());
        f.debug_struct("LoanedBytes").field("length", &length).field("is_shared", &is_shared).finish()
    }
}
