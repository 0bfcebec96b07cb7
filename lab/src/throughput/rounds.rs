//! All measurements of a run: contenders in turns, round after round.

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::children::{self, ChildError};
use crate::crunch::Calibration;

use super::contenders::Contender;
use super::figures::{Figures, Row};
use super::measure::{Order, Sample};
use super::options::Options;
use super::workload::{Cell, Workload};

/// Time for which a contender runs before it is measured.
const WARM_UP: Duration = Duration::from_millis(30);
/// Name of the program whose allocator counts. It is expected in the folder of this program.
const COUNTING: &str = "rospin-counting";
/// Length of the window in which allocations are counted. A shorter window of the workload counts in its place.
const COUNTED: Duration = Duration::from_millis(20);

/// Interface behind which the measurements of a run are taken, one at a time.
pub(crate) trait Runner {
    /// Takes the measurement that `order` describes.
    fn run(&self, order: &Order) -> Result<Sample, MeasureError>;

    /// Takes one measurement in the program that counts allocations; `None` if there is no such program.
    fn run_counting(&self, order: &Order) -> Result<Option<Sample>, MeasureError>;
}

/// Error of a measurement that failed. It names the contender, the cell and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{contender} ({cell}): {reason}")]
pub(crate) struct MeasureError {
    contender: &'static str,
    cell: String,
    reason: ChildError,
}

/// Runner that has a child process take each measurement.
pub(crate) struct ChildProcess {
    /// Path of this program.
    program: PathBuf,
    /// Path of the program that counts allocations; `None` if there is none.
    counting: Option<PathBuf>,
}

impl ChildProcess {
    /// Creates the runner. It counts allocations if the program for that, [`COUNTING`], is in the folder of this
    /// program.
    ///
    /// # Errors
    /// If the path of this program cannot be found out.
    pub(crate) fn new() -> std::io::Result<Self> {
        let program = env::current_exe()?;
        let counting = Some(program.with_file_name(COUNTING)).filter(|counting| counting.exists());
        Ok(Self { program, counting })
    }

    /// Returns true if allocations are counted.
    pub(crate) const fn counts(&self) -> bool {
        self.counting.is_some()
    }

    /// Has a child process of `program` take a measurement.
    fn ask(program: &Path, order: &Order) -> Result<Sample, MeasureError> {
        let duration = order.warm_up + order.window;
        let error = |reason| MeasureError { contender: order.contender.name(), cell: order.cell.name(), reason };
        let asked = std::slice::from_ref(order);
        let answers = children::run_program(program, "throughput", asked, duration, &|_| ()).map_err(error)?;
        answers.into_iter().next().ok_or_else(|| error(io::Error::from(io::ErrorKind::UnexpectedEof).into()))
    }
}

impl Runner for ChildProcess {
    fn run(&self, order: &Order) -> Result<Sample, MeasureError> {
        Self::ask(&self.program, order)
    }

    fn run_counting(&self, order: &Order) -> Result<Option<Sample>, MeasureError> {
        self.counting.as_deref().map(|program| Self::ask(program, order)).transpose()
    }
}

/// Runs all measurements that the options ask for.
pub(crate) fn run(options: &Options, runner: &dyn Runner) -> Result<Figures, MeasureError> {
    let calibration = Calibration::measure();
    let cells: Vec<Cell> = options.workloads().into_iter().flat_map(Workload::cells).collect();
    let contenders = options.contenders();
    let progress = options.outputs.progress(options.workloads().len(), Duration::ZERO);
    let mut rows = Vec::new();
    let mut begun = None;
    for cell in &cells {
        let siblings: Vec<_> = cells.iter().filter(|other| other.workload == cell.workload).collect();
        let done = siblings.iter().position(|other| *other == cell).unwrap_or(0) as f64;
        if begun.replace(cell.workload) != Some(cell.workload) {
            progress.begin(cell.workload.name());
        }
        let at = |share: f64| progress.at((done + share) / siblings.len() as f64);
        rows.extend(run_cell(options, &contenders, *cell, calibration, runner, &at)?);
        if done as usize + 1 == siblings.len() {
            progress.end();
        }
    }
    Ok(Figures { rows })
}

/// Takes all measurements of a cell, and returns a row for each contender that has enough threads for it.
fn run_cell(
    options: &Options,
    contenders: &[Contender],
    cell: Cell,
    calibration: Calibration,
    runner: &dyn Runner,
    progress: &dyn Fn(f64),
) -> Result<Vec<Row>, MeasureError> {
    let window = options.seconds * cell.workload.window_factor();
    let (warm_up, busy_poll, wait_for_room) = (WARM_UP, options.busy_poll, !options.displace);
    let order = |contender, window| Order { contender, cell, warm_up, window, calibration, busy_poll, wait_for_room };
    let able: Vec<_> = contenders.iter().copied().filter(|contender| contender.threads(&cell).is_some()).collect();
    let mut samples: Vec<Vec<Sample>> = able.iter().map(|_| Vec::new()).collect();
    for round in 0..options.rounds as usize {
        for number in 0..able.len() {
            // Each round begins with another contender, so that none always runs after the same one.
            let number = (number + round) % able.len();
            samples[number].push(runner.run(&order(able[number], window))?);
        }
        progress((round + 1) as f64 / f64::from(options.rounds + 1));
    }
    let mut rows = Vec::new();
    for (contender, samples) in able.into_iter().zip(samples) {
        let counted = runner.run_counting(&order(contender, COUNTED.min(window)))?;
        rows.extend(Row::of(contender, cell, &samples, counted.as_ref()));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use rospin_report::output_options::FromArguments;

    /// Runner that answers at once, and notes the contenders it was asked for.
    struct Fake(RefCell<Vec<Contender>>);

    impl Runner for Fake {
        fn run(&self, order: &Order) -> Result<Sample, MeasureError> {
            self.0.borrow_mut().push(order.contender);
            Ok(Sample { seconds: 1.0, runs: 10, ..Sample::default() })
        }

        fn run_counting(&self, _: &Order) -> Result<Option<Sample>, MeasureError> {
            Ok(Some(Sample { seconds: 1.0, runs: 10, allocations: Some(20), ..Sample::default() }))
        }
    }

    #[test]
    fn contenders_take_turns() {
        let arguments =
            ["--quiet", "--rounds=3", "--workloads=fixed-rate", "--contenders=limit,events-queue,rospin-edf"];
        let options = Options::from_arguments(&arguments).unwrap();
        let fake = Fake(RefCell::default());
        let figures = run(&options, &fake).unwrap();
        let [a, b, c] = [Contender::Limit, Contender::EventsQueue, Contender::RospinEdf];
        assert_eq!(fake.0.into_inner(), [a, b, c, b, c, a, c, a, b]);
        assert_eq!(figures.rows.iter().map(|row| row.contender).collect::<Vec<_>>(), [a, b, c]);
        assert!(figures.rows.iter().all(|row| row.rounds == 3 && row.allocations_per_message == Some(2.0)));
    }
}
