//! The options of `rospin lab reference-system`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::kpi::{TAIL, WARM_UP};
use super::runner::Variant;

/// Where the report goes unless told otherwise.
pub(crate) const DEFAULT_REPORT: &str = "rospin-reference-system.html";

const DURATION_MAX_S: f64 = 3600.0;
const CRUNCH_MIN_MS: f64 = 0.01;
const CRUNCH_MAX_MS: f64 = 1000.0;

/// Runs the Autoware reference system (24 nodes, 36 callbacks) under several executors and compares them.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin lab reference-system
  rospin lab reference-system --crunch 5 --duration 30
  rospin lab reference-system --executors wait-set-single,priority-single --json result.json")]
pub(crate) struct Options {
    /// Seconds that each executor runs; the first one is warm-up and does not count
    #[arg(long, value_name = "SECONDS", default_value = "12", value_parser = parse_duration)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// Work of a node in milliseconds of processor time: 5 just fits one core, 7 overloads it
    #[arg(long, value_name = "MS", default_value = "7", value_parser = parse_crunch)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) crunch: Duration,

    /// Executors to run, in this order, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) executors: Vec<Variant>,

    /// Writes all figures, with units, machine and settings, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Writes the HTML report to this file [default: rospin-reference-system.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,

    /// Shows no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// For this program's own use: runs one executor as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

impl Options {
    /// The executors to run, each once.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        if self.executors.is_empty() {
            return Variant::ALL.to_vec();
        }
        let mut once = Vec::new();
        for variant in &self.executors {
            if !once.contains(variant) {
                once.push(*variant);
            }
        }
        once
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let min_s = (WARM_UP + TAIL).as_secs_f64();
    let seconds = parse_number(text, "seconds", min_s, DURATION_MAX_S)?;
    Ok(Duration::from_secs_f64(seconds))
}

fn parse_crunch(text: &str) -> Result<Duration, String> {
    let ms = parse_number(text, "milliseconds", CRUNCH_MIN_MS, CRUNCH_MAX_MS)?;
    Ok(Duration::from_secs_f64(ms / 1e3))
}

fn parse_number(text: &str, unit: &str, min: f64, max: f64) -> Result<f64, String> {
    let expected = format!("give a number of {unit} from {min} to {max}");
    match text.trim().parse::<f64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        Ok(number) if number > max => Err(format!("too large; {expected}")),
        Ok(number) if number < min => Err(format!("too small; {expected}")),
        // Left over: not a number at all, in words or as NaN.
        Ok(_) | Err(_) => Err(format!("not a number; {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches};

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Options, clap::Error> {
        let command = Options::augment_args(Command::new("x").no_binary_name(true));
        Options::from_arg_matches(&command.try_get_matches_from(arguments)?)
    }

    fn refusal(arguments: &[&str]) -> String {
        let error = parse(arguments).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        error.to_string()
    }

    #[test]
    fn defaults() {
        let options = parse(&[]).unwrap();
        assert_eq!(options.duration, Duration::from_secs(12));
        assert_eq!(options.crunch, Duration::from_millis(7));
        assert_eq!(options.variants(), Variant::ALL);
        assert!(options.json.is_none() && options.report.is_none() && !options.quiet);
    }

    #[test]
    fn executors_are_taken_by_comma_and_repeated_in_order_and_once() {
        let options = parse(&["--executors", "priority-single,fifo-single", "--executors=wait-set-single,fifo-single"]);
        assert_eq!(options.unwrap().variants(), [Variant::PrioritySingle, Variant::FifoSingle, Variant::WaitSetSingle]);
    }

    #[test]
    fn unknown_executor_lists_the_known_and_suggests_the_nearest() {
        let message = refusal(&["--executors", "priority-sigle"]);
        assert!(message.contains("'priority-sigle' for '--executors <NAMES>'"), "{message}");
        for variant in Variant::ALL {
            assert!(message.contains(variant.name()), "{message}");
        }
        assert!(message.contains("similar value exists: 'priority-single'"), "{message}");
        assert!(refusal(&["--executors", ""]).contains("possible values"));
        assert!(refusal(&["--executors", "fifo-single,,"]).contains("--executors"));
    }

    #[test]
    fn impossible_numbers_name_the_option_and_the_range() {
        let cases = [
            ("--duration", "-3", "too small"),
            ("--duration", "0", "too small"),
            ("--duration", "1.9", "too small"),
            ("--duration", "NaN", "not a number"),
            ("--duration", "1e300", "too large"),
            ("--duration", "inf", "too large"),
            ("--duration", "soon", "not a number"),
            ("--duration", "", "not a number"),
            ("--crunch", "-7", "too small"),
            ("--crunch", "0", "too small"),
            ("--crunch", "1001", "too large"),
            ("--crunch", "7ms", "not a number"),
        ];
        for (option, value, reason) in cases {
            let message = refusal(&[option, value]);
            assert!(message.contains(option) && message.contains(reason), "{message}");
            assert!(message.contains("give a number of"), "{message}");
        }
    }

    #[test]
    fn fractions_are_fine() {
        let options = parse(&["--duration", "2.5", "--crunch", "0.25"]).unwrap();
        assert_eq!(options.duration, Duration::from_millis(2500));
        assert_eq!(options.crunch, Duration::from_micros(250));
    }
}
