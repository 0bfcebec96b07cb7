//! Blobs whose bytes lie in memory of a device.

use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;

/// Memory of a device that the bytes of a [`Blob`](crate::Blob) lie in, such as an image on a GPU, or memory that a GPU
/// reads directly.
///
/// A back end of a device implements it. Whoever knows the device takes the memory out of the blob by
/// [`Blob::memory`](crate::Blob::memory) and uses it there, in the order of the device's own queues. Everybody else
/// reads the blob like any other. Its bytes are then asked for once, by whoever comes first.
pub trait BlobMemory: Any + Send + Sync {
    /// Returns the number of bytes, which stays the same.
    fn len(&self) -> usize;

    /// Returns true if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes, as many as [`len`](Self::len) says. Waits until the device has written them. Readers may keep
    /// them, and copy them to devices without waiting for that. So they must be a copy, unless the memory is that of a
    /// program's own.
    ///
    /// It must not read the blob that this memory is in.
    ///
    /// # Errors
    /// If the device does not give them.
    fn bytes(&self) -> Result<Bytes, BlobMemoryError>;

    /// Calls `read` with the bytes where they are, once the device has written them, if the processor can read them
    /// there. Otherwise does nothing, and the bytes are copied.
    ///
    /// # Errors
    /// If the device does not give them.
    fn read_in_place(&self, read: &mut dyn FnMut(&[u8])) -> Result<(), BlobMemoryError> {
        let _ = read;
        Ok(())
    }
}

/// Error of bytes that lie in memory of a device, and cannot be had: the device's reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("bytes of a message are in memory of a device, which does not give them: {0}")]
pub struct BlobMemoryError(pub String);

/// Memory of a device with the bytes that were asked for.
pub(super) struct Lent {
    memory: Arc<dyn BlobMemory>,
    bytes: OnceLock<Bytes>,
    /// Held while bytes are asked for, so that this is done once.
    asking: Mutex<()>,
}

// A panic of the device's code leaves no bytes, as if they had not been asked for.
impl UnwindSafe for Lent {}
impl RefUnwindSafe for Lent {}

impl Lent {
    pub(super) fn new(memory: Arc<dyn BlobMemory>) -> Self {
        Self { memory, bytes: OnceLock::new(), asking: Mutex::new(()) }
    }

    pub(super) fn len(&self) -> usize {
        self.memory.len()
    }

    /// Returns the memory if it is a `T`.
    pub(super) fn memory<T: BlobMemory>(&self) -> Option<Arc<T>> {
        let any: Arc<dyn Any + Send + Sync> = Arc::clone(&self.memory) as _;
        any.downcast().ok()
    }

