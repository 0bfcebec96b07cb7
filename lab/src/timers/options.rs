//! The options of `rospin lab timers`.

use std::time::Duration;

use clap::Args;
use rospin_measure::timer::Turn;
use rospin_report::choice;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use super::contender::Contender;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-timers.html";

/// Runs one timer at several rates under several executors: whether it fires every time, and how late its callback
/// starts.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Every timer has a thread with SCHED_FIFO on the same core, where that is allowed; the busy executor has a lower priority there.
The contenders take turns, so that whatever else the machine does hits all of them alike.

Examples:
  rospin lab timers
  rospin lab timers --rates 1000 --duration 20 --rounds 10
  rospin lab timers --contenders clock-nanosleep,rospin --core 3 --json timers.json")]
pub(crate) struct Options {
    /// How long each contender runs, at each rate, idle and busy, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// Into how many turns that is divided; the percentiles are medians over them
    #[arg(long, value_name = "COUNT", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// How often the timer fires, in hertz, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "100,1000,10000")]
    #[arg(value_parser = parse_rate)]
    pub(crate) rates: Vec<u32>,

    /// Who takes part, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_default_value = true)]
    pub(crate) contenders: Vec<Contender>,

    /// The core that everything runs on [default: the last one that this process may use]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) core: Option<u16>,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

impl Options {
    /// Returns the contenders, in the order of the tables; all of them if none were given.
    pub(crate) fn contenders(&self) -> Vec<Contender> {
        choice::in_own_order(&self.contenders, &Contender::ALL)
    }

    /// Returns the rates, each once, in ascending order.
    pub(crate) fn rates(&self) -> Vec<u32> {
        let mut rates = self.rates.clone();
        rates.sort_unstable();
        rates.dedup();
        rates
    }

    /// Returns the turn of a timer of that rate in a round: the period, number and offset of its due times in one
    /// measurement. Rounds count from 0. In each of them, the due times have another offset within a millisecond.
    pub(crate) fn turn(&self, rate_hz: u32, round: u32) -> Turn {
        let seconds = self.duration.as_secs_f64() / f64::from(self.rounds);
        Turn {
            period: Duration::from_secs(1) / rate_hz,
            firings: ((seconds * f64::from(rate_hz)).round() as u64).max(1),
            phase: Duration::from_millis(1) * round / self.rounds,
        }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.05, 3600.0)
}

fn parse_rate(text: &str) -> Result<u32, String> {
    let rate = text.trim().parse().ok().filter(|rate| (1..=20_000).contains(rate));
    rate.ok_or_else(|| "give rates from 1 to 20000 hertz, separated by commas".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn defaults_are_every_contender_at_three_rates() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!((options.rates(), options.contenders()), (vec![100, 1000, 10_000], Contender::ALL.to_vec()));
        let turn = options.turn(1000, 2);
        assert_eq!((turn.firings, turn.period, turn.phase.as_micros()), (1000, Duration::from_millis(1), 400));
    }

    #[test]
    fn lists_are_put_in_order() {
        let options =
            Options::from_arguments(&["--rates=1000,100,1000", "--contenders=rospin,clock-nanosleep"]).unwrap();
        assert_eq!(options.rates(), [100, 1000]);
        assert_eq!(options.contenders(), [Contender::Floor, Contender::Rospin]);
    }

    #[test]
    fn impossible_values_name_the_option() {
        for (option, value) in [
            ("--duration", "0"),
            ("--duration", "nan"),
            ("--rounds", "0"),
            ("--rates", "0"),
            ("--rates", "fast"),
            ("--contenders", "rclcpp"),
            ("--core", "-1"),
        ] {
            let error = Options::from_arguments(&[&format!("{option}={value}")]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(option), "{error}");
        }
    }
}
