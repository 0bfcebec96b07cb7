//! Nodes: R2R's methods, on a node that a pump spins.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_core::Stream;
use r2r::indexmap::IndexMap;
use r2r::qos::HistoryPolicy;
use r2r::{
    ActionClient, ActionServerGoalRequest, Client, Parameter, ParameterValue, Publisher, QosProfile, ServiceRequest,
    WrappedActionTypeSupport, WrappedServiceTypeSupport, WrappedTypesupport, WrongParameterType,
};

use super::incoming::{DEPTH_MAX, Incoming, feed};
use super::pump::Pump;
use super::timer::{Ticks, Timer};

/// The number of items that R2R keeps where no quality of service says how many.
const R2R_DEPTH: usize = 10;

/// Errors of creating a node.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// R2R refused.
    #[error("the node cannot be created: {0}")]
    R2r(#[from] r2r::Error),
    /// The operating system refused the thread that spins the node.
    #[error("the node's thread cannot be created: {0}")]
    Thread(#[source] io::Error),
}

/// A node with the methods of [`r2r::Node`], which a thread of its own spins. Cheap to clone; the node ends with the
/// last handle.
///
/// Methods that create something wait until the thread's present wait is over: at most the
/// [longest wait](crate::R2rOptions::longest_wait), or not at all before the first spin.
#[derive(Clone)]
pub struct R2rNode {
    /// ROS parameters, as in [`r2r::Node::params`].
    pub params: Arc<Mutex<IndexMap<String, Parameter>>>,
    pump: Arc<Pump>,
    _idle: Arc<r2r::Timer>,
}

impl R2rNode {
    pub(super) fn new(pump: Pump, params: Arc<Mutex<IndexMap<String, Parameter>>>, idle: r2r::Timer) -> Self {
        Self { params, pump: Arc::new(pump), _idle: Arc::new(idle) }
    }

    /// Starts the thread that spins the node, for programs whose own runtime polls the streams.
    /// [`R2rExecutor::spin`](crate::R2rExecutor::spin) does so, too.
    pub fn start(&self) {
        self.pump.pumped().start();
    }

    /// Calls `f` with R2R's node, for the methods that are not here. Its streams are not emptied by the pump: R2R keeps
    /// ten items of them, and drops the newest.
    ///
    /// # Panics
    /// If `f` calls a method of this node.
    pub fn with<R>(&self, f: impl FnOnce(&mut r2r::Node) -> R) -> R {
        self.pump.pumped().with(f)
    }

    /// Creates a stream by R2R, which the pump empties.
    fn receive<S>(
        &self,
        depth: usize,
        create: impl FnOnce(&mut r2r::Node) -> r2r::Result<S>,
    ) -> r2r::Result<Incoming<S::Item>>
    where
        S: Stream + Unpin + Send + 'static,
        S::Item: Send,
    {
        let pumped = self.pump.pumped();
        // The feed is there before the node is spun again, so that R2R's channel cannot fill up before that.
        pumped.with(|node| {
            let (feed, incoming) = feed(create(node)?, depth);
            pumped.add(feed);
            Ok(incoming)
        })
    }

    /// Subscribes to a topic, as [`r2r::Node::subscribe`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn subscribe<T>(&self, topic: &str, qos: QosProfile) -> r2r::Result<Incoming<T>>
    where
        T: WrappedTypesupport + Send + 'static,
    {
        self.receive(depth_of(&qos), |node| node.subscribe::<T>(topic, qos))
    }

    /// Subscribes to a topic whose type is only known at run time, as [`r2r::Node::subscribe_untyped`] does.
    ///
    /// # Errors
    /// If R2R cannot, or does not know the type.
    pub fn subscribe_untyped(
        &self,
        topic: &str,
        topic_type: &str,
        qos: QosProfile,
    ) -> r2r::Result<Incoming<r2r::Result<serde_json::Value>>> {
        self.receive(depth_of(&qos), |node| node.subscribe_untyped(topic, topic_type, qos))
    }

    /// Subscribes to the bytes of messages, as [`r2r::Node::subscribe_raw`] does.
    ///
    /// # Errors
    /// If R2R cannot, or does not know the type.
    pub fn subscribe_raw(&self, topic: &str, topic_type: &str, qos: QosProfile) -> r2r::Result<Incoming<Vec<u8>>> {
        self.receive(depth_of(&qos), |node| node.subscribe_raw(topic, topic_type, qos))
    }

    /// Creates a service, as [`r2r::Node::create_service`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_service<T>(&self, service: &str, qos: QosProfile) -> r2r::Result<Incoming<ServiceRequest<T>>>
    where
        T: WrappedServiceTypeSupport + 'static,
    {
        self.receive(depth_of(&qos), |node| node.create_service::<T>(service, qos))
    }

    /// Creates an action server, as [`r2r::Node::create_action_server`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_action_server<T>(&self, action: &str) -> r2r::Result<Incoming<ActionServerGoalRequest<T>>>
    where
        T: WrappedActionTypeSupport + 'static,
    {
        self.receive(R2R_DEPTH, |node| node.create_action_server::<T>(action))
    }

    /// Creates a timer on the steady clock, as [`r2r::Node::create_wall_timer`] does.
    /// [`CallbackGroup::create_timer`](crate::CallbackGroup::create_timer) fires without the middleware's part.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_wall_timer(&self, period: Duration) -> r2r::Result<Timer> {
        self.receive(1, |node| node.create_wall_timer(period).map(Ticks)).map(Timer)
    }

    /// Creates a timer on ROS time, as [`r2r::Node::create_timer`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_timer(&self, period: Duration) -> r2r::Result<Timer> {
        self.receive(1, |node| node.create_timer(period).map(Ticks)).map(Timer)
    }

    /// Creates a client of a service, as [`r2r::Node::create_client`] does. The pump wakes the task that waits for a
    /// response.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_client<T>(&self, service: &str, qos: QosProfile) -> r2r::Result<Client<T>>
    where
        T: WrappedServiceTypeSupport + 'static,
    {
        self.with(|node| node.create_client::<T>(service, qos))
    }

    /// Creates a client of an action, as [`r2r::Node::create_action_client`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_action_client<T>(&self, action: &str) -> r2r::Result<ActionClient<T>>
    where
        T: WrappedActionTypeSupport + 'static,
    {
        self.with(|node| node.create_action_client::<T>(action))
    }

    /// Creates a publisher, as [`r2r::Node::create_publisher`] does.
    ///
    /// # Errors
    /// If R2R cannot.
    pub fn create_publisher<T>(&self, topic: &str, qos: QosProfile) -> r2r::Result<Publisher<T>>
    where
        T: WrappedTypesupport,
    {
        self.with(|node| node.create_publisher::<T>(topic, qos))
    }

    /// Creates the parameter services, as [`r2r::Node::make_parameter_handler`] does: a future that answers them, and
    /// changed parameters.
    ///
    /// The future belongs into a [`Spawner`](crate::Spawner). While it does not run, R2R keeps ten requests for each
    /// service.
    ///
    /// # Errors
    /// If R2R cannot.
    #[allow(clippy::type_complexity, reason = "R2R's own result, but for the stream")]
    pub fn make_parameter_handler(
        &self,
    ) -> r2r::Result<(impl Future<Output = ()> + Send + use<>, Incoming<(String, ParameterValue)>)> {
        let pumped = self.pump.pumped();
        pumped.with(|node| {
            let (handler, events) = node.make_parameter_handler()?;
            let (feed, incoming) = feed(Box::pin(events), DEPTH_MAX);
            pumped.add(feed);
            Ok((handler, incoming))
        })
    }

    /// Returns a parameter, as [`r2r::Node::get_parameter`] does.
    ///
    /// # Errors
    /// If the parameter has another type.
    pub fn get_parameter<T>(&self, name: &str) -> r2r::Result<T>
    where
        ParameterValue: TryInto<T, Error = WrongParameterType>,
    {
        self.with(|node| node.get_parameter(name))
    }

    /// Returns the name of the node.
    ///
    /// # Errors
    /// If R2R has none.
    pub fn name(&self) -> r2r::Result<String> {
        self.with(|node| node.name())
    }

    /// Returns the name of the node with its namespace.
    ///
    /// # Errors
    /// If R2R has none.
    pub fn fully_qualified_name(&self) -> r2r::Result<String> {
        self.with(|node| node.fully_qualified_name())
    }

    /// Returns the namespace of the node.
    ///
    /// # Errors
    /// If R2R has none.
    pub fn namespace(&self) -> r2r::Result<String> {
        self.with(|node| node.namespace())
    }
}

impl fmt::Debug for R2rNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("R2rNode").finish_non_exhaustive()
    }
}

/// Returns the number of items that a quality of service keeps.
fn depth_of(qos: &QosProfile) -> usize {
    match qos.history {
        HistoryPolicy::KeepLast if qos.depth > 0 => qos.depth,
        HistoryPolicy::KeepAll => DEPTH_MAX,
        _ => R2R_DEPTH,
    }
}
