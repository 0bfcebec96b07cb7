//! Messages and services of ROS 2 itself, as they are since Jazzy: a module a package.

pub mod builtin_interfaces;
pub mod rcl_interfaces;
pub mod rosgraph_msgs;
