//! Memory of others that the device copies from, and to, directly.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError, sys};

/// Memory that was allocated by others and is pinned for the device, such as memory that a process shares with its
/// clients. Copies [from](copy_to_device) and [to](copy_to_host) it are as fast as those of memory that CUDA allocated,
/// and wait for nothing.
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

/// Copies memory of others to new memory of the device, in the order of the stream. If the memory is pinned, nothing
/// waits for the copy.
///
/// # Errors
/// If the driver refuses.
///
/// # Safety
/// The memory has so many bytes, at least one. It stays mapped until the stream has copied it; other processes may
/// change it.
pub unsafe fn copy_to_device(
    stream: &Arc<CudaStream>,
    from: NonNull<u8>,
    bytes: usize,
) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: it is written by the copy, before anything that the stream does with it.
    let mut copy = unsafe { stream.alloc::<u8>(bytes) }?;
    let (into, recorded) = copy.device_ptr_mut(stream);
    // SAFETY: as the caller promises.
    unsafe { sys::cuMemcpyHtoDAsync_v2(into, from.as_ptr().cast(), bytes, stream.cu_stream()) }.result()?;
    drop(recorded);
    Ok(copy)
}

/// Copies memory of the device to memory of others, in the order of the stream. If the memory is pinned, nothing waits
/// for the copy.
///
/// # Errors
/// If the driver refuses.
///
/// # Safety
/// The memory has as many bytes as `from`, and stays mapped until the stream has copied them. No thread of this process
/// uses it until then.
pub unsafe fn copy_to_host(
    stream: &Arc<CudaStream>,
    from: &CudaSlice<u8>,
    into: NonNull<u8>,
) -> Result<(), DriverError> {
    let bytes = from.len();
    stream.context().bind_to_thread()?;
    let (from, recorded) = from.device_ptr(stream);
    // SAFETY: as the caller promises.
    unsafe { sys::cuMemcpyDtoHAsync_v2(into.as_ptr().cast(), from, bytes, stream.cu_stream()) }.result()?;
    drop(recorded);
    Ok(())
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pinned")
    }
}
