//! Messages and their encoding, as they travel between ROS 2 nodes.
//!
//! - [`Message`], [`ServiceInterface`], [`Action`]: types of messages, with the names and hashes that they have in ROS
//!   2.
//! - [`TypeName`]: the name of such a type, split into its parts.
//! - [`Description`]: the fields of a generated type, for other nodes that ask.
//! - [`Stamped`]: messages with the time to which their content belongs.
//! - [`Blob`]: bytes of messages, which are shared and not copied, also in memory of devices ([`BlobMemory`]).
//! - [`cdr`]: the encoding of ROS 2, for any type with serde's traits.
//! - [`field`]: the encoding of generated messages' fields. Arrays of numbers are copied as a whole.
//!
//! Programs use the traits through `rospin-node`, and generated types through `rospin-msgs`.

#![forbid(unsafe_code)]

mod action;
mod blob;
pub mod cdr;
mod description;
pub mod field;
mod message;
mod type_name;

pub use action::Action;
pub use blob::{Blob, BlobMemory, BlobMemoryError};
pub use description::{DescribedField, DescribedType, Description};
pub use message::{Given, Message, ServiceInterface, ServicePart, Stamped};
#[doc(hidden)]
pub use serde;
#[doc(hidden)]
pub use type_name::EVENT_SUFFIX;
pub use type_name::{TypeKind, TypeName, TypeNameError};
