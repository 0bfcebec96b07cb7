//! Bytes of messages, which are shared and not copied.

mod encoding;
mod memory;
mod traits;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
pub use memory::{BlobMemory, BlobMemoryError};

use memory::Lent;

/// Bytes of a message: the type of its `uint8[]`, `byte[]` and `char[]` fields that have no bound.
///
/// A blob is read like a slice and made of a `Vec<u8>`, which it takes over. Clones share the bytes until one of them
/// is written to.
///
/// ```
/// use rospin_wire::Blob;
///
/// let mut pixels = Blob::from(vec![1, 2, 3]);
/// assert_eq!((pixels.len(), pixels[2], &pixels[..2]), (3, 3, &[1, 2][..]));
/// let shared = pixels.clone();
/// pixels[0] = 9;
/// pixels.push(4);
/// assert_eq!((pixels, shared), (Blob::from([9, 2, 3, 4]), Blob::from([1, 2, 3])));
/// ```
///
/// # Vectors
///
/// - `vec.into()` makes a blob of a vector without a copy: `Image { data: pixels.into(), ..Image::default() }`.
/// - [`into_vec`](Self::into_vec) makes a vector of a blob: `let pixels = image.data.into_vec();`. That is a copy only
///   if the bytes are shared.
/// - [`to_mut`](Self::to_mut) gives access to the vector, for all its methods: `image.data.to_mut().drain(..10)`.
///
/// # Clones and writing
///
/// A clone of bytes that were received, or were made of a vector, shares them: it does not copy. The first write to
/// shared bytes copies them, so nobody else sees it: an index or method that needs `&mut`, [`to_mut`](Self::to_mut), or
/// a method that changes the length. A vector that only this blob has is not copied. A clone of a blob that was written
/// to is a copy, as that of a vector is, so that later writes need not ask who else has the bytes. It shares again
/// after `blob.into_vec().into()`. A loop that writes by index is faster on the slice: `let pixels = &mut blob[..];`.
///
/// Inside a callback, the first write to shared bytes allocates and takes the time of the copy. Reading never does, and
/// nothing blocks, unless the bytes are in memory of a device.
///
/// # Received messages
///
/// In a message that was received, a field of at least 64 KiB that is at least half of its message is not copied out of
/// the payload, and the blob keeps the payload's memory until it and its clones are dropped. Other fields are copied.
/// So a callback that reads ten bytes of an image does not pay for the rest.
///
/// # Memory of devices
///
/// The bytes may lie in memory of a device, such as a GPU: see [`from_memory`](Self::from_memory). Who knows the device
/// gets that [`memory`](Self::memory), and copies nothing. Everybody else reads the blob as always. The first one to do
/// so waits until the device has written the bytes, and has them copied; all clones share the result. Who keeps no
/// reference to them may [read them in place](Self::read_in_place) instead, as encoders do. [`len`](Self::len) neither
/// waits nor copies.
#[derive(Clone)]
pub struct Blob(Held);

/// The memory of a blob.
///
/// Bytes that are written to are a vector of this blob alone: an index into a vector behind a reference count would
/// look at the count at each write, with an atomic operation.
#[derive(Clone)]
enum Held {
    /// Bytes that clones share, of a payload or of a vector.
    Shared(Bytes),
    /// Bytes that were written to.
    Own(Vec<u8>),
    /// Bytes in memory of a device.
    Lent(Arc<Lent>),
}

impl Blob {
    /// Returns a blob without bytes. Does not allocate.
    #[must_use]
    pub const fn new() -> Self {
        Self(Held::Shared(Bytes::new()))
    }

    /// Returns a blob whose bytes lie in memory of a device. Neither copies them nor waits for them.
    #[must_use]
    pub fn from_memory(memory: Arc<dyn BlobMemory>) -> Self {
        Self(Held::Lent(Arc::new(Lent::new(memory))))
    }

    /// Returns the memory of a device that the bytes lie in, if it is a `T`. Otherwise, and after a write to this blob,
    /// returns `None`. Neither copies nor waits.
    #[must_use]
    pub fn memory<T: BlobMemory>(&self) -> Option<Arc<T>> {
        match &self.0 {
            Held::Lent(lent) => lent.memory(),
            Held::Shared(_) | Held::Own(_) => None,
        }
    }

