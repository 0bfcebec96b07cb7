//! The options of `rospin analyze`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::output_options::OutputOptions;

/// Proves or refutes that every deadline of a scenario holds, for any phase of timers and messages.
///
/// Prints a bound for every callback and chain, and what to shorten or move where a deadline is not proven to hold. Always
/// ends: after a bounded number of steps it says what it could not prove. Ctrl-C ends it with what is known. Exit code 0:
/// all deadlines hold; 1: some are not proven to; 2: the scenario cannot be analysed, or asks a core for more than it has.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin analyze crates/scenario/scenarios/latency.toml --simulate
  rospin doctor --json machine.json && rospin analyze robot.toml --overheads machine.json
  rospin analyze robot.toml --assign picas --deploy robot-deployment.toml

The files in crates/scenario/scenarios explain every key of a scenario.")]
pub(crate) struct Options {
    /// The scenario, a TOML file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Gives callbacks and executors other priorities before the analysis, and executors cores (opa leaves these)
    #[arg(long, value_name = "RULE", value_enum)]
    pub(crate) assign: Option<Rule>,

    /// Writes a deployment file with priorities and cores to this file, which must not be there
    #[arg(long, value_name = "OUT")]
    pub(crate) deploy: Option<PathBuf>,

    /// Leaves out how far each callback can change, which comes after the bounds and takes longer
    #[arg(long)]
    pub(crate) no_sensitivity: bool,

    /// Puts the longest times of simulations beside the bounds
    #[arg(long)]
    pub(crate) simulate: bool,

    /// How many simulations, each with a seed of its own, the scenario's and those that follow
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    #[arg(requires = "simulate")]
    pub(crate) seeds: u64,

    #[command(flatten)]
    pub(crate) overheads: OverheadOptions,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

// No doc comment: flattened, it would be taken for what the command is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct OverheadOptions {
    /// Takes the machine's overheads from this file, which `rospin doctor --json` wrote; none unless given
    #[arg(long, value_name = "FILE")]
    pub(crate) overheads: Option<PathBuf>,

    /// Microseconds from one callback to the next, in place of the file's
    #[arg(long, value_name = "US", value_parser = parse_us, allow_negative_numbers = true)]
    pub(crate) dispatch_us: Option<f64>,

    /// Microseconds until a parked thread runs, in place of the file's
    #[arg(long, value_name = "US", value_parser = parse_us, allow_negative_numbers = true)]
    pub(crate) wake_up_us: Option<f64>,

    /// Microseconds of the middleware's receive thread for a message, in place of the file's
    #[arg(long, value_name = "US", value_parser = parse_us, allow_negative_numbers = true)]
    pub(crate) receive_us: Option<f64>,
}

/// How priorities are assigned.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rule {
    /// By chains: the more critical one first, in a chain the later callback (PiCAS)
    Picas,
    /// Rate monotonic: what comes more often first
    Rm,
    /// Deadline monotonic: the shorter deadline first
    Dm,
    /// Audsley's: an order with which all deadlines hold, if there is one
    Opa,
}

impl Rule {
    /// Its name in sentences.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Picas => "PiCAS",
            Self::Rm => "rate monotonic",
            Self::Dm => "deadline monotonic",
            Self::Opa => "Audsley's optimal priority assignment",
        }
    }
}

/// More than a second is no overhead.
const US_MAX: f64 = 1e6;

/// A number of microseconds that an overhead can be.
pub(super) fn check_us(us: f64) -> Result<f64, String> {
    if (0.0..=US_MAX).contains(&us) { Ok(us) } else { Err(format!("give microseconds from 0 to {US_MAX}")) }
}

fn parse_us(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().map_err(|_| format!("not a number; give microseconds from 0 to {US_MAX}"))?;
    check_us(number)
}
