//! Memory that a client and its server share.

use std::any::Any;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The number by which the kernel names the file system of ordinary memory: `TMPFS_MAGIC`.
const ORDINARY: u64 = 0x0102_1994;
/// The seals that the memory must have: it stays as long as it is.
const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW);

/// Memory of a client that the server of an accelerator sees, too. Images are written into it, and results read from
/// it. Clones are the same memory.
///
/// The other process may change it at any time, so bytes are copied in and out, and there are no references into it.
#[derive(Clone)]
pub struct SharedMemory {
    mapping: Arc<Mapping>,
}

/// Errors of memory that is to be shared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The kernel does not provide it.
    #[error("memory cannot be shared: {0}")]
    Kernel(#[from] io::Error),
    /// It is empty.
    #[error("memory of 0 bytes cannot be shared")]
    Empty,
    /// It could become shorter while the server uses it.
    #[error("the memory is not sealed against shrinking and growing")]
    Unsealed,
    /// It is not ordinary memory, such as huge pages, which the kernel may not have when they are touched.
    #[error("the memory is not an ordinary memfd")]
    Unusual,
    /// It is larger than the deployment file allows.
    #[error("the memory has {bytes} bytes; the deployment file allows {most}")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The bytes that are allowed.
        most: u64,
    },
}

impl From<rustix::io::Errno> for MemoryError {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Kernel(error.into())
    }
}

/// Guard that keeps memory pinned for a device until it is dropped: see [`Kernels::pin`](crate::Kernels::pin).
pub type Pin = Box<dyn Any + Send + Sync>;

struct Mapping {
    file: OwnedFd,
    start: NonNull<u8>,
    bytes: usize,
    pin: OnceLock<Pin>,
}

// SAFETY: the mapping is memory of the process, which no thread owns; it is only accessed through raw copies.
unsafe impl Send for Mapping {}
// SAFETY: as above. Copies of several threads to the same bytes may mix them, as those of another process may anyhow.
unsafe impl Sync for Mapping {}

// The pin is only ever dropped, never changed, so that a panic leaves nothing half done.
impl UnwindSafe for Mapping {}
impl RefUnwindSafe for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // The device lets go of the memory while it is there.
        drop(self.pin.take());
        // SAFETY: the mapping was made with this length, and nobody has a pointer into it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping of our own");
    }
}

impl SharedMemory {
    /// Creates memory of so many bytes, which are zero, and seals its length.
    pub(crate) fn create(bytes: usize) -> Result<Self, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let file = memfd_create("rospin accelerator", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        fcntl_add_seals(&file, SEALS)?;
        Self::map(file, bytes)
    }

    /// Maps memory that another process created, if it is sealed and has at most that many bytes.
    pub(crate) fn of(file: OwnedFd, most: u64) -> Result<Self, MemoryError> {
        // Files on a disk, pipes and the like have no seals.
        let seals = fcntl_get_seals(&file).map_err(|_| MemoryError::Unsealed)?;
        if !seals.contains(SEALS) {
            return Err(MemoryError::Unsealed);
        }
        if fstatfs(&file)?.f_type as u64 != ORDINARY {
            return Err(MemoryError::Unusual);
        }
        let bytes = u64::try_from(fstat(&file)?.st_size).unwrap_or(0);
        match usize::try_from(bytes) {
            Ok(0) => Err(MemoryError::Empty),
            Ok(length) if bytes <= most => Self::map(file, length),
            _ => Err(MemoryError::TooLarge { bytes, most }),
        }
    }

    fn map(file: OwnedFd, bytes: usize) -> Result<Self, MemoryError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { mapping: Arc::new(Mapping { file, start, bytes, pin: OnceLock::new() }) })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.mapping.file.as_fd()
    }

    /// Keeps the memory pinned for as long as it is mapped. Memory that is pinned already stays as it is.
    pub(crate) fn keep_pinned(&self, pin: Pin) {
        // A second one is dropped.
        let _ = self.mapping.pin.set(pin);
    }

    /// Returns true if it is pinned for the device of this process.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.mapping.pin.get().is_some()
    }

    /// Returns the address of the first byte, for a device. It is mapped as long as there is a handle of the memory, or
    /// what keeps it [pinned](crate::Kernels::pin). The other process may change the bytes at any time, so there must
    /// be no reference to them.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.mapping.start
    }

    /// Returns the number of bytes, which never changes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.mapping.bytes
    }

    /// Returns false: there is no memory without bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the part of the memory from `offset` on; `None` if it exceeds the memory.
    #[must_use]
    pub fn region(&self, offset: usize, bytes: usize) -> Option<Region> {
        let end = offset.checked_add(bytes)?;
        if end <= self.len() { Some(Region { memory: self.clone(), offset, bytes }) } else { None }
    }

    /// Copies bytes into the memory, from `offset` on.
    ///
    /// # Panics
    /// If they exceed the memory.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let region = self.region(offset, bytes.len()).expect("the bytes are within the memory");
        region.write(0, bytes);
    }

    /// Copies bytes out of the memory, from `offset` on.
    ///
    /// # Panics
    /// If they exceed the memory.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let region = self.region(offset, into.len()).expect("the bytes are within the memory");
        region.read(0, into);
    }
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedMemory({} bytes)", self.len())
    }
}

