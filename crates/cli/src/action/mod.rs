//! `rospin action`: the actions of a running robot.

mod send_goal;
#[cfg(test)]
mod tests;

use std::io::Write;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin::graph::EndpointKind;
use rospin_report::Failure;

use crate::ros::{Discovery, Session, ends, missing, print_names, types, types_text};

pub(crate) const NAME: &str = "action";

/// Lists and shows actions, and sends goals
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 action`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin action list -t
  rospin action info /fibonacci
  rospin action send_goal -f /fibonacci example_interfaces/action/Fibonacci '{order: 5}'
  rospin action send_goal /fibonacci '{order: 5}'     the type may be left out if its package is installed

An interrupt (Ctrl-C) cancels the goal.

Exit code: 0, 1 if there is no such action, or a goal is rejected or does not succeed, 2 if an option or a value is wrong.")]
struct Options {
    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the actions
    List(ListOptions),
    /// Prints the clients and servers of an action
    Info(InfoOptions),
    /// Sends a goal, and prints its result
    #[command(name = "send_goal", visible_alias = "send")]
    SendGoal(send_goal::Options),
    /// Prints the type of an action
    Type(TypeOptions),
    /// Prints the actions of a type
    Find(FindOptions),
}

#[derive(Args, Debug)]
struct ListOptions {
    /// Shows the types, too
    #[arg(long, short = 't')]
    show_types: bool,

    /// Prints only the number of actions
    #[arg(long, short)]
    count_actions: bool,
}

#[derive(Args, Debug)]
struct InfoOptions {
    /// Action, such as /fibonacci
    action: String,

    /// Shows the types, too
    #[arg(long, short = 't')]
    show_types: bool,

    /// Prints only the numbers of clients and servers
    #[arg(long, short)]
    count: bool,
}

#[derive(Args, Debug)]
struct TypeOptions {
    /// Action, such as /fibonacci
    action: String,
}

#[derive(Args, Debug)]
struct FindOptions {
    /// Type, such as example_interfaces/action/Fibonacci
    action_type: String,

    /// Prints only the number of actions
    #[arg(long, short)]
    count_actions: bool,
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
        Action::List(list) => print(session, None, list.show_types, list.count_actions, out),
        Action::Find(find) => {
            let wanted = types::full_name(&find.action_type, "action");
            print(session, Some(&wanted), false, find.count_actions, out)
        }
        Action::Info(info) => self::info(session, info, out),
        Action::SendGoal(goal) => send_goal::run(session, goal, out),
        Action::Type(of) => {
            let (_, types) = find(session, &of.action)?;
            for of in types {
                writeln!(out, "{of}")?;
            }
            Ok(())
        }
    }
}

/// Waits for an action, and returns its full name and its types.
fn find(session: &Session, action: &str) -> Result<(String, Vec<String>), Failure> {
    let name = session.node().resolve_topic(action).map_err(Failure::input)?.to_string();
    session.discover_until(|node| {
        let servers = node.publishers_info_by_topic(&format!("{name}/_action/feedback")).unwrap_or_default();
        servers.iter().any(|server| server.node.is_some())
    })?;
    let actions = ends::actions(&session.node().topic_names_and_types());
    match actions.get(&name) {
        Some(types) => Ok((name, types.iter().cloned().collect())),
        None => Err(missing("action", &name, actions.keys())),
    }
}

/// Prints the actions, or those of a type.
fn print(
    session: &Session,
    wanted: Option<&str>,
    with_types: bool,
    is_count: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    session.discover()?;
    let mut actions = ends::actions(&session.node().topic_names_and_types());
    if let Some(wanted) = wanted {
        actions.retain(|_, types| types.contains(wanted));
    }
    print_names(&actions, with_types, is_count, out)
}

fn info(session: &Session, options: &InfoOptions, out: &mut dyn Write) -> Result<(), Failure> {
    // All ends are counted, so one of them is not enough.
    session.discover()?;
    let (action, _) = find(session, &options.action)?;
    let ends = ends::all(session);
    writeln!(out, "Action: {action}")?;
    for (title, kind) in [("clients", EndpointKind::Subscription), ("servers", EndpointKind::Publisher)] {
        let nodes = ends::nodes_of_action(&ends, kind, &action);
        writeln!(out, "Action {title}: {}", nodes.len())?;
        if options.count {
            continue;
        }
        for (node, types) in nodes {
            if options.show_types {
                writeln!(out, "    {node} [{}]", types_text(&types))?;
            } else {
                writeln!(out, "    {node}")?;
            }
        }
    }
    Ok(())
}
