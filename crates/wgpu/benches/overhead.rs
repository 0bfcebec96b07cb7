//! The cost of a request beside a direct launch on a real device interface:
//! `cargo bench --manifest-path crates/wgpu/Cargo.toml --bench overhead`.
//!
//! Prints a table and never fails, since a busy machine must not fail a test. Both ways take turns in one run. Direct
//! is what a program does without the accelerator: it encodes, submits and waits for the device on its own thread.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, ClientOptions, Request, Segment};
use rospin_wgpu::{WgpuDevice, WgpuOptions, WgpuWork};
use wgpu::{BindGroup, BindGroupDescriptor, BindGroupEntry, BufferDescriptor, BufferUsages, ComputePipeline};
use wgpu::{ComputePipelineDescriptor, PollType, ShaderModuleDescriptor, ShaderSource};

/// A kernel of one workgroup that counts, so that its length hardly depends on the device's size.
const SOURCE: &str = "
@group(0) @binding(0) var<storage, read_write> sum: array<u32>;
override rounds: u32;
@compute @workgroup_size(1)
fn count() { for (var n = 0u; n < rounds; n++) { sum[0] = sum[0] * 1664525u + n; } }
";

const ROUNDS: usize = 200;
const BACKLOG: u32 = 300;

fn main() {
    let device = match WgpuDevice::open(WgpuOptions::new()) {
        Ok(device) => Arc::new(device),
        Err(reason) => return println!("SKIPPED: {reason}"),
    };
    println!("{}{}", device.name(), if device.is_software() { ", a software driver" } else { "" });
    println!("an idle device: median of {ROUNDS}, in microseconds from request to end");
    for rounds in [1, 20_000, 200_000] {
        let kernel = kernel(&device, rounds);
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
        let client = gpu.create_client(ClientOptions::new("one")).expect("a client");
        let mut direct = Vec::new();
        let mut through = Vec::new();
        for _ in 0..ROUNDS {
            direct.push(timed(|| drop(device.device().poll(wait(launch(&device, &kernel))))));
            through.push(timed(|| {
                let request = Request::new([Segment::new(work(&kernel))]);
                block_on(client.request(request).expect("room")).expect("an outcome");
            }));
        }
        let direct = median(direct);
        let through = median(through);
        println!("  direct {direct:9.1}   through {through:9.1}   {:.3}", through / direct);
    }
    println!("a full device: segments a second");
    for (rounds, lanes) in [(20_000, 1), (20_000, 2), (200_000, 1), (200_000, 2)] {
        let device = Arc::new(WgpuDevice::open(WgpuOptions::new().lanes(lanes)).expect("as before"));
        let kernel = kernel(&device, rounds);
        let gpu = Accelerator::new(Arc::clone(&device), AcceleratorOptions::new());
        let clients: Vec<_> =
            (0..lanes).map(|_| gpu.create_client(ClientOptions::new("one")).expect("a client")).collect();
        let direct = timed(|| {
            let mut last = launch(&device, &kernel);
            for _ in 1..BACKLOG {
                last = launch(&device, &kernel);
            }
            drop(device.device().poll(wait(last)));
        });
        let through = timed(|| {
            let each = BACKLOG / lanes as u32;
            let request = || (0..each).map(|_| Segment::new(work(&kernel))).collect();
            let all: Vec<_> = clients.iter().map(|client| client.request(request()).expect("room")).collect();
            for completion in all {
                block_on(completion).expect("an outcome");
            }
        });
        let rate = |time: Duration| f64::from(BACKLOG) / time.as_secs_f64();
        println!(
            "  {lanes} lanes   direct {:8.0}   through {:8.0}   {:.3}",
            rate(direct),
            rate(through),
            rate(through) / rate(direct)
        );
    }
}

fn timed(of: impl FnOnce()) -> Duration {
    let start = Instant::now();
    of();
    start.elapsed()
}

fn median(mut all: Vec<Duration>) -> f64 {
    all.sort();
    all[all.len() / 2].as_secs_f64() * 1e6
}

fn wait(submission: wgpu::SubmissionIndex) -> PollType {
    PollType::Wait { submission_index: Some(submission), timeout: None }
}

fn kernel(device: &WgpuDevice, rounds: u32) -> (ComputePipeline, BindGroup) {
    let device = device.device();
    let source = ShaderModuleDescriptor { label: None, source: ShaderSource::Wgsl(SOURCE.into()) };
    let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &device.create_shader_module(source),
        entry_point: Some("count"),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &[("rounds", f64::from(rounds))],
            ..Default::default()
        },
        cache: None,
    });
    let usage = BufferUsages::STORAGE;
    let sum = device.create_buffer(&BufferDescriptor { label: None, size: 4, usage, mapped_at_creation: false });
    let entries = [BindGroupEntry { binding: 0, resource: sum.as_entire_binding() }];
    let layout = &pipeline.get_bind_group_layout(0);
    let bind_group = device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries });
    (pipeline, bind_group)
}

fn work((pipeline, bind_group): &(ComputePipeline, BindGroup)) -> WgpuWork {
    WgpuWork::new().dispatch(pipeline, bind_group, [1, 1, 1])
}

/// Launches the kernel directly.
fn launch(device: &WgpuDevice, (pipeline, bind_group): &(ComputePipeline, BindGroup)) -> wgpu::SubmissionIndex {
    let mut encoder = device.device().create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, bind_group, &[]);
        pass.dispatch_workgroups(1, 1, 1);
    }
    device.queue().submit([encoder.finish()])
}
