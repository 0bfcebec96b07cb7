//! `rospin lab latency`: from publication to the end of the callback, under every subscriber (Skoudlil et al. 2025).
//!
//! `topics` has the topics, and the bounds of their latencies by the analysis, with the `overhead` of a message.
//! `variant` has the subscribers. A run is two processes: `publisher`, with the `stalls` meter beside it, and
//! `subscriber`, whose threads and runtimes are in `runtimes` (over `r2r`, which samples as R2R does) and `engine`
//! (rospin); messages go over `transport`. `figures` calculates percentiles and bounds, and `table`, `verdict`, `json`
//! and `report` show them. `virtual_time` is what needs no measuring.

mod bounds;
mod comparison;
mod engine;
mod figures;
mod json;
mod kernel;
mod options;
mod overhead;
mod plots;
mod publisher;
mod r2r;
mod relay;
mod report;
mod runner;
mod runtimes;
mod settings;
mod stalls;
mod subscriber;
mod table;
#[cfg(test)]
mod testing;
mod threads;
mod topics;
mod transport;
mod variant;
mod verdict;
mod virtual_time;
mod wire;

use std::io::{self, Write};

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_engine::os::{CoreSet, ThreadOptions};
use rospin_measure::machine::{Machine, choose_core};
use rospin_report::Failure;
use rospin_report::output_options;

use crate::children;
use crate::crunch::Calibration;
use crate::experiment::Experiment;

use self::comparison::Comparison;
use self::kernel::Kernel;
use self::options::{DEFAULT_REPORT, Options};
use self::overhead::Overhead;
use self::runner::{NAME, Order, RunError, RunResult, Runner, TwoProcesses};
use self::settings::Settings;

/// Length of a stall of the machine, in milliseconds, above which a remark says that the run was disturbed: any
/// scheduler misses deadlines then.
const DISTURBED_MS: f64 = 10.0;

/// The experiment `latency`.
pub(crate) struct Latency;

impl Experiment for Latency {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Latency from publication to the end of the callback: futures, Tokio, a wait set and rospin on one core"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        if options.order_on_stdin {
            let order: Order = children::read_order(io::stdin().lock()).map_err(Failure::input)?;
            let answer = order.obey().map_err(Failure::Run)?;
            return Ok(children::write_answer(out, &answer)?);
        }
        if options.virtual_only {
            return virtual_time::show(&options, out);
        }
        compare(&options, &TwoProcesses, out)
    }
}

/// Measures the overhead, runs all variants with `runner`, prints the results and writes the files.
fn compare(options: &Options, runner: &dyn Runner, out: &mut dyn Write) -> Result<(), Failure> {
    let files = options.outputs.files(Some(DEFAULT_REPORT));
    let files = files.map_err(Failure::input)?;
    let wire = options.wire().map_err(Failure::input)?;
    let allowed = CoreSet::of_current_thread().map_err(Failure::run)?;
    let core = choose_core(options.core, &allowed).map_err(Failure::input)?;
    let kernel = Kernel::read();
    // The parent stays away from the experiment's core, if there is another one.
    let others = CoreSet::new(allowed.as_slice().iter().copied().filter(|other| *other != core));
    let apart = if others.is_empty() { ThreadOptions::new() } else { ThreadOptions::new().cores(others) };
    let apart = apart.apply_for_now();
    let (duration, load_percent, calibration) = (options.duration, options.load, Calibration::measure());
    let settings = Settings { duration, core, load_percent, calibration, wire };
    let overhead = Overhead::measure(&settings, runner).map_err(Failure::run)?;
    let results = run_all(options, &settings, runner).map_err(Failure::run)?;
    drop(apart);
    let comparison = Comparison { machine: Machine::read(), kernel, settings, overhead, runs: options.runs, results };

    write!(out, "{}", table::render(&comparison))?;
    for remark in remarks(&comparison) {
        writeln!(out, "{remark}")?;
    }
    writeln!(out, "\n{}", verdict::sentence(&comparison))?;
    files.write(out, || json::render(&comparison), || report::render(&comparison))
}

/// Runs every variant once, then all of them again, as often as the options say. So a change on the machine in between
/// affects all variants.
fn run_all(options: &Options, settings: &Settings, runner: &dyn Runner) -> Result<Vec<RunResult>, RunError> {
    let variants = options.variants();
    let progress = options.outputs.progress(variants.len() * options.runs as usize, settings.duration);
    let mut results = Vec::new();
    for run in 1..=options.runs {
        for variant in &variants {
            progress.begin(variant.name());
            results.push(runner.run(*variant, run, settings, &|share| progress.at(share))?);
            progress.end();
        }
    }
    Ok(results)
}

