//! `rospin lab robot`: an IMU at 200 Hz and its controller in two processes, beside a detector that keeps a core busy.
//!
//! `parts` are the processes. A deployment file makes the urgent executors real-time, and has no line for the
//! middleware's threads. Each row is measured twice: with these threads raised above the executors, which a deployment
//! does by itself, and with ordinary ones. `report` shows the result.

mod parts;
mod report;

use std::io::{self, Write};
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_measure::stats::percentile;
use rospin_report::output_options::{self, OutputOptions};
use rospin_report::{Failure, choice, number};
use serde::Serialize;

use crate::children::{self, ChildError};
use crate::crunch::Calibration;
use crate::experiment::Experiment;
use crate::middleware::{Middleware, Process};

use self::parts::{Answer, Order, Part};

const NAME: &str = "robot";
const DEFAULT_REPORT: &str = "rospin-robot.html";
/// Time that a measurement may take besides its seconds: the processes start and find each other.
const OVERHEAD: Duration = Duration::from_secs(3);

/// The experiment `robot`.
pub(crate) struct Robot;

/// Measures how long an IMU's messages take to their controller in another process, while a detector keeps a core busy.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The executors are real-time by a deployment file without any [[thread]] line. `raised` is what that does by itself: the middleware's
threads run above the executors; `ordinary` leaves them as they are. It needs root or CAP_SYS_NICE, else what is missing is said.

Examples:
  rospin lab robot
  rospin lab robot --middlewares dds --seconds 60 --json robot.json")]
struct Options {
    /// Middlewares between the processes, separated by commas; dds and zenoh, as far as they were built, unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    middlewares: Vec<Middleware>,

    /// Seconds of each measurement
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    seconds: Duration,

    #[command(flatten)]
    outputs: OutputOptions,

    /// For this program's own use: runs one process as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    order_on_stdin: bool,
}

/// Reasons for which nothing can be measured.
#[derive(Debug, thiserror::Error)]
enum Conflict {
    #[error("--middlewares {name}: {reason}", name = .0.name(), reason = .0.missing())]
    NotBuilt(Middleware),
    #[error("--middlewares in-process: the robot has two processes; choose dds or zenoh")]
    InProcess,
    #[error("{0}, or with zenoh in its place")]
    Nothing(String),
}

/// Figures of one measurement.
#[derive(Clone, Debug, Serialize)]
struct Row {
    middleware: Middleware,
    /// True if the middleware's threads were raised above the executors; false if they were ordinary ones.
    raised: bool,
    /// Number of messages that the IMU published.
    sent: u64,
    /// Number of messages that ran the controller's callback.
    received: u64,
    /// Percentiles of the latencies in microseconds; infinite if no message arrived.
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    /// Settings that threads of both processes should have and lack, with the fixes.
    shortfalls: Vec<String>,
}

/// All results of a run.
struct Comparison {
    machine: Machine,
    duration: Duration,
    rows: Vec<Row>,
}

impl Experiment for Robot {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "An IMU and its controller in two processes beside a busy detector, with and without an urgent middleware"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
            let answer = parts::run(&order).map_err(Failure::Run)?;
            return Ok(children::write_answer(out, &answer)?);
        }
        let middlewares = options.middlewares().map_err(Failure::input)?;
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let rows = run_all(&options, &middlewares).map_err(Failure::run)?;
        let comparison = Comparison { machine: Machine::read(), duration: options.seconds, rows };
        write!(out, "{}", report::table(&comparison))?;
        writeln!(out, "{}\n", report::sentence(&comparison))?;
        files.write(out, || report::json(&comparison), || report::html(&comparison))
    }
}

impl Options {
    /// Returns the middlewares to measure; all that were built if none is named.
    fn middlewares(&self) -> Result<Vec<Middleware>, Conflict> {
        if self.middlewares.contains(&Middleware::InProcess) {
            return Err(Conflict::InProcess);
        }
        if let Some(middleware) = self.middlewares.iter().find(|middleware| !middleware.is_built()) {
            return Err(Conflict::NotBuilt(*middleware));
        }
        let all = choice::in_own_order(&self.middlewares, &[Middleware::Dds, Middleware::Zenoh]);
        let built: Vec<_> = all.into_iter().filter(|middleware| middleware.is_built()).collect();
        if built.is_empty() { Err(Conflict::Nothing(Middleware::Dds.missing())) } else { Ok(built) }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.1, 3600.0)
}

/// Measures each middleware with raised threads, and then with ordinary ones.
fn run_all(options: &Options, middlewares: &[Middleware]) -> Result<Vec<Row>, ChildError> {
    let (duration, calibration) = (options.seconds, Calibration::measure());
    let progress = options.outputs.progress(middlewares.len() * 2, duration);
    let mut rows = Vec::new();
    for middleware in middlewares {
        for raised in [true, false] {
            progress.begin(&format!("{}, {}", middleware.name(), report::threads(raised)));
            // A domain of its own keeps the run apart from a run beside it.
            let domain_id = (110 + std::process::id() % 100) as u16;
            let order = |part, number| Order {
                part,
                middleware: *middleware,
                process: Process { domain_id, number, hosts: None },
                duration,
                calibration,
                raised,
            };
            let orders = [order(Part::Controller, 0), order(Part::Imu, 1)];
            let answers = children::run(NAME, &orders, duration + OVERHEAD, &|share| progress.at(share))?;
            rows.push(row(*middleware, raised, answers));
            progress.end();
        }
    }
    Ok(rows)
}

/// Combines the answers of both processes.
fn row(middleware: Middleware, raised: bool, answers: Vec<Answer>) -> Row {
    let sent = answers.iter().map(|answer| answer.sent).sum();
    let mut latencies = Vec::new();
    let mut shortfalls: Vec<String> = Vec::new();
    for answer in answers {
        latencies.extend(answer.latencies_us);
        shortfalls.extend(answer.shortfalls);
    }
    shortfalls.dedup();
    let at = |percent| percentile(&latencies, percent).unwrap_or(f64::INFINITY);
    let (p50_us, p99_us, max_us) = (at(50.0), at(99.0), at(100.0));
    Row { middleware, raised, sent, received: latencies.len() as u64, p50_us, p99_us, max_us, shortfalls }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn what_makes_no_sense_is_refused_with_the_fix() {
        let refused = |arguments: &[&str]| Options::from_arguments(arguments).unwrap().middlewares().unwrap_err();
        assert!(refused(&["--middlewares", "in-process"]).to_string().contains("choose dds or zenoh"));
        if !Middleware::Dds.is_built() {
            assert!(refused(&["--middlewares", "dds"]).to_string().contains("--features dds"));
            assert!(refused(&[]).to_string().contains("--features dds"));
        }
    }

    #[test]
    fn the_answers_of_both_processes_make_a_row() {
        let imu = Answer { sent: 3, ..Answer::default() };
        let controller = Answer { latencies_us: vec![30.0, 10.0], ..Answer::default() };
        let row = row(Middleware::Dds, true, vec![controller, imu]);
        assert_eq!((row.sent, row.received, row.p50_us, row.max_us), (3, 2, 10.0, 30.0));
    }
}
