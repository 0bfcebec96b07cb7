//! Two hosts on a network: with a router each, as ROS 2 has it, and without any.
//!
//! The hosts are network namespaces; where they cannot be had, the tests say so and pass.

mod common;

use common::network::{ADDRESS, Network, PART};
use common::{context, executor, isolated};
use rospin_testkit::peers::two_hosts;
use rospin_zenoh::{Session, SessionOptions};

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
        for router in &routers {
            router.expect("ROUTES");
        }
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
    two_hosts::run(part, &executor, &node);
}
