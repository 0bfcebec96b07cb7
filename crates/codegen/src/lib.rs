//! Generates Rust types from ROS 2 interface packages, in build scripts and without an installed ROS 2.
//!
//! A package is a folder as in ROS 2: its `CMakeLists.txt` lists the definitions, or they are in `msg/`, `srv/` and
//! `action/`. A build script names it:
//!
//! ```no_run
//! // build.rs
//! rospin_codegen::Generator::new().package("robot_msgs").generate_or_exit();
//! ```
//!
//! The crate includes the generated code, which has a module for each package:
//!
//! ```ignore
//! rospin_msgs::include_interfaces!();
//! use robot_msgs::msg::Pose;
//! ```
//!
//! Other crates write `my_crate::robot_msgs::msg::Pose`. In a crate that is called as its package, the package's
//! modules are at the crate's root as well: `robot_msgs::msg::Pose`.
//!
//! Generated types implement `Message`, `ServiceInterface` and `Action` of `rospin-node`, `Default` with the
//! definition's defaults, and serde's traits. They have the definition's constants. Arrays of numbers are encoded as a
//! whole. Bytes without a bound (`uint8[]`, `byte[]`, `char[]`) are a `Blob`, which shares the memory of a received
//! payload.
//!
//! Packages may refer to those of `rospin-msgs` ([`SHIPPED`]), whose features must be on. Other packages are named in
//! the build script, or found where ROS 2 is installed (`AMENT_PREFIX_PATH`).
//!
//! Tools that learn of types at run time read [`Definitions`].
//!
//! An error in a definition names the file, the line and the fix.
//!
//! The rules are those of ROS 2's `rosidl_adapter`. IDL files are read if there is no `.msg`, `.srv` or `.action` file
//! of their name, as far as they use what such files can say: `char`, `long double`, unions, enumerations, bit masks
//! and maps are refused.

#![forbid(unsafe_code)]

mod cmake;
mod definitions;
mod emit;
mod error;
mod generator;
mod hash;
mod idl;
mod model;
mod packages;
mod parse;
mod shipped;
mod sources;

pub use definitions::{Definitions, Described};
pub use error::{GenerateError, Place};
pub use generator::Generator;
pub use shipped::SHIPPED;
#[doc(hidden)]
pub use shipped::{definitions, texts};
