//! `rospin lab lane-keeping`: a car that keeps its lane, in three processes.
//!
//! Pure code, without threads and messages: `road`, `car`, `spline` and `vehicle` are what is simulated, `planner` and
//! `keeper` what drives. `vehicle_node`, `keeper_node` and `visualiser_node` put it on executors, `process` runs and
//! records them as an `order` says, with the threads of `deployment`. `measured` and `bounds` are made of the
//! recordings.

mod bounds;
mod car;
mod comparison;
mod deployment;
mod json;
mod keeper;
mod keeper_node;
mod measured;
mod messages;
mod options;
mod order;
mod planner;
mod plots;
mod process;
mod report;
mod road;
mod spline;
mod table;
#[cfg(test)]
mod testing;
mod vehicle;
mod vehicle_node;
mod verdict;
mod visualiser_node;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, thread};

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_engine::Recorder;
use rospin_measure::machine::Machine;
use rospin_report::{Failure, output_options};
use rospin_trace::{Model, Recording};

use crate::children::{self, ChildError};
use crate::experiment::Experiment;
use crate::middleware::{Middleware, Process};

use self::comparison::Comparison;
use self::measured::Row;
use self::options::{DEFAULT_REPORT, NAME, Options};
use self::order::{Answer, Drive, Order, Part};

/// Time that the processes get to start and to find each other.
const LEAD: Duration = Duration::from_millis(2500);

/// The experiment `lane-keeping`.
pub(crate) struct LaneKeeping;

/// Reasons for which a drive gave no result.
#[derive(Debug, thiserror::Error)]
enum DriveError {
    #[error("{drive}: {reason}")]
    Child { drive: String, reason: ChildError },
    #[error("the recordings cannot be written to {}: {reason}", folder.display())]
    Folder { folder: PathBuf, reason: io::Error },
    #[error(transparent)]
    Recording(#[from] rospin_trace::ReadError),
    #[error("a promise is not kept: {0}")]
    NotKept(String),
}

impl Experiment for LaneKeeping {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        crate::experiments::LANE_KEEPING
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
            let answer = process::run(&order).map_err(Failure::Run)?;
            return Ok(children::write_answer(out, &answer)?);
        }
        let drives = options.drives().map_err(Failure::input)?;
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let rows = drive_all(&options, &drives).map_err(Failure::run)?;
        let comparison = Comparison { machine: Machine::read(), duration: options.duration, rows };
        write!(out, "{}", table::render(&comparison))?;
        for sentence in verdict::sentences(&comparison) {
            writeln!(out, "{sentence}")?;
        }
        writeln!(out)?;
        files.write(out, || json::render(&comparison), || report::render(&comparison))?;
        let mut broken = verdict::promises(&comparison).into_iter().filter(|promise| !promise.kept);
        match broken.next().filter(|_| options.check) {
            Some(promise) => Err(Failure::run(DriveError::NotKept(promise.text))),
            None => Ok(()),
        }
    }
}

/// Drives every drive, one after the other.
fn drive_all(options: &Options, drives: &[Drive]) -> Result<Vec<Row>, DriveError> {
    let own = std::env::temp_dir().join(format!("rospin-{NAME}-{}", std::process::id()));
    let folder = options.recordings.as_ref().unwrap_or(&own);
    let progress = options.outputs.progress(drives.len(), options.duration);
    let mut rows = Vec::new();
    let result = drives.iter().try_for_each(|drive| {
        progress.begin(&label(drive));
        rows.push(one(drive, options.duration, &folder.join(label(drive)), &|share| progress.at(share))?);
        progress.end();
        Ok(())
    });
    if options.recordings.is_none() {
        // What cannot be removed stays in the folder for temporary files.
        let _ = fs::remove_dir_all(&own);
    }
    result.map(|()| rows)
}

/// Returns the name of a drive for progress and files.
fn label(drive: &Drive) -> String {
    format!("{}-{}-{}", drive.middleware.name(), drive.executors.name(), drive.planner)
}

/// Drives once. The recordings go to `folder`.
fn one(drive: &Drive, duration: Duration, folder: &Path, progress: &dyn Fn(f64)) -> Result<Row, DriveError> {
    fs::create_dir_all(folder).map_err(|reason| DriveError::Folder { folder: folder.to_owned(), reason })?;
    let lead = if drive.middleware.discovers() { LEAD } else { LEAD / 10 };
    let start_ns = Recorder::steady_ns() + lead.as_nanos() as u64;
    // A domain of its own keeps the run apart from a run beside it.
    let domain_id = (1 + std::process::id() % 100) as u16;
    let order = |parts: Vec<Part>, number: u16, name: &str| Order {
        drive: *drive,
        parts,
        process: Process { domain_id, number, hosts: None },
        start_ns,
        duration,
        recording: folder.join(format!("{name}.mcap")),
    };
    let orders = match drive.middleware {
        Middleware::InProcess => vec![order(Part::ALL.to_vec(), 0, "all")],
        Middleware::Dds | Middleware::Zenoh => vec![
            order(vec![Part::Vehicle], 0, "vehicle"),
            order(vec![Part::Keeper], 1, "keeper"),
            order(vec![Part::Visualiser], 2, "visualiser"),
        ],
    };
    let answers: Vec<Answer> = children::run(NAME, &orders, duration + lead, progress)
        .map_err(|reason| DriveError::Child { drive: label(drive), reason })?;
    let model = Model::new(&Recording::open(folder)?);
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u16);
    Ok(Row::of(*drive, &model, start_ns, cores, answers))
}
