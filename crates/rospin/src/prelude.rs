//! Names that most programs import: `use rospin::prelude::*;`.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use crate::{
    Action, ActionClient, ActionServer, CallbackGroup, CancelResponse, Client, Context, ContextOptions, Executor,
    ExecutorOptions, GoalHandle, GoalResponse, GroupOptions, Lifecycle, LifecycleHandle, LifecycleNode, Message, Node,
    NodeOptions, Parameter, ParameterOptions, Payload, Priority, Publisher, PublisherOptions, Qos, QosOfName,
    ReentrantGroup, Ros, Service, ServiceInterface, ServiceOptions, SpinOptions, Subscription, SubscriptionOptions,
    Tick, Timer, TimerOptions,
};
