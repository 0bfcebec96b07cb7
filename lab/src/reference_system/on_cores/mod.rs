//! Priorities in one executor with several threads, or in several executors with one thread each: the question of Choi
//! et al. 2022, section III, on a number of cores.
//!
//! Each row is an executor on a number of cores: `rows` runs it in virtual time, asks the analysis for its bounds, and
//! has it measured where the machine has the cores. `table`, `verdict`, `json` and `report` show the rows.

mod json;
#[cfg(test)]
mod kept;
mod report;
mod rows;
mod table;
#[cfg(test)]
mod testing;
mod verdict;

use std::io::Write;

use rospin_engine::os::CoreSet;
use rospin_measure::machine::Machine;
use rospin_report::Failure;

use crate::crunch::Calibration;

use self::rows::Row;
use super::options::{DEFAULT_REPORT, Options};
use super::runner::{RunError, Runner, Settings};

/// All results of a run: what the table, the JSON file and the report show.
struct Answer {
    machine: Machine,
    settings: Settings,
    rows: Vec<Row>,
}

/// Fills the table with `runner` for what is measured, prints it and writes the files.
pub(super) fn compare(options: &Options, runner: &dyn Runner, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let settings = Settings {
        duration: options.duration,
        crunch: options.crunch,
        calibration: Calibration::measure(),
        transport: None,
        processes: 1,
        cores: None,
    };
    let machine_cores = CoreSet::of_current_thread().map_err(Failure::run)?.as_slice().len();
    let has_cores = |cores: u16| !options.virtual_only && usize::from(cores) <= machine_cores;
    let mut rows = Vec::new();
    for cores in &options.cores {
        for variant in options.variants() {
            rows.push(Row::simulate(variant, *cores, &settings).map_err(Failure::run)?);
        }
    }
    measure(options, &settings, &mut rows, has_cores, runner).map_err(Failure::run)?;
    let answer = Answer { machine: Machine::read(), settings, rows };

    write!(out, "{}", table::render(&answer.rows, settings.crunch_ms()))?;
    for (row, remark) in answer.rows.iter().flat_map(|row| row.remarks.iter().map(move |remark| (row, remark))) {
        writeln!(out, "{} on {} cores: {remark}", row.executor.name(), row.cores)?;
    }
    writeln!(out, "\n{}", verdict::sentence(&answer.rows))?;
    files.write(out, || json::render(&answer), || report::render(&answer))
}

/// Measures the rows whose number of cores the machine has.
fn measure(
    options: &Options,
    settings: &Settings,
    rows: &mut [Row],
    has_cores: impl Fn(u16) -> bool,
    runner: &dyn Runner,
) -> Result<(), RunError> {
    let count = rows.iter().filter(|row| has_cores(row.cores)).count();
    let progress = options.outputs.progress(count, settings.duration);
    for row in rows.iter_mut().filter(|row| has_cores(row.cores)) {
        progress.begin(&format!("{} on {} cores", row.executor.name(), row.cores));
        let settings = Settings { cores: Some(row.cores), ..*settings };
        row.add_measured(&runner.run(row.executor, &settings, None, &|share| progress.at(share))?);
        progress.end();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;
    use std::path::Path;

    use clap::FromArgMatches;

    use crate::experiment::Experiment;

    use super::super::runner::{RunResult, Variant};
    use super::super::{ReferenceSystem, testing as made_up};
    use super::*;

    /// Runner that answers with made-up results, and notes what it was asked for.
    #[derive(Default)]
    struct Fake(RefCell<Vec<(Variant, Option<u16>)>>);

    impl Runner for Fake {
        fn run(
            &self,
            variant: Variant,
            settings: &Settings,
            _: Option<&Path>,
            progress: &dyn Fn(f64),
        ) -> Result<RunResult, RunError> {
            self.0.borrow_mut().push((variant, settings.cores));
            progress(0.5);
            Ok(made_up::result(variant))
        }
    }

    fn run(arguments: &[&str]) -> (String, Vec<(Variant, Option<u16>)>) {
        let matches = ReferenceSystem.command().no_binary_name(true).try_get_matches_from(arguments).unwrap();
        let options = Options::from_arg_matches(&matches).unwrap();
        options.check().unwrap();
        let (fake, mut out) = (Fake::default(), Vec::new());
        compare(&options, &fake, &mut out).unwrap();
        (String::from_utf8(out).unwrap(), fake.0.into_inner())
    }

    #[test]
    fn each_executor_runs_on_each_number_of_cores_and_the_report_is_named_last() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-on-cores", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let asked = ["--quiet", "--cores", "2,64", "--executors", "priority-partitioned", "--duration", "3"];
        let (text, asked) = run(&[&asked[..], &files].concat());
        assert_eq!(text.lines().last().unwrap(), format!("Report:  {}", report.display()));
        assert_eq!(text.matches("\n2  ").count() + text.matches("\n64 ").count(), 2, "{text}");
        // The machine of the tests may have one core, but has not 64.
        assert!(
            asked.iter().all(|run| *run == (Variant::PriorityPartitioned, Some(2))) && asked.len() <= 1,
            "{asked:?}"
        );
        assert!(fs::read_to_string(&report).unwrap().contains("</html>"));
        assert!(fs::read_to_string(&json).unwrap().contains("priority-partitioned"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nothing_is_measured_in_virtual_time_only() {
        let report = std::env::temp_dir().join(format!("rospin-lab-{}-virtual.html", std::process::id()));
        let asked =
            ["--quiet", "--cores", "2", "--virtual-only", "--duration", "3", "--report", report.to_str().unwrap()];
        let (text, asked) = run(&asked);
        assert!(asked.is_empty());
        for variant in Variant::ON_CORES {
            assert!(text.contains(variant.name()), "{text}");
        }
        fs::remove_file(&report).unwrap();
    }
}