    /// Returns the number of bytes. Bytes in memory of a device are not looked at.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Shared(bytes) => bytes.len(),
            Held::Own(vector) => vector.len(),
            Held::Lent(lent) => lent.len(),
        }
    }

    /// Returns true if there are no bytes.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes as a slice. Neither copies nor allocates, unless they are in memory of a device.
    ///
    /// # Panics
    /// If they are in memory of a device, and it does not give them. [`try_as_slice`](Self::try_as_slice) returns that
    /// as an error. All other methods that read the bytes panic likewise; an encoder returns the error.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Held::Shared(bytes) => bytes,
            Held::Own(vector) => vector,
            Held::Lent(lent) => lent.bytes_or_panic(),
        }
    }

    /// Does what [`as_slice`](Self::as_slice) does, for bytes that may be in memory of a device.
    ///
    /// # Errors
    /// If the device does not give them.
    #[inline]
    pub fn try_as_slice(&self) -> Result<&[u8], BlobMemoryError> {
        match &self.0 {
            Held::Shared(bytes) => Ok(bytes),
            Held::Own(vector) => Ok(vector),
            Held::Lent(lent) => lent.bytes().map(|bytes| &**bytes),
        }
    }

    /// Calls the function with the bytes, and returns its result. Bytes in memory of a device are not copied for that
    /// if the processor can read them where they are. It still waits until the device has written them.
    ///
    /// The function must not have them copied to a device without waiting for the end of the copy: the memory may be
    /// used for other bytes afterwards.
    ///
    /// # Errors
    /// If they are in memory of a device, and it does not give them.
    #[inline]
    pub fn read_in_place<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R, BlobMemoryError> {
        match &self.0 {
            Held::Shared(bytes) => Ok(read(bytes)),
            Held::Own(vector) => Ok(read(vector)),
            Held::Lent(lent) => lent.read_in_place(read),
        }
    }

    /// Returns true if the bytes are in memory of a device, and no clone of this blob shares it.
    fn is_only_reader(&self) -> bool {
        matches!(&self.0, Held::Lent(lent) if Arc::strong_count(lent) == 1)
    }

    /// Returns the bytes as a vector. Copies them if they are shared with a clone or a payload.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Held::Shared(bytes) => bytes.into(),
            Held::Own(vector) => vector,
            Held::Lent(lent) => take(lent).into(),
        }
    }

    /// Returns the vector, so that its bytes and its length can be changed. Copies the bytes first if they are shared
    /// with a clone or a payload.
    #[inline]
    pub fn to_mut(&mut self) -> &mut Vec<u8> {
        if !matches!(self.0, Held::Own(_)) {
            self.make_own();
        }
        match &mut self.0 {
            Held::Own(vector) => vector,
            Held::Shared(_) | Held::Lent(_) => unreachable!("they were made its own"),
        }
    }

    /// Makes the bytes a vector of this blob alone, with a copy only if they are shared.
    #[cold]
    fn make_own(&mut self) {
        if let Held::Lent(lent) = &self.0 {
            // A device that does not give its bytes leaves the blob as it was.
            let _ = lent.bytes_or_panic();
        }
        self.0 = Held::Own(std::mem::take(self).into_vec());
    }

    /// Appends a byte. Copies shared bytes first.
    pub fn push(&mut self, byte: u8) {
        self.to_mut().push(byte);
    }

    /// Appends bytes. Copies shared bytes first.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.to_mut().extend_from_slice(bytes);
    }

    /// Changes the length; new bytes have this value. Copies shared bytes first.
    pub fn resize(&mut self, length: usize, value: u8) {
        self.to_mut().resize(length, value);
    }

    /// Removes all bytes. A vector that only this blob has keeps its memory for later bytes.
    pub fn clear(&mut self) {
        match &self.0 {
            Held::Shared(bytes) if !bytes.is_unique() => *self = Self::new(),
            Held::Lent(_) => *self = Self::new(),
            _ => self.to_mut().clear(),
        }
    }
}

/// Takes bytes out of memory of a device, and lets go of it, so that nobody else may have them.
fn take(lent: Arc<Lent>) -> Bytes {
    let bytes = lent.bytes_or_panic().clone();
    drop(lent);
    bytes
}

