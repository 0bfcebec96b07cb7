//! One run of the robot under a policy, and what its recording says.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use rospin::errors::{InitError, SpinError};
use rospin::prelude::*;
use rospin::recording::{RecordError, Recorder};
use rospin::{Middlewares, RosArguments};
use rospin_report::progress::Progress;
use rospin_scenario::{Deployment, Scenario};
use rospin_trace::chains::chains;
use rospin_trace::figures::percentile;
use rospin_trace::{FileSink, Model, ProcessName, ReadError, Recording};
use serde::Serialize;

use super::robot;

/// The time between two steps of the progress bar.
const STEP: Duration = Duration::from_millis(100);

/// Reasons for which a run gave no figures.
#[derive(Debug, thiserror::Error)]
pub(super) enum DriveError {
    #[error("the robot cannot be started: {0}")]
    Init(#[from] InitError),
    #[error("the robot cannot be started: {0}")]
    Nodes(rospin::Error),
    #[error("the robot does not run: {0}")]
    Spin(#[from] SpinError),
    #[error("interrupted")]
    Interrupted,
    #[error("the robot cannot be recorded: {0}")]
    Record(#[from] RecordError),
    #[error("the recording {}: {reason}", path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Latencies of a callback, or of a chain, in nanoseconds from its release to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Latencies {
    pub(super) runs: usize,
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) max_ns: u64,
}

impl Latencies {
    fn of(mut all_ns: Vec<u64>) -> Option<Self> {
        all_ns.sort_unstable();
        let of = |percent| percentile(&all_ns, percent);
        Some(Self { runs: all_ns.len(), p50_ns: of(50)?, p99_ns: of(99)?, max_ns: *all_ns.last()? })
    }
}

/// Figures of a run, and what its recording says of them.
pub(super) struct Driven {
    /// By name. What never ran is missing.
    pub(super) callbacks: BTreeMap<String, Latencies>,
    /// By name.
    pub(super) chains: BTreeMap<String, Latencies>,
    /// Due times that each timer skipped because it was too late for them.
    pub(super) skipped: BTreeMap<String, u64>,
    /// Time for which the kernel did not run the thread amid a callback, in nanoseconds.
    pub(super) stalled_ns: u64,
    /// Settings that the executor's thread could not have, a sentence each.
    pub(super) shortfalls: Vec<String>,
    /// For the monitor.
    pub(super) recordings: Vec<Recording>,
}

/// Runs the robot for that time under the policy in `system`, and records it.
///
/// # Errors
/// If the robot or the recorder cannot be started, or somebody ends the run with a signal.
pub(super) fn drive(system: &Scenario, length: Duration, progress: &Progress) -> Result<Driven, DriveError> {
    let path = std::env::temp_dir().join(format!("rospin-demo-{}.mcap", std::process::id()));
    let process = ProcessName::of_this(Recorder::steady_ns());
    let file = |reason| DriveError::File { path: path.clone(), reason };
    let recorder = Recorder::of_process();
    recorder.set_cpu_times(true);
    let sink = recorder.start(FileSink::create(&path, &process).map_err(file)?)?;
    let run = run(system, length, progress);
    sink.stop();
    let read = Recording::open(&path);
    // A file of a temporary folder that stays behind is no reason to fail.
    let _ = fs::remove_file(&path);
    let shortfalls = run?;
    Ok(summary(system, read?, shortfalls))
}

/// Runs the robot, and returns the settings that its thread could not have.
fn run(system: &Scenario, length: Duration, progress: &Progress) -> Result<Vec<String>, DriveError> {
    let options = ContextOptions::new().deployment(Deployment::describe(system));
    let ros = rospin::init_with(options, Middlewares::InProcess, RosArguments::default())?;
    let nodes = robot::start(&ros, system).map_err(DriveError::Nodes)?;
    let begin = Instant::now();
    let ended = thread::scope(|scope| {
        let spin = scope.spawn(|| ros.executor().spin(SpinOptions::new().timeout(length)));
        while !spin.is_finished() {
            progress.at(begin.elapsed().as_secs_f64() / length.as_secs_f64());
            thread::sleep(STEP);
        }
        spin.join()
    });
    let reports = ros.executor().handle().thread_reports();
    drop(nodes);
    match ended {
        Ok(Err(SpinError::Timeout)) => {}
        Ok(Err(error)) => return Err(error.into()),
        Ok(Ok(_)) => return Err(DriveError::Interrupted),
        Err(panic) => std::panic::resume_unwind(panic),
    }
    Ok(reports.iter().flat_map(|report| &report.shortfalls).map(ToString::to_string).collect())
}

fn summary(system: &Scenario, recordings: Vec<Recording>, shortfalls: Vec<String>) -> Driven {
    let model = Model::new(&recordings);
    let mut driven = Driven {
        callbacks: BTreeMap::new(),
        chains: BTreeMap::new(),
        skipped: BTreeMap::new(),
        stalled_ns: model.activations.iter().filter_map(|activation| activation.stalled_ns()).sum(),
        shortfalls,
        recordings,
    };
    for callback in &model.callbacks {
        // Nodes have callbacks of their own, too.
        if !system.callbacks.iter().any(|known| known.name == callback.name) {
            continue;
        }
        let activations = callback.activations.iter().map(|place| &model.activations[*place]);
        let all = activations.filter_map(|activation| activation.response_ns()).collect();
        driven.callbacks.extend(Latencies::of(all).map(|latencies| (callback.name.clone(), latencies)));
        if callback.overruns > 0 {
            driven.skipped.insert(callback.name.clone(), callback.overruns);
        }
    }
    for chain in chains(&model) {
        let names: Vec<&String> = chain.callbacks.iter().map(|callback| &model.callbacks[*callback].name).collect();
        if let Some(known) = system.chains.iter().find(|known| known.callbacks.iter().eq(names.iter().copied())) {
            let latencies = Latencies::of(chain.latencies_ns(&model).collect());
            driven.chains.extend(latencies.map(|latencies| (known.name.clone(), latencies)));
        }
    }
    driven
}
