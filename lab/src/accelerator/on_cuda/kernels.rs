//! Kernels of a camera pipeline in CUDA, with their memory.

use std::sync::Arc;

use rospin_cuda::cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DevicePtr, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg, result, sys,
};
use rospin_cuda::cudarc::nvrtc::{CompileError, compile_ptx};
use rospin_cuda::{CudaDevice, CudaWork};

use super::super::measure::Part;
use super::super::workload::Criticality;

/// Side of the images and the matrices; a multiple of the side of a block.
const SIDE: usize = 512;
/// Side of a block.
const BLOCK: u32 = 16;
/// Bytes of a camera's image, of four channels: 1 MiB, as much as an image of numbers or a matrix.
const IMAGE: usize = SIDE * SIDE * 4;
/// The number of matrices that one after the other get a result, so that rounds do not write to the same one at once.
const RESULTS: usize = 8;

/// A camera's bytes to numbers from -1 to 1; layers of a net, which are convolutions with 3 by 3 weights over 16
/// channels and a limit; matrix products in tiles. The third dimension of the grid is the number of rounds.
const SOURCE: &str = r#"
#define SIDE 512
#define TILE 16

extern "C" __global__ void normalise(const unsigned char *image, float *output) {
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    int at = y * SIDE + x;
    const unsigned char *pixel = image + 4 * at;
    output[at] = (0.3f * pixel[0] + 0.6f * pixel[1] + 0.1f * pixel[2]) / 127.5f - 1.0f;
}

extern "C" __global__ void layer(const float *input, float *results) {
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int channel = 0; channel < 16; channel++) {
        float shift = 0.01f * channel + 0.001f * blockIdx.z;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                int u = min(max(x + dx, 0), SIDE - 1);
                int v = min(max(y + dy, 0), SIDE - 1);
                sum += (0.11f + 0.02f * dx - 0.03f * dy + shift) * input[v * SIDE + u];
            }
        }
        sum = fminf(fmaxf(sum, -1.0f), 1.0f);
    }
    results[(blockIdx.z % 8) * SIDE * SIDE + y * SIDE + x] = sum;
}

