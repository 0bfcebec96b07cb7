//! Tests of one's own nodes: in one process, without a network, and without waiting.
//!
//! A [`Harness`] has a clock that stands still while callbacks run, and moves from one due time to the next. So a
//! second of a robot's life takes as long as its callbacks do, and every run of a test is the same.
//!
//! ```
//! use rospin::msgs::std_msgs::msg::UInt32;
//! use rospin::prelude::*;
//! use rospin::testing::Harness;
//!
//! // The node under test: doubles what it hears.
//! fn doubler(ros: &Ros) -> rospin::Result<Subscription> {
//!     let node = ros.create_node("doubler")?;
//!     let publisher = node.create_publisher::<UInt32>("doubled")?;
//!     let double = move |number: &UInt32| publisher.publish(UInt32 { data: 2 * number.data });
//!     Ok(node.create_subscription("numbers", double)?)
//! }
//!
//! let mut test = Harness::new();
//! let _doubler = doubler(test.ros())?;
//! let doubled = test.record::<UInt32>("doubled")?;
//! let numbers = test.node().create_publisher::<UInt32>("numbers")?;
//!
//! numbers.publish(UInt32 { data: 21 })?;
//! test.run()?;
//! assert_eq!(doubled.last().unwrap().data, 42);
//! # Ok::<(), rospin::Error>(())
//! ```
//!
//! Nodes of several hosts, and what they do while the network fails: [`network`].
//!
//! With the feature `bag`, `Harness::play` plays the messages of a bag to the nodes, each at its recorded time.

pub mod network;
#[cfg(feature = "bag")]
mod play;

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::time::Duration;

use rospin_engine::deployment::ExecutorPlan;
use rospin_engine::{
    Context, ContextOptions, Deployment, Executor, ExecutorOptions, Incident, Instant, ManualClock, SpinError,
    SpinOptions,
};
use rospin_node::{
    Message, Node, NodeError, NodeOptions, Ros, RosArguments, Subscription, SubscriptionOptions, TopicError,
};

pub use network::{LinkOptions, NetworkCounts, SimulatedNetwork};
#[cfg(feature = "bag")]
pub use play::PlayError;
#[cfg(feature = "bag")]
pub use rospin_trace::bag::{Bag, BagError, BagMessage, BagTopic};

/// The most callbacks that one [`Harness::run`] may run, all of them at one instant of the clock.
const CALLBACKS_AT_ONCE_MAX: usize = 100_000;
/// Depth of a recording's queue: the most messages that can wait for it at one instant of the clock.
const RECORDED_MAX: usize = CALLBACKS_AT_ONCE_MAX;

/// Reasons for which a test could not continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HarnessError {
    /// An executor could not spin, or a callback panicked in a group that halts then.
    #[error("executor `{executor}` could not go on")]
    Spin {
        /// Name of the executor.
        executor: String,
        /// Error that ended the executor's spin.
        #[source]
        source: Box<SpinError>,
    },
    /// Callbacks trigger each other without end.
    #[error(
        "at {at:?} since the beginning, {CALLBACKS_AT_ONCE_MAX} callbacks have run and more are ready; do they \
         trigger each other?"
    )]
    NeverIdle {
        /// Time since the harness was created.
        at: Duration,
    },
    /// The future did not resolve, or the condition did not become true, within this time, the limit that the test set.
    #[error("it has not come after {0:?}")]
    TooLate(Duration),
    /// The future or the condition can never be fulfilled: nothing is ready, and no timer or sleep will be due. The
    /// time is that since the beginning.
    #[error("it cannot come: {0:?} since the beginning, nothing is ready and nothing is due any more")]
    Nothing(Duration),
}

#[expect(
    clippy::print_stderr,
    reason = "most tests have no logger, and whoever reads their output looks for the cause"
)]
fn tell(told: &Mutex<Vec<Incident>>, incident: &Incident) {
    eprintln!("rospin: {incident}");
    incident.log();
    lock(told).push(incident.clone());
}

