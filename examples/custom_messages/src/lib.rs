//! Types of the interface package `robot_msgs`, which `build.rs` generates: `robot_msgs::msg::Status` and so on.

rospin::msgs::include_interfaces!();
