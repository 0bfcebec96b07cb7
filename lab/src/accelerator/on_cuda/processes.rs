//! Pipelines in processes of their own, as nodes of a robot are: with the driver alone, which gives the device to one
//! process after the other, and with NVIDIA's Multi-Process Service, by which their kernels run side by side.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rospin_accelerator::Instant;
use rospin_cuda::CudaOptions;
use rospin_engine::Recorder;
use rospin_report::Failure;
use rospin_report::progress::Progress;
use serde::{Deserialize, Serialize};

use super::kernels::{Kernels, Loaded};
use super::{Gpu, open, urgency};
use crate::accelerator::comparison::Time;
use crate::accelerator::contender::Contender;
use crate::accelerator::figures::{Figures, Row};
use crate::accelerator::launch::Launcher;
use crate::accelerator::options::Options;
use crate::accelerator::real_time;
use crate::accelerator::workload::{self, Criticality, Lengths, Pipeline};
use crate::children;

/// The time that processes have to open the device and to load the kernels, before the first frame.
const START_UP: Duration = Duration::from_secs(8);
/// The program that starts and stops the Multi-Process Service.
const CONTROL: &str = "nvidia-cuda-mps-control";

/// Order to a process: run one pipeline.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    load: f64,
    lengths: [Lengths; 3],
    rounds: [u32; 3],
    /// The index of the pipeline.
    number: usize,
    /// The time of the run's start on the steady clock.
    start_ns: u64,
    duration: Duration,
}

/// Answer of a process.
#[derive(Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Latencies of the frames in microseconds; `None` for one that failed.
    latencies_us: Vec<Option<f64>>,
    /// The time after the last frame on the steady clock.
    ended_ns: u64,
}

/// What all processes of a run need to know.
pub(super) struct Plan<'a> {
    pub(super) options: &'a Options,
    pub(super) lengths: [Lengths; 3],
    pub(super) rounds: [u32; 3],
}

/// Runs the pipelines, a process for each. Returns the results.
///
/// # Errors
/// If the service cannot be started that the contender needs, or a process fails.
pub(super) fn run(contender: Contender, plan: &Plan<'_>, progress: &Progress) -> Result<Row, Failure> {
    let service = match contender {
        Contender::Mps => Some(Service::start().map_err(Failure::run)?),
        _ => None,
    };
    let duration = plan.options.duration;
    let pipelines = workload::pipelines(plan.options.load, plan.lengths);
    let start_ns = Recorder::steady_ns() + START_UP.as_nanos() as u64;
    let orders: Vec<Order> = (0..pipelines.len())
        .map(|number| Order {
            load: plan.options.load,
            lengths: plan.lengths,
            rounds: plan.rounds,
            number,
            start_ns,
            duration,
        })
        .collect();
    let program = std::env::current_exe().map_err(Failure::run)?;
    let begin = |number: usize| {
        let mut command = Command::new(&program);
        if let Some(service) = &service {
            service.use_in(&mut command, &pipelines[number]);
        }
        command
    };
    let whole = START_UP + duration;
    let answers: Vec<Answer> =
        children::run_commands(&begin, "accelerator", &orders, whole, &|share| progress.at(share))
            .map_err(Failure::run)?;
    if let Some(service) = &service {
        service.check_use().map_err(Failure::run)?;
    }
    // Without the time that processes take to end.
    let ended_ns = answers.iter().map(|answer| answer.ended_ns).max().unwrap_or(start_ns);
    let elapsed = ended_ns.saturating_sub(start_ns);
    let mut figures = Vec::new();
    for (pipeline, answer) in pipelines.iter().zip(answers) {
        let latencies = answer.latencies_us.into_iter().map(|latency| latency.unwrap_or(f64::INFINITY));
        figures.push(Figures::new(pipeline, latencies.collect()));
    }
    Ok(Row::new(Time::Real, contender, &pipelines, figures, Duration::from_nanos(elapsed)))
}

