//! Names that most programs import: `use rospin::prelude::*;`.

pub use std::sync::Arc;
pub use std::time::Duration;

pub use crate::action::{Action, ActionClient, ActionServer, CancelResponse, GoalHandle, GoalResponse};
pub use crate::lifecycle::{Lifecycle, LifecycleHandle, LifecycleNode};
pub use crate::qos::QosOfName;
pub use crate::{
    CallbackGroup, Client, Context, ContextOptions, Executor, ExecutorOptions, GroupOptions, Message, Node,
    NodeOptions, Parameter, ParameterOptions, Parameters, Payload, Priority, Publisher, PublisherOptions, Qos,
    ReentrantGroup, Ros, Service, ServiceInterface, ServiceOptions, SpinOptions, Subscription, SubscriptionOptions,
    Tick, Time, Timer, TimerOptions,
};
