//! Turns ROS 2 interface packages into Rust types, in build scripts and without ROS installed.
//!
//! A package is a folder with definitions in `msg/`, `srv/` or `action/`, as ROS 2 has it. A build script names it:
//!
//! ```no_run
//! // build.rs
//! rospin_codegen::Generator::new().package("robot_msgs").generate_or_exit();
//! ```
//!
//! and the crate includes what was generated, a module for each package:
//!
//! ```ignore
//! rospin_msgs::include_interfaces!();
//! use robot_msgs::msg::Pose;
//! ```
//!
//! Generated types implement `Message`, `Service` and `Action` of `rospin-node`, `Default` with the defaults of the definition,
//! and serde's traits; they have the constants of the definition. Arrays of numbers are encoded whole.
//!
//! Packages may mention those of `rospin-msgs` ([`SHIPPED`]), whose types are taken from there: its features must be on. Other
//! packages are named, too, or found where ROS 2 is installed (`AMENT_PREFIX_PATH`).
//!
//! What is wrong with a definition is an error that names file and line, and says what to do.
//!
//! The rules are those of ROS 2's `rosidl_adapter`. Definitions in IDL are not read: where they are made from `.msg` files, as
//! is usual, those are installed next to them.

#![forbid(unsafe_code)]

mod emit;
mod error;
mod generator;
mod hash;
mod model;
mod packages;
mod parse;
mod shipped;

pub use error::{GenerateError, Place};
pub use generator::Generator;
pub use shipped::SHIPPED;
#[doc(hidden)]
pub use shipped::definitions;
