//! `rospin lab soak`: robots and a station in processes of their own, while things break.
//!
//! `schedule` has the faults, by seed or from a file. `network` has the hosts and the paths between them, `fleet` the
//! processes on them, which `process` starts and `part` are. All speak the `words`. `lead` follows the schedule;
//! `ledger`, `agreement`, `accounts`, `log_lines`, `stalls` and `resources`
//! judge. `outcome` has the results, and `table`,
//! `verdict`, `json` and `report` show them.

mod accounts;
mod agreement;
mod fleet;
mod json;
mod lead;
mod ledger;
mod log_lines;
mod network;
mod options;
mod outcome;
mod part;
mod process;
mod report;
mod resources;
mod rng;
mod schedule;
mod stalls;
mod table;
mod verdict;
mod words;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_report::{Failure, output_options};

use crate::experiment::Experiment;

use self::options::{DEFAULT_REPORT, Options};
use self::part::{REJECTED, TOO_FAST};

/// The experiment `soak`.
pub(crate) struct Soak;

/// Something was not as it must be.
#[derive(Debug, thiserror::Error)]
#[error("{0} times something was not right; the schedule that shows it is {1}")]
struct Found(usize, String);

impl Experiment for Soak {
    fn name(&self) -> &'static str {
        options::NAME
    }

    fn about(&self) -> &'static str {
        "Robots and a station for minutes or hours while things break: nothing lost uncounted, nothing done twice"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            return part::run().map_err(Failure::Run);
        }
        soak(&options, out)
    }
}

/// Runs the schedule, prints the results and writes the files.
fn soak(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let middleware = options.middleware().map_err(Failure::input)?;
    let schedule = options.schedule(middleware).map_err(Failure::input)?;
    let text = schedule.to_text().map_err(Failure::run)?;
    if let Some(path) = &options.write_schedule {
        return fs::write(path, text).map_err(Failure::input);
    }
    if !rustix::process::geteuid().is_root() {
        writeln!(out, "SKIPPED: network namespaces need root; run it with sudo")?;
        return Ok(());
    }
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let log = options.log.as_ref().map(File::create).transpose().map_err(Failure::input)?;
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_over)).map_err(Failure::run)?;
    }
    let is_quiet = options.outputs.quiet;
    let tell = |line: &str| {
        if !is_quiet {
            // Whether somebody reads it or not.
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        }
    };
    let outcome = match lead::run(&schedule, middleware, log, &is_over, &tell) {
        Ok(outcome) => outcome,
        Err(reason) => return Err(Failure::Run(reason.into())),
    };
    let report = options.outputs.report.as_deref().unwrap_or(Path::new(DEFAULT_REPORT));
    let path = report.with_extension("toml");
    let file = path.display().to_string();
    write!(out, "{}", table::render(&outcome))?;
    for said in verdict::sentences(&outcome, &file) {
        writeln!(out, "{said}")?;
    }
    for remark in &outcome.remarks {
        writeln!(out, "Remark: {remark}.")?;
    }
    let machine = Machine::read();
    files.write(out, || json::render(&outcome, &machine, &file), || report::render(&outcome, &machine, &file))?;
    if outcome.wrong.is_empty() {
        return Ok(());
    }
    fs::write(&path, text).map_err(Failure::run)?;
    Err(Failure::run(Found(outcome.wrong.len(), file)))
}
