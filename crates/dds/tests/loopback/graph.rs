//! The graph beyond this process: nodes of other processes come, say goodbye, and are killed; so does a peer of another
//! make.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rospin_dds::{Domain, Durability, Node, NodeOptions, PublisherOptions, Reliability};
use rospin_engine::{ClockKind, Executor, SpinOptions};
use rospin_testkit::peers::KilledChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, PATIENCE, Text, context, cyclonedds, domain_id, executor, join, options,
    process_of, wait,
};

/// Variable with the domain that the other process joins.
const DOMAIN: &str = "ROSPIN_TEST_GRAPH_DOMAIN";
/// Variable with the name of the node of that process.
const NODE: &str = "ROSPIN_TEST_GRAPH_NODE";

/// The lease that every implementation of ROS 2 asks for unless told otherwise.
const LEASE: Duration = Duration::from_secs(10);

/// Starts this program's [`the_other_process`].
fn start(domain_id: u16, node: &str) -> KilledChild {
    let mut command = process_of(module_path!(), "the_other_process");
    command.env(DOMAIN, domain_id.to_string()).env(NODE, node).stdin(Stdio::piped()).stdout(Stdio::null());
    KilledChild(command.spawn().unwrap())
}

/// Spins until `is_so` returns true, for `patience` at most. Returns how long it took.
fn wait_until(executor: &Executor, what: &str, patience: Duration, mut is_so: impl FnMut() -> bool) -> Duration {
    let begin = Instant::now();
    let so = async {
        while !is_so() {
            let _ = executor.handle().sleep(ClockKind::Steady, Duration::from_millis(10)).await;
        }
    };
    let waited = executor.spin_until(so, SpinOptions::new().timeout(patience));
    assert!(waited.is_ok(), "waiting until {what}");
    begin.elapsed()
}

/// The part of another process; without a domain, nothing.
#[test]
fn the_other_process() {
    let (Ok(domain), Ok(name)) = (std::env::var(DOMAIN), std::env::var(NODE)) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let domain = Domain::join(options(domain.parse().unwrap())).unwrap();
    let node = domain.ros(&context).create_node(NodeOptions::new(name).namespace("/other")).unwrap();
    let latched = PublisherOptions::new("/chatter").transient_local();
    let _publisher = node.create_publisher::<Text>(latched).unwrap();
    let group = executor.create_group("ends", ());
    // The node has both ends of the topic, and receives its own messages.
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

fn is_known(node: &Node, other: &str) -> bool {
    let knows_owner = |info: Vec<rospin_dds::Endpoint>| {
        info.iter().filter(|endpoint| endpoint.node.as_deref() == Some(other)).count() == 1
    };
    node.node_names().iter().any(|name| name == other)
        && knows_owner(node.publishers_info_by_topic("/chatter").unwrap())
        && knows_owner(node.subscriptions_info_by_topic("/chatter").unwrap())
        && node.count_servers("/other/add") == Ok(1)
}

/// A tool leaves at once. It would wait for a second for a process that does not confirm that the tool's node has gone.
#[test]
fn static_peers_without_an_address_are_left_out() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    // An empty label is invalid, so that no server of names is asked. The other one is no address of IPv4.
    let domain = Domain::join(options(id).static_peers(["robot..lab", "fe80::1"])).unwrap();
    let node = domain.ros(&context).create_node("watcher").unwrap();
    let _other = start(id, "peer");
    wait_until(&executor, "the other node is known", PATIENCE, || is_known(&node, "/other/peer"));
}

#[test]
fn a_tool_does_not_wait_for_a_process_that_is_stopped() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let other = start(id, "stopped");
    let domain = join(id);
    let node = domain.ros(&context).create_node("_tool").unwrap();
    wait_until(&executor, "the other node is known", PATIENCE, || is_known(&node, "/other/stopped"));
    kill_process(Pid::from_child(&other.0), Signal::STOP).unwrap();
    let begin = Instant::now();
    drop(node);
    drop(domain);
    let took = begin.elapsed();
    assert!(took < Duration::from_millis(700), "{took:?}");
}

fn is_gone(node: &Node) -> bool {
    node.node_names() == ["/observer"]
        && node.count_publishers("/chatter") == Ok(0)
        && node.count_subscriptions("/chatter") == Ok(0)
        // Only the observer's own parameter services are left.
        && node.service_names_and_types().keys().all(|name| name.starts_with("/observer/"))
}

#[test]
fn a_process_that_ends_says_goodbye() {
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id).ros(&context).create_node("observer").unwrap();
    for _ in 0..2 {
        let mut other = start(id, "polite");
        wait_until(&executor, "it has come", common::PATIENCE, || is_known(&node, "/other/polite"));
        writeln!(other.stdin.as_mut().unwrap(), "end").unwrap();
        wait_until(&executor, "it has gone", common::PATIENCE, || is_gone(&node));
        other.wait().unwrap();
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "it says what it measured")]
fn a_process_that_is_killed_is_missed_when_its_lease_is_over() {
    let id = domain_id();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id).ros(&context).create_node("observer").unwrap();
    let mut other = start(id, "victim");
    wait_until(&executor, "it has come", common::PATIENCE, || is_known(&node, "/other/victim"));
    other.kill().unwrap();
    other.wait().unwrap();
    // The killed process said no goodbye, so it is still in the graph.
    wait(&executor, "time passes", executor.handle().sleep(ClockKind::Steady, Duration::from_millis(500))).unwrap();
    assert!(is_known(&node, "/other/victim"));
    let took = wait_until(&executor, "it is missed", LEASE + common::PATIENCE, || is_gone(&node));
    eprintln!("missed {took:?} after it was killed");
}

#[test]
#[expect(clippy::print_stderr, reason = "it says what it measured")]
fn a_peer_that_is_killed_is_missed_when_the_lease_that_it_asked_for_is_over() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_graph_peer.py", "victim", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id).ros(&context).create_node("observer").unwrap();
    wait_until(&executor, "it has come", common::PATIENCE, || node.node_names() == ["/observer", "/robot/talker"]);
    // Dropping the peer kills its process.
    drop(peer);
    let took = wait_until(&executor, "it is missed", common::PATIENCE, || {
        node.node_names() == ["/observer"] && node.count_publishers("chatter") == Ok(0)
    });
    eprintln!("missed {took:?} after it was killed");
}

#[test]
fn a_peer_of_another_make_is_seen_with_its_node() {
    let id = domain_id();
    let Some(peer) = cyclonedds("cyclonedds_graph_peer.py", "node", id) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id).ros(&context).create_node("observer").unwrap();
    wait_until(&executor, "it has come", common::PATIENCE, || {
        let info = node.publishers_info_by_topic("chatter").unwrap();
        info.iter().any(|endpoint| endpoint.node.as_deref() == Some("/robot/talker"))
    });
    assert_eq!(node.node_names(), ["/observer", "/robot/talker"]);
    let info = node.publishers_info_by_topic("chatter").unwrap().remove(0);
    assert_eq!(info.type_name, "std_msgs/msg/String");
    assert_eq!(info.type_hash, Some(format!("RIHS01_{}", "7".repeat(64))));
    assert_eq!((info.reliability, info.durability), (Some(Reliability::Reliable), Some(Durability::Volatile)));
    // The peer sees this node in the same way, and ends once it does. Its goodbye removes it from the graph.
    peer.assert_success();
    wait_until(&executor, "it has gone", common::PATIENCE, || {
        node.node_names() == ["/observer"] && node.count_publishers("chatter") == Ok(0)
    });
}
