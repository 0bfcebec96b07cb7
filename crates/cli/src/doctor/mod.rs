//! `rospin doctor`: tells what this machine can promise to a real-time program, and what would help.
//!
//! `kernel`, `cores` and `host` judge texts of the kernel. `rights` tries what the process may do. `measure` measures
//! wake-ups, and `middleware` looks at the threads of programs that run now, and at their receive buffers.
//! `installation` says which program this is. `text` and `json` show the results.

mod cores;
mod diagnosis;
mod finding;
mod host;
mod installation;
mod json;
mod kernel;
mod measure;
mod middleware;
mod options;
mod rights;
#[cfg(test)]
mod testing;
mod text;

use std::fs;
use std::io::Write;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use rospin_engine::os::{CoreSet, time_slice};
use rospin_measure::machine::Machine;
use rospin_measure::setup::{Setup, SetupError};
use rospin_report::Failure;
use rospin_report::outputs::{Files, WithoutReader};
use rospin_report::progress::Progress;
use rustix::thread::current_timer_slack;
use rustix::time::{ClockId, clock_getres};

use self::diagnosis::Diagnosis;
use self::finding::{Finding, Verdict, read_file};
use self::installation::Installation;
use self::options::Options;
use self::rights::Rights;

pub(crate) const NAME: &str = "doctor";

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME))
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let files = Files::check(options.json.as_deref(), None, None).map_err(Failure::input)?;
    let setup = Setup::find(options.core).map_err(|error| match error {
        SetupError::Core(_) => Failure::input(error),
        error => Failure::run(error),
    })?;
    let diagnosis = diagnose(&options, &setup)?;
    let out = &mut WithoutReader::new(out);
    writeln!(out, "{}", text::render_for_terminal(&diagnosis))?;
    // There is no HTML report here, so the last closure is never called.
    files.write(out, || json::render(&diagnosis), || json::render(&diagnosis))?;
    let bad = diagnosis.findings.iter().filter(|finding| finding.verdict != Verdict::Good).count();
    if options.strict && bad > 0 {
        return Err(Failure::Run(format!("--strict: {bad} findings limit real time").into()));
    }
    Ok(())
}

/// Measures, and then judges the machine.
fn diagnose(options: &Options, setup: &Setup) -> Result<Diagnosis, Failure> {
    let progress = Progress::new(1, options.duration * 4, options.quiet);
    progress.begin("measurements");
    let measured = measure::measure(setup, options.duration, &|share| progress.at(share)).map_err(Failure::run)?;
    progress.end();
    let rights = Rights::find();
    let mut findings = vec![measured.finding()];
    findings.extend(rights.findings());
    findings.extend(findings_of_files(setup.core, &rights));
    findings.extend(middleware::findings());
    let (machine, core, duration_s) = (Machine::read(), setup.core, options.duration.as_secs_f64());
    let installation = Installation::find();
    Ok(Diagnosis { installation, machine, core, duration_s, findings, measured })
}

/// Returns the findings from the kernel's files about itself and the machine. Those about one core are about `core`.
fn findings_of_files(core: u16, rights: &Rights) -> Vec<Finding> {
    let read = &read_file;
    let allowed = CoreSet::of_current_thread().unwrap_or_default();
    let online = CoreSet::online().unwrap_or_else(|_| allowed.clone());
    let resolution = clock_getres(ClockId::Monotonic);
    let resolution = Duration::new(resolution.tv_sec as u64, resolution.tv_nsec as u32);
    let slack = Duration::from_nanos(current_timer_slack().unwrap_or(0));
    vec![
        kernel::kernel(read),
        kernel::throttling(read),
        kernel::clock_source(read),
        kernel::timer_resolution(resolution),
        kernel::timer_slack(slack, rights.fifo.is_ok()),
        kernel::time_slices(time_slice(), rights.fifo.is_ok()),
        host::virtualization(read),
        host::cgroup(read),
        cores::cpuset(&allowed, &online),
        cores::governors(read, &online),
        cores::idle_states(read, core),
        cores::isolation(read, core),
        cores::interrupts(&affinities(), core),
        cores::smt(read),
        host::swap(read, rights.memory.is_ok()),
        host::huge_pages(read),
        middleware::receive_buffer(read),
    ]
}

/// Returns the number of each interrupt, and the list of cores that may handle it. Interrupts whose cores cannot be
/// read are left out.
fn affinities() -> Vec<(u32, String)> {
    let Ok(folder) = fs::read_dir("/proc/irq") else { return Vec::new() };
    let numbers = folder.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter_map(|number| Some((number, read_file(&format!("/proc/irq/{number}/smp_affinity_list"))?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(arguments: &[&str]) -> Result<ArgMatches, clap::Error> {
        command().no_binary_name(true).try_get_matches_from(arguments)
    }

    #[test]
    fn a_short_look_names_everything_and_writes_the_overheads() {
        let folder = std::env::temp_dir().join(format!("rospin-lab-{}-doctor", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("d.json");
        let mut out = Vec::new();
        let arguments = ["--quiet", "--duration=0.02", "--json", path.to_str().unwrap()];
        run(&matches(&arguments).unwrap(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for name in
            ["measured wake-up", "real-time priorities", "preemption", "RT throttling", "isolated cores", "timer slack"]
        {
            assert!(text.contains(name), "{text}");
        }
        let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        for overhead in ["dispatch", "wake_up", "receive"] {
            assert!(document["overheads_us"][overhead].is_number(), "{document}");
        }
        // Every finding that is not good has a remedy.
        let findings = document["findings"].as_array().unwrap();
        assert!(
            findings.iter().all(|finding| finding["verdict"] == "good" || finding["fix"].is_string()),
            "{document}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [("--duration", "0"), ("--core", "x")] {
            let error = matches(&[&format!("{option}={value}")]).unwrap_err();
            assert!(error.to_string().contains(option), "{error}");
        }
        let failure = run(&matches(&["--quiet", "--core=999"]).unwrap(), &mut Vec::new()).unwrap_err();
        assert!(matches!(failure, Failure::Input(_)), "{failure}");
    }
}