extern "C" __global__ void product(const float *input, float *results) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0.0f;
    for (int tile = 0; tile < SIDE / TILE; tile++) {
        left[threadIdx.y][threadIdx.x] = input[y * SIDE + tile * TILE + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = input[(tile * TILE + threadIdx.y) * SIDE + x];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    results[(blockIdx.z % 8) * SIDE * SIDE + y * SIDE + x] = sum / SIDE;
}
"#;

/// Errors of making the kernels of a device.
#[derive(Debug, thiserror::Error)]
pub(super) enum KernelError {
    /// The compiler refuses the kernels, or is not there.
    #[error("the kernels do not compile: {0}")]
    Compile(#[from] CompileError),
    /// The driver refuses them, or has no memory.
    #[error("the driver refuses the kernels or their memory: {0}")]
    Driver(#[from] DriverError),
}

/// The kernels of a device, as its driver has loaded them.
#[derive(Clone)]
pub(super) struct Loaded {
    context: Arc<CudaContext>,
    normalise: CudaFunction,
    layer: CudaFunction,
    product: CudaFunction,
}

impl Loaded {
    /// Compiles the kernels, and loads them.
    ///
    /// # Errors
    /// If there is no compiler, or the driver refuses.
    pub(super) fn new(device: &CudaDevice) -> Result<Self, KernelError> {
        let context = Arc::clone(device.context());
        let module = context.load_module(compile_ptx(SOURCE)?)?;
        Ok(Self {
            context,
            normalise: module.load_function("normalise")?,
            layer: module.load_function("layer")?,
            product: module.load_function("product")?,
        })
    }
}

/// The kernels of one pipeline, with memory of its own.
pub(super) struct Kernels {
    loaded: Loaded,
    memory: Arc<Memory>,
}

/// The memory of a pipeline. Its segments use it one after the other.
struct Memory {
    image: PinnedHostSlice<u8>,
    result: PinnedHostSlice<u8>,
    image_on_device: CudaSlice<u8>,
    normalised: CudaSlice<f32>,
    results: CudaSlice<f32>,
}

/// The addresses of a pipeline's memory on the device.
struct Addresses {
    image: sys::CUdeviceptr,
    normalised: sys::CUdeviceptr,
    results: sys::CUdeviceptr,
}

impl Kernels {
    /// Takes memory for a pipeline, whose image is a gradient.
    ///
    /// # Errors
    /// If the driver has no memory.
    pub(super) fn new(loaded: &Loaded) -> Result<Self, KernelError> {
        let context = &loaded.context;
        let stream = context.new_stream()?;
        // SAFETY: it is written below, before it is read.
        let mut image = unsafe { context.alloc_pinned::<u8>(IMAGE) }?;
        // SAFETY: only the device writes to it, and nobody reads it.
        let result = unsafe { context.alloc_pinned::<u8>(IMAGE) }?;
        for (at, byte) in image.as_mut_slice()?.iter_mut().enumerate() {
            *byte = (at % 251) as u8;
        }
        let memory = Memory {
            image,
            result,
            image_on_device: stream.alloc_zeros(IMAGE)?,
            normalised: stream.alloc_zeros(SIDE * SIDE)?,
            results: stream.alloc_zeros(SIDE * SIDE * RESULTS)?,
        };
        stream.synchronize()?;
        Ok(Self { loaded: loaded.clone(), memory: Arc::new(memory) })
    }

    /// Returns the work of a segment: so many rounds of layers of a net, or of matrix products for a pipeline of low
    /// criticality.
    pub(super) fn segment(&self, criticality: Criticality, rounds: u32, part: Part) -> CudaWork {
        let loaded = self.loaded.clone();
        let memory = Arc::clone(&self.memory);
        CudaWork::new(move |stream| {
            let addresses = memory.addresses(stream);
            if part == Part::First {
                memory.copy_in(stream, &addresses)?;
                launch(stream, &loaded.normalise, addresses.image, addresses.normalised, 1)?;
            }
            let kernel = if criticality == Criticality::Low { &loaded.product } else { &loaded.layer };
            launch(stream, kernel, addresses.normalised, addresses.results, rounds)?;
            if part == Part::Last {
                memory.copy_out(stream, &addresses)?;
            }
            Ok(())
        })
    }
}

impl Memory {
    fn addresses(&self, stream: &CudaStream) -> Addresses {
        // The guards would order the accesses of several streams. The segments of a pipeline are in order by
        // themselves.
        Addresses {
            image: self.image_on_device.device_ptr(stream).0,
            normalised: self.normalised.device_ptr(stream).0,
            results: self.results.device_ptr(stream).0,
        }
    }

    fn copy_in(&self, stream: &CudaStream, addresses: &Addresses) -> Result<(), DriverError> {
        let image = self.image.as_slice()?;
        // SAFETY: both are as long as an image, and live as long as the pipeline, which outlives its segments. Nothing
        // writes to the image.
        unsafe { result::memcpy_htod_async(addresses.image, image, stream.cu_stream()) }
    }

    fn copy_out(&self, stream: &CudaStream, addresses: &Addresses) -> Result<(), DriverError> {
        let to = self.result.as_ptr()?.cast_mut();
        // SAFETY: the memory is as long as an image, lives as long as the pipeline, which outlives its segments, and
        // nothing reads it meanwhile.
        let to = unsafe { std::slice::from_raw_parts_mut(to, IMAGE) };
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_async(to, addresses.results, stream.cu_stream()) }
    }
}

/// Launches so many rounds of a kernel that reads one address and writes to another one.
fn launch(
    stream: &Arc<CudaStream>,
    kernel: &CudaFunction,
    from: sys::CUdeviceptr,
    to: sys::CUdeviceptr,
    rounds: u32,
) -> Result<(), DriverError> {
    let side = SIDE as u32 / BLOCK;
    let config = LaunchConfig { grid_dim: (side, side, rounds), block_dim: (BLOCK, BLOCK, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(kernel);
    launch.arg(&from).arg(&to);
    // SAFETY: the arguments are those of the kernels, which stay within an image and `RESULTS` matrices.
    unsafe { launch.launch(config) }.map(drop)
}
