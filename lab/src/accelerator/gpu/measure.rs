//! Lengths of segments on a device, and the number of kernels that make one as long as it should be.

use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, Client, ClientOptions, Request, Segment};
use rospin_measure::stats::percentile;
use rospin_wgpu::WgpuDevice;

use super::super::workload::{Criticality, Lengths};
use super::Size;
use super::kernels::{Kernels, Part};

/// Number of segments whose lengths are measured.
const SEGMENTS: usize = 60;
/// The largest number of kernels in a segment.
const ROUNDS_MAX: u32 = 4096;

/// Measures segments on the idle device. Returns the sizes by criticality, in the order of [`Criticality::ALL`].
pub(super) fn sizes(device: Arc<WgpuDevice>) -> [Size; 3] {
    let kernels = Kernels::new(&device);
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("measure")).expect("the depth is positive");
    Criticality::ALL.map(|criticality| {
        let wanted = if criticality == Criticality::High { Lengths::SHORT } else { Lengths::LAYER }.longest;
        let time = |rounds, segments| lengths(&client, &kernels, criticality, rounds, segments);
        // What a launch takes is not proportional to the kernels, so a segment of many of them tells how long one
        // takes.
        let mut rounds = 1;
        while median(&time(rounds, 5)) < wanted && rounds < ROUNDS_MAX {
            rounds *= 2;
        }
        let (few, many) = (median(&time(1, 15)), median(&time(rounds, 15)));
        let each = (many.saturating_sub(few)).div_f64(f64::from(rounds - 1).max(1.0)).max(Duration::from_nanos(1));
        let rounds = 1 + wanted.saturating_sub(few).div_duration_f64(each) as u32;
        let all = time(rounds.min(ROUNDS_MAX), SEGMENTS);
        let longest = all.iter().max().copied().unwrap_or_default();
        Size { rounds, lengths: Lengths { kernel: median(&all), copy: Duration::ZERO, longest } }
    })
}

/// Returns the device times of so many segments, one after the other.
fn lengths(
    client: &Client<WgpuDevice>,
    kernels: &Kernels,
    criticality: Criticality,
    rounds: u32,
    segments: usize,
) -> Vec<Duration> {
    let parts = [Part::First, Part::Inner, Part::Last];
    let time = |nth: usize| {
        let work = kernels.segment(criticality, rounds, parts[nth % parts.len()]);
        let completion = client.request(Request::new([Segment::new(work)])).ok()?;
        Some(block_on(completion).ok()?.busy)
    };
    (0..segments).filter_map(time).collect()
}

fn median(times: &[Duration]) -> Duration {
    let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    Duration::from_secs_f64(percentile(&seconds, 50.0).unwrap_or(0.0))
}
