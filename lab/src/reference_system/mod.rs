//! `rospin lab reference-system`: the Autoware reference system under every executor.
//!
//! `graph` is the system as data, and `node` the behaviour of its nodes. `wiring` creates them on executors,
//! `transport` connects them, and `child` gives each executor a process of its own. `layout` has the executors, threads
//! and cores of each variant. `kpi` measures, and `table`, `verdict`, `recorded`, `json` and `report` show the results.
//!
//! `virtual_time` runs the same nodes without threads and clocks, and `bounds` asks the analysis about their `model`;
//! `on_cores` compares executors by both.

mod bounds;
mod callback;
mod child;
mod comparison;
#[cfg(test)]
mod described;
mod figures;
mod graph;
mod json;
mod kpi;
mod layout;
mod message;
mod model;
mod node;
mod on_cores;
mod options;
mod plots;
#[cfg(test)]
mod real;
mod recorded;
mod report;
mod runner;
mod system;
mod table;
#[cfg(test)]
mod testing;
mod transport;
mod verdict;
mod virtual_time;
mod wiring;

use std::io::{self, Write};
use std::path::Path;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_measure::machine::Machine;
use rospin_measure::process;
use rospin_report::Failure;
use rospin_report::output_options::{self, OutputOptions};

use crate::children;
use crate::crunch::Calibration;
use crate::experiment::Experiment;

use self::child::{ChildProcess, Order};
use self::comparison::Comparison;
use self::options::{DEFAULT_REPORT, Options};
use self::runner::{RunError, RunResult, Runner, Settings, Variant};

/// The experiment `reference-system`.
pub(crate) struct ReferenceSystem;

impl Experiment for ReferenceSystem {
    fn name(&self) -> &'static str {
        "reference-system"
    }

    fn about(&self) -> &'static str {
        "The Autoware reference system under every executor: latency, drops, planner period"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            return obey_order(out);
        }
        options.check().map_err(Failure::input)?;
        if options.cores.is_empty() {
            return compare(&options, &ChildProcess, out);
        }
        on_cores::compare(&options, &ChildProcess, out)
    }
}

/// Carries out the order on stdin: runs one executor in this process, with all nodes or some of them.
fn obey_order(out: &mut dyn Write) -> Result<(), Failure> {
    let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
    let is_first = process::put_before_others();
    let mut part = wiring::run(&order).map_err(|reason| Failure::Run(reason.into()))?;
    if !is_first {
        part.remarks
            .push("ran without the right to go before other programs, whose load shows in the figures".to_owned());
    }
    Ok(children::write_answer(out, &part)?)
}

/// Runs every executor with `runner`, prints the results and writes the files.
fn compare(options: &Options, runner: &dyn Runner, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
    let settings = Settings {
        duration: options.duration,
        crunch: options.crunch,
        calibration: Calibration::measure(),
        transport: options.transport,
        processes: options.processes,
        cores: None,
    };
    let folder = options.create_folder().map_err(Failure::input)?;
    let (results, recorded) =
        run_all(&options.variants(), &settings, folder.as_deref(), &options.outputs, runner).map_err(Failure::run)?;
    let comparison = Comparison { machine: Machine::read(), settings, results, recorded, folder };

    write!(out, "{}", table::render(&comparison, table::Layout::of_stdout()))?;
    for result in &comparison.results {
        for remark in &result.remarks {
            writeln!(out, "{}: {remark}", result.variant.name())?;
        }
    }
    writeln!(out, "\n{}", verdict::sentence(&comparison))?;
    write!(out, "{}", recorded::render(&comparison))?;
    files.write(out, || json::render(&comparison), || report::render(&comparison))
}

