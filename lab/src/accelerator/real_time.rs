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
const LEAD: Duration = Duration::from_millis(300);
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

/// Returns the options of the device's threads, except that of an urgent lane.
pub(crate) fn of_device() -> ThreadOptions {
    let options = of_priority(DEVICE_PRIORITY);
    match Cores::of_machine() {
        Some(cores) => options.cores(cores.others),
        None => options,
    }
}

/// Returns the options of the thread of an urgent lane that spins, which has a core of its own where there are enough.
#[cfg(feature = "cuda")]
pub(crate) fn of_urgent_lane() -> ThreadOptions {
    let options = of_priority(DEVICE_PRIORITY);
    match Cores::of_machine() {
        Some(cores) => options.cores(cores.lane),
        None => options,
    }
}

/// The cores of threads, of each contender, so that all have the same machine.
struct Cores {
    /// The core of the urgent lane's thread.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "the model device has no thread for a lane"))]
    lane: CoreSet,
    /// The core of the critical pipeline.
    critical: CoreSet,
    /// Those of all other threads.
    others: CoreSet,
}

impl Cores {
    /// Returns the cores on this machine; `None` if the calling thread may use fewer than four.
    fn of_machine() -> Option<Self> {
        let all = CoreSet::of_current_thread().ok()?;
        match all.as_slice() {
            [others @ .., critical, lane] if others.len() >= 2 => Some(Self {
                lane: CoreSet::new([*lane]),
                critical: CoreSet::new([*critical]),
                others: CoreSet::new(others.iter().copied()),
            }),
            _ => None,
        }
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

/// Runs a pipeline's frames on the calling thread, from the time `start` on; `number` is its index. Returns their
/// latencies in microseconds, and the settings that the thread could not have. A frame that fails counts as one that
/// never ends.
pub(crate) fn run_frames<M: Maker>(
    launcher: &Launcher<'_, M>,
    device: &M::Device,
    number: usize,
    pipeline: &Pipeline,
    start: Instant,
    duration: Duration,
) -> (Vec<f64>, Vec<String>) {
    let priority = 10 + pipeline.criticality.priority().0 as u8;
    let mut thread = of_priority(priority);
    let mut has_own_core = false;
    if let Some(cores) = Cores::of_machine() {
        has_own_core = pipeline.criticality == Criticality::High;
        thread = thread.cores(if has_own_core { cores.critical } else { cores.others });
    }
    let report = thread.apply();
    let spins = has_own_core && launcher.contender().spins(pipeline);
    // A frame that is not counted: the thread gets what it needs of the driver and of the recorder.
    let _ = launcher.launch(number, pipeline).wait(spins);
    let mut latencies = Vec::new();
    for n in 0..pipeline.frames(duration).max(1) {
        let due = start + pipeline.phase + pipeline.period * u32::try_from(n).unwrap_or(u32::MAX);
        await_frame(device, due, has_own_core);
        let end = launcher.launch(number, pipeline).wait(spins);
        // The end is when the thread goes on, as in a callback.
        let latency = end.map(|_| device.now().saturating_since(due).as_nanos() as f64 / 1e3);
        latencies.push(latency.unwrap_or(f64::INFINITY));
    }
    (latencies, report.shortfalls.iter().map(ToString::to_string).collect())
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
        let mut running = Vec::new();
        for (number, pipeline) in pipelines.iter().enumerate() {
            running.push(scope.spawn(move || run_frames(launcher, device, number, pipeline, start, duration)));
        }
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
