//! `rospin lab inversion`: measures if an urgent callback waits for ordinary threads that a thread of a priority in
//! between keeps from running.
//!
//! One core has an urgent executor, a hog of a lower priority, and ordinary threads that use the urgent executor's
//! topics, timers and services. `interference` is the work of the ordinary threads, `urgent` the executor, `std_mutex`
//! an urgent loop with an ordinary lock in place of the executor, and `hog` the remaining load of the core. `verdict`,
//! `table`, `plots`, `json` and `report` show the results.

mod comparison;
mod figures;
mod hog;
mod interference;
mod json;
mod options;
mod plots;
mod report;
mod std_mutex;
mod table;
#[cfg(test)]
mod testing;
mod urgent;
mod verdict;

use std::fs;
use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::{ArgMatches, Command, FromArgMatches};
use rospin_engine::os::lock_memory;
use rospin_measure::machine::Machine;
use rospin_measure::setup::{Setup, SetupError};
use rospin_report::Failure;
use rospin_report::output_options;

use crate::experiment::Experiment;

use self::comparison::Comparison;
use self::figures::Row;
use self::interference::{Case, TurnError};
use self::options::{DEFAULT_REPORT, Options};

/// The experiment `inversion`.
pub(crate) struct Inversion;

impl Experiment for Inversion {
    fn name(&self) -> &'static str {
        "inversion"
    }

    fn about(&self) -> &'static str {
        "Priority inversion: an urgent executor, a hog and ordinary threads on one core, and how long urgent callbacks wait"
    }

    fn command(&self) -> Command {
        output_options::command::<Options>(self.name(), DEFAULT_REPORT).about(self.about())
    }

    fn run(&self, matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
        let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
        let files = options.outputs.files(Some(DEFAULT_REPORT)).map_err(Failure::input)?;
        let setup = Setup::find(options.core).map_err(|error| match error {
            SetupError::Core(_) => Failure::input(error),
            error => Failure::run(error),
        })?;
        if !setup.is_real_time() {
            // Without real-time priorities there is no urgent thread, and so no priority inversion.
            writeln!(out, "SKIPPED for want of real-time priorities: {}", setup.missing.join("; "))?;
            return Ok(());
        }
        // The kernel's lock of the memory map has no inheritance: a thread with a page fault waits for a thread that
        // changes the map.
        let is_memory_locked = lock_memory().is_ok();
        let rows = run_all(&options, &setup).map_err(Failure::run)?;
        let (machine, throttle, turn) = (Machine::read(), throttle(), options.turn());
        let comparison = Comparison { machine, setup, throttle, is_memory_locked, turn, rows };
        writeln!(out, "{}", table::render(&comparison))?;
        for said in verdict::sentences(&comparison) {
            writeln!(out, "{said}")?;
        }
        writeln!(out)?;
        files.write(out, || json::render(&comparison), || report::render(&comparison))
    }
}

/// Returns the share of a core's time that the kernel lets real-time threads have. It stops threads that want more,
/// however urgent they are. `None` if there is no limit or the kernel does not tell.
fn throttle() -> Option<f64> {
    let read = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok();
    let number = |name| read(name)?.trim().parse::<f64>().ok();
    let (runtime, period) = (number("runtime")?, number("period")?);
    (runtime >= 0.0 && period > 0.0).then_some(runtime / period)
}

/// Runs the cases one after the other, and returns a row for each.
fn run_all(options: &Options, setup: &Setup) -> Result<Vec<Row>, TurnError> {
    let cases = options.cases();
    let progress = options.outputs.progress(cases.len(), options.duration);
    let mut rows = Vec::new();
    for case in cases {
        progress.begin(case.name());
        let (setup, turn) = (setup.clone(), options.turn());
        let run =
            move || if case == Case::StdMutex { std_mutex::run(&setup, turn) } else { urgent::run(case, &setup, turn) };
        // Each case has a thread of its own, which inherits nothing from earlier cases.
        let running = thread::Builder::new().name(case.name().to_owned()).spawn(run)?;
        let begun = std::time::Instant::now();
        while !running.is_finished() {
            progress.at(begun.elapsed().as_secs_f64() / options.duration.as_secs_f64());
            thread::sleep(Duration::from_millis(50));
        }
        rows.push(running.join().map_err(|_| TurnError::Panicked("the urgent executor"))??);
        progress.end();
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_gives_every_row_and_both_files_or_says_why_not() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-inversion", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (report, json) = (folder.join("r.html"), folder.join("r.json"));
        let command = Inversion.command().no_binary_name(true);
        let files = ["--report", report.to_str().unwrap(), "--json", json.to_str().unwrap()];
        let matches = command.try_get_matches_from([&["--quiet", "--duration=0.2"][..], &files].concat()).unwrap();
        let mut out = Vec::new();
        Inversion.run(&matches, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        if text.starts_with("SKIPPED") {
            assert!(text.contains("CAP_SYS_NICE"), "{text}");
        } else {
            assert_eq!(text.lines().last().unwrap(), format!("Report:  {}", report.display()));
            let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
            assert_eq!(document["rows"].as_array().unwrap().len(), Case::ALL.len());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
