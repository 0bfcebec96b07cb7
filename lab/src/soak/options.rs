//! The options of `rospin lab soak`.

use std::path::PathBuf;

use clap::Args;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use crate::middleware::Middleware;

use super::schedule::{Schedule, ScheduleError};

/// The name of the experiment, on the command line and in its result files.
pub(super) const NAME: &str = "soak";
/// Default path of the report.
pub(super) const DEFAULT_REPORT: &str = "rospin-soak.html";
/// The most robots: each has ten nodes, and a host.
const ROBOTS_MAX: i64 = 20;

/// Runs robots of ten nodes each and a station for hours, while things break, and checks that everything is right again.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each robot is a process on a host of its own: a network namespace, whose packets this program passes on, delays, loses, doubles and
reorders. A seed generates the schedule of faults, or a file has it: paths that are cut or poor, SIGKILL, SIGTERM, SIGSTOP, full disks,
little memory, busy processors, Zenoh routers that die. Each process starts with a monotonic clock of its own. Every two minutes all
faults end, and everything must be right within a stated time: each message heard or counted as lost, each call with at most one
effect and one end, goals, parameters and states the same at both ends, one graph for all, nothing grown.
The schedule's time stands still meanwhile, so a run takes longer than its minutes.

It needs root, the programs `ip`, `mount` and `unshare`, and a middleware:
cargo build --release --manifest-path lab/Cargo.toml --features dds,zenoh

A run that finds something ends with exit code 1, and leaves its schedule beside the report.

Examples:
  sudo rospin lab soak --minutes 1 --robots 2
  sudo rospin lab soak --middleware zenoh --hours 8 --seed 7 --json soak.json
  sudo rospin lab soak --middleware dds --schedule rospin-soak.toml")]
pub(super) struct Options {
    /// The middleware; dds, or else zenoh, whichever was built, unless given
    #[arg(long, value_name = "NAME")]
    pub(super) middleware: Option<Middleware>,

    /// Number of robots, of ten nodes each
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=ROBOTS_MAX))]
    pub(super) robots: u32,

    /// Length of the schedule in minutes
    #[arg(long, value_name = "MINUTES", default_value = "10", value_parser = parse_minutes)]
    #[arg(allow_negative_numbers = true)]
    pub(super) minutes: f64,

    /// Length of the schedule in hours, in place of minutes
    #[arg(long, value_name = "HOURS", conflicts_with = "minutes", value_parser = parse_hours)]
    #[arg(allow_negative_numbers = true)]
    pub(super) hours: Option<f64>,

    /// Seed of the schedule, and of everything that the schedule leaves open
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    pub(super) seed: u64,

    /// Reads the schedule from this file, with its seed, length and number of robots
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "minutes", "hours", "robots"])]
    pub(super) schedule: Option<PathBuf>,

    /// Writes the schedule to this file, and runs nothing
    #[arg(long, value_name = "FILE", conflicts_with = "schedule")]
    pub(super) write_schedule: Option<PathBuf>,

    /// Writes the log lines of all processes to this file
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,

    #[command(flatten)]
    pub(super) outputs: OutputOptions,

    /// For this program's own use: runs one process as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(super) order_on_stdin: bool,
}

/// Reasons for which nothing can be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum Conflict {
    #[error("--middleware {name}: {reason}", name = .0.name(), reason = .0.missing())]
    NotBuilt(Middleware),
    #[error("--middleware in-process: the robots are processes; choose dds or zenoh")]
    InProcess,
    #[error("{0}, or with zenoh in its place")]
    Nothing(String),
    #[error("--schedule {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: std::io::Error },
    #[error("--schedule {}: {reason}", path.display())]
    Malformed { path: PathBuf, reason: ScheduleError },
}

impl Options {
    /// Returns the middleware to run over.
    ///
    /// # Errors
    /// If this program lacks it, or it reaches no other processes.
    pub(super) fn middleware(&self) -> Result<Middleware, Conflict> {
        match self.middleware {
            Some(Middleware::InProcess) => Err(Conflict::InProcess),
            Some(middleware) if middleware.is_built() => Ok(middleware),
            Some(middleware) => Err(Conflict::NotBuilt(middleware)),
            None if Middleware::Dds.is_built() => Ok(Middleware::Dds),
            None if Middleware::Zenoh.is_built() => Ok(Middleware::Zenoh),
            None => Err(Conflict::Nothing(Middleware::Dds.missing())),
        }
    }

    /// Returns the schedule: the file's, or a generated one.
    ///
    /// # Errors
    /// If the file cannot be read, or is no schedule.
    pub(super) fn schedule(&self, middleware: Middleware) -> Result<Schedule, Conflict> {
        let Some(path) = &self.schedule else {
            let minutes = self.hours.map_or(self.minutes, |hours| hours * 60.0);
            return Ok(Schedule::generate(self.seed, self.robots as usize, minutes, middleware));
        };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|reason| Conflict::Unreadable { path: path.clone(), reason })?;
        Schedule::parse(&text).map_err(|reason| Conflict::Malformed { path: path.clone(), reason })
    }
}

fn parse_minutes(text: &str) -> Result<f64, String> {
    number::parse(text, "minutes", 0.5, 1e5)
}

fn parse_hours(text: &str) -> Result<f64, String> {
    number::parse(text, "hours", 0.01, 1e4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn what_makes_no_sense_is_refused_with_the_fix() {
        for (option, value) in [("--minutes", "0"), ("--robots", "0"), ("--hours", "-1"), ("--middleware", "moon")] {
            let error = Options::from_arguments(&[option, value]).unwrap_err().to_string();
            assert!(error.contains(option), "{error}");
        }
        let refused = |arguments: &[&str]| Options::from_arguments(arguments).unwrap().middleware().unwrap_err();
        assert!(refused(&["--middleware", "in-process"]).to_string().contains("choose dds or zenoh"));
        if !Middleware::Dds.is_built() {
            assert!(refused(&["--middleware", "dds"]).to_string().contains("--features dds"));
        }
        let options = Options::from_arguments(&["--schedule", "/nowhere.toml"]).unwrap();
        let error = options.schedule(Middleware::Dds).unwrap_err().to_string();
        assert!(error.contains("--schedule /nowhere.toml"), "{error}");
    }

    #[test]
    fn hours_are_minutes() {
        let options = Options::from_arguments(&["--hours", "2", "--robots", "2"]).unwrap();
        let schedule = options.schedule(Middleware::Dds).unwrap();
        assert_eq!((schedule.minutes, schedule.robots), (120.0, 2));
    }
}