/// Runs the pipeline of an order in this process.
///
/// # Errors
/// If the device cannot be opened, or this took longer than until the start.
pub(crate) fn obey(order: &Order) -> Result<Answer, Failure> {
    let pipeline = workload::pipelines(order.load, order.lengths).swap_remove(order.number);
    let device = Arc::new(open(CudaOptions::new().priorities([urgency(pipeline.criticality)]))?);
    let loaded = Loaded::new(&device).map_err(Failure::run)?;
    let kernels = vec![Kernels::new(&loaded).map_err(Failure::run)?];
    let maker = Gpu { kernels, rounds: order.rounds };
    let pipelines = std::slice::from_ref(&pipeline);
    let launcher = Launcher::new(Contender::Processes, Arc::clone(&device), &maker, pipelines);
    // The driver loads the kernels with the first frame.
    let _ = launcher.launch(0, &pipeline).wait(false);
    let start = Instant::from_nanos(order.start_ns);
    if Recorder::steady_ns() > order.start_ns {
        return Err(Failure::run(io::Error::other("the device was not ready in time")));
    }
    let (latencies, _) = real_time::run_frames(&launcher, &*device, 0, &pipeline, start, order.duration);
    let ended_ns = Recorder::steady_ns();
    let latencies_us = latencies.into_iter().map(|latency| Some(latency).filter(|latency| latency.is_finite()));
    Ok(Answer { latencies_us: latencies_us.collect(), ended_ns })
}

/// Reasons for which there is no Multi-Process Service.
#[derive(Debug, thiserror::Error)]
#[error("{CONTROL} cannot start the Multi-Process Service: {0}")]
struct ServiceError(#[from] io::Error);

/// The Multi-Process Service, which ends when this value is dropped, or this process ends in whatever way.
struct Service {
    /// The folder of its pipes and logs.
    folder: PathBuf,
    /// A process that ends the service once its stdin is closed. Ctrl-C does not reach it.
    keeper: Child,
}

/// What the keeper does. A service waits for its clients, which may have been killed, for at most five seconds.
const KEEP: &str = r#"cat; echo "quit -t 5" | "$0" > /dev/null 2>&1; rm -rf "$1""#;

impl Service {
    fn start() -> Result<Self, ServiceError> {
        let folder = std::env::temp_dir().join(format!("rospin-mps-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        // Before the service, so that none is left behind.
        let mut keeper = control(Command::new("sh"), &folder);
        keeper.args(["-c", KEEP, CONTROL]).arg(&folder).process_group(0);
        let keeper = keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let service = Self { folder, keeper };
        let mut start = control(Command::new(CONTROL), &service.folder);
        let status = start.arg("-d").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        if !status.success() {
            return Err(io::Error::other(status.to_string()).into());
        }
        Ok(service)
    }

    /// Has a process use the service. Kernels of all but the critical pipeline are of lower priority.
    fn use_in(&self, command: &mut Command, pipeline: &Pipeline) {
        command.env("CUDA_MPS_PIPE_DIRECTORY", &self.folder);
        command.env("CUDA_MPS_LOG_DIRECTORY", &self.folder);
        let priority = if pipeline.criticality == Criticality::High { "0" } else { "1" };
        command.env("CUDA_MPS_CLIENT_PRIORITY", priority);
    }

    /// Returns an error if no process has used the service: CUDA does without one that it cannot reach.
    fn check_use(&self) -> Result<(), ServiceError> {
        let mut list = control(Command::new(CONTROL), &self.folder);
        let mut list = list.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        if let Some(mut stdin) = list.stdin.take() {
            stdin.write_all(b"get_server_list\n")?;
        }
        let servers = list.wait_with_output()?.stdout;
        if servers.iter().any(u8::is_ascii_digit) {
            return Ok(());
        }
        Err(io::Error::other("no process has used it").into())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Returns the command with the environment that names the service in that folder.
fn control(mut command: Command, folder: &Path) -> Command {
    command.env("CUDA_MPS_PIPE_DIRECTORY", folder).env("CUDA_MPS_LOG_DIRECTORY", folder);
    command
}
