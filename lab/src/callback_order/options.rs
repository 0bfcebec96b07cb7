//! The options of `rospin lab callback-order`.

use clap::Args;
use rospin_report::output_options::OutputOptions;

/// Default path of the report.
pub(super) const DEFAULT_REPORT: &str = "rospin-callback-order.html";

const SCALE_MIN: f64 = 0.01;
const SCALE_MAX: f64 = 100.0;

/// Reruns experiments 1 to 4 of Dust et al. (2023) and says cell by cell whether paper and run agree.
///
/// Under rclcpp's wait set of both generations (E1, E2), single- and multi-threaded, and beside it what rospin's own
/// policies do with the same releases. Exit code 1 says that a cell does not agree.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin lab callback-order
  rospin lab callback-order --json order.json --report order.html
  rospin lab callback-order --real
  rospin lab callback-order --real --scale 1     as slow as in the paper")]
pub(crate) struct Options {
    /// Runs on the engine in real time, as synthetic load, in place of virtual time; needs two idle cores
    #[arg(long)]
    pub(super) real: bool,

    /// Factor on every duration of a real run; times are reported unscaled [default: about 20 s in total]
    #[arg(long, value_name = "F", requires = "real", value_parser = parse_scale)]
    #[arg(allow_negative_numbers = true)]
    pub(super) scale: Option<f64>,

    #[command(flatten)]
    pub(super) outputs: OutputOptions,
}

fn parse_scale(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(scale) if (SCALE_MIN..=SCALE_MAX).contains(&scale) => Ok(scale),
        _ => Err(format!("give a number from {SCALE_MIN} to {SCALE_MAX}; 1 is as slow as in the paper")),
    }
}