/// A part of [`SharedMemory`]: the input or the output of a kernel. It keeps the memory mapped.
#[derive(Clone, Debug)]
pub struct Region {
    memory: SharedMemory,
    offset: usize,
    bytes: usize,
}

impl Region {
    /// Returns the number of bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes
    }

    /// Returns true if it has no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns true if its memory is pinned for the device of this process.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.memory.is_pinned()
    }

    /// Returns the address of the first byte, for a device: see [`SharedMemory::start`]. It is mapped as long as the
    /// region is there.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: the region is within the mapping.
        unsafe { self.memory.mapping.start.add(self.offset) }
    }

    /// Returns the address of the byte at `offset`, from which `bytes` bytes are within the region.
    fn address(&self, offset: usize, bytes: usize) -> *mut u8 {
        let is_within = offset.checked_add(bytes).is_some_and(|end| end <= self.bytes);
        assert!(is_within, "{bytes} bytes at {offset} exceed a region of {}", self.bytes);
        // SAFETY: the region is within the mapping, and the bytes are within the region.
        unsafe { self.memory.mapping.start.as_ptr().add(self.offset + offset) }
    }

    /// Copies bytes out of the region, from `offset` on. The other process may change them meanwhile.
    ///
    /// # Panics
    /// If they exceed the region.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let from = self.address(offset, into.len());
        // SAFETY: the source is mapped for as long as `self` lives, and the target is memory of this process alone.
        // Another process may write meanwhile, so the bytes may be any, which `u8` allows.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
    }

    /// Copies bytes into the region, from `offset` on.
    ///
    /// # Panics
    /// If they exceed the region.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let into = self.address(offset, bytes.len());
        // SAFETY: as in `read`, in the other direction.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), into, bytes.len()) }
    }

    /// Returns a copy of the region.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.bytes];
        self.read(0, &mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_mappings_are_the_same_memory() {
        let one = SharedMemory::create(10_000).unwrap();
        let other = SharedMemory::of(one.file().try_clone_to_owned().unwrap(), 10_000).unwrap();
        one.write(9_990, b"0123456789");
        let mut last = [0; 4];
        other.read(9_996, &mut last);
        assert_eq!(&last, b"6789");
        let region = other.region(9_990, 10).unwrap();
        region.write(0, b"ab");
        assert_eq!(one.region(9_990, 3).unwrap().to_vec(), b"ab2");
        // A region outlives the handle.
        drop((one, other));
        assert_eq!(region.to_vec(), b"ab23456789");
    }

    #[test]
    fn regions_end_within_the_memory() {
        let memory = SharedMemory::create(100).unwrap();
        assert!(memory.region(0, 100).is_some() && memory.region(100, 0).is_some());
        assert!(memory.region(1, 100).is_none() && memory.region(usize::MAX, 2).is_none());
        let region = memory.region(10, 10).unwrap();
        for (offset, bytes) in [(0, 11), (10, 1), (usize::MAX, 1)] {
            let wrong = std::panic::catch_unwind(|| region.read(offset, &mut vec![0; bytes]));
            assert!(wrong.is_err(), "{bytes} at {offset}");
        }
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        let unsealed = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&unsealed, 4096).unwrap();
        assert!(matches!(SharedMemory::of(unsealed, 1 << 20), Err(MemoryError::Unsealed)));
        let no_memory = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(matches!(SharedMemory::of(no_memory.into(), 1 << 20), Err(MemoryError::Unsealed)));
        // Where the kernel has huge pages at all.
        if let Ok(huge) = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::HUGETLB) {
            fcntl_add_seals(&huge, SEALS).unwrap();
            assert!(matches!(SharedMemory::of(huge, 1 << 30), Err(MemoryError::Unusual)));
        }
        let large = SharedMemory::create(4097).unwrap().file().try_clone_to_owned().unwrap();
        let refused = SharedMemory::of(large, 4096).unwrap_err();
        assert_eq!(refused.to_string(), "the memory has 4097 bytes; the deployment file allows 4096");
        assert!(matches!(SharedMemory::create(0), Err(MemoryError::Empty)));
        let sealed = SharedMemory::create(4096).unwrap();
        assert!(ftruncate(sealed.file(), 0).is_err());
    }
}
