//! `rospin lab callback-order`: the order in which executors run callbacks, in experiments 1 to 4 of Dust et al.
//! (2023).
//!
//! `cases` defines the cases, and `runs` runs them, in virtual or in real time. `agreement` has the paper's results.

mod agreement;
mod cases;
mod comparison;
mod json;
mod options;
mod report;
mod runs;
mod tables;
mod verdict;

use std::io::Write;
use std::time::Duration;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_report::Failure;
use rospin_report::output_options::{self, OutputOptions};
use rospin_report::text_table::terminal_width;

use crate::experiment::Experiment;

use self::comparison::{Comparison, Time};
use self::options::{DEFAULT_REPORT, Options};
use self::runs::CaseResult;

/// The experiment `callback-order`.
pub(crate) struct CallbackOrder;

impl Experiment for CallbackOrder {
    fn name(&self) -> &'static str {
        "callback-order"
    }

    fn about(&self) -> &'static str {
        "In which order executors run callbacks: the published polling points, cell by cell"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT)
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        run(&Options::from_arg_matches(matches).map_err(Failure::input)?, out)
    }
}

/// Runs all cases, prints the tables and writes the files.
///
/// # Errors
/// If a file cannot be written, a case cannot be run, or a cell does not agree with the paper.
fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let time = Time::of(options);
    let comparison = Comparison::new(time, all(time, &options.outputs).map_err(Failure::run)?);

    write!(out, "{}", tables::render(&comparison.results, &comparison.cells, terminal_width()))?;
    writeln!(out, "\nTime: {}\n", time.describe())?;
    writeln!(out, "{}", comparison.sentence())?;
    writeln!(out, "{}", agreement::summary(&comparison.cells))?;
    files.write(out, || json::render(&comparison), || report::render(&comparison))?;
    if comparison.cells.iter().all(|cell| cell.agrees) {
        return Ok(());
    }
    let summary = agreement::summary(&comparison.cells);
    Err(Failure::Run(format!("{summary} Replay: {}", time.replay()).into()))
}

/// Runs all cases in this kind of time.
fn all(time: Time, outputs: &OutputOptions) -> Result<Vec<CaseResult>, runs::RunError> {
    match time {
        Time::Virtual => runs::simulate_all(),
        Time::Real { scale } => {
            let progress = outputs.progress(1, Duration::from_secs_f64(scale * runs::seconds_in_all()));
            progress.begin("callback-order");
            let results = runs::run_all(scale, &progress);
            progress.end();
            results
        }
    }
}

#[cfg(test)]
mod tests {
    use super::comparison::REAL_TIME_S;
    use super::*;
    use rospin_report::output_options::FromArguments;

    fn comparison() -> Comparison {
        Comparison::new(Time::Virtual, runs::simulate_all().unwrap())
    }

    #[test]
    fn real_time_takes_about_as_long_as_promised() {
        let options = Options::from_arguments(&["--real"]).unwrap();
        let Time::Real { scale } = Time::of(&options) else { panic!("real") };
        assert!((scale * runs::seconds_in_all() - REAL_TIME_S).abs() < 0.2, "{scale}");
    }

    #[test]
    fn report_has_every_diagram_and_needs_no_other_file() {
        let page = report::render(&comparison()).unwrap();
        rospin_report::page::assert_self_contained(&page);
        assert_eq!(page.matches("<svg").count(), 18);
        assert!(page.contains("Every cell agrees"));
    }

    #[test]
    fn figures_have_the_shape_that_is_promised() {
        let document: serde_json::Value = serde_json::from_str(&json::render(&comparison()).unwrap()).unwrap();
        let runs = document["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 18);
        let e2 = runs.iter().find(|run| run["experiment"] == "exp1" && run["policy"] == "wait-set-e2").unwrap();
        let last = &e2["polling_points"][2];
        assert_eq!((last["time_s"].as_f64(), &last["ready_set"][0]), (Some(3.5), &"T1".into()));
        let first = &e2["activations"][0];
        assert_eq!((&first["entity"], first["end_s"].as_f64()), (&"H".into(), Some(0.5)));
        assert!(first["release_s"].is_number() && first["start_s"].is_number());
        assert!(document["machine"]["cores"].is_number());
        assert_eq!(document["settings"]["time"], "virtual");
        assert_eq!(document["cells_agree"], 41);
    }
}