impl Default for Blob {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Blob {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl DerefMut for Blob {
    /// Copies shared bytes first.
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.to_mut()
    }
}

/// Formats the bytes as a slice. In place of bytes that a device does not give, there is the reason.
impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_as_slice() {
            Ok(bytes) => bytes.fmt(f),
            Err(error) => fmt::Display::fmt(&error, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes in memory that is not a vector's, as those of a payload.
    fn foreign(bytes: &[u8]) -> Blob {
        Bytes::from_owner(bytes.to_vec()).into()
    }

    #[test]
    fn a_vector_that_one_blob_has_is_never_copied() {
        let vector = vec![1, 2, 3, 4];
        let place = vector.as_ptr();
        let mut blob = Blob::from(vector);
        drop(blob.clone());
        blob[1] = 7;
        blob.to_mut().truncate(3);
        assert_eq!(blob.as_ptr(), place);
        let blob = Blob::from(blob.into_vec());
        let clone = blob.clone();
        drop(blob);
        let vector = clone.into_vec();
        assert_eq!((vector.as_ptr(), vector), (place, vec![1, 7, 3]));
        // A vector with room for more bytes is taken over, too.
        let mut vector = Vec::with_capacity(100);
        vector.push(1);
        let place = vector.as_ptr();
        let mut blob = Blob::from(vector);
        blob.resize(100, 2);
        assert_eq!((blob.as_ptr(), blob.len()), (place, 100));
    }

    #[test]
    fn clones_share_until_one_of_them_is_written_to() {
        for mut blob in [Blob::from(vec![1, 2, 3]), foreign(&[1, 2, 3]), Blob::from([1, 2, 3])] {
            let clone = blob.clone();
            assert_eq!(blob.as_ptr(), clone.as_ptr());
            blob[0] = 9;
            assert_ne!(blob.as_ptr(), clone.as_ptr());
            assert_eq!((&blob[..], &clone[..]), (&[9, 2, 3][..], &[1, 2, 3][..]));
            assert_eq!((&blob.clone(), clone.into_vec()), (&blob, vec![1, 2, 3]));
        }
    }

    #[test]
    fn foreign_memory_is_freed_with_the_last_clone() {
        use std::sync::Arc;

        struct Owner(Arc<[u8; 3]>);
        impl AsRef<[u8]> for Owner {
            fn as_ref(&self) -> &[u8] {
                &*self.0
            }
        }
        let alive = Arc::new([1, 2, 3]);
        let mut blob: Blob = Bytes::from_owner(Owner(Arc::clone(&alive))).into();
        let clone = blob.clone();
        blob.push(4);
        assert_eq!(Arc::strong_count(&alive), 2);
        assert_eq!(clone.into_vec(), [1, 2, 3]);
        assert_eq!(Arc::strong_count(&alive), 1);
    }

    #[test]
    fn the_length_changes_as_that_of_a_vector() {
        for mut blob in [Blob::from(vec![1]), foreign(&[1]), Blob::from([1])] {
            blob.push(2);
            blob.extend_from_slice(&[3, 4]);
            blob.resize(5, 9);
            assert_eq!(blob, [1, 2, 3, 4, 9]);
            let shared = blob.clone();
            blob.clear();
            assert_eq!((blob.len(), shared.len()), (0, 5));
        }
        for mut alone in [Blob::from(vec![1]), Blob::from([1])] {
            let place = alone.as_ptr();
            alone.clear();
            alone.push(2);
            assert_eq!((alone.as_ptr(), &alone[..]), (place, &[2][..]));
        }
    }

    /// In each round, clones are read on other threads while the blob is written to, by whoever comes first.
    #[test]
    fn readers_on_other_threads_see_no_write() {
        for mut blob in [Blob::from(vec![0; 5_000]), foreign(&[0; 5_000])] {
            for round in 0..50 {
                let start = std::sync::Barrier::new(3);
                std::thread::scope(|scope| {
                    for reader in [blob.clone(), blob.clone()] {
                        let start = &start;
                        scope.spawn(move || {
                            start.wait();
                            assert!(reader.iter().all(|byte| *byte == round));
                            assert_eq!(reader.into_vec(), [round; 5_000]);
                        });
                    }
                    start.wait();
                    for byte in &mut blob {
                        *byte += 1;
                    }
                });
                // Its clones share again.
                blob = Blob::from(blob.into_vec());
            }
            assert_eq!(blob, [50; 5_000]);
        }
    }
}