/// Runs the variants one after the other; if there is a folder for recordings, each a second time at once after the
/// first. Returns the results without and with recording. The first run that fails ends all.
fn run_all(
    variants: &[Variant],
    settings: &Settings,
    folder: Option<&Path>,
    outputs: &OutputOptions,
    runner: &dyn Runner,
) -> Result<(Vec<RunResult>, Vec<RunResult>), RunError> {
    let runs = if folder.is_some() { 2 } else { 1 };
    let progress = outputs.progress(variants.len() * runs, settings.duration);
    let run = |name: &str, variant, folder| {
        progress.begin(name);
        let result = runner.run(variant, settings, folder, &|share| progress.at(share));
        progress.end();
        result
    };
    let (mut results, mut recorded) = (Vec::new(), Vec::new());
    for variant in variants {
        results.push(run(variant.name(), *variant, None)?);
        if folder.is_some() {
            recorded.push(run(&format!("{}, recorded,", variant.name()), *variant, folder)?);
        }
    }
    Ok((results, recorded))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use crate::children::ChildError;

    use super::*;

    /// Runner that answers with made-up results, or fails.
    struct Fake {
        asked: RefCell<Vec<Variant>>,
        fail: bool,
    }

    impl Runner for Fake {
        fn run(
            &self,
            variant: Variant,
            _: &Settings,
            folder: Option<&Path>,
            progress: &dyn Fn(f64),
        ) -> Result<RunResult, RunError> {
            self.asked.borrow_mut().push(variant);
            assert!(folder.is_none_or(Path::is_dir));
            progress(0.5);
            if self.fail {
                let reason = ChildError::Process(io::Error::other("no core 7"));
                return Err(RunError::Child { executor: variant.name(), reason });
            }
            Ok(testing::result(variant))
        }
    }

    fn run(arguments: &[&str], fail: bool) -> (Result<(), Failure>, String, Vec<Variant>) {
        let command = ReferenceSystem.command().no_binary_name(true);
        let matches = command.try_get_matches_from(arguments).unwrap();
        let options = Options::from_arg_matches(&matches).unwrap();
        let fake = Fake { asked: RefCell::default(), fail };
        let mut out = Vec::new();
        let result = compare(&options, &fake, &mut out);
        (result, String::from_utf8(out).unwrap(), fake.asked.into_inner())
    }

    #[test]
    fn runs_what_was_asked_for_and_names_the_report_last() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-compare", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let (result, text, asked) = run(
            &[
                "--quiet",
                "--executors=priority-single,wait-set-single",
                "--report",
                report.to_str().unwrap(),
                "--json",
                json.to_str().unwrap(),
            ],
            false,
        );
        result.unwrap();
        assert_eq!(asked, [Variant::PrioritySingle, Variant::WaitSetSingle]);
        let last = text.lines().last().unwrap();
        assert_eq!(last, format!("Report:  {}", report.display()));
        assert!(fs::read_to_string(&report).unwrap().contains("</html>"));
        assert!(fs::read_to_string(&json).unwrap().contains("priority-single"));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Each experiment notes disturbed rows where it creates its progress, and writes them with its files.
    #[test]
    fn rows_that_others_have_disturbed_are_named_above_the_files_and_in_the_report() {
        let report = std::env::temp_dir().join(format!("rospin-lab-{}-disturbed.html", std::process::id()));
        let arguments = ["--quiet", "--executors=priority-single", "--report", report.to_str().unwrap()];
        let matches = ReferenceSystem.command().no_binary_name(true).try_get_matches_from(arguments).unwrap();
        let options = Options::from_arg_matches(&matches).unwrap();
        options.outputs.distrust.note("priority-multi", "other programs kept 1.5 cores busy");
        let (fake, mut out) = (Fake { asked: RefCell::default(), fail: false }, Vec::new());
        compare(&options, &fake, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("Do not trust:\n- priority-multi: other programs kept 1.5 cores busy\n"), "{text}");
        assert!(fs::read_to_string(&report).unwrap().contains("- priority-multi: other programs kept"));
        fs::remove_file(&report).unwrap();
    }

    #[test]
    fn recorded_runs_follow_those_without_and_need_a_folder_that_is_not_there() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-record", std::process::id()));
        let report = std::env::temp_dir().join(format!("rospin-lab-{}-record.html", std::process::id()));
        let arguments = ["--quiet", "--executors=priority-single,fifo-single", "--record", folder.to_str().unwrap()];
        let arguments = [&arguments[..], &["--report", report.to_str().unwrap()]].concat();
        let (result, text, asked) = run(&arguments, false);
        result.unwrap();
        use Variant::{FifoSingle, PrioritySingle};
        assert_eq!(asked, [PrioritySingle, PrioritySingle, FifoSingle, FifoSingle]);
        assert!(text.contains("1.000x") && text.contains(folder.to_str().unwrap()), "{text}");
        assert!(fs::read_to_string(&report).unwrap().contains("What recording costs"));
        let (again, _, asked) = run(&arguments, false);
        let Err(Failure::Input(error)) = again else { panic!("not refused") };
        assert!(error.to_string().contains("name a folder that is not there") && asked.is_empty(), "{error}");
        fs::remove_dir(&folder).unwrap();
        fs::remove_file(&report).unwrap();
    }

    #[test]
    fn unwritable_file_is_refused_before_anything_runs() {
        for option in ["--json", "--report"] {
            let (result, _, asked) = run(&["--quiet", option, "/no/such/folder/file"], false);
            let Err(Failure::Input(error)) = result else { panic!("not refused") };
            assert!(error.to_string().starts_with(option), "{error}");
            assert!(asked.is_empty());
        }
        let same = run(&["--quiet", "--json", "same", "--report", "same"], false);
        assert!(matches!(same.0, Err(Failure::Input(_))));
    }

    #[test]
    fn failing_executor_fails_the_run_and_is_named() {
        let report = std::env::temp_dir().join(format!("rospin-lab-{}-f.html", std::process::id()));
        let (result, text, asked) = run(&["--quiet", "--report", report.to_str().unwrap()], true);
        let Err(Failure::Run(error)) = result else { panic!("did not fail") };
        assert_eq!(error.to_string(), "wait-set-single: its process cannot be used: no core 7");
        assert!(text.is_empty() && asked.len() == 1 && !report.exists());
    }
}
