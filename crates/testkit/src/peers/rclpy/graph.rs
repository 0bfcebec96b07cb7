//! Our part of the graph, as rclpy sees it.

use rospin_node::Ros;

use super::Rclpy;
use crate::peers::{Ours, wait_until};

/// ROS 2 knows the nodes of our publishers and subscriptions, as `ros2 topic info -v` prints them.
///
/// # Panics
/// If it takes one for another program's that is not a node.
pub fn nodes_of_ends_are_known(rclpy: &Rclpy, ros: Ros) {
    let ours = Ours::new(ros);
    let mut looker = rclpy.start(&["ends"]);
    wait_until(ours.executor(), "it has looked", || looker.has_ended() && looker.lines().len() >= 2);
    assert_eq!(*looker.lines(), ["end PUBLISHER /ours", "end SUBSCRIPTION /ours"]);
}
