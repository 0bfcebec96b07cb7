//! The start of nodes: from options and the program's arguments to a node with its default services.
//!
//! This is the only place that puts features on a node: their parts before it exists, and the entities that serve
//! others after that. It may import everything but [`lifecycle`](crate::lifecycle), whose nodes it starts.

mod arguments;
mod options;
mod ros;
mod standard;

pub use arguments::{RosArguments, RosArgumentsError};
pub use options::{NodeError, NodeOptions};
pub use ros::Ros;
