//! `rospin lab throughput`: the cost of an executor, for a dozen designs, of which some are rospin's.
//!
//! `workload` defines the cells, `system` is what each contender runs, and `contenders` has the designs, a file each.
//! `publisher` and `measure` take one measurement, in a process of its own, and `rounds` takes all of them. `figures`
//! summarises, and `table`, `verdict`, `json` and `report` show the results.

mod comparison;
mod contenders;
mod cores;
mod figures;
mod json;
mod measure;
mod options;
mod plots;
mod publisher;
mod report;
mod rounds;
mod system;
mod table;
#[cfg(test)]
mod testing;
mod verdict;
mod workload;

use std::io::{self, Write};

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_measure::process;
use rospin_report::Failure;
use rospin_report::output_options;
use rospin_report::text_table::{Side, render};

use crate::children;
use crate::experiment::Experiment;

use self::comparison::Throughput;
use self::measure::Order;
use self::options::{DEFAULT_REPORT, Options};
use self::rounds::ChildProcess;

/// The experiment `throughput`.
pub(crate) struct ThroughputExperiment;

impl Experiment for ThroughputExperiment {
    fn name(&self) -> &'static str {
        "throughput"
    }

    fn about(&self) -> &'static str {
        "What an executor costs: messages a second, CPU and latency of a dozen designs on the same rings"
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

/// Carries out the order on stdin: takes one measurement in this process.
fn obey_order(out: &mut dyn Write) -> Result<(), Failure> {
    let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
    // This applies to all contenders, or to none if it is not allowed.
    process::put_before_others();
    let sample = measure::run(&order).map_err(Failure::Run)?;
    Ok(children::write_answer(out, &sample)?)
}

/// Takes all measurements, prints the results and writes the files.
fn compare(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let runner = ChildProcess::new().map_err(Failure::run)?;
    let figures = rounds::run(options, &runner).map_err(Failure::run)?;
    let mut remarks = Vec::new();
    if !runner.counts() {
        remarks.push("allocations were not counted: the program rospin-counting is not beside this one".to_owned());
    }
    let (machine, busy_poll) = (Machine::read(), options.busy_poll);
    if !busy_poll.is_zero() {
        remarks.push(format!(
            "the threads of rospin's executors looked for something to do for {busy_poll:?} before they slept"
        ));
    }
    remarks.push(
        if options.displace {
            "the publisher displaced the oldest message while a queue was full"
        } else {
            "the publisher waited while a queue was full"
        }
        .to_owned(),
    );
    let throughput =
        Throughput { machine, rounds: options.rounds, window: options.seconds, busy_poll, figures, remarks };
    print(&throughput, out)?;
    files.write(out, || json::render(&throughput), || report::render(&throughput))
}

fn print(throughput: &Throughput, out: &mut dyn Write) -> io::Result<()> {
    let figures = &throughput.figures;
    for table in table::tables(figures) {
        writeln!(out, "{}", table.text())?;
    }
    for cell in figures.cells() {
        if let Some(winner) = verdict::winner(figures, &cell) {
            writeln!(out, "{winner}")?;
        }
    }
    let aims: Vec<_> = verdict::aims(figures).iter().map(verdict::Aim::cells).collect();
    if !aims.is_empty() {
        let header =
            verdict::AIM_HEADER.map(|title| (title, if title == "measured" { Side::Right } else { Side::Left }));
        writeln!(out, "\n{}", render(&header, &aims))?;
    }
    for remark in &throughput.remarks {
        writeln!(out, "Remark: {remark}.")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_printed_and_the_winners_are_named() {
        let mut out = Vec::new();
        print(&testing::throughput(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("saturation, 64 KiB, 100 subscriptions\n"), "{text}");
        assert!(
            text.contains("tokio-mailbox wins") && text.contains("callbacks of 1 us, messages/s to one thread's"),
            "{text}"
        );
    }
}
