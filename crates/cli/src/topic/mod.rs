//! `rospin topic`: the topics of a running robot.

mod echo;
mod info;
mod list;
mod publish;
mod rate;
mod window;

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
  rospin topic info -v /scan                       who publishes and hears it, with which quality of service
  rospin topic echo /odom --field pose.pose.position
  rospin topic echo --once --no-arr /image
  rospin topic pub -r 10 /cmd_vel geometry_msgs/msg/Twist '{linear: {x: 0.5}}'
  rospin topic pub --once /chatter '{data: hello}'   the type of a topic that is there may be left out
  rospin topic hz /scan

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
    /// Prints the type of a topic, and who publishes and hears it
    Info(info::Options),
    /// Prints the messages of a topic
    Echo(echo::Options),
    /// Publishes messages
    Pub(publish::Options),
    /// Prints how often messages come, once a second
    Hz(rate::HzOptions),
    /// Prints how many bytes come, once a second
    Bw(rate::BwOptions),
    /// Prints how old messages are when they come, by the stamps in their headers
    Delay(rate::DelayOptions),
    /// Prints the type of a topic
    Type(info::TypeOptions),
    /// Prints the topics of a type
    Find(info::FindOptions),
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    let name = match &options.action {
        Action::Echo(echo) => echo.node_name.as_deref(),
        Action::Pub(publish) => publish.node_name.as_deref(),
        _ => None,
    };
    let session = Session::join_as(&options.discovery, name)?;
    run_with(&session, &options, out)
}

fn run_with(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match &options.action {
        Action::List(list) => list::run(session, list, options.include_hidden_topics, out),
        Action::Info(info) => info::run(session, info, out),
        Action::Echo(echo) => echo::run(session, echo, out),
        Action::Pub(publish) => publish::run(session, publish, out),
        Action::Hz(hz) => rate::run_hz(session, hz, out),
        Action::Bw(bw) => rate::run_bw(session, bw, out),
        Action::Delay(delay) => rate::run_delay(session, delay, out),
        Action::Type(of) => info::run_type(session, of, out),
        Action::Find(find) => info::run_find(session, find, options.include_hidden_topics, out),
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
