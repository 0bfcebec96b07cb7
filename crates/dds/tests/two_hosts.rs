//! Two hosts on a network: nodes find each other with nothing set but what a user sets, the number of the domain.
//!
//! The hosts are network namespaces; where they cannot be had, the test says so and passes.

mod common;

use common::network::{Network, PART};
use common::{AddRequest, AddResponse, AddTwoInts, Text, context, executor, text, wait};
use rospin_dds::{Domain, DomainOptions, Node, SubscriptionOptions};
use rospin_engine::SpinOptions;

#[test]
#[expect(clippy::print_stderr, reason = "it says that the test is skipped")]
fn a_talker_here_and_a_listener_there() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(why) => return eprintln!("SKIPPED for want of network namespaces: {why}"),
    };
    let listener = network.start(0, "listener");
    let mut talker = network.start(1, "talker");
    listener.expect("HEARD");
    talker.expect("ANSWERED");
    talker.tell();
    listener.expect("ALONE");
}

/// The part of a process in a namespace; without a part, nothing.
#[test]
fn the_other_process() {
    let Ok(part) = std::env::var(PART) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    // The defaults: all networks, and discovery by multicast.
    let domain = Domain::join(DomainOptions::new().domain_id(11)).unwrap();
    let node = domain.ros(&context).create_node(part.as_str()).unwrap();
    match part.as_str() {
        "talker" => talk(&executor, &node),
        _ => listen(&executor, &node),
    }
}

fn until(executor: &rospin_engine::Executor, node: &Node, names: &[&str]) {
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
fn talk(executor: &rospin_engine::Executor, node: &Node) {
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
fn listen(executor: &rospin_engine::Executor, node: &Node) {
    let (group, handle) = (executor.create_group("listener", ()), executor.handle());
    let _server = node
        .on(&group)
        .create_service::<AddTwoInts, _>("add_two_ints", |AddRequest { a, b }| AddResponse { sum: a + b });
    let options = SubscriptionOptions::new("chatter");
    let subscription = node.on(&group).create_subscription(options, move |message: Text| {
        assert_eq!(message.data, "hello");
        handle.halt();
    });
    let subscription = subscription.unwrap();
    executor.spin(SpinOptions::new()).unwrap();
    // Discovery reports a node apart from its topics, and maybe after them.
    until(executor, node, &["/listener", "/talker"]);
    println!("HEARD");
    drop(subscription);
    // The server runs until the other process has gone.
    until(executor, node, &["/listener"]);
    println!("ALONE");
}