    /// Returns the bytes. The first call asks the device for them, and others wait meanwhile.
    pub(super) fn bytes(&self) -> Result<&Bytes, BlobMemoryError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        // A device whose code panicked is asked anew.
        let _asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = self.bytes.get() {
            return Ok(bytes);
        }
        let bytes = self.memory.bytes()?;
        self.check(&bytes)?;
        Ok(self.bytes.get_or_init(|| bytes))
    }

    /// Calls the function with the bytes, where they are if that is possible.
    pub(super) fn read_in_place<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Result<R, BlobMemoryError> {
        if let Some(bytes) = self.bytes.get() {
            return Ok(read(bytes));
        }
        let mut read = Some(read);
        let mut result = None;
        self.memory.read_in_place(&mut |bytes| {
            if let Some(read) = read.take() {
                result = Some(self.check(bytes).map(|()| read(bytes)));
            }
        })?;
        match (result, read) {
            (Some(result), _) => result,
            (None, Some(read)) => Ok(read(self.bytes()?)),
            (None, None) => unreachable!("who takes the function leaves a result"),
        }
    }

    /// Checks that the device has given as many bytes as there are.
    fn check(&self, bytes: &[u8]) -> Result<(), BlobMemoryError> {
        let (own, given) = (self.len(), bytes.len());
        if own == given {
            return Ok(());
        }
        Err(BlobMemoryError(format!("there are {own} bytes, and it gave {given}")))
    }

    /// Returns the bytes for a reader who takes no error.
    ///
    /// # Panics
    /// If the device does not give them.
    pub(super) fn bytes_or_panic(&self) -> &Bytes {
        match self.bytes() {
            Ok(bytes) => bytes,
            Err(error) => panic!("{error}; `Blob::try_as_slice` returns this as an error"),
        }
    }
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lent").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Blob;
    use crate::cdr::{from_payload, to_payload};

    /// Memory of a device that counts how often its bytes are asked for, and is lost if it has none.
    #[derive(Default)]
    struct Counted {
        content: Vec<u8>,
        asked: AtomicUsize,
        is_lost: bool,
        excess: usize,
        /// True if the bytes can be read where they are.
        is_in_place: bool,
    }

    impl BlobMemory for Counted {
        fn len(&self) -> usize {
            self.content.len()
        }

        fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if self.is_lost {
                return Err(BlobMemoryError("it is lost".to_owned()));
            }
            let mut copy = self.content.clone();
            copy.resize(copy.len() + self.excess, 0);
            Ok(copy.into())
        }

        fn read_in_place(&self, read: &mut dyn FnMut(&[u8])) -> Result<(), BlobMemoryError> {
            if self.is_in_place && self.is_lost {
                return Err(BlobMemoryError("it is lost".to_owned()));
            }
            if self.is_in_place {
                let given = vec![0; self.content.len() + self.excess];
                read(if self.excess > 0 { &given } else { &self.content });
                // The memory calls `read` once too often; the blob must ignore the second call.
                read(&self.content);
            }
            Ok(())
        }
    }

    fn counted(content: &[u8]) -> (Arc<Counted>, Blob) {
        let memory = Arc::new(Counted { content: content.to_vec(), ..Counted::default() });
        (Arc::clone(&memory), Blob::from_memory(memory))
    }

    #[test]
    fn nobody_asks_for_bytes_that_nobody_reads() {
        let (memory, blob) = counted(&[1, 2, 3]);
        let clone = blob.clone();
        assert_eq!((clone.len(), clone.is_empty()), (3, false));
        assert!(Arc::ptr_eq(&clone.memory::<Counted>().unwrap(), &memory));
        let mut cleared = clone.clone();
        cleared.clear();
        assert_eq!((cleared.len(), cleared.is_empty()), (0, true));
        drop((blob, clone));
        assert_eq!((memory.asked.load(Ordering::SeqCst), Arc::strong_count(&memory)), (0, 1));
    }

    #[test]
    fn bytes_are_asked_for_once_whoever_reads_them() {
        let (memory, blob) = counted(&[7; 100_000]);
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let clone = blob.clone();
                scope.spawn(move || match reader {
                    0 => assert_eq!(clone, [7; 100_000]),
                    1 => assert_eq!(clone.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 700_000),
                    2 => assert_eq!(clone.into_vec(), [7; 100_000]),
                    _ => assert_eq!(from_payload::<Blob>(&to_payload(&clone).unwrap()).unwrap(), [7; 100_000]),
                });
            }
        });
        assert_eq!(memory.asked.load(Ordering::SeqCst), 1);
        assert_eq!(blob.try_as_slice().unwrap().as_ptr(), blob.as_ptr());
    }

    #[test]
    fn bytes_that_can_be_read_where_they_are_are_encoded_from_there() {
        let memory = Arc::new(Counted { content: vec![1, 2, 3], is_in_place: true, ..Counted::default() });
        let place = memory.content.as_ptr();
        let blob = Blob::from_memory(Arc::clone(&memory) as _);
        assert_eq!(blob.read_in_place(|bytes| (bytes.as_ptr(), bytes.len())), Ok((place, 3)));
        assert_eq!(from_payload::<Blob>(&to_payload(&blob).unwrap()).unwrap(), [1, 2, 3]);
        assert_eq!(serde_json::to_string(&blob).unwrap(), "[1,2,3]");
        assert_eq!(memory.asked.load(Ordering::SeqCst), 0);
        // Readers who may keep them get a copy, which is there for all from then on.
        assert_eq!((blob[0], memory.asked.load(Ordering::SeqCst)), (1, 1));
        assert_eq!(blob.read_in_place(|bytes| bytes.as_ptr()), Ok(blob.as_ptr()));
        assert_eq!(Blob::from([4]).read_in_place(|bytes| bytes[0]), Ok(4));
        let mut own = Blob::from([4]);
        own.push(5);
        assert_eq!(own.read_in_place(|bytes| bytes.len()), Ok(2));
    }

    #[test]
    fn a_write_leaves_the_memory_to_others() {
        let (memory, mut blob) = counted(&[1, 2, 3]);
        let clone = blob.clone();
        blob[0] = 9;
        blob.push(4);
        assert_eq!((&blob[..], &clone[..], memory.content[0]), (&[9, 2, 3, 4][..], &[1, 2, 3][..], 1));
        assert!(blob.memory::<Counted>().is_none() && clone.memory::<Counted>().is_some());
    }

    #[test]
    fn bytes_that_only_one_blob_has_become_a_vector_without_another_copy() {
        let (memory, blob) = counted(&[1, 2, 3]);
        let place = blob.as_ptr();
        let vector = blob.into_vec();
        assert_eq!((vector.as_ptr(), &vector[..]), (place, &[1, 2, 3][..]));
        assert_eq!((memory.asked.load(Ordering::SeqCst), Arc::strong_count(&memory)), (1, 1));
    }

    #[test]
    fn only_memory_of_that_type_is_given() {
        struct Other;
        impl BlobMemory for Other {
            fn len(&self) -> usize {
                0
            }
            fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
                Ok(Bytes::new())
            }
        }
        let (_memory, blob) = counted(&[1]);
        assert!(blob.memory::<Other>().is_none() && Blob::from([1]).memory::<Counted>().is_none());
        let empty = Blob::from_memory(Arc::new(Other));
        assert!(empty.is_empty() && empty.memory::<Other>().is_some());
        assert_eq!(empty, Blob::new());
    }

    #[test]
    fn a_device_that_gives_nothing_is_an_error_where_one_can_be_returned() {
        let lost = |is_in_place| Counted { content: vec![1, 2], is_lost: true, is_in_place, ..Counted::default() };
        let wrong = |is_in_place| Counted { content: vec![1, 2], excess: 1, is_in_place, ..Counted::default() };
        let (is_lost, is_wrong) = ("it is lost", "there are 2 bytes, and it gave 3");
        let all = [(lost(false), is_lost), (lost(true), is_lost), (wrong(false), is_wrong), (wrong(true), is_wrong)];
        for (memory, reason) in all {
            let blob = Blob::from_memory(Arc::new(memory));
            assert!(blob.try_as_slice().unwrap_err().to_string().ends_with(reason));
            assert!(to_payload(&blob).unwrap_err().to_string().ends_with(reason));
            assert!(serde_json::to_string(&blob).unwrap_err().to_string().ends_with(reason));
            assert!(format!("{blob:?}").contains(reason));
            let panic = std::panic::catch_unwind(|| blob[0]).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains(reason));
            // The length is known nevertheless.
            assert_eq!(blob.len(), 2);
        }
    }

    #[test]
    fn a_device_that_panicked_or_failed_is_asked_again() {
        struct Moody(AtomicUsize);
        impl BlobMemory for Moody {
            fn len(&self) -> usize {
                1
            }
            fn bytes(&self) -> Result<Bytes, BlobMemoryError> {
                match self.0.fetch_add(1, Ordering::SeqCst) {
                    0 => panic!("a mistake"),
                    1 => Err(BlobMemoryError("not now".to_owned())),
                    _ => Ok(Bytes::from_static(&[5])),
                }
            }
        }
        let blob = Blob::from_memory(Arc::new(Moody(AtomicUsize::new(0))));
        std::panic::catch_unwind(|| blob[0]).unwrap_err();
        blob.try_as_slice().unwrap_err();
        assert_eq!((blob[0], blob.clone()[0]), (5, 5));
    }
}
