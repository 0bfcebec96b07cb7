//! `rospin demo`: a small robot of nodes under load, its proven bounds beside its latencies, and the same load first
//! in, first out.

mod drive;
mod robot;
mod rows;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_analysis::Analysis;
use rospin_report::Failure;
use rospin_report::number;
use rospin_report::outputs::{Files, WithoutReader};
use rospin_report::progress::Progress;
use rospin_scenario::{Bounds, Scenario};
use rospin_trace::monitor::Monitor;

use crate::analyze::with_limits;

use self::drive::{Driven, drive};
use self::rows::Row;

pub(crate) const NAME: &str = "demo";

/// The robot as a system file: what the analysis reads, and where the nodes have their times from.
const SYSTEM: &str = include_str!("system.toml");
/// The name of the policy that rospin is compared with.
const FIFO: &str = "fifo";

/// Runs a small robot of nodes under load, and shows its proven bounds beside the latencies that it has here
///
/// One thread runs all callbacks: those of an IMU, a controller and the wheels every 10 ms, those of a camera, three
/// detectors and a planner every 60 ms, and a mapper. First under rospin, with priorities from the chains, then first
/// in, first out.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  rospin demo
  rospin demo --seconds 30 --json demo.json
  sudo target/release/rospin demo                   with the right to real-time priorities")]
pub(crate) struct Options {
    /// Length of each of the two runs
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = |text: &str| number::parse_seconds(text, 0.5, 3600.0))]
    seconds: Duration,

    /// Writes all figures, with units, machine and settings, to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Shows no progress
    #[arg(long, short)]
    quiet: bool,
}

/// The two runs, and what is known of them.
struct Demo {
    seconds: f64,
    rows: Vec<Row>,
    rospin: Driven,
    fifo: Driven,
    /// The worst violation of a bound by each callback and chain that violated one, in words.
    violations: BTreeMap<String, String>,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let files = Files::check(options.json.as_deref(), None, None).map_err(Failure::input)?;
    let system = Scenario::parse(SYSTEM).map_err(Failure::run)?;
    let report = Analysis::new(&system).run().map_err(Failure::run)?;
    let bounds = with_limits(Bounds::new(&system), &report);
    let mut compared = system.clone();
    for executor in &mut compared.executors {
        FIFO.clone_into(&mut executor.policy);
    }
    let progress = Progress::new(2, options.seconds, options.quiet);
    progress.begin("rospin");
    let rospin = drive(&system, options.seconds, &progress).map_err(Failure::run)?;
    progress.end();
    progress.begin("first in, first out");
    let fifo = drive(&compared, options.seconds, &progress).map_err(Failure::run)?;
    progress.end();
    let monitor = Monitor::new(&system, Some(&bounds));
    monitor.judge_recordings(&rospin.recordings);
    let demo = Demo {
        seconds: options.seconds.as_secs_f64(),
        rows: rows::rows(&system, &bounds, &rospin, &fifo),
        violations: rows::violations(&monitor),
        rospin,
        fifo,
    };
    let out = &mut WithoutReader::new(out);
    write!(out, "{}", rows::text(&demo))?;
    files.write(out, || rows::json(&demo), || Ok::<_, serde_json::Error>(String::new()))
}
