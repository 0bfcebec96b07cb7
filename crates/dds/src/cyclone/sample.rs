//! Encoded messages.

use std::ptr::NonNull;
use std::slice;
use std::sync::Mutex;

use super::ffi::{self, RawIdentity, RawSample, SerType};
use super::{Code, Guid};

/// Identity beside a request or response, in the parameters that precede its payload: Fast DDS and RustDDS tell by it
/// which response belongs to which request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Identity {
    /// Reader that awaits the response, or writer of the request.
    pub(crate) guid: Guid,
    /// Number of the request among the messages of its writer. In a request it says nothing.
    pub(crate) number: i64,
}

/// Returns the identity in the parameters that precede a message, as the library's threads read it; `None` if there is
/// none.
#[cfg(any(test, fuzzing))]
pub(crate) fn read_identity(parameters: &[u8], is_little: bool) -> Option<Identity> {
    let mut raw = RawIdentity { guid: Guid::default(), number: 0 };
    // SAFETY: the parameters have the length that is passed, and `raw` has the size that the function writes.
    let is_found =
        unsafe { ffi::rospin_dds_read_identity(parameters.as_ptr(), parameters.len(), is_little, &raw mut raw) };
    if is_found { Some(Identity { guid: raw.guid, number: raw.number }) } else { None }
}

/// Message that arrived: encapsulation header and payload. It may be kept for any time, and longer than its reader and
/// the domain: its memory is that of this message alone, allocated for it or sent by a writer of this process, and no
/// receive buffer.
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
    /// Returns its number among the samples of its writer, which are numbered without gaps; `None` if it did not come
    /// over the network. Within the process nothing gets lost.
    pub(crate) fn number(&self) -> Option<u64> {
        // SAFETY: the sample lives as long as this value has a reference count of it.
        let number = unsafe { ffi::rospin_dds_sample_number(self.0.as_ptr()) };
        if number > 0 { Some(number) } else { None }
    }

    /// Returns the identity beside the message; `None` if it has none.
    pub(crate) fn related(&self) -> Option<Identity> {
        // SAFETY: the sample lives as long as this value has a reference count of it.
        let related = unsafe { ffi::rospin_dds_sample_related(self.0.as_ptr()) };
        // SAFETY: the pointer is null, or points into the sample, which lives for now and does not change.
        let related = unsafe { related.as_ref() }?;
        Some(Identity { guid: related.guid, number: related.number })
    }

    /// Returns the time of sending in nanoseconds since 1970 on the clock of the writer's machine; `None` if the writer
    /// did not tell it.
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

/// Memory of messages that were sent, for later ones: the operating system would have to fill fresh memory with zeros
/// first. The number of vectors and their lengths are limited.
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

/// Sends the message in `bytes`, with an identity beside it if there is one, and leaves the vector empty. A short
/// message is copied; a longer one is sent in its own memory.
///
/// # Safety
/// `sertype` is the type of the writer's topic.
pub(super) unsafe fn write(
    writer: i32,
    sertype: *const SerType,
    bytes: &mut Vec<u8>,
    related: Option<Identity>,
) -> Result<(), Code> {
    let related = related.map(|Identity { guid, number }| RawIdentity { guid, number });
    let related = related.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    if bytes.len() <= COPIED_MAX {
        // SAFETY: `sertype` is the writer's type, the bytes have the length that is passed, and the identity is copied.
        let code = unsafe { ffi::rospin_dds_write_copy(writer, sertype, bytes.as_ptr(), bytes.len(), related) };
        bytes.clear();
        return super::check(code).map(drop);
    }
    let spare = SPARE.try_lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_default();
    let mut bytes = std::mem::replace(bytes, spare);
    let size = bytes.len();
    // The library may send the bytes up to the next multiple of four.
    bytes.resize(size.next_multiple_of(4), 0);
    let mut bytes = std::mem::ManuallyDrop::new(bytes);
    let start = bytes.as_mut_ptr();
    let capacity = bytes.capacity();
    // SAFETY: `sertype` is the writer's type, the library owns the bytes from now on, and the identity is copied.
    let code = unsafe { ffi::rospin_dds_write_adopt(writer, sertype, start, size, capacity, free, related) };
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

/// Parameters as each distribution's Fast DDS sends them before a request or response. The facts are those of the
/// DDSI-RTPS specification (9.4.2.11, 9.6.3) and of the sources of Fast DDS.
#[cfg(test)]
mod tests {
    use super::*;

    const GUID: [u8; 16] = [1, 15, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 1, 2, 3, 4, 0, 0, 0x14, 4];

    /// An identity as it travels.
    fn value(number: [u8; 8]) -> Vec<u8> {
        [&GUID[..], &number].concat()
    }

    fn parameters(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn humble_names_the_identity_by_its_own_parameter() {
        // A request: its number says nothing (-1 and 0), and the id is that of the client's reader.
        let request = value([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
        let bytes = parameters(&[&[0x0f, 0x80, 24, 0], &request, &[1, 0, 0, 0]]);
        assert_eq!(read_identity(&bytes, true), Some(Identity { guid: GUID, number: -1 << 32 }));
        // A response: the number is that of the request, in two halves.
        let response = value([1, 0, 0, 0, 7, 0, 0, 0]);
        let bytes = parameters(&[&[0x0f, 0x80, 24, 0], &response, &[1, 0, 0, 0]]);
        assert_eq!(read_identity(&bytes, true), Some(Identity { guid: GUID, number: (1 << 32) + 7 }));
    }

    #[test]
    fn jazzy_and_later_send_the_standard_parameter_too_and_it_counts() {
        let standard = value([0, 0, 0, 0, 7, 0, 0, 0]);
        let own = value([0, 0, 0, 0, 8, 0, 0, 0]);
        for order in [[(0x83, 0, &standard), (0x0f, 0x80, &own)], [(0x0f, 0x80, &own), (0x83, 0, &standard)]] {
            let parts = order.map(|(low, high, value)| parameters(&[&[low, high, 24, 0], value]));
            let bytes = parameters(&[&parts[0], &parts[1], &[1, 0, 0, 0]]);
            assert_eq!(read_identity(&bytes, true), Some(Identity { guid: GUID, number: 7 }));
        }
    }

    #[test]
    fn either_byte_order_is_read_among_other_parameters() {
        let identity = value([0, 0, 0, 1, 0, 0, 0, 7]);
        let key_hash = [&[0, 0x70, 0, 16][..], &[9; 16]].concat();
        let bytes = parameters(&[&key_hash, &[0, 0, 0, 4, 9, 9, 9, 9], &[0, 0x83, 0, 24], &identity, &[0, 1, 0, 0]]);
        assert_eq!(read_identity(&bytes, false), Some(Identity { guid: GUID, number: (1 << 32) + 7 }));
    }

    #[test]
    fn parameters_that_are_cut_short_or_behind_the_end_are_not_read() {
        let whole = parameters(&[&[0x83, 0, 24, 0], &value([0; 8])]);
        assert!(read_identity(&whole, true).is_some());
        for length in 0..whole.len() {
            assert_eq!(read_identity(&whole[..length], true), None, "{length}");
        }
        let behind = parameters(&[&[1, 0, 0, 0], &whole]);
        assert_eq!(read_identity(&behind, true), None);
        let short = parameters(&[&[0x83, 0, 20, 0], &[0; 20], &[1, 0, 0, 0]]);
        assert_eq!(read_identity(&short, true), None);
        let endless = [0x70, 0, 0xff, 0xff, 0, 0];
        assert_eq!(read_identity(&endless, true), None);
    }
}
