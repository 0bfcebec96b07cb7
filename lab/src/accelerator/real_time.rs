//! The pipelines in real time: a thread each, and the device's own.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rospin_accelerator::model::{ModelOptions, RealTimeDevice, RealTimeOptions};
use rospin_accelerator::{Backend, Instant};
use rospin_engine::os::{CoreSet, OsScheduling, ThreadOptions};
use rospin_engine::{Recorder, SinkHandle};
use rospin_report::progress::Progress;
use rospin_trace::{FileSink, ProcessName};

use super::comparison::Time;
use super::contender::Contender;
use super::device::{Maker, Model};
use super::figures::{Figures, Row};
use super::launch::Launcher;
use super::options::Options;
use super::workload::{Criticality, Pipeline};

/// The time from the start of the threads to the first frame.
const LEAD: Duration = Duration::from_millis(50);
/// The time before a frame at which a thread with a core of its own wakes up.
const WAKE_UP: Duration = Duration::from_millis(2);
/// The priority of the device's thread, above those of the pipelines: it stands for an interrupt.
const DEVICE_PRIORITY: u8 = 30;

/// Returns the options of a thread with this real-time priority.
fn of_priority(priority: u8) -> ThreadOptions {
    ThreadOptions::new().scheduling(OsScheduling::Fifo { priority }).timer_slack(Duration::from_nanos(1))
}

/// Runs the pipelines on a model device, as [`run_on`] does.
///
/// # Errors
/// If the device's thread cannot be started, or the recording cannot be written.
pub(crate) fn run(
    contender: Contender,
    pipelines: &[Pipeline],
    options: &Options,
    progress: &Progress,
) -> io::Result<(Row, Vec<String>)> {
    let model = ModelOptions::new().lanes(contender.lanes(pipelines.len()));
    let device = RealTimeDevice::start(RealTimeOptions::new(model).thread(of_device()))?;
    run_on(Arc::new(device), &Model::new(), contender, pipelines, options, progress)
}

/// Returns the options of the device's thread.
pub(crate) fn of_device() -> ThreadOptions {
    of_priority(DEVICE_PRIORITY)
}

/// Returns the options of the thread of an urgent lane that spins, which has a core of its own where there are enough.
#[cfg(feature = "cuda")]
pub(crate) fn of_urgent_lane() -> ThreadOptions {
    let options = of_device();
    match own_cores() {
        Some([core, _]) => options.cores(CoreSet::new([core])),
        None => options,
    }
}

/// Returns the cores of the urgent lane's thread and of the critical pipeline's; `None` on a machine with fewer than
/// four.
fn own_cores() -> Option<[u16; 2]> {
    let all = CoreSet::of_current_thread().ok()?;
    match all.as_slice() {
        [_, _, .., critical, lane] => Some([*lane, *critical]),
        _ => None,
    }
}

/// Waits until a frame is due. A thread with a core of its own is awake by then: the frame stands for an interrupt of a
/// camera, and the time that a thread takes to wake up for it is not that of a contender.
fn await_frame(device: &impl Backend, due: Instant, has_own_core: bool) {
    let early = if has_own_core { WAKE_UP } else { Duration::ZERO };
    let ahead = due.saturating_since(device.now() + early);
    if !ahead.is_zero() {
        thread::sleep(ahead);
    }
    while device.now() < due {
        std::hint::spin_loop();
    }
}

/// Starts the recording of a contender, if it has one and the options ask for it.
fn record(contender: Contender, options: &Options) -> io::Result<Option<SinkHandle>> {
    let (Some(folder), Some(name)) = (&options.recordings, contender.recording()) else { return Ok(None) };
    std::fs::create_dir_all(folder)?;
    let sink = FileSink::create(&folder.join(name), &ProcessName::of_this(Recorder::steady_ns()))?;
    Recorder::of_process().start(sink).map(Some).map_err(io::Error::other)
}

/// Runs the pipelines for as long as the options say, each for at least one frame. Returns the results, and the
/// settings that a pipeline's thread could not have. A frame that fails counts as one that never ends.
///
/// # Errors
/// If the recording that the options ask for cannot be written.
pub(crate) fn run_on<M: Maker>(
    device: Arc<M::Device>,
    maker: &M,
    contender: Contender,
    pipelines: &[Pipeline],
    options: &Options,
    progress: &Progress,
) -> io::Result<(Row, Vec<String>)> {
    let duration = options.duration;
    let launcher = Launcher::new(contender, Arc::clone(&device), maker, pipelines);
    // The first frame of each pipeline is not counted: the driver loads its kernels.
    for (number, pipeline) in pipelines.iter().enumerate() {
        let _ = launcher.launch(number, pipeline).wait(false);
    }
    let recording = record(contender, options)?;
    let start = device.now() + LEAD;
    let (launcher, device) = (&launcher, &*device);
    let results: Vec<(Vec<f64>, Vec<String>)> = thread::scope(|scope| {
        let running: Vec<_> = pipelines
            .iter()
            .enumerate()
            .map(|(number, pipeline)| {
                scope.spawn(move || {
                    let priority = 10 + pipeline.criticality.priority().0 as u8;
                    let mut thread = of_priority(priority);
                    // Of each contender, so that all have the same machine.
                    let own = own_cores().filter(|_| pipeline.criticality == Criticality::High);
                    let has_own_core = own.is_some();
                    if let Some([_, core]) = own {
                        thread = thread.cores(CoreSet::new([core]));
                    }
                    let report = thread.apply();
                    let mut latencies = Vec::new();
                    for n in 0..pipeline.frames(duration).max(1) {
                        let due = start + pipeline.phase + pipeline.period * u32::try_from(n).unwrap_or(u32::MAX);
                        await_frame(device, due, has_own_core);
                        let end = launcher.launch(number, pipeline).wait(has_own_core && contender.spins(pipeline));
                        // The end is when the thread goes on, as in a callback. A frame that fails never ends.
                        let latency = end.map(|_| device.now().saturating_since(due).as_nanos() as f64 / 1e3);
                        latencies.push(latency.unwrap_or(f64::INFINITY));
                    }
                    (latencies, report.shortfalls.iter().map(ToString::to_string).collect())
                })
            })
            .collect();
        while !running.iter().all(thread::ScopedJoinHandle::is_finished) {
            progress.at(device.now().saturating_since(start).as_secs_f64() / duration.as_secs_f64());
            thread::sleep(Duration::from_millis(20));
        }
        running.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    let elapsed = device.now().saturating_since(start);
    if let Some(recording) = recording {
        recording.stop();
    }
    let shortfalls = results.first().map(|(_, shortfalls)| shortfalls.clone()).unwrap_or_default();
    let all =
        pipelines.iter().zip(results).map(|(pipeline, (latencies, _))| Figures::new(pipeline, latencies)).collect();
    Ok((Row::new(Time::Real, contender, pipelines, all, elapsed), shortfalls))
}
