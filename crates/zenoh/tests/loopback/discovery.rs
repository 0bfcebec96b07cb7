//! The graph beyond this process: nodes of another process come, say goodbye, and are killed.

use std::io::Write;
use std::process::Stdio;

use rospin_engine::SpinOptions;
use rospin_testkit::peers::KilledChild;
use rospin_zenoh::{Durability, History, Node, NodeOptions, PublisherOptions, Session};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, guest_options, process_of, wait_until,
};

/// The variable with the endpoint of the test, for the process that it starts.
const ENDPOINT: &str = "ROSPIN_TEST_DISCOVERY_ENDPOINT";

/// Starts this program's [`the_other_process`].
fn start(place: &Place) -> KilledChild {
    let mut command = process_of(module_path!(), "the_other_process");
    command.env(ENDPOINT, &place.endpoint);
    KilledChild(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
}

/// Runs in a process of its own; without an endpoint, nothing.
#[test]
fn the_other_process() {
    let Ok(endpoint) = std::env::var(ENDPOINT) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let session = Session::open(guest_options(&endpoint)).unwrap();
    let node = session.ros(&context).create_node(NodeOptions::new("node").namespace("/other")).unwrap();
    let latched = PublisherOptions::new("/chatter").keep_last(3).transient_local();
    let _publisher = node.create_publisher::<Text>(latched).unwrap();
    let group = executor.create_group("ends", ());
    let _subscription = node.on(&group).create_subscription("/chatter", |_: Text| ()).unwrap();
    let _server =
        node.on(&group).create_service::<AddTwoInts, _>("add", |AddRequest { a, b }| AddResponse { sum: a + b });
    let handle = executor.handle();
    std::thread::spawn(move || {
        // Returns when the test sends a line, or closes the pipe because it has ended.
        let _ = std::io::stdin().read_line(&mut String::new());
        handle.halt();
    });
    executor.spin(SpinOptions::new()).unwrap();
}

fn is_known(node: &Node) -> bool {
    node.node_names() == ["/observer", "/other/node"]
        && node.count_publishers("/chatter") == Ok(1)
        && node.count_subscriptions("/chatter") == Ok(1)
        && node.count_servers("/other/add") == Ok(1)
}

fn is_gone(node: &Node) -> bool {
    node.node_names() == ["/observer"]
        && node.topic_names_and_types().is_empty()
        && node.service_names_and_types().is_empty()
}

#[test]
fn another_process_is_seen_until_it_ends_or_is_killed() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place
        .host()
        .ros(&context)
        .create_node(
            NodeOptions::new("observer")
                .start_parameter_services(false)
                .start_type_description_service(false)
                .enable_rosout(false),
        )
        .unwrap();
    for is_killed in [false, true, false] {
        let mut other = start(&place);
        wait_until(&executor, "it has come", || is_known(&node));
        let info = node.publishers_info_by_topic("/chatter").unwrap().remove(0);
        assert_eq!((info.type_name.as_str(), info.node.as_deref()), ("std_msgs/msg/String", Some("/other/node")));
        assert_eq!((info.durability, info.history), (Some(Durability::TransientLocal), Some(History::KeepLast(3))));
        if is_killed {
            // The process's connections end with it, so there is no lease to wait for.
            other.kill().unwrap();
        } else {
            writeln!(other.stdin.as_mut().unwrap(), "end").unwrap();
        }
        wait_until(&executor, "it has gone", || is_gone(&node));
        other.wait().unwrap();
    }
}
