//! The root of everything: clocks, topics and services, executors.

use std::fmt;
use std::sync::Arc;

use rospin_core::{Priority, PriorityMap};

use crate::clock::{Clock, ManualClock};
use crate::executor::{Executor, ExecutorOptions};
use crate::incident::{Incident, Reporter, log_incident};
use crate::loss::{Ledger, Loss, LossCounters};
use crate::options::PublisherOptions;
use crate::registry::Registry;
use crate::ros_time::RosTime;
use crate::runtime::Runtime;
use crate::service::{Client, ServiceError};
use crate::topic::{Publisher, TopicError};

/// How a [`Context`] is set up.
pub struct ContextOptions {
    clock: Clock,
    priorities: PriorityMap,
    report: Reporter,
    runtime: Runtime,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl ContextOptions {
    /// The kernel's clocks, no priorities, incidents to the `log` crate.
    #[must_use]
    pub fn new() -> Self {
        Self {
            clock: Clock::kernel(),
            priorities: PriorityMap::default(),
            report: Arc::new(log_incident),
            runtime: Runtime::default(),
        }
    }

    /// Time stands still until `clock` is moved.
    #[must_use]
    pub fn manual_clock(mut self, clock: ManualClock) -> Self {
        self.clock = Clock::manual(clock);
        self
    }

    /// Priorities of entities by name, for those that are not given one when they are created; see
    /// [`PriorityMap::picas`].
    #[must_use]
    pub fn priorities(mut self, priorities: PriorityMap) -> Self {
        self.priorities = priorities;
        self
    }

    /// Has `report` told of panics and of items that could not be taken. It runs on executor threads.
    #[must_use]
    pub fn on_incident(mut self, report: impl Fn(&Incident) + Send + Sync + 'static) -> Self {
        self.report = Arc::new(report);
        self
    }

    /// Runs callbacks in the context of this Tokio runtime instead of one of rospin's own.
    ///
    /// It must not be a current-thread runtime that only `spin`'s caller drives: nobody would drive its I/O then.
    #[cfg(feature = "tokio")]
    #[must_use]
    pub fn tokio(mut self, handle: tokio::runtime::Handle) -> Self {
        self.runtime = Runtime::of_user(handle);
        self
    }
}

/// What executors, topics and services of a process have in common. Cheap to clone; clones are the same context.
///
/// ```
/// use rospin::{Context, ContextOptions, ExecutorOptions};
///
/// let context = Context::new(ContextOptions::new());
/// let control = context.create_executor(ExecutorOptions::new("control"));
/// let mapping = context.create_executor(ExecutorOptions::new("mapping"));
/// // Topics reach across executors.
/// let publisher = context.create_publisher::<String>("map")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    clock: Clock,
    priorities: PriorityMap,
    report: Reporter,
    runtime: Runtime,
    ledger: Arc<Ledger>,
    topics: Registry,
    services: Registry,
}

impl Context {
    /// A context of its own: nothing is shared with other contexts.
    #[must_use]
    pub fn new(options: ContextOptions) -> Self {
        let ContextOptions { clock, priorities, report, runtime } = options;
        Self(Arc::new(Inner {
            clock,
            priorities,
            report,
            runtime,
            ledger: Arc::default(),
            topics: Registry::default(),
            services: Registry::default(),
        }))
    }

    /// Creates an executor. It runs nothing before it is spun.
    #[must_use]
    pub fn create_executor(&self, options: ExecutorOptions) -> Executor {
        Executor::new(self, options)
    }

    /// Creates a publisher; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic carries messages of another type.
    pub fn create_publisher<T: Send + Sync + 'static>(
        &self,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<T>, TopicError> {
        Publisher::new(self, options.into())
    }

    /// Creates a client of the service called `service`, which need not be there yet.
    ///
    /// # Errors
    /// If the service has other types.
    pub fn create_client<Req: Send + 'static, Resp: Send + 'static>(
        &self,
        service: &str,
    ) -> Result<Client<Req, Resp>, ServiceError> {
        Client::new(self, service)
    }

    /// The clock that timers and releases are measured on.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// ROS time: what timers on [`ClockKind::Ros`](rospin_core::ClockKind::Ros) follow, and how it is driven.
    #[must_use]
    pub fn ros_time(&self) -> RosTime {
        RosTime::new(self.0.clock.clone())
    }

    /// Everything that was lost so far, by entity and cause, of entities that are gone, too.
    #[must_use]
    pub fn losses(&self) -> Vec<Loss> {
        self.0.ledger.losses()
    }

    pub(crate) fn open_counters(&self, entity: &str, retire_as: &str) -> Arc<LossCounters> {
        self.0.ledger.open(entity, retire_as)
    }

    pub(crate) fn priority_of(&self, entity: &str) -> Option<Priority> {
        self.0.priorities.get(entity)
    }

    pub(crate) fn reporter(&self) -> Reporter {
        Arc::clone(&self.0.report)
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn topics(&self) -> &Registry {
        &self.0.topics
    }

    pub(crate) fn services(&self) -> &Registry {
        &self.0.services
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").finish_non_exhaustive()
    }
}
