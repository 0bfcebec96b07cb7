//! The options of `rospin lab wire`.

use std::time::Duration;

use clap::Args;
use rospin_report::choice;
use rospin_report::number;
use rospin_report::output_options::OutputOptions;

use crate::middleware::Middleware;

use super::cell::{Cell, Contender, Place, Size};

/// The name of the experiment, on the command line and in its result files.
pub(crate) const NAME: &str = "wire";
/// Default path of the report.
pub(crate) const DEFAULT_REPORT: &str = "rospin-wire.html";

/// Measures the wire: messages a second, latency, CPU, wake-ups and allocations over each middleware, beside the
/// middleware alone.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each measurement has processes of its own: first as many messages as there can be with at most 100 (and 64 MiB) under way, then a
fixed rate: 10 kHz in one process and 1 kHz there and back up to 16 KiB, less for larger ones. In one process latency is one way,
otherwise there and back; a flood goes one way. CPU, wake-ups and allocations are those at the fixed rate, of both ends, without the sending thread's CPU.
The program needs its features: cargo build --release --manifest-path lab/Cargo.toml --features dds,zenoh

A peer is a node that publishes on wire_pong what it hears on wire_ping (std_msgs/msg/UInt8MultiArray, reliable). It is started with
ROS_DOMAIN_ID, ROS_AUTOMATIC_DISCOVERY_RANGE, RMW_IMPLEMENTATION and, over Zenoh, ZENOH_CONFIG_OVERRIDE set as our end has them. It
keeps its own priority, and CPU and wake-ups are those of our end alone.

Two hosts are network namespaces with a virtual cable, made for the run and removed after it. That needs root and the program `ip`;
without them, the other places are measured and a remark says why. Here and between two processes, messages go there and back.

Examples:
  rospin lab wire
  rospin lab wire --places process --sizes 0,64KiB --rounds 3
  sudo rospin lab wire --places hosts --middlewares zenoh
  rospin lab wire --middlewares dds --peer 'ros2 run my_package echo'")]
pub(crate) struct Options {
    /// Middlewares to measure, separated by commas; all that this program was built with unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) middlewares: Vec<Middleware>,

    /// Places of the two ends, separated by commas; all unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) places: Vec<Place>,

    /// Sizes of messages such as 4KiB, separated by commas; 0, 4KiB, 64KiB, 1MiB and 10MiB unless given
    #[arg(long, value_name = "SIZES", value_delimiter = ',')]
    pub(crate) sizes: Vec<Size>,

    /// Who sends and listens, separated by commas; both unless given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) contenders: Vec<Contender>,

    /// Number of times that each is measured, in turns; the figures are medians
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: u32,

    /// Length of each of the two measurements in seconds
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) seconds: Duration,

    /// Measures a node that this command starts in place of an end of our own
    #[arg(long, value_name = "COMMAND", conflicts_with = "places")]
    pub(crate) peer: Option<String>,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,

    /// For this program's own use: runs one end as told on stdin.
    #[arg(long = "order-on-stdin", hide = true)]
    pub(crate) order_on_stdin: bool,
}

/// Reasons for which nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Conflict {
    #[error("--middlewares {name}: {reason}", name = .0.name(), reason = .0.missing())]
    NotBuilt(Middleware),
    #[error(
        "nothing is left to measure: in process there is one place, `process`, one contender, `rospin`, and no peer"
    )]
    Nothing,
}

impl Options {
    /// Returns the cells to measure, in the order of the table.
    ///
    /// # Errors
    /// If this program lacks a middleware that was asked for, or no cell is left to measure.
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, Conflict> {
        if let Some(middleware) = self.middlewares.iter().find(|middleware| !middleware.is_built()) {
            return Err(Conflict::NotBuilt(*middleware));
        }
        let places = match self.peer {
            Some(_) => vec![Place::Peer],
            None => choice::in_own_order(&self.places, &Place::OWN),
        };
        let mut sizes = if self.sizes.is_empty() { Size::ALL.to_vec() } else { self.sizes.clone() };
        sizes.sort_unstable();
        sizes.dedup();
        let contenders = match (&self.peer, &self.contenders[..]) {
            // A bare end over Zenoh does not receive the messages of a peer's node.
            (Some(_), []) => vec![Contender::Rospin],
            (_, given) => choice::in_own_order(given, &Contender::ALL),
        };
        let mut cells = Vec::new();
        for place in places {
            for size in &sizes {
                for middleware in choice::in_own_order(&self.middlewares, &Middleware::ALL) {
                    let of = |contender: &Contender| Cell { place, size: *size, middleware, contender: *contender };
                    let wanted = contenders.iter().map(of);
                    cells.extend(wanted.filter(|cell| cell.makes_sense() && cell.middleware.is_built()));
                }
            }
        }
        if cells.is_empty() { Err(Conflict::Nothing) } else { Ok(cells) }
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.01, 600.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn everything_that_was_built_is_measured_by_default() {
        let options = Options::from_arguments(&[]).unwrap();
        let cells = options.cells().unwrap();
        let built = Middleware::ALL.into_iter().filter(|middleware| middleware.is_built()).count();
        // In process there is one place and one contender.
        assert_eq!(cells.len(), 5 + (built - 1) * 5 * 5 * 2);
        assert_eq!((options.rounds, options.seconds), (1, Duration::from_millis(500)));
    }

    #[test]
    fn impossible_values_name_the_option_or_the_fix() {
        for (option, value) in [("--sizes", "1GiB"), ("--rounds", "0"), ("--seconds", "-1"), ("--places", "moon")] {
            let error = Options::from_arguments(&[option, value]).unwrap_err().to_string();
            assert!(error.contains(option), "{error}");
        }
        let nothing = Options::from_arguments(&["--middlewares", "in-process", "--peer", "true"]).unwrap();
        assert!(nothing.cells().unwrap_err().to_string().contains("nothing is left"));
        if !Middleware::Dds.is_built() {
            let error = Options::from_arguments(&["--middlewares", "dds"]).unwrap().cells().unwrap_err().to_string();
            assert!(error.contains("--middlewares dds") && error.contains("--features dds"), "{error}");
        }
    }
}
