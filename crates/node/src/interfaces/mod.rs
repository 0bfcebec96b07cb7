//! Messages and services of ROS 2 itself: a module a package.

pub mod lifecycle_msgs;
