//! The options of `rospin lab accelerator`.

use std::time::Duration;

use clap::Args;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-accelerator.html";

/// Runs pipelines of three criticalities on one device: how long the critical one waits, and which deadlines are missed.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The device is a model: kernels have exact lengths and are not preempted, and an engine takes the most urgent lane first. No GPU \
is needed, and none is used.

Examples:
  rospin lab accelerator
  rospin lab accelerator --load 0.8 --virtual-only
  rospin lab accelerator --duration 60 --json accelerator.json")]
pub(crate) struct Options {
    /// How long each contender runs in real time, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// How long each contender runs in virtual time, in seconds of that time
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) virtual_duration: Duration,

    /// Share of the device's time that the pipelines ask for
    #[arg(long, value_name = "SHARE", default_value = "0.9", value_parser = parse_load)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// Only in virtual time
    #[arg(long)]
    pub(crate) virtual_only: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.1, 36_000.0)
}

fn parse_load(text: &str) -> Result<f64, String> {
    number::parse(text, "a share of the device's time", 0.45, 0.98)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [("--duration", "0"), ("--load", "1"), ("--load", "0.1"), ("--virtual-duration", "-1")] {
            let error = Options::from_arguments(&[option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
        assert_eq!(Options::from_arguments(&[]).unwrap().load, 0.9);
    }
}
