//! `rospin topic`: the topics of a running robot.

mod list;

use std::io::Write;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin_report::Failure;

use crate::ros::{Discovery, Session};

pub(crate) const NAME: &str = "topic";

/// Lists, shows and publishes the topics of a running robot
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 topic`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin topic list -t

Exit code: 0, 1 if there is no such topic, 2 if an option is wrong.")]
struct Options {
    /// Counts topics that begin with an underscore, too
    #[arg(long, global = true)]
    include_hidden_topics: bool,

    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the topics
    List(list::Options),
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let session = Session::join(&options.discovery)?;
    run_with(&session, &options, out)
}

fn run_with(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match &options.action {
        Action::List(list) => list::run(session, list, options.include_hidden_topics, out),
    }
}

#[cfg(test)]
mod testing {
    //! Runs of the command beside nodes of the same process.

    use super::*;
    use crate::ros::testing::{Robot, parse, written};

    /// Runs `rospin topic` with these arguments. The error is the command's.
    pub(super) fn topic(robot: &Robot, arguments: &[&str]) -> Result<String, String> {
        let matches = parse(command(), &[&[NAME], arguments].concat());
        let options = Options::from_arg_matches(&matches).unwrap();
        written(|out| run_with(&robot.session, &options, out))
    }
}
