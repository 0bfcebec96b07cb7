//! The options of `rospin lab tracker`.

use std::time::Duration;

use clap::Args;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use super::setup::Times;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-tracker.html";

/// Runs the multi-robot tracker of Dust et al. (2023): how far apart the lists are that should come every millisecond.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The paper publishes no execution times. The defaults, 25 us for each message and 457 ns for each pair of robots in the \
list, are inferred from its Table VI: after several set-ups were tried, these are the times that its periods follow from \
under E2. With them, the list of 50 robots takes longer than its period.

Examples:
  rospin lab tracker
  rospin lab tracker --robots 30,60 --message-us 10
  rospin lab tracker --virtual-only --json tracker.json")]
pub(crate) struct Options {
    /// Only on this machine, not in the simulator
    #[arg(long, conflicts_with = "virtual_only")]
    pub(crate) real_only: bool,

    /// Only in the simulator, with the execution times as given
    #[arg(long)]
    pub(crate) virtual_only: bool,

    /// Numbers of robots, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "10,30,50,70")]
    #[arg(value_parser = parse_robots)]
    pub(crate) robots: Vec<usize>,

    /// Processor time for a message, in microseconds
    #[arg(long, value_name = "US", default_value = "25", value_parser = parse_us)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) message_us: f64,

    /// Processor time for the list, in nanoseconds a pair of robots: it is as long as the square of their number
    #[arg(long, value_name = "NS", default_value = "457", value_parser = parse_pair_ns)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) list_pair_ns: f64,

    /// Periods of the list that each mean is taken over
    #[arg(long, value_name = "COUNT", default_value = "500")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub(crate) duration_iterations: u32,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

impl Options {
    /// Returns the execution times of callbacks for this number of robots.
    pub(crate) fn times(&self, robots: usize) -> Times {
        Times {
            message: Duration::from_secs_f64(self.message_us / 1e6),
            list: Duration::from_secs_f64(self.list_pair_ns * (robots * robots) as f64 / 1e9),
        }
    }

    /// Returns the numbers of robots, each once, in ascending order.
    pub(crate) fn robot_counts(&self) -> Vec<usize> {
        let mut counts = self.robots.clone();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

fn parse_robots(text: &str) -> Result<usize, String> {
    let count = text.trim().parse().ok().filter(|count| (1..=1000).contains(count));
    count.ok_or_else(|| "give numbers of robots from 1 to 1000, separated by commas".to_owned())
}

fn parse_us(text: &str) -> Result<f64, String> {
    number::parse(text, "microseconds", 1.0, 10_000.0)
}

fn parse_pair_ns(text: &str) -> Result<f64, String> {
    number::parse(text, "nanoseconds", 0.0, 100_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn defaults_are_the_papers_setup() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!((options.robot_counts(), options.duration_iterations), (vec![10, 30, 50, 70], 500));
        let times = options.times(50);
        assert_eq!(times.message, Duration::from_micros(25));
        assert!(times.list > Duration::from_millis(1), "{times:?}");
    }

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [
            ("--robots", "0"),
            ("--robots", "ten"),
            ("--robots", "10,,30"),
            ("--message-us", "0"),
            ("--message-us", "nan"),
            ("--list-pair-ns", "-1"),
            ("--duration-iterations", "1"),
        ] {
            let error = Options::from_arguments(&[option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
        assert!(Options::from_arguments(&["--real-only", "--virtual-only"]).is_err());
        assert_eq!(Options::from_arguments(&["--robots", "30,10,30"]).unwrap().robot_counts(), [10, 30]);
    }
}
