//! `rospin lab tracker`: the multi-robot tracker of Dust et al. (2023), Table VI, on the engine and in the simulator.
//!
//! `setup` describes the tracker as a scenario, and `measure` runs one cell. `grid`, `json` and `report` show the
//! results.

mod comparison;
mod grid;
mod json;
mod measure;
mod options;
mod report;
mod setup;
#[cfg(test)]
mod testing;

use std::io::Write;
use std::time::Duration;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_report::Failure;
use rospin_report::output_options;

use crate::experiment::Experiment;

use self::comparison::Tracker;
use self::measure::{MeasureError, Order, Row};
use self::options::{DEFAULT_REPORT, Options};
use self::setup::{CONTENDERS, Cell, Contender, PerTopic};

/// The experiment `tracker`.
pub(crate) struct TrackerExperiment;

impl Experiment for TrackerExperiment {
    fn name(&self) -> &'static str {
        "tracker"
    }

    fn about(&self) -> &'static str {
        "A multi-robot tracker: how much its timer waits for robots and topics, real and simulated"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let rows = run_all(&options).map_err(Failure::run)?;
        let tracker = Tracker {
            machine: Machine::read(),
            robots: options.robot_counts(),
            rows,
            message_us: options.message_us,
            list_pair_ns: options.list_pair_ns,
            iterations: options.duration_iterations,
        };
        grid::distrust(&tracker, &options.outputs.distrust);
        writeln!(out, "{}\n{}\n", grid::render(&tracker), grid::sentence(&tracker))?;
        for (term, text) in report::settings(&tracker).iter().take(2) {
            writeln!(out, "{term}: {text}.")?;
        }
        files.write(out, || json::render(&tracker), || report::render(&tracker))
    }
}

/// Returns an order for each cell under a contender.
fn orders(options: &Options, contender: Contender) -> Vec<Order> {
    let mut orders = Vec::new();
    for robots in options.robot_counts() {
        orders.extend(PerTopic::ROWS.map(|per_topic| {
            let (cell, times) = (Cell { robots, per_topic }, options.times(robots));
            Order { contender, cell, times, iterations: options.duration_iterations }
        }));
    }
    orders
}

/// Runs all cells under all contenders.
fn run_all(options: &Options) -> Result<Vec<Row>, MeasureError> {
    let length = |contender| orders(options, contender).iter().map(Order::duration).sum::<Duration>();
    let longest = CONTENDERS.into_iter().map(length).max().unwrap_or_default();
    let shown = if options.virtual_only { Duration::ZERO } else { Duration::from_secs(longest.as_secs().max(1)) };
    let progress = options.outputs.progress(CONTENDERS.len(), shown);
    let mut rows = Vec::new();
    for contender in CONTENDERS {
        progress.begin(contender.policy);
        let orders = orders(options, contender);
        let count = orders.len() as f64;
        for (number, order) in orders.into_iter().enumerate() {
            let at = |share: f64| progress.at((number as f64 + share) / count);
            rows.extend(run_cell(options, order, &at)?);
        }
        progress.end();
    }
    Ok(rows)
}

/// Runs a cell in real time, then in virtual time with the execution times that were measured. The options may leave
/// out one of the two.
fn run_cell(options: &Options, mut order: Order, progress: &dyn Fn(f64)) -> Result<Vec<Row>, MeasureError> {
    let mut rows = Vec::new();
    if !options.virtual_only {
        let row = order.measure(progress)?;
        order.times = row.times;
        rows.push(row);
    }
    if !options.real_only {
        rows.push(order.simulate()?);
    }
    progress(1.0);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_gives_every_cell_in_both_modes() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-tracker", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let command = TrackerExperiment.command().no_binary_name(true);
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let short = ["--quiet", "--robots=10", "--duration-iterations=20"];
        let matches = command.try_get_matches_from([&short[..], &files].concat()).unwrap();
        let mut out = Vec::new();
        TrackerExperiment.run(&matches, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().last().unwrap(), format!("Report:  {}", report.display()));
        let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
        let rows = document["rows"].as_array().unwrap();
        assert_eq!(rows.len(), CONTENDERS.len() * PerTopic::ROWS.len() * 2);
        // Every simulated cell has periods. Their number and length in real time depend on the machine.
        let mut simulated = rows.iter().filter(|row| row["mode"] == "virtual");
        assert!(simulated.all(|row| row["periods"].as_u64().unwrap() >= 2), "{text}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
