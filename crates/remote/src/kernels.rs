//! The kernels that a server can run for its clients.

use rospin_accelerator::Backend;

use crate::memory::{Pin, Region, SharedMemory};

/// The kernels of a server, on its device. Clients name them, and give them arguments and memory.
pub trait Kernels: Send + Sync + 'static {
    /// The device that runs them.
    type Device: Backend;

    /// Returns the names of the kernels, at most 64. They stay the same.
    fn names(&self) -> Vec<String>;

    /// Returns the work of a segment.
    ///
    /// The arguments come from another process, and are any bytes. The regions are within the client's memory, and
    /// their lengths are what the client says. The work may keep them: the memory stays mapped as long.
    ///
    /// # Errors
    /// If the arguments or the lengths are not what the kernel needs: a sentence that says what it needs, which the
    /// client gets.
    fn work(&self, call: Call) -> Result<<Self::Device as Backend>::Work, String>;

    /// Pins the memory of a client for the device, which then copies from and to it without the processor. Called once
    /// for each client, before its first request, on the thread of its connection. Memory is not pinned by default.
    ///
    /// A driver may hold up its other callers meanwhile. So leave the memory of clients as it is that come and go at
    /// will.
    ///
    /// The result is dropped before the memory is unmapped, by whoever drops the last handle of the memory. It must not
    /// have one itself. It has to unpin the memory, and to wait for copies that are under way: the work of a segment
    /// may have dropped its regions before the device has ended it.
    ///
    /// # Errors
    /// If the device cannot, in words. The server logs the first error, and goes on with memory that is not pinned.
    fn pin(&self, memory: &SharedMemory) -> Result<Option<Pin>, String> {
        let _ = memory;
        Ok(None)
    }
}

/// A segment that a client asks for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The place of the kernel in [`Kernels::names`].
    pub kernel: usize,
    /// The kernel's arguments.
    pub arguments: Vec<u8>,
    /// The memory that the kernel reads.
    pub input: Region,
    /// The memory that the kernel writes.
    pub output: Region,
}
