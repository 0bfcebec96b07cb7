//! Lengths of segments on a real device, and the number of rounds that make one as long as it should be.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use rospin_accelerator::{Accelerator, AcceleratorOptions, Backend, Client, ClientOptions, Request, Segment};
use rospin_measure::stats::percentile;

use super::workload::{Criticality, Lengths};

/// Number of segments whose lengths are measured.
const SEGMENTS: usize = 60;
/// Number of segments whose launches, reports and wake-ups are measured.
const WAKE_UPS: usize = 500;
/// The largest number of rounds in a segment.
const ROUNDS_MAX: u32 = 4096;

/// The place of a segment in its frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// The image is copied to the device, and normalised.
    First,
    /// Nothing is copied.
    Inner,
    /// The result is copied back.
    Last,
}

impl Part {
    pub(crate) const fn of(nth: usize, segments: usize) -> Self {
        match nth {
            0 => Self::First,
            nth if nth + 1 == segments => Self::Last,
            _ => Self::Inner,
        }
    }
}

/// Work of a pipeline of a criticality in a segment, and its repetitions, so that the segment takes as long as it
/// should.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Number of rounds in a segment.
    pub(crate) rounds: u32,
    /// Lengths that were measured.
    pub(crate) lengths: Lengths,
}

/// What was measured on the idle device.
pub(crate) struct Measured {
    /// The sizes by criticality, in the order of [`Criticality::ALL`].
    pub(crate) sizes: [Size; 3],
    /// The longest time beside a segment's own.
    pub(crate) overhead: Duration,
}

/// Measures segments on the idle device, whose work `segment` returns for a criticality, a number of rounds and a place
/// in the frame.
pub(crate) fn measure<B: Backend>(device: Arc<B>, segment: impl Fn(Criticality, u32, Part) -> B::Work) -> Measured {
    let gpu = Accelerator::new(device, AcceleratorOptions::new());
    let client = gpu.create_client(ClientOptions::new("measure")).expect("the depth is positive");
    let mut overhead = Duration::ZERO;
    let sizes = Criticality::ALL.map(|criticality| {
        let wanted = if criticality == Criticality::High { Lengths::SHORT } else { Lengths::LAYER }.longest;
        let time = |rounds, segments| lengths(&client, segments, |part| segment(criticality, rounds, part));
        // What a launch takes is not proportional to the rounds, so a segment of many of them tells how long one takes.
        let mut rounds = 1;
        while median(&time(rounds, 5)) < wanted && rounds < ROUNDS_MAX {
            rounds *= 2;
        }
        let (few, many) = (median(&time(1, 15)), median(&time(rounds, 15)));
        let each = (many.saturating_sub(few)).div_f64(f64::from(rounds - 1).max(1.0)).max(Duration::from_nanos(1));
        let rounds = 1 + wanted.saturating_sub(few).div_duration_f64(each) as u32;
        if criticality == Criticality::High {
            overhead = longest_overhead(&client, false, || segment(criticality, rounds, Part::Inner));
        }
        let all = time(rounds.min(ROUNDS_MAX), SEGMENTS);
        let longest = all.iter().max().copied().unwrap_or_default();
        // A segment of one round is one block with the longest copy.
        let block = time(1, SEGMENTS).into_iter().max().unwrap_or_default();
        Size { rounds, lengths: Lengths { kernel: median(&all), copy: Duration::ZERO, longest, block } }
    });
    Measured { sizes, overhead }
}

/// Returns the longest time beside the segment's own from a request to the moment at which this thread goes on: launch,
/// report, and a wake-up unless the thread `spins`.
pub(crate) fn longest_overhead<B: Backend>(client: &Client<B>, spins: bool, work: impl Fn() -> B::Work) -> Duration {
    let mut longest = Duration::ZERO;
    for _ in 0..WAKE_UPS {
        let start = Instant::now();
        let Ok(completion) = client.request(Request::new([Segment::new(work())])) else { continue };
        let ended = if spins { completion.busy_wait() } else { block_on(completion) };
        if let Ok(outcome) = ended {
            longest = longest.max(start.elapsed().saturating_sub(outcome.busy));
        }
    }
    longest
}

/// Returns the device times of so many segments, one after the other.
fn lengths<B: Backend>(client: &Client<B>, segments: usize, work: impl Fn(Part) -> B::Work) -> Vec<Duration> {
    let parts = [Part::First, Part::Inner, Part::Last];
    let time = |nth: usize| {
        let completion = client.request(Request::new([Segment::new(work(parts[nth % parts.len()]))])).ok()?;
        Some(block_on(completion).ok()?.busy)
    };
    (0..segments).filter_map(time).collect()
}

fn median(times: &[Duration]) -> Duration {
    let seconds: Vec<f64> = times.iter().map(Duration::as_secs_f64).collect();
    Duration::from_secs_f64(percentile(&seconds, 50.0).unwrap_or(0.0))
}
