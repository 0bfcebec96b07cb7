//! The two processes of a test on a [`Network`](super::network::Network): a talker that calls, and a listener that
//! serves. Each prints a line when it has what it waits for.

use std::io;

use rospin_engine::{Executor, SpinOptions};
use rospin_node::Node;

use super::{text, wait};
use crate::conformance::messages::{AddTwoInts, Sum, Summands, Text};

/// Runs the part `talker` or `listener` on a node of that name.
///
/// # Panics
/// If there is no such part, or the other one does not come in time.
pub fn run(part: &str, executor: &Executor, node: &Node) {
    match part {
        "talker" => talk(executor, node),
        "listener" => listen(executor, node),
        _ => panic!("there is no part `{part}`"),
    }
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

/// Prints `ANSWERED` once its message is on its way and its call is answered.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn talk(executor: &Executor, node: &Node) {
    let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
    let client = node.create_client::<AddTwoInts>("add_two_ints").expect("a client");
    wait(executor, "somebody listens", publisher.wait_for_subscription());
    until(executor, node, &["/listener", "/talker"]);
    publisher.publish(text("hello")).expect("it is sent");
    wait(executor, "somebody serves", client.wait_for_service());
    let response = wait(executor, "the answer comes", client.call(Summands { a: 20, b: 22 }));
    assert_eq!(response, Ok(Sum { sum: 42 }));
    println!("ANSWERED");
    // Returns when the test sends a line, or closes the pipe because it has ended.
    let _ = io::stdin().read_line(&mut String::new());
}

/// Prints `HEARD` once it has the message, and `ALONE` when the talker has gone.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn listen(executor: &Executor, node: &Node) {
    let group = executor.create_group("listener", ());
    let handle = executor.handle();
    let _server = node.on(&group).create_service::<AddTwoInts, _>("add_two_ints", Summands::add).expect("a server");
    let subscription = node.on(&group).create_subscription("chatter", move |message: Text| {
        assert_eq!(message.data, "hello");
        handle.halt();
    });
    let subscription = subscription.expect("a subscription");
    executor.spin(SpinOptions::new()).expect("a spin");
    // Discovery may report a node apart from its topics, and after them.
    until(executor, node, &["/listener", "/talker"]);
    println!("HEARD");
    drop(subscription);
    // The server runs until the other process has gone.
    until(executor, node, &["/listener"]);
    println!("ALONE");
}
