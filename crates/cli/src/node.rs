//! `rospin node`: the nodes of a running robot.

use std::io::Write;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin::graph::EndpointKind;
use rospin_report::Failure;

use crate::ros::{Discovery, Session, ends, find_node, is_hidden, types_text};

pub(crate) const NAME: &str = "node";

/// Lists and shows the nodes of a running robot
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 node`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin node list
  rospin node info /talker

Exit code: 0, 1 if there is no such node, 2 if an option is wrong.")]
struct Options {
    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the nodes
    List(ListOptions),
    /// Prints the topics, services and actions of a node
    Info(InfoOptions),
}

#[derive(Args, Debug)]
struct ListOptions {
    /// Lists nodes whose names begin with an underscore, too
    #[arg(long, short)]
    all: bool,

    /// Prints only the number of nodes
    #[arg(long, short)]
    count_nodes: bool,
}

#[derive(Args, Debug)]
struct InfoOptions {
    /// Node, such as /talker
    node: String,

    /// Shows topics, services and actions that begin with an underscore, too
    #[arg(long)]
    include_hidden: bool,
}

/// Returns the subcommand with all options.
pub(crate) fn command() -> Command {
    Options::augment_args(Command::new(NAME)).disable_help_subcommand(true).arg_required_else_help(true)
}

/// Runs the command. `out` is stdout.
pub(crate) fn run(matches: &ArgMatches, out: &mut dyn Write) -> Result<(), Failure> {
    let options = Options::from_arg_matches(matches).map_err(Failure::input)?;
    run_with(&Session::join(&options.discovery)?, &options, out)
}

fn run_with(session: &Session, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match &options.action {
        Action::List(options) => list(session, options, out),
        Action::Info(options) => info(session, options, out),
    }
}

fn list(session: &Session, options: &ListOptions, out: &mut dyn Write) -> Result<(), Failure> {
    session.discover()?;
    let mut nodes = session.node().node_names();
    // A hidden node in a namespace is told by its own name, as in ROS 2.
    nodes.retain(|name| options.all || !name.rsplit('/').next().unwrap_or_default().starts_with('_'));
    if options.count_nodes {
        writeln!(out, "{}", nodes.len())?;
        return Ok(());
    }
    for node in nodes {
        writeln!(out, "{node}")?;
    }
    Ok(())
}

fn info(session: &Session, options: &InfoOptions, out: &mut dyn Write) -> Result<(), Failure> {
    // The node's ends may come later than its name.
    session.discover()?;
    let node = find_node(session, &options.node)?;
    let ends = ends::all(session);
    let published = ends::of_node(&ends, EndpointKind::Publisher, &node);
    let subscribed = ends::of_node(&ends, EndpointKind::Subscription, &node);
    let servers = ends::of_node(&ends, EndpointKind::Server, &node);
    let clients = ends::of_node(&ends, EndpointKind::Client, &node);
    let action_servers = ends::actions(&published);
    let action_clients = ends::actions(&subscribed);
    writeln!(out, "{node}")?;
    for (title, names) in [
        ("Subscribers", subscribed),
        ("Publishers", published),
        ("Service Servers", servers),
        ("Service Clients", clients),
        ("Action Servers", action_servers),
        ("Action Clients", action_clients),
    ] {
        writeln!(out, "  {title}:")?;
        let shown = names.iter().filter(|(name, _)| options.include_hidden || !is_hidden(name));
        let mut is_empty = true;
        for (name, types) in shown {
            writeln!(out, "    {name}: {}", types_text(types))?;
            is_empty = false;
        }
        // As `ros2` prints it.
        if is_empty {
            writeln!(out)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rospin::msgs::std_msgs::msg::String as Text;
    use rospin::msgs::std_srvs::srv::{SetBoolRequest, SetBoolResponse};

    use super::*;
    use crate::ros::testing::{Robot, parse, written};

    fn node(robot: &Robot, arguments: &[&str]) -> Result<String, String> {
        let matches = parse(command(), &[&[NAME], arguments].concat());
        let options = Options::from_arg_matches(&matches).unwrap();
        written(|out| run_with(&robot.session, &options, out))
    }

    #[test]
    fn nodes_are_listed_without_the_command_itself() {
        let robot = Robot::new();
        let _nodes = (robot.node("talker"), robot.node("_hidden"), robot.node("arm"));
        assert_eq!(node(&robot, &["list"]).unwrap(), "/arm\n/talker\n");
        assert_eq!(node(&robot, &["list", "-c"]).unwrap(), "2\n");
        assert!(node(&robot, &["list", "-a"]).unwrap().starts_with("/_hidden\n/_rospin_test\n"));
    }

    #[test]
    fn a_node_is_shown_with_its_topics_and_services() {
        let robot = Robot::new();
        let talker = robot.node("talker");
        let _chatter = talker.create_publisher::<Text>("chatter").unwrap();
        let _switch = talker.create_service("switch", |_: SetBoolRequest| SetBoolResponse::default()).unwrap();
        let text = node(&robot, &["info", "talker"]).unwrap();
        assert!(text.starts_with("/talker\n  Subscribers:\n"), "{text}");
        let (_, publishers) = text.split_once("  Publishers:\n").unwrap();
        assert!(publishers.starts_with("    /chatter: std_msgs/msg/String\n"), "{text}");
        assert!(text.contains("    /switch: std_srvs/srv/SetBool\n"), "{text}");
        assert!(text.ends_with("  Action Servers:\n\n  Action Clients:\n\n"), "{text}");
        assert_eq!(node(&robot, &["info", "/taker"]).unwrap_err(), "no node /taker; nearest: /talker");
    }
}
