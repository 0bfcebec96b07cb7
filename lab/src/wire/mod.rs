//! `rospin lab wire`: throughput and latency over each middleware, in one process, between two processes and between
//! two hosts.
//!
//! `cell` defines the settings that are measured. `end` is one end of a wire, and `bare` an end without an executor.
//! `measure` drives the ends in a process, with `message` and `usage`, and `flood` those that publish as fast as they
//! can. `runner` starts the processes: on this machine, on two `hosts`, or beside a `peer` of the user's. `comparison`
//! has the results, and `table`, `verdict`, `plots`, `json` and `report` show them.

#[cfg(any(feature = "dds", feature = "zenoh"))]
mod bare;
mod cell;
mod comparison;
mod end;
mod flood;
mod hosts;
mod json;
mod measure;
mod message;
mod options;
mod peer;
mod plots;
mod report;
mod runner;
mod table;
#[cfg(test)]
mod testing;
mod usage;
mod verdict;

use std::io::{self, Write};

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_measure::process;
use rospin_report::Failure;
use rospin_report::output_options;

use crate::children;
use crate::experiment::Experiment;
use crate::middleware::Middleware;

use self::comparison::Comparison;
use self::measure::Order;
use self::options::{DEFAULT_REPORT, Options};

/// The experiment `wire`.
pub(crate) struct Wire;

impl Experiment for Wire {
    fn name(&self) -> &'static str {
        options::NAME
    }

    fn about(&self) -> &'static str {
        "Messages over each middleware, between processes and hosts: how many, how late, at which cost"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            return obey_order(out);
        }
        compare(&options, out)
    }
}

/// Carries out the order on stdin: runs one end in this process.
fn obey_order(out: &mut dyn Write) -> Result<(), Failure> {
    let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
    // This applies to all contenders, or to none if it is not allowed.
    process::put_before_others();
    let answer = measure::run(&order).map_err(Failure::Run)?;
    Ok(children::write_answer(out, &answer)?)
}

/// Measures all cells, prints the results and writes the files.
fn compare(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let cells = options.cells().map_err(Failure::input)?;
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let measured = runner::run(options, &cells).map_err(Failure::run)?;
    let mut remarks = measured.remarks;
    let missing = Middleware::ALL.into_iter().filter(|middleware| !middleware.is_built());
    remarks.extend(missing.map(Middleware::missing));
    let (machine, rounds, duration) = (Machine::read(), options.rounds, options.seconds);
    let comparison = Comparison { machine, rounds, duration, peer: options.peer.clone(), rows: measured.rows, remarks };
    writeln!(out, "{}", table::render(&comparison))?;
    for said in verdict::sentences(&comparison) {
        writeln!(out, "{said}")?;
    }
    for remark in &comparison.remarks {
        writeln!(out, "Remark: {remark}.")?;
    }
    writeln!(out)?;
    files.write(out, || json::render(&comparison), || report::render(&comparison))
}
