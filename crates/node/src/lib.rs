//! ROS 2 nodes over any middleware. rospin's policies decide when their callbacks run.
//!
//! A middleware moves payloads. It implements [`Middleware`]: publishers, subscriptions, services and clients, and
//! nothing else. Everything else of ROS 2 is built from these four in this crate, once for all middlewares. All of it
//! is ordinary entities of callback groups, so no hidden thread runs any of it.
//!
//! - [`Node`]: a name in the ROS graph, and everything that is created under it.
//! - [`Message`], [`ServiceInterface`]: the types that are sent, generated from ROS 2's definitions by `rospin-msgs`
//!   and `rospin-codegen`.
//! - [`Blob`]: bytes of a message, such as an image's, which are shared and not copied.
//! - [`DynamicMessage`]: a message whose [`MessageType`] is known only at run time.
//! - [`Parameter`], [`Parameters`]: values of a node that others can set, one by one or as a struct.
//! - [`Graph`]: the nodes and endpoints of the network. Nodes answer questions about it, and a callback can run with
//!   each of its changes.
//! - [`Logger`], [`RosoutLog`]: log records on `/rosout`.
//! - [`ActionServer`], [`ActionClient`]: goals that take time, give feedback and can be canceled.
//! - [`LifecycleNode`]: a managed node, which implements [`Lifecycle`]. Launch files and `ros2 lifecycle` configure
//!   and activate it.
//! - [`message_filters`]: messages of several topics that belong together, and caches of messages by time.
//! - [`Ros`]: creates nodes, over a middleware or in one process.
//!
//! Programs use all of this through the crate `rospin`, which exports it.
//!
//! ```
//! use rospin::{Context, ContextOptions, ExecutorOptions, Ros, SpinOptions};
//! use rospin::msgs::std_msgs::msg::String as Text;
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//! let node = Ros::in_process(&context).create_node("listener")?;
//!
//! let group = node.create_group_on(&executor.handle(), "listener", 0_u32);
//! let _subscription = group.create_subscription("chatter", |heard: &mut u32, message: Text| {
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

// The lower half. None of these modules names one of the upper half, and they import each other without circles:
// `crates/repository-test/tests/layering.rs` checks both. First come data and small helpers.
mod address;
mod calls;
mod complaints;
mod error;
mod info;
pub mod interfaces;
mod matches;
mod message;
mod names;
mod qos;
mod remap;
mod watchers;

// The forms of callbacks, and the groups that run them.
pub mod callback;
mod group;

// The ways of messages, in this process and through a middleware, and the graph of those who send and hear them.
mod envelope;
mod events;
mod graph;
mod inlet;
mod link;
mod loan;
mod local_topics;
mod middleware;
mod network;
mod request_inbox;
mod statistics;
mod terms;

// Nodes, and their publishers, subscriptions, services, clients, timers and groups.
mod client;
mod groups;
mod introspection;
mod named_qos;
mod node;
mod on;
mod options;
mod outrunning;
mod publisher;
mod serialized;
mod service;
mod service_types;
mod subscription;
mod sync;
mod timer;

// The upper half: what else a node has, how nodes are started, and managed nodes.
mod features;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
pub mod lifecycle;
mod start;

pub use calls::Calls;
pub use client::Client;
pub use complaints::Complaints;
pub use error::{CallError, NotPublished, PublishError, Refused, ServiceError, TopicError};
pub use events::{
    DeadlineMissed, EndEvents, Event, IncompatibleQos, LivelinessChanged, LivelinessLost, MatchedStatus, MessageLost,
    PublisherSide, QosPolicy, SubscriptionSide,
};
pub use features::action::{
    Action, ActionClient, ActionClientOptions, ActionError, ActionServer, ActionServerOptions, CancelError,
    CancelResponse, ClientGoalHandle, FeedbackStream, GoalEvent, GoalHandle, GoalId, GoalOutcome, GoalResponse,
    GoalState, NotCanceling, ResultError, SendGoalError,
};
pub use features::clock::SimTime;
pub use features::dynamic::{
    DynamicClient, DynamicMessage, DynamicPublisher, MessageType, ServiceType, TypeDescriptionServer, Value,
};
pub use features::event_callbacks::{EventCallback, Eventful};
pub use features::message_filters::Stamped;
pub use features::parameters::{
    DEPTH_RECURSIVE, DeclareError, Parameter, ParameterClient, ParameterClientError, ParameterFile, ParameterFileError,
    ParameterKind, ParameterOptions, ParameterRange, ParameterServer, ParameterSet, ParameterSetting, ParameterValue,
    ParameterVariant, Parameters, ParametersCallback, Ranged, ServeParametersError, SetParameterError, UndeclareError,
    UnknownType, WrongParameterType,
};
pub use features::rosout::{LimitedLogger, Logger, Rosout, RosoutError, RosoutLog};
pub use features::wait_for_message::{WaitForMessage, WaitForMessageError};
pub use features::{dynamic, message_filters};
pub use graph::{Endpoint, EndpointKind, Graph, GraphChange, NamesAndTypes};
pub use group::{Exclusive, Group, OwnGroup};
pub use groups::{CallbackGroup, ReentrantGroup};
pub use info::{Gid, MessageInfo, Packet, Publication, RequestId};
pub use inlet::Inlet;
pub use introspection::ServiceIntrospectionState;
pub use lifecycle::{Lifecycle, LifecycleHandle, LifecycleNode, LifecyclePublisher};
pub use loan::{LentBytes, LoanedBytes};
pub use matches::{Awaited, Matches};
pub use message::{Encode, Message, Outgoing, ServiceInterface, ServicePart};
pub use middleware::{
    CYCLONE_DDS_THREADS, ClientEnd, Middleware, NodeEnd, PublisherEnd, ReplyEnd, RequestSource, SentRequest,
    SubscriptionEnd, ZENOH_THREADS,
};
pub use named_qos::{NamedQos, QosOfName};
pub use names::{FullName, NameError, NodeName, TypeKind, TypeName, TypeNameError};
pub use node::{GraphCallback, Node};
pub use on::On;
pub use options::{ClientOptions, PublisherOptions, ServiceOptions, SubscriptionOptions};
pub use outrunning::Outrunning;
pub use publisher::Publisher;
pub use qos::{Durability, History, Liveliness, Qos, Reliability};
pub use request_inbox::{RequestInbox, RequestInlet};
#[doc(no_inline)]
pub use rospin_macros::Parameters;
pub use rospin_wire::cdr::Gap;
pub use rospin_wire::{Blob, BlobMemory, BlobMemoryError};
pub use serialized::SerializedMessage;
pub use service::Service;
pub use service_types::ServiceEvent;
pub use start::{NodeError, NodeOptions, Ros, RosArguments, RosArgumentsError};
pub use statistics::{TopicStatisticsOptions, TopicStatisticsState};
pub use subscription::Subscription;
pub use timer::{Tick, TimerOptions};

/// Types that the code of `#[derive(Parameters)]` names. They are no part of the API.
#[doc(hidden)]
pub mod derived {
    pub use crate::features::parameters::{DeclareError, Declarer, ParameterChanges};
}
