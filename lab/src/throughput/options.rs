//! The options of `rospin lab throughput`.

use std::time::Duration;

use clap::Args;
use rospin_report::choice;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use super::contenders::Contender;
use super::workload::Workload;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-throughput.html";

/// Measures what an executor costs: messages a second, CPU, latency, allocations and context switches of a dozen
/// designs.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
All contenders take from the same rings. In each round, all of them run in turn, so that whatever else the machine does hits
all alike; the figures are medians over the rounds. `limit` is a thread that calls the closures without any executor. The publisher
waits while a queue is full, as a reliable one that keeps all does, so that no design gets more done by losing messages.

Examples:
  rospin lab throughput
  rospin lab throughput --workloads fixed-rate --rounds 11
  rospin lab throughput --workloads fixed-rate --busy-poll 200
  rospin lab throughput --workloads saturation --displace
  rospin lab throughput --contenders limit,rospin-fifo --seconds 0.5 --json throughput.json")]
pub(crate) struct Options {
    /// Workloads to run, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) workloads: Vec<Workload>,

    /// Contenders to run, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) contenders: Vec<Contender>,

    /// How often each is measured
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Length of a measurement in seconds; five times as long at a fixed rate
    #[arg(long, value_name = "SECONDS", default_value = "0.06", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) seconds: Duration,

    /// For how many microseconds the threads of rospin's executors look for something to do before they sleep
    #[arg(long, value_name = "MICROSECONDS", default_value = "0", value_parser = parse_micros)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) busy_poll: Duration,

    /// Has the publisher displace the oldest message while a queue is full, instead of waiting for room. Then the
    /// figures also depend on how much each design slows the publisher down
    #[arg(long)]
    pub(crate) displace: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,

    /// For this program's own use: runs one measurement as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

impl Options {
    /// Returns the workloads to run, each once, in the order of the tables.
    pub(crate) fn workloads(&self) -> Vec<Workload> {
        choice::in_own_order(&self.workloads, &Workload::ALL)
    }

    /// Returns the contenders to run, each once, in the order of the tables.
    pub(crate) fn contenders(&self) -> Vec<Contender> {
        choice::in_own_order(&self.contenders, &Contender::ALL)
    }
}

fn parse_micros(text: &str) -> Result<Duration, String> {
    number::parse(text, "microseconds", 0.0, 1e6).map(|micros| Duration::from_secs_f64(micros / 1e6))
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.001, 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn everything_runs_five_times_by_default() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!((options.workloads(), options.contenders()), (Workload::ALL.to_vec(), Contender::ALL.to_vec()));
        assert_eq!((options.rounds, options.seconds), (5, Duration::from_millis(60)));
        assert_eq!((options.busy_poll, options.displace), (Duration::ZERO, false));
    }

    #[test]
    fn chosen_ones_run_once_and_in_order() {
        let options =
            Options::from_arguments(&["--contenders", "rospin-fifo,limit,limit", "--workloads=fan-in"]).unwrap();
        assert_eq!(options.contenders(), [Contender::Limit, Contender::RospinFifo]);
        assert_eq!(options.workloads(), [Workload::FanIn]);
    }

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [
            ("--workloads", "idle"),
            ("--contenders", "rclpy"),
            ("--rounds", "0"),
            ("--seconds", "-1"),
            ("--seconds", "x"),
            ("--busy-poll", "-1"),
        ] {
            let error = Options::from_arguments(&[option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
    }
}
