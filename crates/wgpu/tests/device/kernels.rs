//! Kernels of an image pipeline, and the same on the processor.

use rospin_wgpu::{Readback, WgpuDevice, WgpuWork};
use wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu::{BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferUsages, ComputePipeline};
use wgpu::{ComputePipelineDescriptor, ShaderModuleDescriptor, ShaderSource};

/// Bytes to numbers from -1 to 1; a matrix product; a convolution with 3 by 3 weights, zero outside. All images are
/// square, and their side is a multiple of 8.
const SOURCE: &str = "
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;

fn side() -> u32 { return u32(round(sqrt(f32(arrayLength(&c))))); }

@compute @workgroup_size(8, 8)
fn normalise(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.y * side() + id.x;
    c[at] = (a[at] - 127.5) / 127.5 + b[0];
}

@compute @workgroup_size(8, 8)
fn product(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = side();
    var sum = 0.0;
    for (var k = 0u; k < n; k++) { sum += a[id.y * n + k] * b[k * n + id.x]; }
    c[id.y * n + id.x] = sum;
}

@compute @workgroup_size(8, 8)
fn convolution(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = i32(side());
    var sum = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let at = vec2<i32>(i32(id.x) + x, i32(id.y) + y);
            if at.x >= 0 && at.y >= 0 && at.x < n && at.y < n {
                sum += a[at.y * n + at.x] * b[(y + 1) * 3 + x + 1];
            }
        }
    }
    c[id.y * u32(n) + id.x] = sum;
}
";

/// The names of the kernels.
pub(crate) const KERNELS: [&str; 3] = ["normalise", "product", "convolution"];

/// Returns what the kernel should write.
pub(crate) fn on_the_processor(kernel: &str, a: &[f32], b: &[f32], side: usize) -> Vec<f32> {
    let pixel = |y: usize, x: usize| match kernel {
        "normalise" => (a[y * side + x] - 127.5) / 127.5 + b[0],
        "product" => (0..side).map(|k| a[y * side + k] * b[k * side + x]).sum(),
        _ => {
            let near = |at: usize, by: usize| (at + by).checked_sub(1).filter(|at| *at < side);
            let taps = (0..9).filter_map(|tap| Some((near(y, tap / 3)?, near(x, tap % 3)?, b[tap])));
            taps.map(|(y, x, weight)| a[y * side + x] * weight).sum()
        }
    };
    (0..side * side).map(|at| pixel(at / side, at % side)).collect()
}

/// A kernel with its buffers on the device.
pub(crate) struct Kernel {
    pipeline: ComputePipeline,
    bind_group: BindGroup,
    pub(crate) input: Buffer,
    output: Buffer,
    pub(crate) result: Readback,
    groups: u32,
}

impl Kernel {
    /// Creates the kernel for images with sides of that length. `b` is its second input.
    pub(crate) fn new(device: &WgpuDevice, name: &str, b: &[f32], side: usize) -> Self {
        let device = device.device();
        let source = ShaderModuleDescriptor { label: None, source: ShaderSource::Wgsl(SOURCE.into()) };
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &device.create_shader_module(source),
            entry_point: Some(name),
            compilation_options: Default::default(),
            cache: None,
        });
        let buffer = |contents: &[f32]| {
            let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
            let contents = bytemuck::cast_slice(contents);
            device.create_buffer_init(&BufferInitDescriptor { label: None, contents, usage })
        };
        let zeros = vec![0.0; side * side];
        let input = buffer(&zeros);
        let second = buffer(b);
        let output = buffer(&zeros);
        let entries = [&input, &second, &output].map(Buffer::as_entire_binding);
        let mut binding = 0..;
        let entries = entries.map(|resource| BindGroupEntry { binding: binding.next().unwrap_or(0), resource });
        let layout = &pipeline.get_bind_group_layout(0);
        let bind_group = device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
        let result = Readback::new(device, output.size());
        Self { pipeline, bind_group, input, output, result, groups: side as u32 / 8 }
    }

    /// Returns the work of one run without copies.
    pub(crate) fn run(&self) -> WgpuWork {
        self.run_after(WgpuWork::new())
    }

    /// Returns the work, and a run after it.
    pub(crate) fn run_after(&self, work: WgpuWork) -> WgpuWork {
        work.dispatch(&self.pipeline, &self.bind_group, [self.groups, self.groups, 1])
    }

    /// Returns the work of one run with its input and its result.
    pub(crate) fn run_with(&self, a: &[f32]) -> WgpuWork {
        let work = WgpuWork::new().write(&self.input, 0, bytemuck::cast_slice(a));
        self.run_after(work).read(&self.output, 0, &self.result)
    }

    /// Returns the result of the last run.
    pub(crate) fn take(&self) -> Vec<f32> {
        bytemuck::pod_collect_to_vec(&self.result.take().expect("the segment has ended"))
    }
}
