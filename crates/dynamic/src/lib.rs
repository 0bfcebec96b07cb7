//! Messages whose ROS 2 type is known only at run time.
//!
//! - [`MessageType`]: a type, from a description, or from a file that ROS 2 installs.
//! - [`ServiceType`]: the types of a service's requests and responses.
//! - [`DynamicMessage`]: a message of such a type. Its fields are found by name, and it prints as `ros2 topic echo`
//!   does.
//! - [`Value`]: the value of a field.
//! - [`YamlFormat`]: messages as text, by the options of `ros2 topic echo`. [`DynamicMessage::from_yaml`] reads them.
//! - [`DynamicSeed`]: the seed with which serde decodes messages of a type. They are encoded as any `Serialize`.
//! - [`field_type`]: the numbers by which descriptions name the types of fields.
//!
//! Nothing here needs a node or a network. Programs use it as `rospin::dynamic`, which adds publishers, subscriptions
//! and the service that describes types to other nodes.
//!
//! A dynamic message has the same encoding as a message of a Rust type:
//!
//! ```
//! use rospin_dynamic::{DynamicMessage, DynamicSeed, MessageType};
//! use rospin_wire::cdr::{from_payload_with, to_payload};
//!
//! # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/tests/install")];
//! let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
//! let mut message = DynamicMessage::new(&twist);
//! message.set("linear.x", 1.5)?;
//! let payload = to_payload(&message)?;
//!
//! let received = from_payload_with(&payload, DynamicSeed::new(&twist))?;
//! assert_eq!(received.get::<f64>("linear.x")?, 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod access;
mod build;
mod decode;
mod default;
mod described;
mod encode;
mod error;
pub mod field_type;
mod fit;
mod from_yaml;
mod install;
mod message;
mod message_type;
mod path;
mod scalar;
mod service_type;
#[doc(hidden)]
pub mod tree;
mod value;
mod yaml;

pub use access::{GetFieldError, SetFieldError};
pub use decode::DynamicSeed;
#[doc(hidden)]
pub use described::describe;
pub use error::MessageTypeError;
pub use from_yaml::FromYamlError;
pub use install::FindTypeError;
pub use message::DynamicMessage;
pub use message_type::{Field, FieldType, MessageType};
pub use path::PathError;
pub use service_type::ServiceType;
pub use value::{Value, WrongValue};
pub use yaml::YamlFormat;

#[cfg(test)]
mod tests;
