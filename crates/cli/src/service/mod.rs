//! `rospin service`: the services of a running robot.

mod call;
mod echo;

use std::io::Write;

use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use rospin_report::Failure;

use crate::ros::{Discovery, Session, find_service, is_hidden, print_names, types, types_text};

pub(crate) const NAME: &str = "service";

/// Lists, shows and calls the services of a running robot
#[derive(Args, Debug)]
#[command(after_help = "\
Options and output are those of `ros2 service`. The middleware is the one that RMW_IMPLEMENTATION names, and ROS_DOMAIN_ID counts.

Examples:
  rospin service list -t
  rospin service call /add example_interfaces/srv/AddTwoInts '{a: 2, b: 3}'
  rospin service call /switch '{data: true}'         the type may be left out: the server is asked for it
  rospin service echo /switch                        the calls of others, where introspection is switched on

Exit code: 0, 1 if there is no such service or it does not answer, 2 if an option or a value is wrong.")]
struct Options {
    /// Counts services that begin with an underscore, too
    #[arg(long, global = true)]
    include_hidden_services: bool,

    #[command(flatten)]
    discovery: Discovery,

    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Lists the services
    List(ListOptions),
    /// Prints the type of a service, and the numbers of its clients and servers
    Info(NameOptions),
    /// Calls a service, and prints the response
    Call(call::Options),
    /// Prints the requests and responses of a service, as its introspection tells them
    Echo(echo::Options),
    /// Prints the type of a service
    Type(NameOptions),
    /// Prints the services of a type
    Find(FindOptions),
}

#[derive(Args, Debug)]
struct ListOptions {
    /// Shows the types, too
    #[arg(long, short = 't')]
    show_types: bool,

    /// Prints only the number of services
    #[arg(long, short)]
    count_services: bool,
}

#[derive(Args, Debug)]
struct NameOptions {
    /// Service, such as /add_two_ints
    service: String,
}

#[derive(Args, Debug)]
struct FindOptions {
    /// Type, such as std_srvs/srv/SetBool
    service_type: String,

    /// Prints only the number of services
    #[arg(long, short)]
    count_services: bool,
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
        Action::List(list) => print(session, None, list.show_types, list.count_services, options, out),
        Action::Find(find) => {
            let wanted = types::full_name(&find.service_type, "srv");
            print(session, Some(&wanted), false, find.count_services, options, out)
        }
        Action::Info(of) => info(session, of, out),
        Action::Call(call) => call::run(session, call, out),
        Action::Echo(echo) => echo::run(session, echo, out),
        Action::Type(of) => {
            let service = find_service(session, &of.service)?;
            for of in &session.node().service_names_and_types()[&service] {
                writeln!(out, "{of}")?;
            }
            Ok(())
        }
    }
}

/// Prints the services, or those of a type.
fn print(
    session: &Session,
    wanted: Option<&str>,
    with_types: bool,
    is_count: bool,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    session.discover()?;
    let mut services = session.node().service_names_and_types();
    services.retain(|name, _| options.include_hidden_services || !is_hidden(name));
    if let Some(wanted) = wanted {
        services.retain(|_, types| types.contains(wanted));
    }
    print_names(&services, with_types, is_count, out)
}

