//! What travels between ROS 2 nodes.
//!
//! - [`Message`], [`Service`], [`Action`]: the types of what travels, with the names and hashes that ROS 2 knows them by.
//! - [`cdr`]: the encoding of ROS 2, from and to any type with serde's traits.
//! - [`field`]: how the fields of generated messages are encoded. Arrays of numbers are copied whole.
//!
//! Programs use the traits through `rospin-node`, and generated types through `rospin-msgs`.

#![forbid(unsafe_code)]

mod action;
pub mod cdr;
pub mod field;
mod message;

pub use action::Action;
pub use message::{Message, Service};
#[doc(hidden)]
pub use serde;
