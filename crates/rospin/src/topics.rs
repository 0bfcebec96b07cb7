//! The modules of the door that collect names of the crates below, a module a topic.

/// Actions: goals that take time, give feedback and can be canceled.
///
/// A node has `create_action_server` and `create_action_client`. An [`Action`](action::Action) is generated from a
/// definition.
pub mod action {
    pub use rospin_node::{
        Action, ActionClient, ActionClientOptions, ActionError, ActionServer, ActionServerOptions, CancelError,
        CancelResponse, ClientGoalHandle, FeedbackStream, GoalEvent, GoalHandle, GoalId, GoalOutcome, GoalResponse,
        GoalState, NotCanceling, ResultError, SendGoalError,
    };
}

/// Errors of what is at the root of this crate. Errors of a module's own are there.
///
/// All of them become an [`Error`](crate::Error) by `?`.
pub mod errors {
    pub use crate::init::InitError;
    pub use rospin_engine::{GroupGone, SpinError, TimerError};
    pub use rospin_node::{
        CallError, NodeError, NotPublished, PublishError, Refused, RosArgumentsError, ServiceError, TopicError,
    };
}

/// Events of publishers and subscriptions: missed deadlines, lost messages, qualities of service that do not fit, and
/// matches.
pub mod events {
    pub use rospin_node::{
        DeadlineMissed, EndEvents, Event, EventCallback, Eventful, IncompatibleQos, LivelinessChanged, LivelinessLost,
        MatchedStatus, MessageLost, PublisherSide, QosPolicy, SubscriptionSide,
    };
}

/// Executors: how a spin ends, what a panic does, and what a deployment wants of the machine.
pub mod executor {
    pub use rospin_engine::{DeployError, OnPanic, SpinEnd, check_cores};
}

/// The nodes and endpoints of the network, their changes, and the names of nodes and topics.
///
/// A node answers questions about its [`Graph`](graph::Graph), and a callback can run with each
/// [`GraphChange`](graph::GraphChange).
pub mod graph {
    pub use rospin_node::{
        Endpoint, EndpointKind, FullName, Gid, Graph, GraphCallback, GraphChange, NameError, NamesAndTypes, NodeName,
    };
}

/// Callback groups of all kinds: the traits that they share, a node's own group, and the creator of a node's entities
/// on any of them.
pub mod groups {
    pub use rospin_node::{Exclusive, Group, On, OwnGroup};
}

/// Local topics and services, and the groups of an executor, on which their callbacks are created.
///
/// They belong to a [`Context`](crate::Context) and need no node. They are no ROS topics: no node hears them, whatever
/// their name. So their creators have names of their own.
///
/// ```
/// # use rospin::prelude::*;
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("heard", 0_u32);
/// let _subscription = group.create_local_subscription("numbers", |heard, number: Arc<u32>| *heard += *number)?;
/// context.create_local_publisher("numbers")?.publish(7_u32);
/// executor.spin(SpinOptions::spin_all())?;
/// assert_eq!(group.into_payload().unwrap(), 7);
/// # Ok::<(), rospin::Error>(())
/// ```
///
/// ```compile_fail,E0599
/// # use rospin::prelude::*;
/// # let context = Context::new(ContextOptions::new());
/// context.create_publisher::<u32>("numbers"); // error: a node's `create_publisher` is meant
/// ```
pub mod local {
    pub use rospin_engine::{
        CallbackGroup, Client, Publisher, PublisherOptions, Queue, ReentrantGroup, RequestQueue, Service,
        ServiceOptions, Subscription, SubscriptionOptions, Topics,
    };
}

/// Log records on `/rosout`, and loggers that write some of the records only.
pub mod logging {
    pub use rospin_node::{LimitedLogger, Rosout, RosoutError, RosoutLog};
}

/// Messages as bytes, a message that is awaited, and the names of types.
pub mod message {
    pub use rospin_node::{
        BlobMemory, BlobMemoryError, Encode, Outgoing, SerializedMessage, ServicePart, TypeKind, TypeName,
        TypeNameError, WaitForMessage, WaitForMessageError, interfaces,
    };
}

/// For those who write a middleware: the traits that it implements, and what it implements them with.
pub mod middleware {
    pub use rospin_node::{
        Awaited, CYCLONE_DDS_THREADS, Calls, ClientEnd, Complaints, Inlet, Matches, Middleware, NodeEnd, Packet,
        Publication, PublisherEnd, ReplyEnd, RequestId, RequestInbox, RequestInlet, RequestSource, SentRequest,
        SubscriptionEnd, ZENOH_THREADS,
    };
}

/// Losses, missed deadlines, failures, statistics of topics and events of services of a running program, and monitors,
/// which compare the program with its system file.
pub mod monitoring {
    pub use crate::live::open_live_door;
    pub use crate::monitor_of_process::{MonitoringError, monitor, monitor_from_env, watch};
    pub use rospin_engine::{Failures, Incident, IncidentKind, Loss, LossCause, MissedDeadline, Misses};
    pub use rospin_node::{ServiceEvent, ServiceIntrospectionState, TopicStatisticsOptions, TopicStatisticsState};
    pub use rospin_trace::monitor::{Cause, Monitor, MonitorSink, Violation, ViolationCount, ViolationKind};
}

/// Parameters: their values, ranges and files, the parameters of other nodes, and callbacks that look at what is set.
pub mod parameters {
    pub use rospin_node::{
        DEPTH_RECURSIVE, DeclareError, ParameterClient, ParameterClientError, ParameterFile, ParameterFileError,
        ParameterKind, ParameterRange, ParameterServer, ParameterSet, ParameterSetting, ParameterValue,
        ParameterVariant, ParametersCallback, Ranged, ServeParametersError, SetParameterError, UndeclareError,
        UnknownType, WrongParameterType,
    };
}

/// The parts of a [`Qos`](crate::Qos), and names with a quality of service written on them.
pub mod qos {
    pub use rospin_node::{Durability, History, Liveliness, NamedQos, QosOfName, Reliability};
}

/// Types that a [policy](crate::policy) of one's own works with, and chains, whose callbacks have the urgency of the
/// chain.
pub mod scheduling {
    pub use rospin_engine::{
        Activation, Chain, ChainError, Criticality, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, PriorityMap,
    };
}

/// Callbacks for events of one's own: a [`Source`](source::Source) notifies, from any thread, that there is something
/// to take.
pub mod source {
    pub use rospin_engine::{Closer, Entity, EntityOptions, Notifier, Pending, Source, SourceError, TakeError};
}

/// Clocks and points of time, sleeps and rates, and what comes with a clock that jumps.
pub mod time {
    pub use rospin_engine::{
        Barrier, BarrierError, Clock, ClockChange, ClockKind, ClockPoint, Instant, JumpCallback, JumpThreshold,
        ManualClock, Overrun, Rate, RateError, RosTime, Sleep, SleepError, TimeJump, TimeoutError,
    };
    pub use rospin_node::SimTime;
}
