//! The options of `rospin simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use rospin_engine::policy::POLICIES;
use rospin_report::output_options::OutputOptions;
use rospin_scenario::duration;
use serde::Serialize;

/// The name of the command.
pub(crate) const NAME: &str = "simulate";

/// Runs a scenario in virtual time on the engine's scheduling core, with oracles that check every decision.
///
/// Prints response times by callback and chain, and the timeline of the beginning. Exit code 1 says that a callback
/// starved, or that an oracle found a broken rule: a bug of rospin or of a policy. Code 2: there is nothing that can be
/// simulated.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  rospin simulate crates/scenario/scenarios/chain.toml
  rospin simulate robot.toml --policy edf --duration '10 min' --seed 7
  rospin simulate robot.toml --seeds 100
  rospin simulate robot.toml --report robot.html --json robot.json --quiet

The files in crates/scenario/scenarios explain every key of a scenario.")]
pub(crate) struct Options {
    /// The scenario, a TOML file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// What everything random comes from, in place of the scenario's seed
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,

    /// Simulates N seeds from that one on, on all cores, and prints percentiles with 95 % confidence intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    #[arg(conflicts_with_all = ["record", "activations"])]
    pub(crate) seeds: Option<u64>,

    /// Simulated time in place of the scenario's: a number and a unit, as in '500 ms'
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    #[arg(allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,

    /// Policy of every executor, in place of the scenario's
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(POLICIES.iter().map(|policy| policy.name)))]
    pub(crate) policy: Option<String>,

    /// Records all decisions into this file, as those of programs are recorded: for `rospin replay` and `rospin trace`
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Which activations the JSON file lists
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Listed::All, requires = "json")]
    pub(crate) activations: Listed,

    #[command(flatten)]
    pub(crate) outputs: OutputOptions,
}

/// The activations that are listed one by one.
#[derive(ValueEnum, Serialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Listed {
    /// Everything that ran to its end, about 130 bytes each
    All,
    /// Those of the timeline, for a small file
    Shown,
}

impl Options {
    /// Returns a command that repeats the simulation, even if the seed in the scenario changes.
    pub(crate) fn replay(&self, seed: u64) -> String {
        let mut command = format!("rospin simulate {} --seed {seed}", quoted(&self.file.display().to_string()));
        if let Some(time) = self.duration {
            command += &format!(" --duration {}", quoted(&duration::format(time)));
        }
        if let Some(policy) = &self.policy {
            command += &format!(" --policy {policy}");
        }
        command
    }
}

/// Returns the text in quotes for a shell, if it needs them.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = duration::parse(text).map_err(|error| error.to_string())?;
    if parsed.is_zero() { Err("nothing happens in no time; give more than 0".to_owned()) } else { Ok(parsed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rospin_report::output_options::FromArguments;

    #[test]
    fn bad_values_name_option_and_fix() {
        for (option, value, fix) in [
            ("--duration", "500", "write one of ns, us, ms"),
            ("--duration", "-1 s", "0 or more"),
            ("--duration", "0 s", "more than 0"),
            ("--policy", "fair", "wait-set-e1"),
            ("--seed", "-1", "invalid digit"),
            ("--seeds", "0", "1..=1000000"),
            ("--activations", "some", "all, shown"),
            ("--activations", "all", "--json"),
        ] {
            let message = Options::from_arguments(&["file", &format!("{option}={value}")]).unwrap_err().to_string();
            assert!(message.contains(option) && message.contains(fix), "{message}");
        }
    }

    #[test]
    fn replay_is_a_command_for_a_shell() {
        let options = Options::from_arguments(&["my file's.toml", "--duration", "1500 ms", "--policy", "edf"]).unwrap();
        assert_eq!(options.replay(3), r"rospin simulate 'my file'\''s.toml' --seed 3 --duration '1.5 s' --policy edf");
        assert_eq!(Options::from_arguments(&["a/b.toml"]).unwrap().replay(0), "rospin simulate a/b.toml --seed 0");
    }
}