/// Harness that runs nodes under a clock of its own. The [module](self) has an example.
pub struct Harness {
    clock: ManualClock,
    begin: Instant,
    ros: Ros,
    node: Node,
    /// Executors besides the main one.
    others: Vec<Executor>,
    recordings: Executor,
    network: Option<SimulatedNetwork>,
    /// Name of its own host on the network.
    host: Option<String>,
    /// True if its own host was killed.
    is_killed: bool,
    /// Other hosts of the network, by name.
    hosts: Vec<(String, Ros)>,
    incidents: Arc<Mutex<Vec<Incident>>>,
}

impl Harness {
    /// Creates a harness without nodes under test.
    ///
    /// # Panics
    /// Never: its own node has a valid name.
    #[must_use]
    pub fn new() -> Self {
        Self::with_arguments(RosArguments::default())
    }

    /// Creates a harness as [`new`](Self::new) does, whose nodes get `arguments`, such as names and parameters.
    ///
    /// # Panics
    /// Never: the arguments do not apply to the harness's own node, which has a valid name.
    #[must_use]
    pub fn with_arguments(arguments: RosArguments) -> Self {
        Self::create(ContextOptions::new(), arguments, &[], None)
    }

    /// Creates a harness whose own nodes, and those that its [`ros`](Self::ros) creates, are on a host of that name in a
    /// simulated network. [`host`](Self::host) adds others. The module [`network`] has an example.
    ///
    /// # Panics
    /// Never: the harness's own node has a valid name.
    #[must_use]
    pub fn on_network(network: &SimulatedNetwork, host: &str) -> Self {
        Self::create(ContextOptions::new(), RosArguments::default(), &[], Some((network, host)))
    }

    /// Adds a host to the harness's network, and returns what creates its nodes. The harness spins their main executor.
    /// The host stays until the harness is dropped, or [kills](Self::kill) it. Its nodes may go earlier.
    ///
    /// # Panics
    /// If the harness is not [on a network](Self::on_network).
    pub fn host(&mut self, name: &str) -> Ros {
        let network = self.network.as_ref().expect("hosts are on a network: create the harness by `on_network`");
        network.advance_to(clock_now(self.ros.context()));
        let ros = network.join(self.ros.context(), name).with_arguments(self.ros.arguments().clone());
        self.hosts.push((name.to_owned(), ros.clone()));
        ros
    }

    /// Ends a host as a power cut does, see [`SimulatedNetwork::kill`]: none of the callbacks on its main executor runs
    /// any more. Drop its nodes, and what they have. Then [`host`](Self::host) may start it again.
    ///
    /// # Panics
    /// If the harness is not [on a network](Self::on_network), or there never was a host of that name.
    #[track_caller]
    pub fn kill(&mut self, name: &str) {
        self.network.as_ref().expect("hosts are on a network: create the harness by `on_network`").kill(name);
        self.hosts.retain(|(host, _)| host != name);
        self.is_killed |= self.host.as_deref() == Some(name);
    }

