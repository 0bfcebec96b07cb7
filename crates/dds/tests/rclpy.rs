//! ROS 2 itself with its default middleware, Fast DDS, and rclpy: see `rospin_testkit::peers::rclpy`.

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{context, domain_id, process_of};
use rospin_dds::{Domain, DomainOptions, Ros};
use rospin_engine::SpinOptions;
use rospin_testkit::peers::rclpy::{Rclpy, graph, introspection, load};
use rospin_testkit::peers::{Ours, matrix};

const FAST: &str = "rmw_fastrtps_cpp";
const CYCLONE: &str = "rmw_cyclonedds_cpp";

/// Returns ROS 2 in that domain of DDS; `None` if it is not installed.
fn rclpy(rmw: &str, domain_id: u16) -> Option<Rclpy> {
    let found = Rclpy::find(rmw)?;
    Some(found.with("ROS_DOMAIN_ID", domain_id).with("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST"))
}

/// Joins the domain as a user's program does, without settings of the network.
fn join(domain_id: u16) -> Ros {
    Domain::join(DomainOptions::new().domain_id(domain_id).localhost()).expect("a participant").ros(&context().0)
}

#[test]
fn everything_works_both_ways() {
    for (rmw, name) in [(FAST, "ROS 2 on Fast DDS"), (CYCLONE, "ROS 2 on Cyclone DDS")] {
        let id = domain_id();
        if let Some(rclpy) = rclpy(rmw, id) {
            matrix::all_parts_work(name, &|part| rclpy.start(part), || join(id));
        }
    }
}

#[test]
fn events_of_services_are_told_both_ways() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    introspection::events_are_told_both_ways(&rclpy, &join(id));
}

/// Fast DDS knows of a publisher or subscription which process it is of only if that is told with it.
#[test]
fn nodes_of_ends_are_known() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    graph::nodes_of_ends_are_known(&rclpy, join(id));
}

#[test]
fn clients_of_all_kinds_get_their_own_answers() {
    let id = domain_id();
    let Some(theirs) = rclpy(FAST, id) else { return };
    load::many_clients_call_one_server(&[&theirs; 6], join(id), &join(id), 14, 1000 / 20);
}

#[test]
fn first_calls_are_answered() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    load::first_calls_are_answered(&rclpy, || join(id), 100);
}

#[test]
fn servers_are_killed_and_come_back() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    load::servers_are_killed_and_come_back(&rclpy, &join(id));
    load::our_server_comes_back(&rclpy, || join(id));
}

#[test]
fn frequent_and_large_messages_are_heard() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    let ros = join(id);
    let node = ros.create_node("ours").expect("a node");
    load::frequent_and_large_messages_are_heard(&rclpy, &ros, &node);
}

/// Cyclone DDS skipped what a publisher on Fast DDS published before its first heartbeat.
#[test]
fn publishers_are_heard_from_their_first_message_on() {
    for n in 0..4 {
        let id = domain_id();
        let Some(rclpy) = rclpy(FAST, id) else { return };
        let ros = join(id);
        let node = ros.create_node(format!("ours_{n}").as_str()).expect("a node");
        load::a_publisher_is_heard_from_its_first_message_on(&rclpy, &ros, &node);
    }
}

#[test]
fn latched_messages_are_heard_beside_volatile_subscriptions() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    let ros = join(id);
    let node = ros.create_node("ours").expect("a node");
    load::latched_messages_are_heard_beside_volatile_subscriptions(&rclpy, &ros, &node);
}

/// A node whose services are announced and not answered makes `ros2 param list` wait for all nodes.
#[test]
fn parameters_of_all_nodes_are_listed_within_a_second() {
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    let took = load::parameters_of_all_nodes_are_listed(&rclpy, join(id));
    assert!(took < 1.0, "it took {took} s");
}

/// Variable with the domain that a program joins whose standard error is looked at.
const QUIET_DOMAIN: &str = "ROSPIN_TEST_QUIET_DOMAIN";

/// Cyclone DDS cannot read the type descriptions that Fast DDS announces. That is no reason for a warning.
#[test]
fn nothing_is_written_beside_the_log() {
    if let Ok(id) = std::env::var(QUIET_DOMAIN) {
        let ours = Ours::new(join(id.parse().expect("a number")));
        let _ = ours.executor().spin(SpinOptions::new().timeout(Duration::from_secs(30)));
        return;
    }
    let id = domain_id();
    let Some(rclpy) = rclpy(FAST, id) else { return };
    let mut command = process_of(module_path!(), "nothing_is_written_beside_the_log");
    command.env(QUIET_DOMAIN, id.to_string()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut ours = command.spawn().expect("a process");
    let mut theirs = rclpy.start(&["ask", "service", "action"]);
    while !theirs.has_ended() {
        std::thread::yield_now();
    }
    let answers = theirs.lines().clone();
    ours.kill().expect("a process that runs");
    let output = ours.wait_with_output().expect("its end");
    let written = String::from_utf8_lossy(&output.stderr);
    assert_eq!((answers, &*written), (vec!["service yes".to_owned(), "action yes".to_owned()], ""));
}
