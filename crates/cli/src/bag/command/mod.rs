//! The options of `rospin bag`, and its output.

mod info;
mod keyboard;
mod play;
mod record;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin_report::Failure;

use super::qos::{self, Offered};
use super::record::Tell;

pub(crate) const NAME: &str = "bag";

/// Records messages of a running robot, plays them, and says what a bag has
#[derive(Args, Debug)]
#[command(after_help = "\
Bags are those of rosbag2: MCAP files and metadata.yaml in a folder. rosbag2 and Foxglove read
what is recorded here, and bags of theirs play here. The middleware is the one that
RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin bag record -a
  rospin bag record /scan /tf /tf_static -o drive
  rospin bag info drive
  rospin bag play drive --clock --rate 2")]
struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Records topics into a bag
    Record(record::Options),
    /// Publishes the messages of a bag at the times at which they were recorded
    Play(play::Options),
    /// Prints what a bag has
    Info(info::Options),
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    match &options.action {
        Action::Record(options) => record::run(options, out),
        Action::Play(options) => play::run(options, out),
        Action::Info(options) => info::run(options, out),
    }
}

/// Returns a receiver of sentences that prints them on stderr.
pub(crate) fn to_stderr() -> Tell {
    // If stderr is closed, nobody wants to know.
    Arc::new(|sentence| drop(writeln!(io::stderr().lock(), "{sentence}")))
}

/// The environment variable with the places where ROS 2 packages are installed.
const PLACES: &str = "AMENT_PREFIX_PATH";

/// Returns the places where ROS 2 packages are installed.
pub(crate) fn places() -> Vec<PathBuf> {
    let places = std::env::var_os(PLACES).unwrap_or_default();
    std::env::split_paths(&places).filter(|place| !place.as_os_str().is_empty()).collect()
}

/// Reasons for which an option's file cannot be used.
#[derive(Debug, thiserror::Error)]
enum FileFailure {
    #[error("--qos-profile-overrides-path {}: {reason}", path.display())]
    Overrides { path: PathBuf, reason: String },
}

/// Reads a file with quality of service for topics.
fn overrides(path: Option<&Path>) -> Result<BTreeMap<String, Offered>, Failure> {
    let Some(path) = path else { return Ok(BTreeMap::new()) };
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    let read = text.and_then(|text| qos::overrides(&text));
    read.map_err(|reason| Failure::input(FileFailure::Overrides { path: path.to_owned(), reason }))
}

/// Returns a number of things, with the word for one or for several.
fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
pub(super) mod testing {
    pub(in crate::bag) use super::play::testing::play;
    pub(in crate::bag) use super::record::testing::record;
}
