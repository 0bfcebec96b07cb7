//! Multiprocessors that are the urgent lane's own: streams of two green contexts, which share the device's memory.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, DriverError, sys};

/// The first version of CUDA whose driver can split a device.
const FIRST_VERSION: i32 = 12_050;

/// Splits the multiprocessors of the device, and returns a stream for each priority: the first one on so many
/// multiprocessors of its own, which CUDA rounds up to what the device can split, the others on the rest. Smaller
/// priorities are more urgent; those beyond the device's range are brought into it.
///
/// Contexts and streams stay until the process ends, because memory that was allocated on a stream may outlive the
/// device. The context must be that of the calling thread, as it is after its creation.
///
/// # Errors
/// If the driver is too old, or the device has no such number of multiprocessors.
pub(crate) fn split(
    context: &Arc<CudaContext>,
    multiprocessors: u32,
    priorities: &[i32],
) -> Result<Vec<Arc<CudaStream>>, DriverError> {
    let mut version = 0;
    // SAFETY: it writes to the number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    if version < FIRST_VERSION {
        return Err(DriverError(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED));
    }
    // SAFETY: zeros are valid for a resource: its kind is then `CU_DEV_RESOURCE_TYPE_INVALID`, and the rest is numbers.
    let mut all: sys::CUdevResource = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to the resource.
    unsafe {
        sys::cuDeviceGetDevResource(context.cu_device(), &raw mut all, sys::CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM)
    }
    .result()?;
    let mut own = all;
    let mut rest = all;
    let mut groups = 1;
    // SAFETY: it reads `all`, and writes to `rest`, to `groups`, and to `own`, which has room for one group, as `groups`
    // says.
    let split = unsafe {
        sys::cuDevSmResourceSplitByCount(
            &raw mut own,
            &raw mut groups,
            &raw const all,
            &raw mut rest,
            0,
            multiprocessors,
        )
    };
    split.result()?;
    let mut least = 0;
    let mut greatest = 0;
    // SAFETY: it writes to both numbers.
    unsafe { sys::cuCtxGetStreamPriorityRange(&raw mut least, &raw mut greatest) }.result()?;
    let own = green_context(context, own)?;
    let rest = green_context(context, rest)?;
    // cudarc orders the accesses of several streams to its memory only in a context that has created a stream, and does
    // not count those that it wraps. This one stays, as those do, because the memory may.
    std::mem::forget(context.new_stream()?);
    let mut streams = Vec::new();
    for (number, priority) in priorities.iter().enumerate() {
        let green = if number == 0 { own } else { rest };
        streams.push(stream(context, green, (*priority).clamp(greatest, least))?);
    }
    Ok(streams)
}

/// Creates a context with the multiprocessors of the resource.
fn green_context(context: &CudaContext, mut resource: sys::CUdevResource) -> Result<sys::CUgreenCtx, DriverError> {
    let mut description = ptr::null_mut();
    // SAFETY: it reads one resource, and writes to the description.
    unsafe { sys::cuDevResourceGenerateDesc(&raw mut description, &raw mut resource, 1) }.result()?;
    let mut green = ptr::null_mut();
    let flags = sys::CUgreenCtxCreate_flags::CU_GREEN_CTX_DEFAULT_STREAM as u32;
    // SAFETY: the description is one of this device, and it writes to the context.
    unsafe { sys::cuGreenCtxCreate(&raw mut green, description, context.cu_device(), flags) }.result()?;
    Ok(green)
}

/// Creates a stream of the green context.
fn stream(context: &Arc<CudaContext>, green: sys::CUgreenCtx, priority: i32) -> Result<Arc<CudaStream>, DriverError> {
    let mut stream = ptr::null_mut();
    let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
    // SAFETY: the green context stays until the process ends, and it writes to the stream.
    unsafe { sys::cuGreenCtxStreamCreate(&raw mut stream, green, flags, priority) }.result()?;
    // SAFETY: the stream stays until the process ends. A green context shares memory and kernels with the device's
    // context, and all that is put on the stream is put there by this wrapper.
    Ok(unsafe { context.wrap_borrowed_stream(stream) })
}
