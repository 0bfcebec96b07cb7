//! A robot that turns to a lamp which its camera sees: the example of the book's tutorial.
//!
//! - `sensors`: the [base](base::Base) with its IMU, and the [camera](camera::Camera).
//! - `perception`: the [detector](detector::Detector) finds the lamp in images, the [tracker](tracker::Tracker) knows
//!   where it is now.
//! - `control`: the [controller](controller::Controller) turns the base, when the [operator](operator::Operator) asks
//!   for it.
//!
//! Each of these parts may be a process of its own.

pub mod base;
pub mod camera;
pub mod controller;
pub mod detector;
pub mod operator;
pub mod tracker;

use std::any::Any;

use rospin::Ros;

// ANCHOR: interfaces
// `robot_interfaces::msg::Detection` and so on, which `build.rs` generates.
rospin::msgs::include_interfaces!();
// ANCHOR_END: interfaces

/// The frame of the base.
pub const BASE: &str = "base_link";
/// The frame of the camera.
pub const CAMERA: &str = "camera_link";

/// The parts of the robot, each of which may be a process of its own.
pub const PARTS: [&str; 3] = ["sensors", "perception", "control"];

/// Nodes that live until they are dropped.
pub type Nodes = Vec<Box<dyn Any>>;

// ANCHOR: start
/// Starts the nodes of some of the [parts](PARTS), or of all if none is named.
///
/// # Errors
/// If there is no such part, or a node does not start.
pub fn start(ros: &Ros, parts: &[String]) -> rospin::Result<Nodes> {
    let all = PARTS.map(str::to_owned);
    let mut nodes: Nodes = Vec::new();
    for part in if parts.is_empty() { &all } else { parts } {
        match part.as_str() {
            "sensors" => {
                nodes.push(Box::new(base::Base::new(ros)?));
                nodes.push(Box::new(camera::Camera::new(ros)?));
            }
            "perception" => {
                nodes.push(Box::new(detector::Detector::new(ros)?));
                nodes.push(Box::new(tracker::Tracker::new(ros)?));
            }
            "control" => {
                nodes.push(Box::new(controller::Controller::new(ros)?));
                nodes.push(Box::new(operator::Operator::new(ros)?));
            }
            _ => return Err(rospin::Error::msg(format!("there is no part `{part}`; there are {}", PARTS.join(", ")))),
        }
    }
    Ok(nodes)
}
// ANCHOR_END: start
