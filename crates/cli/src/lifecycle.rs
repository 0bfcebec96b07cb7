//! `rospin lifecycle`: the managed nodes of a running robot.

use std::io::Write;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin::message::interfaces::lifecycle_msgs as wire;
use rospin::time::ClockKind;
use rospin::{Client, ServiceInterface};
use rospin_report::{Failure, number};

use crate::ros::{Discovery, Session, find_node, is_hidden, missing};

pub(crate) const NAME: &str = "lifecycle";

/// The type of the service by which a managed node is known.
const GET_STATE: &str = "lifecycle_msgs/srv/GetState";

/// Lists managed nodes, and reads and changes their states
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 lifecycle`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin lifecycle nodes
  rospin lifecycle get /camera
  rospin lifecycle set /camera configure
  rospin lifecycle list /camera              the transitions that are possible now

Exit code: 0, 1 if there is no such node or a transition fails, 2 if an option is wrong.")]
struct Options {
    /// Counts nodes that begin with an underscore, too
    #[arg(long, global = true)]
    include_hidden_nodes: bool,

    /// Waits for answers of a node for at most so many seconds; a transition may take longer
    #[arg(long, global = true, value_name = "SECONDS", default_value = "5", value_parser = |text: &str| number::parse_seconds(text, 0.001, 1e9))]
    timeout: Duration,

    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the managed nodes
    Nodes(NodesOptions),
    /// Prints the state of a node, or of all managed nodes
    Get(GetOptions),
    /// Starts a transition of a node
    Set(SetOptions),
    /// Lists the transitions of a node that are possible now
    List(ListOptions),
}

#[derive(Args, Debug)]
struct NodesOptions {
    /// Lists nodes whose names begin with an underscore, too
    #[arg(long, short)]
    all: bool,

    /// Prints only the number of nodes
    #[arg(long, short)]
    count_nodes: bool,
}

#[derive(Args, Debug)]
struct GetOptions {
    /// Node, such as /camera
    node: Option<String>,
}

#[derive(Args, Debug)]
struct SetOptions {
    /// Node, such as /camera
    node: String,

    /// Transition, by name or number: configure, activate, deactivate, cleanup, shutdown
    transition: String,
}

#[derive(Args, Debug)]
struct ListOptions {
    /// Node, such as /camera
    node: String,

    /// Lists the transitions of all states
    #[arg(long, short)]
    all: bool,
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
    let limit = options.timeout;
    match &options.action {
        Action::Nodes(nodes) => {
            let found = managed(session, nodes.all || options.include_hidden_nodes)?;
            if nodes.count_nodes {
                writeln!(out, "{}", found.len())?;
                return Ok(());
            }
            for node in found {
                writeln!(out, "{node}")?;
            }
            Ok(())
        }
        Action::Get(get) => self::get(session, get, options, out),
        Action::Set(set) => self::set(&Managed { session, node: find(session, &set.node)?, limit }, set, out),
        Action::List(list) => self::list(&Managed { session, node: find(session, &list.node)?, limit }, list, out),
    }
}

/// Returns the managed nodes.
fn managed(session: &Session, with_hidden: bool) -> Result<Vec<String>, Failure> {
    session.discover()?;
    let services = session.node().service_names_and_types();
    let mut nodes = session.node().node_names();
    nodes.retain(|node| {
        let of = services.get(&format!("{node}/get_state"));
        (with_hidden || !is_hidden(node)) && of.is_some_and(|types| types.contains(GET_STATE))
    });
    Ok(nodes)
}

/// Waits for a managed node, and returns its fully qualified name.
fn find(session: &Session, node: &str) -> Result<String, Failure> {
    let name = find_node(session, node)?;
    let service = format!("{name}/get_state");
    let has_state = |node: &rospin::Node| node.count_servers(&service).is_ok_and(|count| count > 0);
    session.discover_until(has_state)?;
    if has_state(session.node()) {
        return Ok(name);
    }
    let managed = managed(session, true)?;
    match managed.is_empty() {
        true => Err(Failure::Run(format!("node {name} is not a managed node, and no other node is").into())),
        false => Err(missing("managed node", &name, &managed)),
    }
}

/// A managed node, over the network.
struct Managed<'a> {
    session: &'a Session,
    /// Fully qualified name.
    node: String,
    /// Longest time that an answer may take.
    limit: Duration,
}

impl Managed<'_> {
    fn call<S: ServiceInterface>(&self, service: &str, request: S::Request) -> Result<S::Response, Failure> {
        let name = format!("{}/{service}", self.node);
        let client: Client<S> = self.session.node().create_client(&*name).map_err(Failure::run)?;
        self.session.call(&client, request, self.limit)?.ok_or_else(|| self.late(&name))
    }

    /// Starts a transition, and returns whether it succeeds. It may take as long as it needs.
    fn change(&self, transition: &wire::Transition) -> Result<bool, Failure> {
        let name = format!("{}/change_state", self.node);
        let client: Client<wire::ChangeState> = self.session.node().create_client(&*name).map_err(Failure::run)?;
        let request = wire::ChangeStateRequest { transition: transition.clone() };
        let executor = self.session.ros().executor().handle();
        let changing = async {
            let waiting = executor.timeout(ClockKind::Steady, self.limit, client.wait_for_service());
            if waiting.await.is_err() {
                return Err(self.late(&name));
            }
            Ok(client.call(request).await.map_err(Failure::run)?.success)
        };
        self.session.finish(changing)?
    }

    /// Returns the failure of a node that did not answer on that service in time.
    fn late(&self, service: &str) -> Failure {
        let seconds = self.limit.as_secs_f64();
        Failure::Run(format!("node {} did not answer on {service} within {seconds} s", self.node).into())
    }

    fn transitions(&self, service: &str) -> Result<Vec<wire::TransitionDescription>, Failure> {
        let request = wire::GetAvailableTransitionsRequest::default();
        Ok(self.call::<wire::GetAvailableTransitions>(service, request)?.available_transitions)
    }
}

fn get(session: &Session, get: &GetOptions, options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let nodes = match &get.node {
        Some(node) => vec![find(session, node)?],
        None => managed(session, options.include_hidden_nodes)?,
    };
    for node in nodes {
        let managed = Managed { session, node, limit: options.timeout };
        let state = match managed.call::<wire::GetState>("get_state", wire::GetStateRequest::default()) {
            Ok(response) => response.current_state,
            // One node that does not answer must not keep the others from being shown.
            Err(error) if get.node.is_none() => {
                writeln!(std::io::stderr(), "warning: {error}")?;
                continue;
            }
            Err(error) => return Err(error),
        };
        if get.node.is_none() {
            write!(out, "{}: ", managed.node)?;
        }
        writeln!(out, "{} [{}]", state.label, state.id)?;
    }
    Ok(())
}

fn set(managed: &Managed<'_>, options: &SetOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let available = managed.transitions("get_available_transitions")?;
    let transitions = available.iter().map(|each| &each.transition);
    let by_label = transitions.clone().find(|each| each.label == options.transition);
    let chosen = by_label.or_else(|| transitions.clone().find(|each| each.id.to_string() == options.transition));
    let Some(chosen) = chosen else {
        let mut sentence = format!("node {} has no transition `{}` now; it has", managed.node, options.transition);
        for each in transitions {
            sentence.push_str(&format!("\n- {} [{}]", each.label, each.id));
        }
        return Err(Failure::Run(sentence.into()));
    };
    if !managed.change(chosen)? {
        return Err(Failure::Run("Transitioning failed".into()));
    }
    writeln!(out, "Transitioning successful")?;
    Ok(())
}

fn list(managed: &Managed<'_>, options: &ListOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let service = if options.all { "get_transition_graph" } else { "get_available_transitions" };
    for each in managed.transitions(service)? {
        writeln!(out, "- {} [{}]", each.transition.label, each.transition.id)?;
        writeln!(out, "\tStart: {}\n\tGoal: {}", each.start_state.label, each.goal_state.label)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rospin::lifecycle::Lifecycle;

    use super::*;
    use crate::ros::testing::{Robot, parse, written};

    /// A node that does nothing.
    struct Camera;

    impl Lifecycle for Camera {}

    fn lifecycle(robot: &Robot, arguments: &[&str]) -> Result<String, String> {
        let matches = parse(command(), &[&[NAME], arguments].concat());
        let options = Options::from_arg_matches(&matches).unwrap();
        written(|out| run_with(&robot.session, &options, out))
    }

    #[test]
    fn a_managed_node_is_led_through_its_states() {
        let robot = Robot::new();
        let _talker = robot.node("talker");
        let _camera = robot.session.ros().create_lifecycle_node("camera", Camera).unwrap();
        assert_eq!(lifecycle(&robot, &["nodes"]).unwrap(), "/camera\n");
        assert_eq!(lifecycle(&robot, &["nodes", "-c"]).unwrap(), "1\n");
        assert_eq!(lifecycle(&robot, &["get", "camera"]).unwrap(), "unconfigured [1]\n");
        assert_eq!(lifecycle(&robot, &["set", "/camera", "configure"]).unwrap(), "Transitioning successful\n");
        assert_eq!(lifecycle(&robot, &["set", "/camera", "3"]).unwrap(), "Transitioning successful\n");
        assert_eq!(lifecycle(&robot, &["get"]).unwrap(), "/camera: active [3]\n");
        let list = lifecycle(&robot, &["list", "/camera"]).unwrap();
        assert!(list.starts_with("- deactivate [4]\n\tStart: active\n\tGoal: deactivating\n"), "{list}");
        assert!(lifecycle(&robot, &["list", "-a", "/camera"]).unwrap().contains("- configure [1]\n"));
    }

    #[test]
    fn a_transition_may_take_as_long_as_it_needs() {
        let robot = Robot::new();
        let _camera = robot.session.ros().create_lifecycle_node("camera", Camera).unwrap();
        let camera = "/camera".to_owned();
        let managed = Managed { session: &robot.session, node: camera, limit: Duration::ZERO };
        assert!(managed.change(&wire::Transition { id: 1, label: "configure".to_owned() }).unwrap());
        let none = Managed { node: "/none".to_owned(), ..managed };
        let error = none.change(&wire::Transition::default()).unwrap_err().to_string();
        assert_eq!(error, "node /none did not answer on /none/change_state within 0 s");
    }

    #[test]
    fn a_transition_that_is_not_possible_is_an_error_with_those_that_are() {
        let robot = Robot::new();
        let _talker = robot.node("talker");
        let _camera = robot.session.ros().create_lifecycle_node("camera", Camera).unwrap();
        let error = lifecycle(&robot, &["set", "/camera", "activate"]).unwrap_err();
        assert!(error.starts_with("node /camera has no transition `activate` now; it has\n- configure [1]"), "{error}");
        assert_eq!(lifecycle(&robot, &["get", "/camra"]).unwrap_err(), "no node /camra; nearest: /camera");
        let error = lifecycle(&robot, &["get", "/talker"]).unwrap_err();
        assert!(error.starts_with("no managed node /talker"), "{error}");
    }
}