    /// Creates a harness as [`with_arguments`](Self::with_arguments) does, whose nodes are deployed as the robot's:
    /// callbacks have the priorities, deadlines and depths of the file and of its chains, executors its policies, and
    /// groups are on the executors that it names. Executors that only the file has are spun by the harness.
    ///
    /// Settings of the machine are left out: OS priorities, cores, locked memory and the threads of other libraries.
    /// All executors take turns on the test's thread.
    ///
    /// A name in the file that the test's nodes do not have is an error of the first run, as on the robot. For a test
    /// of some of the robot's nodes, set [`on_unknown`](Deployment::on_unknown) to
    /// [`Warn`](crate::deployment::Reaction::Warn).
    ///
    /// ```
    /// use rospin::deployment::Reaction;
    /// use rospin::prelude::*;
    /// use rospin::testing::Harness;
    /// use rospin::deployment::Deployment;
    /// use rospin::RosArguments;
    ///
    /// // On a robot: `Deployment::load("robot.toml")?`.
    /// let mut deployment = Deployment::parse("
    ///     executor = [{ name = 'control', policy = 'fixed-priority', scheduling = { fifo = 80 }, cores = [3] }]
    ///     group = [{ name = 'brake', executor = 'control' }]
    ///     callback = [{ name = 'brake/*', priority = 9 }, { name = 'gripper/*', priority = 1 }]
    /// ")?;
    /// deployment.on_unknown = Reaction::Warn;
    /// let mut test = Harness::with_deployment(deployment, RosArguments::default());
    /// let node = test.create_node("brake")?;
    /// let brake = node.create_group("brake", 0)?;
    /// let _scan = brake.create_subscription("scan", |count: &mut u32, _: rospin::msgs::std_msgs::msg::Empty| *count += 1)?;
    /// test.run()?;
    /// # Ok::<(), rospin::Error>(())
    /// ```
    ///
    /// # Panics
    /// Never: the arguments do not apply to the harness's own node, which has a valid name.
    #[must_use]
    pub fn with_deployment(mut deployment: Deployment, arguments: RosArguments) -> Self {
        deployment.lock_memory = false;
        deployment.threads.clear();
        for plan in &mut deployment.executors {
            plan.scheduling = None;
            plan.cores.clear();
            plan.timer_slack = None;
            plan.stack_prefault_kib = 0;
            plan.busy_poll = None;
        }
        // An executor that neither the file uses nor the nodes create is misspelt, and must not be there, so that the
        // first run says so.
        let mut executors = deployment.executors.clone();
        executors.retain(|plan| deployment.groups.iter().any(|group| group.executor == plan.name));
        Self::create(ContextOptions::new().deployment(deployment), arguments, &executors, None)
    }

