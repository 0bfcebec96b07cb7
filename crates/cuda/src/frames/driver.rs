//! The seam below frames: streams, events, copies and memory of a device. Tests put a model in the driver's place.

use std::fmt::Display;
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError, result, sys};

use crate::open::bind;

/// Memory of a frame: pinned memory of the host, and as much memory of the device.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) host: NonNull<u8>,
    pub(crate) device: u64,
}

// SAFETY: both are memory that no thread owns; who accesses it is a matter of the frame.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Functions of a device, as CUDA has them. Streams run their work in order and on their own; events are points in it.
pub(crate) trait Driver: Send + Sync + 'static {
    type Stream: Clone + Send + Sync;
    type Event: Send + Sync;
    type Error: Display;

    /// Allocates memory of so many bytes, which are zero.
    fn allocate(&self, bytes: usize) -> Result<Memory, Self::Error>;

    /// Frees memory.
    ///
    /// # Safety
    /// It is memory of this driver, which nobody uses any more, on the device neither.
    unsafe fn free(&self, memory: Memory);

    /// Creates an event that is over until it is recorded. With `is_waited_for`, threads may wait for it.
    fn create_event(&self, is_waited_for: bool) -> Result<Self::Event, Self::Error>;

    /// Records an event: it is over as soon as all is that is on the stream at this moment.
    fn record(&self, event: &Self::Event, stream: &Self::Stream) -> Result<(), Self::Error>;

    /// Has the stream wait for what the event has recorded last. The calling thread does not wait.
    fn wait(&self, stream: &Self::Stream, event: &Self::Event) -> Result<(), Self::Error>;

    /// Returns true if what the event has recorded last is over.
    fn is_over(&self, event: &Self::Event) -> Result<bool, Self::Error>;

    /// Waits until what the event has recorded last is over.
    fn synchronize(&self, event: &Self::Event) -> Result<(), Self::Error>;

    /// Puts a copy of the first bytes on the stream, from the host to the device.
    ///
    /// # Safety
    /// The memory has so many bytes, and stays until the copy is over. Nobody writes to the host's until then, and
    /// nobody uses the device's but in the order of the stream.
    unsafe fn to_device(&self, stream: &Self::Stream, memory: Memory, bytes: usize) -> Result<(), Self::Error>;

    /// Puts a copy of the first bytes on the stream, from the device to the host.
    ///
    /// # Safety
    /// The memory has so many bytes, and stays until the copy is over. Nobody uses the host's until then.
    unsafe fn to_host(&self, stream: &Self::Stream, memory: Memory, bytes: usize) -> Result<(), Self::Error>;
}

/// CUDA's driver.
pub(crate) struct Cuda(pub(crate) Arc<CudaContext>);

impl Driver for Cuda {
    type Stream = Arc<CudaStream>;
    type Event = CudaEvent;
    type Error = DriverError;

    fn allocate(&self, bytes: usize) -> Result<Memory, DriverError> {
        bind(&self.0)?;
        // The driver allocates no empty memory.
        let bytes = bytes.max(1);
        // Memory that the processor caches, because ordinary readers read it, too.
        // SAFETY: what is allocated is set to zero before anybody reads it.
        let host = unsafe { result::malloc_host(bytes, sys::CU_MEMHOSTALLOC_PORTABLE) }?;
        // SAFETY: it has so many bytes, and nobody else knows of it.
        unsafe { host.cast::<u8>().write_bytes(0, bytes) };
        // SAFETY: as above.
        let device = unsafe { result::malloc_sync(bytes) };
        // SAFETY: as above.
        let device = device.and_then(|device| match unsafe { result::memset_d8_sync(device, 0, bytes) } {
            Ok(()) => Ok(device),
            Err(error) => {
                // SAFETY: it was just allocated.
                let _ = unsafe { result::free_sync(device) };
                Err(error)
            }
        });
        match (device, NonNull::new(host.cast())) {
            (Ok(device), Some(host)) => Ok(Memory { host, device }),
            (device, _) => {
                // SAFETY: it was just allocated.
                let _ = unsafe { result::free_host(host) };
                Err(device.err().unwrap_or(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)))
            }
        }
    }

    unsafe fn free(&self, memory: Memory) {
        // A device that is lost has freed its memory.
        let _ = bind(&self.0);
        // SAFETY: as the caller promises.
        let _ = unsafe { result::free_sync(memory.device) };
        // SAFETY: as the caller promises.
        let _ = unsafe { result::free_host(memory.host.as_ptr().cast()) };
    }

    fn create_event(&self, is_waited_for: bool) -> Result<CudaEvent, DriverError> {
        let flags = if is_waited_for {
            sys::CUevent_flags::CU_EVENT_BLOCKING_SYNC
        } else {
            sys::CUevent_flags::CU_EVENT_DISABLE_TIMING
        };
        bind(&self.0)?;
        self.0.new_event(Some(flags))
    }

    fn record(&self, event: &CudaEvent, stream: &Arc<CudaStream>) -> Result<(), DriverError> {
        bind(&self.0)?;
        event.record(stream)
    }

    fn wait(&self, stream: &Arc<CudaStream>, event: &CudaEvent) -> Result<(), DriverError> {
        bind(&self.0)?;
        stream.wait(event)
    }

    fn is_over(&self, event: &CudaEvent) -> Result<bool, DriverError> {
        bind(&self.0)?;
        event.try_is_complete()
    }

    fn synchronize(&self, event: &CudaEvent) -> Result<(), DriverError> {
        bind(&self.0)?;
        event.synchronize()
    }

    unsafe fn to_device(&self, stream: &Arc<CudaStream>, memory: Memory, bytes: usize) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        bind(&self.0)?;
        let from = memory.host.as_ptr().cast_const().cast();
        // SAFETY: as the caller promises.
        unsafe { sys::cuMemcpyHtoDAsync_v2(memory.device, from, bytes, stream.cu_stream()) }.result()
    }

    unsafe fn to_host(&self, stream: &Arc<CudaStream>, memory: Memory, bytes: usize) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        bind(&self.0)?;
        let to = memory.host.as_ptr().cast();
        // SAFETY: as the caller promises.
        unsafe { sys::cuMemcpyDtoHAsync_v2(to, memory.device, bytes, stream.cu_stream()) }.result()
    }
}
