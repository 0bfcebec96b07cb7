//! The options of `rospin lab latency`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use rospin_report::choice;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use crate::middleware::Middleware;

use super::topics::{FULL_LOAD_PERCENT, TOPICS, period};
use super::variant::Variant;
use super::wire::Wire;

/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-latency.html";

/// Shortest duration of a run: twice the longest period.
const DURATION_MIN_S: f64 = 2.0 * period(TOPICS - 1).as_millis() as f64 / 1e3;
const DURATION_MAX_S: f64 = 3600.0;
const LOAD_MIN_PERCENT: f64 = 1.0;
const LOAD_MAX_PERCENT: f64 = 100.0;

/// Measures the latency from publication to the end of the callback under many subscribers, all on one core.
///
/// A process publishes five topics with periods of 10, 20, 50, 100 and 200 ms; the callbacks of another one take 2, 4,
/// 5, 15 and 50 ms: 90 % of the core. Variants whose names begin with nort- have no real-time threads.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin lab latency                          every variant once, about 3 minutes
  rospin lab latency --runs 10 --duration 20  as published: more than an hour
  rospin lab latency --runs 10 --duration 20 --variants futures-rt,rospin-rt
  rospin lab latency --core 1 --load 50 --json result.json
  rospin lab latency --transport dds --variants futures-rt,rospin-rt
  rospin lab latency --variants futures-rt-below,rospin-rt-below,futures-rt,rospin-rt
  rospin lab latency --virtual-only           a second, the same on every machine

Real-time threads need CAP_SYS_NICE (run it as root, or see `ulimit -r`). Without it every variant runs all the same,
and what is missing is said.")]
pub(crate) struct Options {
    /// Variants to run, in this order, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) variants: Vec<Variant>,

    /// Number of runs of each variant
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,

    /// Seconds that are published in a run
    #[arg(long, value_name = "SECONDS", default_value = "6", value_parser = parse_duration)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// The core that everything measured runs on; unless given, the last one that this process may use
    #[arg(long, value_name = "NUMBER")]
    pub(crate) core: Option<u16>,

    /// What the callbacks take of the core together
    #[arg(long, value_name = "PERCENT", default_value_t = FULL_LOAD_PERCENT, value_parser = parse_load)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) load: f64,

    /// The way between the two processes
    #[arg(long, value_name = "NAME", default_value = "socket")]
    pub(crate) transport: Transport,

    /// Measures nothing. Shows in virtual time what the priority of the middleware's threads does, and in which order
    /// R2R runs callbacks beside rospin
    #[arg(long, conflicts_with_all = ["variants", "runs", "duration", "core", "transport"])]
    pub(crate) virtual_only: bool,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,

    /// For this program's own use: runs one process as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

/// The way between the two processes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Transport {
    /// A Unix socket a topic
    Socket,
    /// ROS 2 nodes over DDS (Cyclone DDS); needs `--features dds`
    Dds,
    /// ROS 2 nodes over Zenoh; needs `--features zenoh`
    Zenoh,
}

impl Transport {
    /// Returns the middleware of the transport; `None` for sockets.
    pub(crate) const fn middleware(self) -> Option<Middleware> {
        match self {
            Self::Socket => None,
            Self::Dds => Some(Middleware::Dds),
            Self::Zenoh => Some(Middleware::Zenoh),
        }
    }
}

/// Error of a middleware that the program was built without.
#[derive(Debug, thiserror::Error)]
#[error("--transport {name}: {reason}", name = .0.name(), reason = .0.missing())]
pub(crate) struct NotBuilt(Middleware);

impl Options {
    /// Returns the middleware to measure over, with a domain for this run; `None` for sockets.
    ///
    /// # Errors
    /// If the program was built without the middleware.
    pub(crate) fn wire(&self) -> Result<Option<Wire>, NotBuilt> {
        let Some(middleware) = self.transport.middleware() else { return Ok(None) };
        if !middleware.is_built() {
            return Err(NotBuilt(middleware));
        }
        // A domain of its own keeps the run apart from robots on the network, and from a run beside it.
        let domain_id = 101 + (std::process::id() % 100) as u16;
        Ok(Some(Wire { middleware, domain_id }))
    }

    /// Returns the variants to run, each once, in the order in which they were given; all variants if none were given.
    pub(crate) fn variants(&self) -> Vec<Variant> {
        choice::in_given_order(&self.variants, Variant::all())
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, DURATION_MIN_S, DURATION_MAX_S)
}

fn parse_load(text: &str) -> Result<f64, String> {
    number::parse(text, "percent", LOAD_MIN_PERCENT, LOAD_MAX_PERCENT)
}

#[cfg(test)]
mod tests {
    use super::super::variant::Structure;
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn defaults() {
        let options = Options::from_arguments(&[]).unwrap();
        assert_eq!((options.runs, options.duration, options.load), (1, Duration::from_secs(6), 90.0));
        assert_eq!(options.variants(), Variant::all());
        assert!(options.core.is_none() && options.outputs.json.is_none() && !options.outputs.quiet);
    }

    #[test]
    fn variants_are_taken_in_order_and_once() {
        let options = Options::from_arguments(&["--variants", "rospin-rt,nort-tokio", "--variants=rospin-rt"]).unwrap();
        let nort_tokio = Variant { structure: Structure::Tokio, real_time: false };
        assert_eq!(options.variants(), [Variant::real_time(Structure::RospinRt), nort_tokio]);
    }

    #[test]
    fn bad_input_names_the_option_and_what_would_do() {
        for (option, value, expected) in [
            ("--variants", "futures-rs", "similar value exists: 'futures-rt'"),
            ("--runs", "0", "1..=100"),
            ("--duration", "0.1", "seconds from 0.4 to 3600"),
            ("--duration", "NaN", "seconds from 0.4 to 3600"),
            ("--load", "101", "percent from 1 to 100"),
            ("--load", "-1", "percent from 1 to 100"),
            ("--core", "x", "invalid digit"),
        ] {
            let error = Options::from_arguments(&[option, value]).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let said = error.to_string();
            assert!(said.contains(option) && said.contains(expected), "{said}");
        }
    }
}
