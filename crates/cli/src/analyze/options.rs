//! The options of `rospin analyze`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rospin_analysis::Reservation;
use rospin_report::output_options::OutputOptions;
use rospin_scenario::duration;
use serde::Serialize;

/// The name of the command.
pub(crate) const NAME: &str = "analyze";

/// Proves or refutes that every deadline of a scenario holds, for any phase of timers and messages.
///
/// Prints a bound for every callback and chain, and what to shorten or move where a deadline is not proven to hold.
/// Always ends: after a bounded number of steps it says what it could not prove. Ctrl-C ends it with what is known, and
/// the exit code says what that is; a second one ends it at once with 130. Exit code 0: all deadlines hold; 1: some are
/// not proven to; 2: the scenario cannot be analysed, or asks a core for more than it has.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin analyze crates/scenario/scenarios/latency.toml --simulate
  rospin doctor --json machine.json && rospin analyze robot.toml --overheads machine.json
  rospin analyze robot.toml --assign picas --deploy robot-deployment.toml
  rospin analyze robot.toml --apply 1 --deploy robot-deployment.toml
  rospin analyze robot.toml --reserve main=2ms/10ms
  rospin analyze robot.toml --critical control
  rospin analyze robot.toml --bounds bounds.toml   for ROSPIN_SYSTEM=robot.toml ROSPIN_BOUNDS=bounds.toml my_robot

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

    /// Writes the proven bounds to this file, which must not be there: a program that runs with ROSPIN_SYSTEM and
    /// ROSPIN_BOUNDS compares itself with them
    #[arg(long, value_name = "OUT")]
    pub(crate) bounds: Option<PathBuf>,

    /// Makes the change with this number, of those that are told where deadlines do not hold, before the analysis
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) apply: Option<u16>,

    /// Guarantees an executor processor time, as in main=2ms/10ms: SCHED_DEADLINE; may be given several times
    #[arg(long, value_name = "EXECUTOR=BUDGET/PERIOD", value_parser = parse_reservation, conflicts_with = "simulate")]
    pub(crate) reserve: Vec<(String, Reservation)>,

    /// Shows what runs from the critical instant of this callback or chain until it has ended; the report shows that of
    /// those whose deadlines are not proven to hold, too
    #[arg(long, value_name = "NAME", conflicts_with = "reserve")]
    pub(crate) critical: Option<String>,

    /// Leaves out how far each callback can change, which comes after the bounds and takes longer
    #[arg(long)]
    pub(crate) no_sensitivity: bool,

    /// Steps that the search for bounds may take, and that for margins, some nanoseconds each; without it, as many as
    /// suffice for most systems of this size
    #[arg(long, value_name = "STEPS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) work: Option<u64>,

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

// No doc comment here: clap would show it as the description of the command that includes these options.
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

/// Rule that assigns priorities.
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
    /// Returns the rule's name in sentences.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Picas => "PiCAS",
            Self::Rm => "rate monotonic",
            Self::Dm => "deadline monotonic",
            Self::Opa => "Audsley's optimal priority assignment",
        }
    }
}

/// Largest overhead in microseconds that is accepted, so that a wrong unit is noticed: one second.
const US_MAX: f64 = 1e6;

/// Checks that a number of microseconds is a valid overhead.
pub(super) fn check_us(us: f64) -> Result<f64, String> {
    if (0.0..=US_MAX).contains(&us) { Ok(us) } else { Err(format!("give microseconds from 0 to {US_MAX}")) }
}

fn parse_us(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().map_err(|_| format!("not a number; give microseconds from 0 to {US_MAX}"))?;
    check_us(number)
}

/// Parses a reservation, such as `main=2ms/10ms`.
fn parse_reservation(text: &str) -> Result<(String, Reservation), String> {
    let example = "write EXECUTOR=BUDGET/PERIOD, as in main=2ms/10ms";
    let (executor, times) = text.rsplit_once('=').ok_or_else(|| format!("there is no `=`; {example}"))?;
    let (budget, period) = times.split_once('/').ok_or_else(|| format!("there is no `/`; {example}"))?;
    let parse = |time: &str| duration::parse(time).map_err(|error| format!("{error}; {example}"));
    Ok((executor.to_owned(), Reservation { budget: parse(budget)?, period: parse(period)? }))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn reservations() {
        let (executor, reservation) = parse_reservation("a=b=2 ms/10ms").unwrap();
        assert_eq!((executor.as_str(), reservation.budget), ("a=b", Duration::from_millis(2)));
        for (text, expected) in
            [("main", "no `=`"), ("main=2ms", "no `/`"), ("main=2/3ms", "no unit"), ("main=2ms/", "is not a duration")]
        {
            let error = parse_reservation(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("as in main=2ms/10ms"), "{error}");
        }
    }
}
