//! Interfaces of ROS 2 itself, a module a package; the fields are those of ROS 2, in its order.

pub mod action_msgs;
pub mod builtin_interfaces;
pub mod lifecycle_msgs;
pub mod rcl_interfaces;
pub mod rosgraph_msgs;
pub mod type_description_interfaces;
pub mod unique_identifier_msgs;
