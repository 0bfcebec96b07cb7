//! Kernels of a camera pipeline in WGSL, with their buffers.

use rospin_wgpu::wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, ComputePipeline,
    ComputePipelineDescriptor, ShaderModuleDescriptor, ShaderSource,
};
use rospin_wgpu::{Readback, WgpuDevice, WgpuWork};

use super::super::measure::Part;
use super::super::workload::Criticality;

/// Side of the images and the matrices; a multiple of the side of a workgroup.
const SIDE: u32 = 128;
/// Side of a workgroup, as in [`SOURCE`].
const GROUP: u32 = 8;
/// Bytes of an image or a matrix on the device.
const BYTES: u64 = SIDE as u64 * SIDE as u64 * 4;

/// A camera's bytes to numbers from -1 to 1; a layer of a net, which is a convolution with 3 by 3 weights and a limit;
/// a matrix product, scaled so that its numbers stay small.
const SOURCE: &str = "
const SIDE: u32 = 128;

@group(0) @binding(0) var<storage, read> input: array<u32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;

@compute @workgroup_size(8, 8)
fn normalise(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = id.y * SIDE + id.x;
    let byte = (input[at / 4u] >> (8u * (at % 4u))) & 0xffu;
    output[at] = f32(byte) / 127.5 - 1.0;
}

fn pixel(x: i32, y: i32) -> f32 {
    let side = i32(SIDE);
    if x < 0 || y < 0 || x >= side || y >= side { return 0.0; }
    return bitcast<f32>(input[y * side + x]);
}

@compute @workgroup_size(8, 8)
fn layer(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0.0;
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let weight = 0.11 + 0.02 * f32(x) - 0.03 * f32(y);
            sum += weight * pixel(i32(id.x) + x, i32(id.y) + y);
        }
    }
    output[id.y * SIDE + id.x] = clamp(sum, -1.0, 1.0);
}

@compute @workgroup_size(8, 8)
fn product(@builtin(global_invocation_id) id: vec3<u32>) {
    var sum = 0.0;
    for (var k = 0u; k < SIDE; k++) {
        sum += bitcast<f32>(input[id.y * SIDE + k]) * bitcast<f32>(input[k * SIDE + id.x]);
    }
    output[id.y * SIDE + id.x] = sum / f32(SIDE);
}
";

/// The kernels of one pipeline, with buffers of its own.
pub(crate) struct Kernels {
    image: Buffer,
    normalise: (ComputePipeline, BindGroup),
    /// From the first of two buffers to the second, and back.
    layers: [(ComputePipeline, BindGroup); 2],
    products: [(ComputePipeline, BindGroup); 2],
    /// The buffer that has the result of a number of rounds: of an even number, of an odd number.
    results: [Buffer; 2],
    readback: Readback,
}

impl Kernels {
    pub(crate) fn new(device: &WgpuDevice) -> Self {
        let device = device.device();
        let source = ShaderModuleDescriptor { label: None, source: ShaderSource::Wgsl(SOURCE.into()) };
        let module = device.create_shader_module(source);
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
        let buffer =
            |size| device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        let (image, one, other) = (buffer(u64::from(SIDE * SIDE)), buffer(BYTES), buffer(BYTES));
        let kernel = |name: &str, from: &Buffer, to: &Buffer| {
            let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
                module: &module,
                entry_point: Some(name),
                compilation_options: Default::default(),
                cache: None,
            });
            let entries = [
                BindGroupEntry { binding: 0, resource: from.as_entire_binding() },
                BindGroupEntry { binding: 1, resource: to.as_entire_binding() },
            ];
            let layout = &pipeline.get_bind_group_layout(0);
            let bind_group = device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
            (pipeline, bind_group)
        };
        Self {
            normalise: kernel("normalise", &image, &one),
            layers: [kernel("layer", &one, &other), kernel("layer", &other, &one)],
            products: [kernel("product", &one, &other), kernel("product", &other, &one)],
            readback: Readback::new(device, BYTES),
            results: [one, other],
            image,
        }
    }

    /// Returns the work of a segment: so many layers of a net, or matrix products for a pipeline of low criticality.
    pub(crate) fn segment(&self, criticality: Criticality, rounds: u32, part: Part) -> WgpuWork {
        let groups = [SIDE / GROUP, SIDE / GROUP, 1];
        let mut work = WgpuWork::new();
        if part == Part::First {
            // A camera's picture: a gradient.
            let pixels: Vec<u8> = (0..SIDE * SIDE).map(|at| (at % 251) as u8).collect();
            work = work.write(&self.image, 0, pixels).dispatch(&self.normalise.0, &self.normalise.1, groups);
        }
        let kernels = if criticality == Criticality::Low { &self.products } else { &self.layers };
        for round in 0..rounds as usize {
            let (pipeline, bind_group) = &kernels[round % 2];
            work = work.dispatch(pipeline, bind_group, groups);
        }
        if part == Part::Last {
            work = work.read(&self.results[rounds as usize % 2], 0, &self.readback);
        }
        work
    }
}
