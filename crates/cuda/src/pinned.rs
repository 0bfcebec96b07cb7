//! Memory of others that the device copies from, and to, directly.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, sys};

/// Memory that was allocated by others and is pinned for the device, such as memory that a process shares with its
/// clients. Copies from and to it are as fast as those of memory that CUDA allocated, and wait for nothing.
///
/// Dropping it waits until the device has done all that it was given, and unpins the memory.
pub struct Pinned {
    context: Arc<CudaContext>,
    start: NonNull<u8>,
}

// SAFETY: the start is only given to the driver, which any thread may call.
unsafe impl Send for Pinned {}
// SAFETY: as above; nothing is accessed by reference.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Pins memory for the devices of the process. Takes milliseconds for hundreds of MiB.
    ///
    /// # Errors
    /// If the driver refuses, such as for memory that is pinned already.
    ///
    /// # Safety
    /// The memory stays mapped until this value is dropped.
    pub unsafe fn register(context: &Arc<CudaContext>, start: NonNull<u8>, bytes: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        let flags = sys::CU_MEMHOSTREGISTER_PORTABLE;
        // SAFETY: the memory is mapped, and stays so until it is unregistered.
        unsafe { sys::cuMemHostRegister_v2(start.as_ptr().cast(), bytes, flags) }.result()?;
        Ok(Self { context: Arc::clone(context), start })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // Copies may be under way whose work has already dropped its handle of the memory. An error means that the
        // device is lost, and uses nothing any more.
        let _ = self.context.check_err();
        let _ = self.context.synchronize();
        // SAFETY: it was registered.
        let _ = unsafe { sys::cuMemHostUnregister(self.start.as_ptr().cast()) }.result();
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}