    /// Creates a harness with the executors of a deployment, on a host of a network if one is given.
    fn create(
        options: ContextOptions,
        arguments: RosArguments,
        deployed: &[ExecutorPlan],
        place: Option<(&SimulatedNetwork, &str)>,
    ) -> Self {
        let clock = ManualClock::new();
        // The clock starts at one second, because a time stamp of zero means "no time" in ROS.
        let begin = match place {
            // It may have run for another harness before.
            Some((network, _)) => network.now().max(Instant::from_nanos(1_000_000_000)),
            None => Instant::from_nanos(1_000_000_000),
        };
        clock.advance(begin.saturating_since(Instant::ZERO));
        let incidents = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&incidents);
        let context =
            Context::new(options.manual_clock(clock.clone()).on_incident(move |incident| tell(&told, incident)));
        let ros = match place {
            Some((network, host)) => {
                // So that the delays of what this host sends count from the harness's time, and not from the network's beginning.
                network.advance_to(begin);
                network.join(&context, host)
            }
            None => Ros::in_process(&context),
        };
        let ros = ros.with_arguments(arguments);
        // Created before any group, so that the groups of the file are put on them. By themselves they would spin on
        // threads of their own.
        let mut others = Vec::new();
        for plan in deployed.iter().filter(|plan| plan.name != ros.executor().handle().name()) {
            others.push(context.create_executor(ExecutorOptions::new(&plan.name)));
        }
        let recordings = context.create_executor(ExecutorOptions::new("recordings"));
        let options = NodeOptions::new("test")
            .use_global_arguments(false)
            .start_parameter_services(false)
            .start_type_description_service(false);
        let node = ros.create_node(options).expect("the name is valid");
        let begin = clock_now(&context);
        let (network, host) = place.map(|(network, host)| (network.clone(), host.to_owned())).unzip();
        let (hosts, is_killed) = (Vec::new(), false);
        Self { clock, begin, ros, node, others, recordings, network, host, is_killed, hosts, incidents }
    }

    /// Returns what went wrong in callbacks by now: panics, errors that they returned, and waits that may have no end.
    /// Each was also told on stderr.
    #[must_use]
    pub fn incidents(&self) -> Vec<Incident> {
        lock(&self.incidents).clone()
    }

    /// Returns the [`Ros`] on which the harness creates nodes.
    #[must_use]
    pub const fn ros(&self) -> &Ros {
        &self.ros
    }

    /// Returns the test's own node, called `test`, with which the test publishes, and calls services and actions.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// Returns the time on the harness's clock since the harness was created.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        clock_now(self.ros.context()).saturating_since(self.begin)
    }

    /// Creates a node with the main executor, as [`Ros::create_node`] does.
    ///
    /// # Errors
    /// Those of [`Ros::create_node`].
    pub fn create_node(&self, options: impl Into<NodeOptions>) -> Result<Node, NodeError> {
        self.ros.create_node(options)
    }

    /// Makes the harness spin `executor` besides [`Ros::executor`]. The executors take turns, a callback at a time: the
    /// main one first, then the others in the order in which they were added.
    pub fn add_executor(&mut self, executor: Executor) {
        self.others.push(executor);
    }

    /// Records the messages of a topic from now on, from publishers of any quality of service.
    ///
    /// # Errors
    /// If the topic's or the type's name is invalid.
    pub fn record<M: Message>(&self, topic: impl Into<String>) -> Result<Recording<M>, TopicError> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&heard);
        let context = self.ros.context().clone();
        let begin = self.begin;
        let options = SubscriptionOptions::new(topic.into()).keep_last(RECORDED_MAX).best_effort();
        let group = self.recordings.create_group("recordings", ());
        let subscription = self.node.on(&group).create_subscription(options, move |message: Arc<M>| {
            lock(&list).push((clock_now(&context).saturating_since(begin), message));
        })?;
        Ok(Recording { heard, _subscription: subscription })
    }

    /// Returns the executors in the order in which they take turns.
    fn executors(&self) -> impl Iterator<Item = &Executor> {
        let hosts = self.hosts.iter().map(|(_, ros)| ros.executor());
        let own = Some(self.ros.executor()).filter(|_| !self.is_killed);
        own.into_iter().chain(hosts).chain(&self.others).chain([&self.recordings])
    }

    /// Runs all callbacks that are ready now, and those that become ready meanwhile. The clock stands still.
    ///
    /// # Errors
    /// If an executor's spin fails, or callbacks trigger each other without end.
    pub fn run(&mut self) -> Result<(), HarnessError> {
        self.run_ready().map(drop)
    }

    /// Does what [`run`](Self::run) does, and returns true if a callback has run or the network has done something.
    fn run_ready(&mut self) -> Result<bool, HarnessError> {
        let mut ran = 0;
        let mut has_moved = false;
        loop {
            let mut is_idle = true;
            if let Some(network) = &self.network {
                is_idle = !network.advance_to(clock_now(self.ros.context()));
                has_moved |= !is_idle;
            }
            for executor in self.executors() {
                match executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO)) {
                    Ok(_) => (is_idle, ran) = (false, ran + 1),
                    Err(SpinError::Timeout) => {}
                    Err(source) => {
                        let executor = executor.handle().name().to_owned();
                        return Err(HarnessError::Spin { executor, source: Box::new(source) });
                    }
                }
            }
            if is_idle {
                return Ok(ran > 0 || has_moved);
            }
            if ran > CALLBACKS_AT_ONCE_MAX {
                return Err(HarnessError::NeverIdle { at: self.elapsed() });
            }
        }
    }

    /// Runs for `duration` of the harness's clock, from due time to due time. A timer that is due exactly at the end
    /// still runs.
    ///
    /// # Errors
    /// Those of [`run`](Self::run).
    pub fn run_for(&mut self, duration: Duration) -> Result<(), HarnessError> {
        let end = clock_now(self.ros.context()) + duration;
        self.run()?;
        while self.step(end) {
            self.run()?;
        }
        Ok(())
    }

    /// Runs until the future resolves, but no longer than `limit` of the harness's clock, and returns its output. The
    /// clock stands at the moment at which it resolved.
    ///
    /// # Errors
    /// Those of [`run`](Self::run), and if the future does not resolve in time, or cannot.
    pub fn wait<F: Future>(&mut self, future: F, limit: Duration) -> Result<F::Output, HarnessError> {
        let end = clock_now(self.ros.context()) + limit;
        let mut future = pin!(future);
        let woken = Arc::new(Woken::default());
        loop {
            // The future makes callbacks ready, and these may wake it. All of that happens at this instant.
            for round in 0.. {
                woken.0.store(false, Ordering::Relaxed);
                let waker = Waker::from(Arc::clone(&woken));
                if let Poll::Ready(output) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
                    return Ok(output);
                }
                let has_run = self.run_ready()?;
                if !has_run && !woken.0.load(Ordering::Relaxed) {
                    break;
                }
                if round > CALLBACKS_AT_ONCE_MAX {
                    return Err(HarnessError::NeverIdle { at: self.elapsed() });
                }
            }
            if self.next_due().is_none() {
                return Err(HarnessError::Nothing(self.elapsed()));
            }
            if !self.step(end) {
                return Err(HarnessError::TooLate(limit));
            }
        }
    }

    /// Runs until the condition holds, but no longer than `limit` of the harness's clock. The condition is checked
    /// before the start, and whenever everything that was ready at an instant has run.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait).
    pub fn run_until(&mut self, mut condition: impl FnMut() -> bool, limit: Duration) -> Result<(), HarnessError> {
        self.wait(std::future::poll_fn(move |_| if condition() { Poll::Ready(()) } else { Poll::Pending }), limit)
    }

    /// Returns the next time after now at which a timer or a sleeper of any executor is due, or `None` if none is.
    fn next_due(&self) -> Option<Instant> {
        let now = clock_now(self.ros.context());
        let network = self.network.as_ref().and_then(SimulatedNetwork::next_due);
        self.executors().filter_map(Executor::next_due).chain(network).filter(|due| *due > now).min()
    }

    /// Moves the clock to the next due time, at most to `end`. Returns false if it is at the end already.
    fn step(&self, end: Instant) -> bool {
        let now = clock_now(self.ros.context());
        let next = self.next_due().map_or(end, |due| due.min(end));
        self.clock.advance(next.saturating_since(now));
        next > now
    }
}

