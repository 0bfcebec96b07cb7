//! ROS 2 itself over rmw_zenoh_cpp, see `rospin_testkit::peers::ros2`: nodes that meet through its router.

mod common;

use common::Place;
use rospin_testkit::peers::ros2::{Network, calls, is_installed, tools, topics};
use rospin_zenoh::{Session, SessionOptions};

const RMW: &str = "rmw_zenoh_cpp";
const OVERRIDE: &str = "ZENOH_CONFIG_OVERRIDE";

/// Starts a router of ROS 2 that nobody else uses. All other settings are the defaults.
fn network() -> Network {
    let Place { endpoint } = Place::new();
    let variables = [
        ("ROS_DOMAIN_ID", "0".to_owned()),
        (OVERRIDE, format!("connect/endpoints=[\"{endpoint}\"]")),
        ("ZENOH_ROUTER_CHECK_ATTEMPTS", "20".to_owned()),
    ];
    let listens = format!("listen/endpoints=[\"{endpoint}\"]");
    let join = move |context: &_| {
        Session::open(SessionOptions::new().connect([endpoint.as_str()])).expect("a session").ros(context)
    };
    Network::new(RMW, variables, join).behind("lib/rmw_zenoh_cpp/rmw_zenohd", (OVERRIDE, &listens))
}

#[test]
fn a_talker_of_ros_is_heard_whoever_comes_first() {
    if is_installed(RMW) {
        topics::a_talker_is_heard(network);
    }
}

#[test]
fn a_listener_of_ros_hears_whoever_comes_first() {
    if is_installed(RMW) {
        topics::a_listener_hears(network);
    }
}

#[test]
fn latched_messages_are_heard_by_those_who_come_late() {
    if is_installed(RMW) {
        topics::late_nodes_hear_latched_messages(&network());
    }
}

#[test]
fn a_node_of_ros_hears_every_message_of_1_khz() {
    if is_installed(RMW) {
        topics::every_message_of_1_khz_is_heard(&network());
    }
}

#[test]
fn large_messages_reach_nodes_of_ros() {
    if is_installed(RMW) {
        topics::large_messages_are_heard(network);
    }
}

#[test]
fn services_are_called_both_ways() {
    if is_installed(RMW) {
        calls::services_are_called_both_ways(network);
    }
}

#[test]
fn goals_of_ros_are_reached() {
    if is_installed(RMW) {
        calls::their_goals_are_reached(&network());
    }
}

#[test]
fn goals_are_reached_by_ros() {
    if is_installed(RMW) {
        calls::our_goals_are_reached(&network());
    }
}

#[test]
fn tools_see_and_set_parameters() {
    if is_installed(RMW) {
        tools::parameters_are_seen_and_set(&network());
    }
}

#[test]
fn tools_describe_a_topic() {
    if is_installed(RMW) {
        tools::a_topic_is_described(&network());
    }
}

#[test]
fn tools_list_a_node() {
    if is_installed(RMW) {
        tools::a_node_is_listed(&network());
    }
}

#[test]
fn tools_manage_a_lifecycle_node() {
    if is_installed(RMW) {
        tools::a_lifecycle_node_is_managed(&network());
    }
}
