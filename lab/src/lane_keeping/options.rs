//! The options of `rospin lab lane-keeping`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rospin_report::output_options::OutputOptions;
use rospin_report::{choice, number};

use crate::middleware::Middleware;

use super::order::{Drive, Executors};

/// The name of the experiment.
pub(crate) const NAME: &str = "lane-keeping";
/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-lane-keeping.html";

/// Drives a simulated car that keeps its lane, in three processes: the vehicle, the lane keeper and a visualiser.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The case study of Skoudlil et al. 2025, section 4.2. The odometry chain goes through all three processes: from the due time of the
vehicle's timer to the end of the visualiser's callback. The processes record themselves, and everything but the car's path comes from
these recordings. While it runs, `rospin top` shows the processes. Real-time priorities need root or CAP_SYS_NICE.

Examples:
  rospin lab lane-keeping
  rospin lab lane-keeping --transport dds --executors priority --planner 1 --duration 60
  rospin lab lane-keeping --recordings drive && rospin trace report drive/dds-priority-1")]
pub(crate) struct Options {
    /// Seconds of each drive; the first one is warm-up and does not count
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_duration)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// Middlewares between the processes, separated by commas; dds and zenoh as far as they were built unless given,
    /// else in-process
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) transport: Vec<Middleware>,

    /// Executors, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) executors: Vec<Executors>,

    /// Factors of the planner's length, separated by commas
    #[arg(long, value_name = "FACTORS", value_delimiter = ',', default_values_t = [1, 3])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) planner: Vec<u32>,

    /// Keeps the recordings in this folder, which is created
    #[arg(long, value_name = "FOLDER")]
    pub(crate) recordings: Option<PathBuf>,

    /// Ends with an error if a promise is not kept
    #[arg(long)]
    pub(crate) check: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,

    /// For this program's own use: runs one process as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

/// Reason for which nothing can be driven.
#[derive(Debug, thiserror::Error)]
#[error("--transport {name}: {reason}", name = .0.name(), reason = .0.missing())]
pub(crate) struct NotBuilt(Middleware);

impl Options {
    /// Returns the drives, in the order of the table.
    ///
    /// # Errors
    /// If this program lacks a middleware that was asked for.
    pub(crate) fn drives(&self) -> Result<Vec<Drive>, NotBuilt> {
        if let Some(middleware) = self.transport.iter().find(|middleware| !middleware.is_built()) {
            return Err(NotBuilt(*middleware));
        }
        let mut middlewares = self.transport.clone();
        if middlewares.is_empty() {
            middlewares.extend([Middleware::Dds, Middleware::Zenoh].into_iter().filter(|one| one.is_built()));
        }
        if middlewares.is_empty() {
            middlewares.push(Middleware::InProcess);
        }
        let (mut factors, mut drives) = (self.planner.clone(), Vec::new());
        factors.sort_unstable();
        factors.dedup();
        for middleware in choice::in_own_order(&middlewares, &Middleware::ALL) {
            for executors in choice::in_own_order(&self.executors, &Executors::ALL) {
                drives.extend(factors.iter().map(|planner| Drive { middleware, executors, planner: *planner }));
            }
        }
        Ok(drives)
    }
}

/// The road is long enough for the longest drive.
fn parse_duration(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 4.0, 400.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn everything_is_driven_beside_each_other_by_default() {
        let drives = Options::from_arguments(&[]).unwrap().drives().unwrap();
        let middlewares = [Middleware::Dds, Middleware::Zenoh].iter().filter(|one| one.is_built()).count().max(1);
        assert_eq!(drives.len(), 4 * middlewares);
        assert_eq!((drives[0].planner, drives[1].planner), (1, 3));
    }

    #[test]
    fn impossible_values_name_the_option_or_the_fix() {
        for (option, value) in [("--duration", "1"), ("--planner", "0"), ("--executors", "none")] {
            let error = Options::from_arguments(&[option, value]).unwrap_err().to_string();
            assert!(error.contains(option), "{error}");
        }
        if !Middleware::Zenoh.is_built() {
            let options = Options::from_arguments(&["--transport", "zenoh"]).unwrap();
            assert!(options.drives().unwrap_err().to_string().contains("--features zenoh"));
        }
    }

    #[test]
    fn the_longest_drive_is_shorter_than_the_road() {
        let length = super::super::road::Road::motorway().length();
        assert!(400.0 * super::super::vehicle::SPEED + 100.0 < length, "{length}");
    }
}
