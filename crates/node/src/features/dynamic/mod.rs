//! Messages whose type is known only at run time. Programs that print, record or bridge topics use them.
//!
//! - [`MessageType`]: a type, from a file that ROS 2 installs, from a description, or from a node that has it.
//! - [`DynamicMessage`]: a message of such a type. Its fields are found by name, and it prints as `ros2 topic echo`
//!   does.
//! - [`Value`]: the value of a field.
//! - [`DynamicPublisher`], and subscriptions as of any other type: see
//!   [`create_dynamic_subscription`](crate::Node::create_dynamic_subscription).
//! - [`DynamicClient`]: calls a service of a [`ServiceType`], such as one that a node has told. Servers of such types are
//!   created by [`create_dynamic_service`](crate::Node::create_dynamic_service).
//! - [`TypeDescriptionServer`]: describes the types of a node's endpoints, dynamic or not, to other nodes.
//!
//! They have the same encoding as messages of Rust types, and the two can be mixed on a topic. A dynamic message takes
//! several times as long to decode, and allocates for each message and string in it. Where the type is known at
//! compile time, [`Message`](crate::Message) is better.
//!
//! ```
//! use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
//! use rospin::dynamic::{DynamicMessage, MessageType};
//!
//! # let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/../dynamic/tests/install")];
//! let twist = MessageType::find_in("geometry_msgs/msg/Twist", &prefixes)?;
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let node = Ros::in_process(&context).create_node("driver")?;
//!
//! let group = node.create_group_on(&executor.handle(), "driver", Vec::new());
//! let _subscription =
//!     group.create_dynamic_subscription("cmd_vel", &twist, |seen: &mut Vec<f64>, message: DynamicMessage| {
//!         seen.extend(message.get::<f64>("linear.x"));
//!     })?;
//! let publisher = node.create_dynamic_publisher("cmd_vel", &twist)?;
//! let mut message = DynamicMessage::new(&twist);
//! message.set("linear.x", 1.5)?;
//! publisher.publish(message)?;
//! executor.spin(SpinOptions::spin_all())?;
//! assert_eq!(group.into_payload().unwrap(), [1.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ask;
mod client;
mod known;
mod publisher;
mod server;
mod service;
mod subscription;

pub use ask::AskTypeError;
pub use client::DynamicClient;
pub(crate) use known::Known;
pub use publisher::DynamicPublisher;
#[doc(inline)]
pub use rospin_dynamic::{
    DynamicMessage, Field, FieldType, FindTypeError, FromYamlError, GetFieldError, MessageType, MessageTypeError,
    PathError, ServiceType, SetFieldError, Value, WrongValue, YamlFormat,
};
pub(crate) use server::declare_start;
pub use server::{ServeTypesError, TypeDescriptionServer};
