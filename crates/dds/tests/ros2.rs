//! ROS 2 itself over DDS with its demo nodes and its command, see `rospin_testkit::peers::ros2`: over
//! rmw_cyclonedds_cpp and over rmw_fastrtps_cpp.

mod common;

use common::domain_id;
use rospin_dds::{Domain, DomainOptions};
use rospin_testkit::peers::ros2::{Network, calls, is_installed, tools, topics};

const CYCLONE: &str = "rmw_cyclonedds_cpp";
const FAST: &str = "rmw_fastrtps_cpp";

/// Creates a domain that nobody else is in. Ours joins it as a user's program does, without settings of the network.
fn network(rmw: &'static str) -> Network {
    let id = domain_id();
    let variables = [
        ("ROS_DOMAIN_ID", id.to_string()),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST".to_owned()),
        ("CYCLONEDDS_URI", String::new()),
    ];
    Network::new(rmw, variables, move |context| {
        Domain::join(DomainOptions::new().domain_id(id).localhost()).expect("a participant").ros(context)
    })
}

/// Returns the implementations of ROS 2's middleware over DDS that are installed.
fn rmws() -> impl Iterator<Item = &'static str> {
    [CYCLONE, FAST].into_iter().filter(|rmw| is_installed(rmw))
}

#[test]
fn a_talker_of_ros_is_heard_whoever_comes_first() {
    for rmw in rmws() {
        topics::a_talker_is_heard(|| network(rmw));
    }
}

#[test]
fn a_listener_of_ros_hears_whoever_comes_first() {
    for rmw in rmws() {
        topics::a_listener_hears(|| network(rmw));
    }
}

#[test]
fn latched_messages_are_heard_by_those_who_come_late() {
    for rmw in rmws() {
        topics::late_nodes_hear_latched_messages(&network(rmw));
    }
}

#[test]
fn a_node_of_ros_hears_every_message_of_1_khz() {
    for rmw in rmws() {
        topics::every_message_of_1_khz_is_heard(&network(rmw));
    }
}

#[test]
fn large_messages_reach_nodes_of_ros() {
    for rmw in rmws() {
        topics::large_messages_are_heard(|| network(rmw));
    }
}

#[test]
fn services_are_called_both_ways() {
    for rmw in rmws() {
        calls::services_are_called_both_ways(|| network(rmw));
    }
}

#[test]
fn goals_of_ros_are_reached() {
    for rmw in rmws() {
        calls::their_goals_are_reached(&network(rmw));
    }
}

#[test]
fn goals_are_reached_by_ros() {
    for rmw in rmws() {
        calls::our_goals_are_reached(&network(rmw));
    }
}

#[test]
fn tools_see_and_set_parameters() {
    for rmw in rmws() {
        tools::parameters_are_seen_and_set(&network(rmw));
    }
}

#[test]
fn tools_describe_a_topic() {
    // Over rmw_fastrtps_cpp, the command does not name the nodes of other implementations, those of rmw_cyclonedds_cpp
    // included.
    if is_installed(CYCLONE) {
        tools::a_topic_is_described(&network(CYCLONE));
    }
}

#[test]
fn tools_list_a_node() {
    for rmw in rmws() {
        tools::a_node_is_listed(&network(rmw));
    }
}

#[test]
fn tools_manage_a_lifecycle_node() {
    for rmw in rmws() {
        tools::a_lifecycle_node_is_managed(&network(rmw));
    }
}
