//! Two hosts on a network: nodes find each other with nothing set but what a user sets, the number of the domain.
//!
//! The hosts are network namespaces; where they cannot be had, the test says so and passes.

mod common;

use common::network::{Network, PART};
use common::{context, executor};
use rospin_dds::{Domain, DomainOptions};
use rospin_testkit::peers::two_hosts;

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
    two_hosts::run(&part, &executor, &node);
}