/// Returns the remarks below the table: the kernel's limits, a long stall, settings that threads lack, and the remarks
/// of the subscribers, each once with the variants that made it.
fn remarks(comparison: &Comparison) -> Vec<String> {
    let settings = &comparison.settings;
    let mut remarks = vec![format!("Kernel: {}.", comparison.kernel.describe(settings.core))];
    remarks.extend(comparison.kernel.remark(settings.load_percent).map(|remark| format!("Kernel: {remark}.")));
    let longest_ms = comparison.results.iter().map(|result| result.published.stalls.max_ms).fold(0.0, f64::max);
    if longest_ms > DISTURBED_MS {
        remarks.push(format!(
            "Disturbed: the core stood still for {longest_ms:.0} ms. Kernels lend ordinary programs some 50 ms of \
             every second even before real-time threads: run this while nothing else wants core {}, or isolate it.",
            settings.core,
        ));
    }
    let threads = || comparison.results.iter().flat_map(RunResult::threads);
    let lacking = || threads().filter(|thread| !thread.shortfalls.is_empty());
    if let Some(first) = lacking().next() {
        let (lacking, all) = (lacking().count(), threads().count());
        let (name, shortfalls) = (&first.name, first.shortfalls.join("; "));
        remarks
            .push(format!("Missing: {lacking} of {all} threads lack what they should have, as {name}: {shortfalls}."));
    }
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for result in &comparison.results {
        for remark in &result.subscribed.remarks {
            match said.iter_mut().find(|(text, _)| text == remark) {
                Some((_, names)) if names.contains(&result.variant.name()) => {}
                Some((_, names)) => names.push(result.variant.name()),
                None => said.push((remark, vec![result.variant.name()])),
            }
        }
    }
    remarks.extend(said.into_iter().map(|(text, names)| format!("{}: {text}.", names.join(", "))));
    remarks
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::fs;

    use super::variant::{Structure, Variant};
    use super::*;

    /// Runner that answers with made-up results, and notes what it was asked for.
    #[derive(Default)]
    struct Fake(RefCell<Vec<(Variant, u32)>>);

    impl Runner for Fake {
        fn run(&self, variant: Variant, run: u32, _: &Settings, progress: &dyn Fn(f64)) -> Result<RunResult, RunError> {
            self.0.borrow_mut().push((variant, run));
            progress(0.5);
            Ok(RunResult {
                variant,
                ..testing::result(variant.structure, run, [2_000, 6_000, 13_000, 36_000, 170_000])
            })
        }
    }

    fn run(arguments: &[&str]) -> (Result<(), Failure>, String, Vec<(Variant, u32)>) {
        let matches = Latency.command().no_binary_name(true).try_get_matches_from(arguments).unwrap();
        let fake = Fake::default();
        let mut out = Vec::new();
        let result = compare(&Options::from_arg_matches(&matches).unwrap(), &fake, &mut out);
        (result, String::from_utf8(out).unwrap(), fake.0.into_inner())
    }

    #[test]
    fn runs_what_was_asked_for_and_names_the_report_last() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-latency", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let asked = ["--quiet", "--runs", "2", "--variants", "rospin-rt,tokio"];
        let (result, text, asked) = run(&[&asked[..], &files].concat());
        result.unwrap();
        let (rospin, tokio) = (Variant::real_time(Structure::RospinRt), Variant::real_time(Structure::Tokio));
        assert_eq!(asked, [(rospin, 0), (rospin, 1), (tokio, 1), (rospin, 2), (tokio, 2)]);
        assert_eq!(text.lines().last().unwrap(), format!("Report:  {}", report.display()));
        assert!(text.contains("rospin-rt keeps every deadline at the 99th percentile in 2 of 2 runs"), "{text}");
        assert!(fs::read_to_string(&report).unwrap().contains("</html>"));
        assert!(fs::read_to_string(&json).unwrap().contains("missed_deadlines"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_core_that_is_not_there_is_refused_before_anything_runs() {
        let (result, _, asked) = run(&["--quiet", "--core", "1000"]);
        let Err(Failure::Input(error)) = result else { panic!("not refused") };
        assert!(error.to_string().starts_with("--core 1000: "), "{error}");
        assert!(asked.is_empty());
    }

    #[test]
    fn what_is_missing_is_said_once() {
        let mut comparison = testing::comparison();
        comparison.results[0].published.stalls.max_ms = 52.0;
        for result in &mut comparison.results {
            result.subscribed.threads[0].shortfalls = vec!["not SCHED_FIFO 21: no".to_owned()];
            result.subscribed.remarks = vec!["its memory is not locked".to_owned()];
        }
        let remarks = remarks(&comparison);
        assert_eq!(remarks.len(), 4, "{remarks:?}");
        assert!(remarks[1].starts_with("Disturbed: the core stood still for 52 ms") && remarks[1].contains("core 1"));
        assert!(remarks[2].starts_with("Missing: 6 of 12 threads") && remarks[2].contains("main: not SCHED_FIFO 21"));
        assert_eq!(remarks[3], "tokio, futures-rt, rospin-rt: its memory is not locked.");
    }
}
