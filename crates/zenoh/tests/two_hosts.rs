//! Two hosts on a network: with a router each, as ROS 2 has it, and without any.
//!
//! The hosts are network namespaces; where they cannot be had, the tests say so and pass.

mod common;

use common::network::{ADDRESS, Network, PART};
use common::{AddRequest, AddResponse, AddTwoInts, Text, context, executor, isolated, text, wait};
use rospin_engine::{Executor, SpinOptions};
use rospin_zenoh::{Node, Session, SessionOptions};

/// The address of the first host, for the second one.
const FIRST: &str = Network::ADDRESSES[0];

#[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
fn network() -> Option<Network> {
    Network::new().inspect_err(|why| eprintln!("SKIPPED for want of network namespaces: {why}")).ok()
}

/// Namespaces are called after the process: one test after the other, in one.
#[test]
fn a_talker_here_and_a_listener_there() {
    let Some(network) = network() else { return };
    for kind in ["session", "peer"] {
        // Routers need not start first. Here they do, so that no connection has to be tried twice.
        let routers: Vec<_> = (0..2).filter(|_| kind == "session").map(|host| network.start(host, "router")).collect();
        routers.iter().for_each(|router| _ = router.expect("ROUTES"));
        let listener = network.start(0, &format!("listener {kind}"));
        let mut talker = network.start(1, &format!("talker {kind}"));
        listener.expect("HEARD");
        talker.expect("ANSWERED");
        talker.tell();
        listener.expect("ALONE");
    }
}

/// Runs one part in a namespace; without a part, nothing.
#[test]
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn the_other_process() {
    let (Ok(part), Ok(address)) = (std::env::var(PART), std::env::var(ADDRESS)) else { return };
    let is_first = address == FIRST;
    if part == "router" {
        // A router like `zenohd`, with the address of the other one.
        let other = format!("tcp/{FIRST}:7447");
        let options = isolated().setting("mode", "\"router\"").listen(["tcp/0.0.0.0:7447"]);
        let options = if is_first { options } else { options.connect([other.as_str()]) };
        let _router = Session::open(options).unwrap();
        println!("ROUTES");
        std::thread::sleep(common::PATIENCE * 2);
        return;
    }
    let Some((part, kind)) = part.split_once(' ') else { panic!("a part and a kind") };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let at_first = format!("tcp/{FIRST}:7450");
    let options = match (kind, is_first) {
        // The default: the router of the own host.
        ("session", _) => SessionOptions::new(),
        (_, true) => SessionOptions::new().connect([]).listen([at_first.as_str()]),
        (_, false) => SessionOptions::new().connect([at_first.as_str()]),
    };
    let node = Session::open(options).unwrap().ros(&context).create_node(part).unwrap();
    if part == "talker" { talk(&executor, &node) } else { listen(&executor, &node) }
}

fn until(executor: &Executor, node: &Node, names: &[&str]) {
    wait(executor, "the graph is as it should be", async {
        loop {
            let change = node.wait_for_graph_change();
            if node.node_names() == names {
                break;
            }
            change.await;
        }
    });
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn talk(executor: &Executor, node: &Node) {
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    wait(executor, "somebody listens", publisher.wait_for_subscription());
    until(executor, node, &["/listener", "/talker"]);
    publisher.publish(text("hello")).unwrap();
    wait(executor, "somebody serves", client.wait_for_service());
    let response = wait(executor, "the answer comes", client.call(AddRequest { a: 20, b: 22 }));
    assert_eq!(response, Ok(AddResponse { sum: 42 }));
    println!("ANSWERED");
    // Returns when the test sends a line, or closes the pipe because it has ended.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[expect(clippy::print_stdout, reason = "the test reads it")]
fn listen(executor: &Executor, node: &Node) {
    let (group, handle) = (executor.create_group("listener", ()), executor.handle());
    let _server = node
        .on(&group)
        .create_service::<AddTwoInts, _>("add_two_ints", |AddRequest { a, b }| AddResponse { sum: a + b });
    let subscription = node.on(&group).create_subscription("chatter", move |message: Text| {
        assert_eq!(message.data, "hello");
        handle.halt();
    });
    let subscription = subscription.unwrap();
    executor.spin(SpinOptions::new()).unwrap();
    println!("HEARD");
    drop(subscription);
    // The server runs until the other process has gone.
    until(executor, node, &["/listener"]);
    println!("ALONE");
}
