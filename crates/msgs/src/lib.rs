//! Messages, services and actions of ROS 2's own packages. Each package is a module, behind a feature of the same
//! name.
//!
//! ```toml
//! rospin-msgs = { version = "0.1", features = ["sensor_msgs"] }
//! ```
//!
//! The types are generated when the crate is built, for the distribution of ROS 2 in the environment variable
//! `ROS_DISTRO`, or else for Jazzy. For other packages, use `rospin-codegen` in a build script and
//! [`include_interfaces`].
//!
//! | `ROS_DISTRO` | differences from Jazzy |
//! | --- | --- |
//! | `humble` | `sensor_msgs/msg/Range` has no `variance`; types have no hash, as on Humble |
//! | `iron`, `jazzy` | none |
//! | `kilted` | more messages: a trajectory in `nav_msgs`, the graph in `rosgraph_msgs` |
//! | `lyrical`, `rolling` | as Kilted; `lifecycle_msgs/msg/TransitionEvent` has a `stamp` in place of a `timestamp`; other additions and removals |
//!
//! Over Zenoh, only endpoints with the same type hash match. Apart from `TransitionEvent`, no type of these packages
//! that several of Iron, Jazzy, Kilted and Lyrical have differs between them, so their nodes understand each other.
//!
//! A message `std_msgs/msg/String` is `std_msgs::msg::String`. A service `std_srvs/srv/SetBool` is
//! `std_srvs::srv::SetBool`, with `SetBoolRequest` and `SetBoolResponse`. An action has a `Goal`, a `Result` and a
//! `Feedback` likewise.
//!
//! Strings are `String`, arrays `[T; N]` and sequences `Vec<T>`, with one exception: bytes without a bound (`uint8[]`,
//! `byte[]`, `char[]`) are a [`Blob`], so that a received image is not copied out of its payload. `vec.into()` makes
//! one of a vector, [`Blob::into_vec`] a vector of it.

#![forbid(unsafe_code)]

#[cfg(feature = "lifecycle_msgs")]
mod lifecycle;
#[cfg(feature = "builtin_interfaces")]
mod time;

#[doc(hidden)]
pub use rospin_wire as wire;
pub use rospin_wire::Blob;
#[cfg(feature = "builtin_interfaces")]
pub use time::NegativeDuration;

/// Includes the types that `rospin_codegen::Generator` generated in this crate's build script, a module per package.
#[macro_export]
macro_rules! include_interfaces {
    () => {
        include!(concat!(env!("OUT_DIR"), "/interfaces.rs"));
    };
}

/// The package `action_msgs`.
#[cfg(feature = "action_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod action_msgs {
    include!(concat!(env!("OUT_DIR"), "/action_msgs.rs"));
}

/// The package `action_tutorials_interfaces`.
#[cfg(feature = "action_tutorials_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod action_tutorials_interfaces {
    include!(concat!(env!("OUT_DIR"), "/action_tutorials_interfaces.rs"));
}

/// The package `builtin_interfaces`.
#[cfg(feature = "builtin_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod builtin_interfaces {
    include!(concat!(env!("OUT_DIR"), "/builtin_interfaces.rs"));
}

/// The package `composition_interfaces`.
#[cfg(feature = "composition_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod composition_interfaces {
    include!(concat!(env!("OUT_DIR"), "/composition_interfaces.rs"));
}

/// The package `diagnostic_msgs`.
#[cfg(feature = "diagnostic_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod diagnostic_msgs {
    include!(concat!(env!("OUT_DIR"), "/diagnostic_msgs.rs"));
}

/// The package `example_interfaces`.
#[cfg(feature = "example_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod example_interfaces {
    include!(concat!(env!("OUT_DIR"), "/example_interfaces.rs"));
}

/// The package `geometry_msgs`.
#[cfg(feature = "geometry_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod geometry_msgs {
    include!(concat!(env!("OUT_DIR"), "/geometry_msgs.rs"));
}

/// The package `lifecycle_msgs`.
#[cfg(feature = "lifecycle_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod lifecycle_msgs {
    include!(concat!(env!("OUT_DIR"), "/lifecycle_msgs.rs"));
}

/// The package `nav_msgs`.
#[cfg(feature = "nav_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod nav_msgs {
    include!(concat!(env!("OUT_DIR"), "/nav_msgs.rs"));
}

/// The package `rcl_interfaces`.
#[cfg(feature = "rcl_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod rcl_interfaces {
    include!(concat!(env!("OUT_DIR"), "/rcl_interfaces.rs"));
}

/// The package `rosgraph_msgs`.
#[cfg(feature = "rosgraph_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod rosgraph_msgs {
    include!(concat!(env!("OUT_DIR"), "/rosgraph_msgs.rs"));
}

/// The package `sensor_msgs`.
#[cfg(feature = "sensor_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod sensor_msgs {
    include!(concat!(env!("OUT_DIR"), "/sensor_msgs.rs"));
}

/// The package `service_msgs`.
#[cfg(feature = "service_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod service_msgs {
    include!(concat!(env!("OUT_DIR"), "/service_msgs.rs"));
}

/// The package `shape_msgs`.
#[cfg(feature = "shape_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod shape_msgs {
    include!(concat!(env!("OUT_DIR"), "/shape_msgs.rs"));
}

/// The package `statistics_msgs`.
#[cfg(feature = "statistics_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod statistics_msgs {
    include!(concat!(env!("OUT_DIR"), "/statistics_msgs.rs"));
}

/// The package `std_msgs`.
#[cfg(feature = "std_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod std_msgs {
    include!(concat!(env!("OUT_DIR"), "/std_msgs.rs"));
}

/// The package `std_srvs`.
#[cfg(feature = "std_srvs")]
#[allow(missing_docs, clippy::all)]
pub mod std_srvs {
    include!(concat!(env!("OUT_DIR"), "/std_srvs.rs"));
}

/// The package `stereo_msgs`.
#[cfg(feature = "stereo_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod stereo_msgs {
    include!(concat!(env!("OUT_DIR"), "/stereo_msgs.rs"));
}

/// The package `test_msgs`.
#[cfg(feature = "test_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod test_msgs {
    include!(concat!(env!("OUT_DIR"), "/test_msgs.rs"));
}

/// The package `tf2_msgs`.
#[cfg(feature = "tf2_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod tf2_msgs {
    include!(concat!(env!("OUT_DIR"), "/tf2_msgs.rs"));
}

/// The package `trajectory_msgs`.
#[cfg(feature = "trajectory_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod trajectory_msgs {
    include!(concat!(env!("OUT_DIR"), "/trajectory_msgs.rs"));
}

/// The package `type_description_interfaces`.
#[cfg(feature = "type_description_interfaces")]
#[allow(missing_docs, clippy::all)]
pub mod type_description_interfaces {
    include!(concat!(env!("OUT_DIR"), "/type_description_interfaces.rs"));
}

/// The package `unique_identifier_msgs`.
#[cfg(feature = "unique_identifier_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod unique_identifier_msgs {
    include!(concat!(env!("OUT_DIR"), "/unique_identifier_msgs.rs"));
}

/// The package `visualization_msgs`.
#[cfg(feature = "visualization_msgs")]
#[allow(missing_docs, clippy::all)]
pub mod visualization_msgs {
    include!(concat!(env!("OUT_DIR"), "/visualization_msgs.rs"));
}