fn info(session: &Session, options: &NameOptions, out: &mut dyn Write) -> Result<(), Failure> {
    let node = session.node();
    let service = node.resolve_service(&options.service).map_err(Failure::input)?.to_string();
    // All ends are counted, so one of them is not enough.
    session.discover()?;
    session.discover_until(|node| node.service_names_and_types().contains_key(&service))?;
    let services = node.service_names_and_types();
    let Some(types) = services.get(&service) else {
        return Err(crate::ros::missing("service", &service, services.keys()));
    };
    writeln!(out, "Type: {}", types_text(types))?;
    writeln!(out, "Clients count: {}", node.count_clients(&service).map_err(Failure::run)?)?;
    writeln!(out, "Services count: {}", node.count_servers(&service).map_err(Failure::run)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rospin::monitoring::ServiceIntrospectionState;
    use rospin::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};

    use super::*;
    use crate::ros::testing::{Robot, interrupt, parse, written};

    fn service(robot: &Robot, arguments: &[&str]) -> Result<String, String> {
        let matches = parse(command(), &[&[NAME], arguments].concat());
        let options = Options::from_arg_matches(&matches).unwrap();
        written(|out| run_with(&robot.session, &options, out))
    }

    fn switch(robot: &Robot) -> rospin::Service {
        let answer = |request: SetBoolRequest| SetBoolResponse { success: request.data, message: "it's on".to_owned() };
        robot.node("lamp").create_service("switch", answer).unwrap()
    }

    #[test]
    fn services_are_listed_and_described() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        let list = service(&robot, &["list", "-t"]).unwrap();
        assert!(list.contains("/switch [std_srvs/srv/SetBool]\n"), "{list}");
        assert_eq!(service(&robot, &["find", "std_srvs/SetBool"]).unwrap(), "/switch\n");
        assert_eq!(service(&robot, &["find", "-c", "std_srvs/srv/SetBool"]).unwrap(), "1\n");
        assert_eq!(service(&robot, &["type", "switch"]).unwrap(), "std_srvs/srv/SetBool\n");
        let info = service(&robot, &["info", "/switch"]).unwrap();
        assert_eq!(info, "Type: std_srvs/srv/SetBool\nClients count: 0\nServices count: 1\n");
        assert_eq!(service(&robot, &["type", "/swich"]).unwrap_err(), "no service /swich; nearest: /switch");
    }

    #[test]
    fn a_call_prints_request_and_response() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        let expected = "requester: making request: std_srvs.srv.SetBool_Request(data=True)\n\n\
             response:\nstd_srvs.srv.SetBool_Response(success=True, message=\"it's on\")\n\n";
        assert_eq!(service(&robot, &["call", "/switch", "std_srvs/srv/SetBool", "{data: true}"]).unwrap(), expected);
        assert_eq!(service(&robot, &["call", "/switch", "{data: true}"]).unwrap(), expected);
        let off = service(&robot, &["call", "/switch", "std_srvs/SetBool"]).unwrap();
        assert!(off.contains("success=False"), "{off}");
        let yaml = service(&robot, &["call", "--yaml", "/switch", "{data: true}"]).unwrap();
        assert_eq!(yaml, "success: true\nmessage: it's on\n");
    }

    /// Has the switch called again and again by a client that tells of its calls.
    fn calls(robot: &Robot) -> rospin::Timer {
        let node = robot.node("caller");
        let client = node.create_client::<SetBool>("switch").unwrap();
        client.configure_introspection(rospin::Qos::default(), ServiceIntrospectionState::Contents).unwrap();
        let call = move |_: rospin::Tick<rospin::time::Instant>| drop(client.call(SetBoolRequest { data: true }));
        node.create_wall_timer(std::time::Duration::from_millis(1), call).unwrap()
    }

    #[test]
    fn events_are_heard_as_reliably_as_they_are_published() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        let _calls = calls(&robot);
        // A publisher of events that offers no more than best effort does not meet this.
        service(&robot, &["echo", "--once", "--qos-reliability", "reliable", "/switch"]).unwrap();
        let node = robot.node("watched");
        let client = node.create_client::<SetBool>("switch").unwrap();
        let best_effort = rospin::Qos::sensor_data();
        client.configure_introspection(best_effort, ServiceIntrospectionState::Metadata).unwrap();
        service(&robot, &["echo", "--once", "/switch"]).unwrap();
    }

    #[test]
    fn calls_of_others_are_printed_where_they_are_introspected() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        let _calls = calls(&robot);
        for arguments in [&["echo", "--once", "/switch"][..], &["echo", "--once", "switch", "std_srvs/SetBool"]] {
            let yaml = service(&robot, arguments).unwrap();
            assert!(yaml.starts_with("info:\n  event_type: REQUEST_SENT\n  stamp:\n    sec: "), "{yaml}");
            assert!(yaml.ends_with("request:\n- data: true\nresponse: []\n---\n"), "{yaml}");
        }
        let flow = service(&robot, &["echo", "--once", "--flow-style", "/switch"]).unwrap();
        assert!(flow.starts_with("{info: {event_type: REQUEST_SENT, stamp: {sec: "), "{flow}");
        let csv = service(&robot, &["echo", "--once", "--csv", "/switch"]).unwrap();
        assert!(csv.starts_with("0,"), "{csv}");
        let error = service(&robot, &["echo", "/swich"]).unwrap_err();
        assert_eq!(error, "no service /swich; nearest: /switch");
    }

    #[test]
    fn a_service_without_introspection_is_silent() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        assert_eq!(service(&robot, &["echo", "--timeout", "0.01", "/switch"]).unwrap(), "");
        let error = service(&robot, &["echo", "--timeout", "0.01", "/later", "std_srvs/srv/Switch"]).unwrap_err();
        assert!(error.contains("std_srvs/srv/Switch"), "{error}");
    }

    #[test]
    fn an_interrupt_before_the_response_is_an_error() {
        for (arguments, expected) in [
            (&[][..], Err("interrupted".to_owned())),
            (&["--timeout", "1000000"], Err("interrupted".to_owned())),
            (&["--rate", "1"], Ok(())),
        ] {
            let robot = Robot::new();
            let node = robot.node("lamp");
            let never = async |_: SetBoolRequest| std::future::pending::<SetBoolResponse>().await;
            let _switch = node.create_service("switch", never).unwrap();
            let _timer = interrupt(&node, &robot);
            let arguments = [&["call", "/switch", "{data: true}"], arguments].concat();
            assert_eq!(service(&robot, &arguments).map(drop), expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_call_that_cannot_be_made_is_an_error() {
        let robot = Robot::new();
        let _switch = switch(&robot);
        let error = service(&robot, &["call", "/swich", "{data: true}"]).unwrap_err();
        assert_eq!(error, "no service /swich; nearest: /switch");
        let error = service(&robot, &["call", "/switch", "{date: true}"]).unwrap_err();
        assert_eq!(error, "`date`: std_srvs/srv/SetBool_Request has no field `date`; it has data");
        let error = service(&robot, &["call", "/switch", "std_srvs/srv/Trigger", "{}"]).unwrap_err();
        assert_eq!(error, "service /switch is of type std_srvs/srv/SetBool, not std_srvs/srv/Trigger");
    }
}
