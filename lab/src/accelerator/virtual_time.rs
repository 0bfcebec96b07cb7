//! The pipelines in virtual time: the same figures on every machine.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rospin_accelerator::Instant;
use rospin_accelerator::model::{ModelOptions, VirtualDevice};

use super::comparison::Time;
use super::contender::Contender;
use super::device::Model;
use super::figures::{Figures, Row};
use super::launch::{Frame, Launcher};
use super::workload::Pipeline;

/// Runs the frames of `duration` to their ends, and returns the contender's results.
pub(crate) fn run(contender: Contender, pipelines: &[Pipeline], duration: Duration) -> Row {
    let lanes = contender.lanes(pipelines.len());
    let device = Arc::new(VirtualDevice::new(ModelOptions::new().lanes(lanes)));
    let maker = Model::new();
    let launcher = Launcher::new(contender, Arc::clone(&device), &maker, pipelines);
    let mut dues: Vec<(Instant, usize)> = Vec::new();
    for (number, pipeline) in pipelines.iter().enumerate() {
        let frames = (0..pipeline.frames(duration)).map(|n| {
            // Nanoseconds, so that the period is exact for any number of frames.
            let after = pipeline.phase.as_nanos() as u64 + n * pipeline.period.as_nanos() as u64;
            (Instant::from_nanos(after), number)
        });
        dues.extend(frames);
    }
    dues.sort_unstable();
    let mut latencies: Vec<Vec<f64>> = pipelines.iter().map(|_| Vec::new()).collect();
    let mut open: Vec<(Instant, usize, Frame<VirtualDevice>)> = Vec::new();
    // Records the latencies of frames that have ended, and removes them from `open`.
    let mut note = |open: &mut Vec<(Instant, usize, Frame<VirtualDevice>)>| {
        open.retain_mut(|(due, number, frame)| match frame.now_or_never() {
            Some(end) => {
                let end = end.expect("nothing fails on this device");
                latencies[*number].push((end - *due).as_nanos() as f64 / 1e3);
                false
            }
            None => true,
        });
    };
    for (due, number) in dues {
        device.run_until(due);
        note(&mut open);
        open.push((due, number, launcher.launch(number, &pipelines[number])));
    }
    let end = device.run();
    note(&mut open);
    let all = pipelines.iter().zip(latencies).map(|(pipeline, latencies)| Figures::new(pipeline, latencies)).collect();
    Row::new(Time::Virtual, contender, pipelines, all, end - Instant::ZERO)
}