/// Mark that a future has been woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Default for Harness {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Harness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Harness").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

/// Messages, with the time since the harness began.
type Heard<M> = Vec<(Duration, Arc<M>)>;

/// Messages that arrived on a topic, with the time since the harness began. [`Harness::record`] creates it.
pub struct Recording<M> {
    heard: Arc<Mutex<Heard<M>>>,
    _subscription: Subscription,
}

impl<M> Recording<M> {
    /// Returns the messages that arrived since the last call, with the times since the harness began, and empties the
    /// recording.
    #[must_use]
    pub fn take(&self) -> Vec<(Duration, Arc<M>)> {
        std::mem::take(&mut lock(&self.heard))
    }

    /// Returns the last message, or `None` if there was none since the last [`take`](Self::take).
    #[must_use]
    pub fn last(&self) -> Option<Arc<M>> {
        lock(&self.heard).last().map(|(_, message)| Arc::clone(message))
    }

    /// Returns the number of messages since the last [`take`](Self::take).
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.heard).len()
    }

    /// Returns true if there was no message since the last [`take`](Self::take).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<M> fmt::Debug for Recording<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").field("len", &self.len()).finish_non_exhaustive()
    }
}

fn clock_now(context: &Context) -> Instant {
    context.clock().now()
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves the list consistent, so its poison is ignored.
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
