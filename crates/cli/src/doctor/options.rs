//! The options of `rospin doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rospin_report::number;

/// Says what this machine can promise to a real-time program, and what would help: kernel, rights, cores, what is
/// around it, and how late threads and callbacks start.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Needs no rights; it says which ones are missing. Nothing is changed for good.

Examples:
  rospin doctor
  rospin doctor --core 3 --duration 60      a longer look at one core, while the machine does its usual work
  rospin doctor --json doctor.json          with the overheads that the analysis takes
  rospin doctor --strict                    exit code 1 if anything limits real time")]
pub(crate) struct Options {
    /// How long each of the four wake-up measurements takes, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = parse_seconds)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) duration: Duration,

    /// The core that is looked at [default: the last one that this process may use]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) core: Option<u16>,

    /// Fails if anything limits real time
    #[arg(long)]
    pub(crate) strict: bool,

    /// Writes all findings and figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// Shows no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    number::parse_seconds(text, 0.01, 3600.0)
}
