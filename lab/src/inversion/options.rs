//! The options of `rospin lab inversion`.

use std::time::Duration;

use clap::Args;
use rospin_report::choice;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use super::interference::{Case, Turn};

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-inversion.html";

/// Period of the urgent timer.
const PERIOD: Duration = Duration::from_millis(1);
/// Length of the hog's pauses, in lengths of its bursts. It leaves enough of the core to others: where real-time
/// threads take nearly all of a core, the kernel gives it to ordinary ones for up to 50 ms a second, however urgent the
/// others are (`sched_rt_runtime_us`, and the fair server since Linux 6.12). That would be measured instead.
const PAUSES: f64 = 1.5;

/// Runs an urgent executor beside a hog and ordinary threads on one core: how long its callbacks wait.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
An ordinary thread that has a lock is kept from running by the hog; an urgent thread that wants the lock then waits for the hog,
unless the lock's owner inherits its priority. The last case shows it with an ordinary lock.

Needs the right to SCHED_FIFO, and says SKIPPED without it.

Examples:
  rospin lab inversion
  rospin lab inversion --duration 60 --cases publish,all --json inversion.json")]
pub(crate) struct Options {
    /// How long each case runs, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// How long the hog runs at a time, in milliseconds, before it pauses for one and a half times as long
    #[arg(long, value_name = "MILLISECONDS", default_value = "50", value_parser = clap::value_parser!(u64).range(1..=150))]
    pub(crate) burst: u64,

    /// What is run, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_default_value = true)]
    pub(crate) cases: Vec<Case>,

    /// The core that everything runs on [default: the last one that this process may use]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) core: Option<u16>,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

impl Options {
    /// Returns the cases to run, in the order of the table.
    pub(crate) fn cases(&self) -> Vec<Case> {
        choice::in_own_order(&self.cases, &Case::ALL)
    }

    /// Returns the settings of each case.
    pub(crate) fn turn(&self) -> Turn {
        let firings = (self.duration.as_nanos() / PERIOD.as_nanos()) as u64;
        let burst = Duration::from_millis(self.burst);
        Turn { period: PERIOD, firings: firings.max(1), burst, pause: burst.mul_f64(PAUSES) }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.1, 3600.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn defaults_are_every_case_and_a_hog_of_50_ms() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!(options.cases(), Case::ALL);
        assert_eq!((options.turn().firings, options.turn().burst.as_millis()), (5000, 50));
    }

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [("--duration", "0"), ("--burst", "0"), ("--cases", "rclcpp"), ("--core", "-1")] {
            let error = Options::from_arguments(&[&format!("{option}={value}")]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
    }
}
