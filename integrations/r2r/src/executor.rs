//! The executor that R2R nodes run on.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, Executor, ExecutorHandle, GroupOptions, Mutex, Priority, ReentrantGroup, SourceError, SpinEnd,
    SpinError, SpinOptions,
};

use super::node::{NodeError, R2rNode};
use super::options::R2rOptions;
use super::pump::{Pump, Pumped, THREADS};
use super::tasks::Spawner;

/// The name of the group of what belongs to no callback group of the program.
const MAIN: &str = "main";

/// An executor for R2R nodes, their entities and their tasks: what a program spins in place of its node and its pool of
/// futures.
pub struct R2rExecutor {
    executor: Executor,
    main: ReentrantGroup,
    nodes: Mutex<Vec<Weak<Pumped>>>,
    has_spun: AtomicBool,
    longest_wait: Duration,
    /// Keeps the list of threads that are to be more urgent than all executors.
    _foreign: Arc<rospin_engine::ForeignList>,
}

impl R2rExecutor {
    /// Creates an executor, which runs nothing before it is spun.
    #[must_use]
    pub fn new(options: R2rOptions) -> Self {
        let R2rOptions { context, executor, longest_wait } = options;
        let context = rospin_engine::Context::new(context);
        let foreign = context.foreign_threads();
        foreign.add(THREADS);
        let executor = context.create_executor(executor);
        let main = executor.create_reentrant_group(MAIN);
        Self {
            executor,
            main,
            nodes: Mutex::default(),
            has_spun: AtomicBool::new(false),
            longest_wait,
            _foreign: foreign,
        }
    }

    /// Creates a node, in place of [`r2r::Node::create`].
    ///
    /// Its pump starts when this executor is first spun, or by [`R2rNode::start`]. Threads that the middleware starts
    /// meanwhile get the settings of the pump.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub fn create_node(&self, context: r2r::Context, name: &str, namespace: &str) -> Result<R2rNode, NodeError> {
        let engine = &self.executor.handle().context().clone();
        let mut node = engine.start_threads("r2r-pump", || r2r::Node::create(context.clone(), name, namespace))?;
        // R2R's wait returns at once if there is nothing to wait for. This timer's ticks are never taken.
        let idle = node.create_wall_timer(IDLE)?;
        let params = Arc::clone(&node.params);
        let pump = Pump::new(engine, context, node, self.longest_wait).map_err(NodeError::Thread)?;
        self.nodes.lock().push(Arc::downgrade(pump.pumped()));
        if self.has_spun.load(Ordering::SeqCst) {
            pump.pumped().start();
        }
        Ok(R2rNode::new(pump, params, idle))
    }

    /// Creates a mutually exclusive callback group with a payload, for entities of what nodes
    /// [receive](crate::Incoming).
    pub fn create_group<P: Send + 'static>(&self, options: impl Into<GroupOptions>, payload: P) -> CallbackGroup<P> {
        self.executor.create_group(options, payload)
    }

    /// Creates a reentrant callback group.
    pub fn create_reentrant_group(&self, options: impl Into<GroupOptions>) -> ReentrantGroup {
        self.executor.create_reentrant_group(options)
    }

    /// Creates a spawner, in place of that of a pool of futures. Deployment files, which take precedence, know it as
    /// the callback `name` of the group `main`. A greater priority is more urgent.
    ///
    /// # Errors
    /// None as long as the executor exists.
    pub fn create_spawner(&self, name: &str, priority: Option<Priority>) -> Result<Spawner, SourceError> {
        Spawner::new(&self.main, name, priority)
    }

    /// Returns a handle with which the executor can be halted, and that creates sleeps and rates.
    #[must_use]
    pub fn handle(&self) -> ExecutorHandle {
        self.executor.handle()
    }

    /// Runs callbacks and tasks until the options say to stop, or the executor is [halted](ExecutorHandle::halt): in
    /// place of the loop around [`r2r::Node::spin_once`].
    ///
    /// # Errors
    /// See [`SpinError`].
    pub fn spin(&self, options: SpinOptions) -> Result<SpinEnd, SpinError> {
        self.start();
        self.executor.spin(options)
    }

    /// Spins until `future` resolves, which is polled on the calling thread.
    ///
    /// # Errors
    /// See [`SpinError`]; [`SpinError::Halted`] if the executor was halted before the future resolved.
    pub fn spin_until<F: Future>(&self, future: F, options: SpinOptions) -> Result<F::Output, SpinError> {
        self.start();
        self.executor.spin_until(future, options)
    }

    /// Starts the pumps of the nodes.
    fn start(&self) {
        self.has_spun.store(true, Ordering::SeqCst);
        let nodes = std::mem::take(&mut *self.nodes.lock());
        nodes.iter().filter_map(Weak::upgrade).for_each(|pumped| pumped.start());
    }
}

impl fmt::Debug for R2rExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("R2rExecutor").field("executor", &self.executor).finish_non_exhaustive()
    }
}

/// The period of the timer that keeps a node's wait from being empty.
const IDLE: Duration = Duration::from_secs(3_600);
