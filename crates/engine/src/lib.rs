//! The engine of rospin, a real-time, event-driven executor for ROS 2. Programs use it through the crate `rospin`.
//!
//! The engine runs callbacks on an executor's threads, in the order of a [`policy`] that knows which callback is
//! urgent. Callbacks are synchronous or asynchronous, Tokio works inside them, and everything that is lost is counted.
//!
//! - A [`Context`] has the clocks, topics and services.
//! - An [`Executor`] has threads and a policy; it is spun.
//! - A [`CallbackGroup`] has a payload that its callbacks share without a lock; a [`ReentrantGroup`] excludes nothing.
//! - Timers, subscriptions, services, streams and any [`Source`] are created on a group.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
//!
//! let context = Context::new(ContextOptions::new());
//! let executor = context.create_executor(ExecutorOptions::new("main"));
//!
//! let talker = executor.create_group("talker", 0);
//! let publisher = context.create_local_publisher::<String>("chatter")?;
//! let _timer = talker.create_timer(Duration::from_millis(10), move |count, _| {
//!     *count += 1;
//!     publisher.publish(format!("hello {count}"));
//! })?;
//!
//! let listener = executor.create_group("listener", ());
//! let stop = executor.handle();
//! let _subscription = listener.create_local_subscription("chatter", move |_, message: Arc<String>| {
//!     println!("heard: {message}");
//!     stop.halt();
//! })?;
//!
//! executor.spin(SpinOptions::new())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod body;
mod call;
mod catalog;
mod changes;
mod clock;
mod clock_point;
mod companions;
mod context;
mod current;
mod deployed;
mod descriptor;
mod draft;
mod entity;
mod error;
mod executor;
mod executor_core;
mod executor_handle;
mod executor_options;
mod failures;
mod foreign;
mod foreign_waker;
mod group;
mod group_core;
mod guarantees;
mod idle;
mod in_place;
mod incident;
mod jump_source;
mod lock_free;
mod lookout;
mod loss;
mod loss_watch;
mod main_future;
mod membership;
mod options;
pub mod os;
mod panics;
mod queue;
mod recorder;
mod reentrant;
mod registry;
mod request_queue;
mod ros_time;
mod runtime;
mod service;
mod shared;
mod signal;
mod signal_box;
mod sleep;
mod solo;
mod source;
mod spin;
mod spin_call;
mod spin_end;
mod state;
mod sync;
mod template;
mod time_source;
mod timer;
mod times;
mod topic;
mod topics;
mod waiters;
mod waits;
mod work;

pub use rospin_core::{
    Activation, Chain, ChainError, ClockKind, Criticality, DEPTH_MAX, EntityId, EntityKind, EntitySpec, GroupId,
    GroupKind, Instant, Order, Overrun, Policy, Priority, PriorityMap, Time, policy, recording, trace,
};

pub use rospin_scenario::FileError;
pub use rospin_scenario::deployment;
pub use rospin_scenario::deployment::{Deployment, DeploymentError};

pub use body::{Payload, Tick};
pub use call::{Call, CallError, Reply};
pub use clock::Clock;
pub use clock_point::ClockPoint;
pub use context::{Context, ContextOptions};
pub use deployed::{DeployError, check_cores};
pub use descriptor::{Descriptor, Readiness};
pub use entity::{Entity, JumpCallback, Service, Subscription};
pub use error::{DepthTooLarge, GroupGone, TimerError};
pub use executor::Executor;
pub use executor_handle::ExecutorHandle;
pub use executor_options::{ExecutorOptions, SpinOptions};
pub use failures::Failures;
pub use foreign::{ForeignList, ForeignThread, ForeignThreads, ThreadRole};
pub use foreign_waker::ForeignWaker;
pub use group::CallbackGroup;
pub use guarantees::Guarantees;
pub use incident::{Incident, IncidentKind, MissedDeadline, OnPanic};
pub use loss::{Loss, LossCause, Misses};
pub use loss_watch::LossWatch;
pub use options::{EntityOptions, GroupOptions, PublisherOptions, ServiceOptions, SubscriptionOptions, TimerOptions};
pub use queue::Queue;
pub use recorder::{Declaration, Observer, RecordError, Recorded, RecordedScheduler, Recorder, SinkHandle};
pub use reentrant::ReentrantGroup;
pub use registry::TypeMismatch;
pub use request_queue::RequestQueue;
pub use ros_time::{Barrier, BarrierError, ClockChange, JumpThreshold, RosTime, TimeJump};
pub use service::{Client, ServiceError};
pub use sleep::{Rate, RateError, Sleep, SleepError, TimeoutError};
pub use source::{Closer, Notifier, Pending, Source, SourceError, TakeError};
pub use spin_end::{SpinEnd, SpinError};
pub use sync::{Mutex, MutexGuard};
pub use time_source::ManualClock;
pub use timer::{DueSetter, Skips, Timer};
pub use topic::{
    Carried, Delivery, Envelope, Inlet, LateQueue, Mixed, MixedPublisher, MixedQueue, NoRoom, NoSubscription, Places,
    Published, Publisher, Pushed, TopicEnds, TopicError,
};
pub use topics::Topics;
pub use waiters::{Waiters, Waiting};
