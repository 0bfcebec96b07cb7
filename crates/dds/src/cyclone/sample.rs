//! Encoded messages.

use std::ptr::NonNull;
use std::slice;
use std::sync::Mutex;

use super::Code;
use super::ffi::{self, RawSample, SerType};

/// Message that arrived: encapsulation header and payload. It may be kept for any time, and longer than its reader and the
/// domain: its memory is that of this message alone, allocated for it or sent by a writer of this process, and no receive buffer.
#[derive(Debug)]
pub(crate) struct Sample(NonNull<RawSample>);

// SAFETY: only the sample's reference count ever changes, and it is atomic.
unsafe impl Send for Sample {}
// SAFETY: as for `Send`.
unsafe impl Sync for Sample {}

impl Sample {
    /// Takes over a sample of the library.
    ///
    /// # Safety
    /// The caller owns one reference count of the sample, which becomes this value's.
    pub(super) const unsafe fn from_raw(raw: NonNull<RawSample>) -> Self {
        Self(raw)
    }

    /// Returns the encapsulation header and the payload.
    pub(crate) fn bytes(&self) -> &[u8] {
        let mut size = 0;
        // SAFETY: the sample lives as long as this value has a reference count of it.
        let bytes = unsafe { ffi::rospin_dds_sample_bytes(self.0.as_ptr(), &raw mut size) };
        // SAFETY: the bytes have that size, live as long as the sample, and do not change any more.
        unsafe { slice::from_raw_parts(bytes, size) }
    }
}

impl AsRef<[u8]> for Sample {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl Sample {
    /// Returns its number among the samples of its writer, which are numbered without gaps; `None` if it did not come over the
    /// network. Within the process nothing gets lost.
    pub(crate) fn number(&self) -> Option<u64> {
        // SAFETY: the sample lives as long as this value has a reference count of it.
        let number = unsafe { ffi::rospin_dds_sample_number(self.0.as_ptr()) };
        (number > 0).then_some(number)
    }

    /// Returns the time of sending in nanoseconds since 1970 on the clock of the writer's machine; `None` if the writer did not
    /// tell it.
    pub(crate) fn sent_ns(&self) -> Option<u64> {
        // SAFETY: the sample lives as long as this value has a reference count of it.
        let time = unsafe { ffi::rospin_dds_sample_time(self.0.as_ptr()) };
        u64::try_from(time).ok()
    }
}

impl Drop for Sample {
    fn drop(&mut self) {
        // SAFETY: this value owns the reference count that is released.
        unsafe { ffi::rospin_dds_sample_drop(self.0.as_ptr()) }
    }
}

/// Memory of messages that were sent, for later ones: the operating system would have to fill fresh memory with zeros first.
/// The number of vectors and their lengths are limited.
static SPARE: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());
/// Largest number of vectors whose memory is kept.
const SPARE_MAX: usize = 32;
/// Largest capacity of such a vector, in bytes.
const SPARE_SIZE_MAX: usize = 256 << 10;

/// Keeps the vector's memory for later, if there is room. Never blocks.
fn keep(mut spare: Vec<u8>) {
    if spare.capacity() <= SPARE_SIZE_MAX
        && let Ok(mut kept) = SPARE.try_lock()
        && kept.len() < SPARE_MAX
    {
        spare.clear();
        kept.push(spare);
    }
}

/// Length up to which a message is copied behind the library's data about it, which saves an allocation.
const COPIED_MAX: usize = 2048;

/// Sends the message in `bytes`, and leaves the vector empty. A short message is copied; a longer one is sent in its own memory.
///
/// # Safety
/// `sertype` is the type of the writer's topic.
pub(super) unsafe fn write(writer: i32, sertype: *const SerType, bytes: &mut Vec<u8>) -> Result<(), Code> {
    if bytes.len() <= COPIED_MAX {
        // SAFETY: `sertype` is the writer's type, and the bytes have the length that is passed.
        let code = unsafe { ffi::rospin_dds_write_copy(writer, sertype, bytes.as_ptr(), bytes.len()) };
        bytes.clear();
        return super::check(code).map(drop);
    }
    let spare = SPARE.try_lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_default();
    let mut bytes = std::mem::replace(bytes, spare);
    let size = bytes.len();
    // The library may send the bytes up to the next multiple of four.
    bytes.resize(size.next_multiple_of(4), 0);
    let mut bytes = std::mem::ManuallyDrop::new(bytes);
    let (start, capacity) = (bytes.as_mut_ptr(), bytes.capacity());
    // SAFETY: `sertype` is the writer's type, and the library owns the bytes from now on.
    let code = unsafe { ffi::rospin_dds_write_adopt(writer, sertype, start, size, capacity, free) };
    super::check(code).map(drop)
}

/// Frees memory that [`write`] gave to the library, or keeps it for later messages.
///
/// # Safety
/// Only the library calls it, once for each such memory.
unsafe extern "C" fn free(start: *mut u8, capacity: usize) {
    // SAFETY: the pointer came from a vector with that capacity, and nobody else has it.
    keep(unsafe { Vec::from_raw_parts(start, 0, capacity) });
}
