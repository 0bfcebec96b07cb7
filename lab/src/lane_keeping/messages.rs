//! The messages of the bus, which the generator makes of the package `lane_keeping_msgs`, and what they are made of.
#![allow(missing_docs, clippy::all, unreachable_pub, dead_code, unused_imports)]

rospin_msgs::include_interfaces!();
