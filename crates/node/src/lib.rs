//! ROS 2 nodes whose callbacks run when rospin's policy says, over any middleware.
//!
//! A middleware moves messages: it implements [`Middleware`], which is publishers, subscriptions, services and clients, and
//! nothing else. Whatever else ROS 2 has is built of these here, once, of ordinary entities of callback groups: no hidden
//! thread runs any of it.
//!
//! - [`Node`]: names, and what can be created under them.
//! - [`Message`], [`Service`]: what travels, as types that are generated from ROS 2's definitions (`rospin-msgs`).
//! - [`DynamicMessage`]: what travels, of a [`MessageType`] that is known only at run time.
//! - [`Parameter`], [`Parameters`]: values of a node that are set from outside, one by one or as a struct.
//! - [`Graph`]: which nodes there are and what they have, with changes as an entity; nodes tell of it.
//! - [`Logger`], [`RosoutLog`]: log records on `/rosout`.
//! - [`ActionServer`], [`ActionClient`]: goals that take their time, tell how they get on, and can be canceled.
//! - [`LifecycleNode`]: a managed node, whose [`Lifecycle`] tools start and stop.
//! - [`Ros`]: creates nodes, over a middleware or in one process.
//!
//! Programs use it through the crate of their middleware, which exports all of it.
//!
//! ```
//! use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
//! use rospin_msgs::std_msgs::msg::String as Text;
//! use rospin_node::Ros;
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let node = Ros::in_process(&context).create_node("listener")?;
//!
//! let group = executor.create_group("listener", 0_u32);
//! let _subscription = node.on(&group).create_subscription("chatter", |heard: &mut u32, message: Text| {
//!     *heard += 1;
//!     println!("{heard}: {}", message.data);
//! })?;
//! let publisher = node.create_publisher::<Text>("chatter")?;
//! publisher.publish(Text { data: "hello".to_owned() })?;
//! executor.spin(SpinOptions::spin_all())?;
//! assert_eq!(group.into_payload().unwrap(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod action;
pub mod callback;
mod client;
mod clock;
pub mod dynamic;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
mod graph;
mod group;
pub mod interfaces;
pub mod lifecycle;
mod link;
mod message;
mod middleware;
mod names;
mod node;
mod options;
mod parameters;
mod publisher;
mod qos;
mod ros;
mod rosout;
mod service;
mod subscription;
mod watchers;

pub use action::{
    Action, ActionClient, ActionClientOptions, ActionError, ActionServer, ActionServerOptions, CancelError,
    CancelResponse, ClientGoalHandle, FeedbackStream, GoalEvent, GoalHandle, GoalId, GoalOutcome, GoalResponse,
    GoalState, NotCanceling, ResultError, SendGoalError,
};
pub use client::{CallError, Client};
pub use clock::SimTime;
pub use dynamic::{DynamicMessage, DynamicPublisher, MessageType, TypeDescriptionServer, Value};
pub use graph::{Endpoint, EndpointKind, Graph, GraphCallback, GraphChange, NamesAndTypes};
pub use group::{Exclusive, Group, On, OwnGroup};
pub use lifecycle::{Lifecycle, LifecycleHandle, LifecycleNode, LifecyclePublisher};
pub use message::{Encode, Message, Service};
pub use middleware::{
    Awaited, CYCLONE_DDS_THREADS, ClientEnd, Matches, Middleware, NodeEnd, PayloadSource, PublisherEnd, Refused,
    ReplyEnd, RequestSource, ZENOH_THREADS,
};
pub use names::{FullName, NameError, NodeName, TypeKind, TypeName};
pub use node::{Node, NodeError, NodeOptions};
pub use options::{ClientOptions, PublisherOptions, ServiceOptions, SubscriptionOptions};
pub use parameters::{
    DEPTH_RECURSIVE, DeclareError, Parameter, ParameterClient, ParameterClientError, ParameterFile, ParameterFileError,
    ParameterKind, ParameterOptions, ParameterRange, ParameterServer, ParameterSet, ParameterSetting, ParameterValue,
    ParameterVariant, Parameters, ParametersCallback, Ranged, ServeParametersError, SetParameterError, UndeclareError,
    UnknownType,
};
#[doc(hidden)]
pub use parameters::{Declarer, ParameterChanges};
pub use publisher::{PublishError, Publisher};
pub use qos::{Durability, History, Qos, Reliability};
pub use ros::Ros;
pub use rosout::{Logger, Rosout, RosoutError, RosoutLog};
#[doc(no_inline)]
pub use rospin_macros::Parameters;
pub use service::{Server, ServiceError};
pub use subscription::{Subscription, TopicError};
