//! Services through which other nodes read and set a node's parameters.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{
    CallbackGroup, Entity, EntityKind, EntityOptions, ExecutorHandle, GroupOptions, LossCause, Priority,
};

use super::error::{ServeParametersError, SetParameterError};
use super::events::EVENTS_MAX;
use super::list::list;
use super::options::Spec;
use super::sim_time::Switch;
use super::store::Store;
use super::value::ParameterValue;
use super::watch::SetParameters;
use crate::error::ServiceError;
use crate::interfaces::rcl_interfaces as wire;
use crate::message::ServiceInterface;
use crate::node::Node;
use crate::options::{PublisherOptions, ServiceOptions};
use crate::service::Service;

/// Number of requests that are kept, as in rclcpp.
const REQUESTS_MAX: usize = 1000;

/// Server that lets other nodes, and `ros2 param`, read and set the parameters of a node. Ends when it is dropped.
#[must_use = "the services are removed when it is dropped"]
pub struct ParameterServer {
    servers: Vec<Service>,
    _use_sim_time: Entity,
    events: Events,
}

impl ParameterServer {
    /// Returns the number of requests that newer ones displaced before the executor could answer them.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.servers.iter().map(|server| server.lost(LossCause::QueueFull)).sum()
    }

    /// Returns the number of events that newer ones displaced before they could be published.
    #[must_use]
    pub fn missed_events(&self) -> u64 {
        self.events.0.lock().outbox.missed()
    }
}

impl fmt::Debug for ParameterServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParameterServer").field("node", &self.events.0.node).finish_non_exhaustive()
    }
}

/// Guard of the publication of a node's parameter events, which ends when this is dropped.
struct Events(Arc<Store>);

impl Drop for Events {
    fn drop(&mut self) {
        self.0.close_outbox();
    }
}

impl Node {
    /// Lets other nodes, and `ros2 param`, read and set the node's parameters. By default, the executor of the node's
    /// own group does that; this method has `executor` do it instead. It answers the services `~/get_parameters`,
    /// `~/get_parameter_types`, `~/set_parameters`, `~/set_parameters_atomically`, `~/describe_parameters` and
    /// `~/list_parameters`, in a group called `parameters`, which a deployment file can move. They have the priority
    /// [`Priority::WAY_IN`], so that parameters can be set while the executor is overloaded. When others set
    /// parameters, the node's pre-set and on-set callbacks run there.
    ///
    /// From then on changes are published on `/parameter_events`. The first event has all parameters that have a
    /// value already.
    ///
    /// Declares the parameter `use_sim_time`, false by default. While it is true, the context's ROS time [follows
    /// `/clock`](Self::use_sim_time), by a group called `clock` on this executor. Better move that group to an executor
    /// that does nothing else. ROS time belongs to the context, so all of its nodes have the same value: a node without
    /// a value of its own gets that of the others, and setting it in one node sets it in all. For nodes on simulated
    /// time beside others, create two contexts. Dropping the server changes no parameter; ROS time then stands still
    /// until a node makes it follow `/clock` again.
    ///
    /// ```
    /// # use rospin::parameters::ParameterValue;
    /// # use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
    /// # let context = Context::new(ContextOptions::new());
    /// let executor = context.create_executor(ExecutorOptions::new("main"));
    /// let node = Ros::in_process(&context).create_node("motor")?;
    /// let speed = node.declare_parameter("max_speed", 1.5)?;
    /// let _server = node.serve_parameters(&executor.handle())?;
    ///
    /// let client = node.create_parameter_client("/motor")?;
    /// let values = executor.spin_until(client.get(&["max_speed", "use_sim_time"]), SpinOptions::new())??;
    /// assert_eq!(values, [ParameterValue::Double(1.5), ParameterValue::Bool(false)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If another [`ParameterServer`] of the node exists, `use_sim_time` is declared with another type than `bool`, the
    /// node was given another value of it than other nodes of the context have, the middleware refuses, or the executor
    /// was dropped.
    pub fn serve_parameters(&self, executor: &ExecutorHandle) -> Result<ParameterServer, ServeParametersError> {
        self.end_kept::<ParameterServer>();
        let store = self.store();
        let events = self.publish_parameter_events(executor)?;
        let mut switch = Switch::new(self, executor);
        // The watcher exists before the parameter is read, so that no change in between is missed.
        let watched = SetParameters::new(store);
        switch.turn(store.one_time().declare(store)?)?;
        let group = executor.create_group(GroupOptions::new("parameters").node(self.fully_qualified_name()), switch);

        let options = EntityOptions::new(group.entity_name("use_sim_time"));
        let use_sim_time =
            group.create_source(EntityKind::Waitable, options, watched, |switch, set| switch.after(&set))?;

        let servers = vec![
            self.serve::<wire::GetParameters>(&group, "get_parameters", Store::answer_get)?,
            self.serve::<wire::GetParameterTypes>(&group, "get_parameter_types", Store::answer_types)?,
            self.serve::<wire::SetParameters>(&group, "set_parameters", Store::answer_set)?,
            self.serve::<wire::SetParametersAtomically>(
                &group,
                "set_parameters_atomically",
                Store::answer_set_atomically,
            )?,
            self.serve::<wire::DescribeParameters>(&group, "describe_parameters", Store::answer_describe)?,
            self.serve::<wire::ListParameters>(&group, "list_parameters", Store::answer_list)?,
        ];
        Ok(ParameterServer { servers, _use_sim_time: use_sim_time, events })
    }

    fn serve<S: ServiceInterface>(
        &self,
        group: &CallbackGroup<Switch>,
        service: &str,
        answer: fn(&Store, S::Request) -> S::Response,
    ) -> Result<Service, ServiceError> {
        let store = Arc::clone(self.store());
        let name = format!("/{}", group.entity_name(service));
        let options = ServiceOptions::new(format!("~/{service}")).keep_last(REQUESTS_MAX).name(name);
        let options = options.priority(Priority::WAY_IN);
        self.on(group).create_service::<S, _>(options, move |request: S::Request| answer(&store, request))
    }

    fn publish_parameter_events(&self, executor: &ExecutorHandle) -> Result<Events, ServeParametersError> {
        let store = self.store();
        let options = PublisherOptions::new("/parameter_events").keep_last(EVENTS_MAX);
        let publisher = self.create_publisher::<wire::ParameterEvent>(options)?;
        let time = executor.context().ros_time();
        let mut state = store.lock();
        if state.outbox.is_open() {
            return Err(ServeParametersError::AlreadyServed { node: store.node.clone() });
        }
        state.open_outbox(Arc::new(move |mut event: wire::ParameterEvent| {
            event.stamp = time.now().into();
            if let Err(error) = publisher.publish(event) {
                log::warn!(target: "rospin", "{error}");
            }
        }));
        drop(state);
        let events = Events(Arc::clone(store));
        store.publish_events();
        Ok(events)
    }
}

/// Returns the response to a request to set parameters.
fn result_of(set: Result<(), SetParameterError>) -> wire::SetParametersResult {
    match set {
        Ok(()) => wire::SetParametersResult { successful: true, reason: String::new() },
        Err(error) => wire::SetParametersResult { successful: false, reason: error.to_string() },
    }
}

/// Answers to requests.
impl Store {
    fn answer_get(&self, request: wire::GetParametersRequest) -> wire::GetParametersResponse {
        let values = self.values(&request.names);
        wire::GetParametersResponse { values: values.into_iter().map(Into::into).collect() }
    }

    fn answer_types(&self, request: wire::GetParameterTypesRequest) -> wire::GetParameterTypesResponse {
        let values = self.values(&request.names);
        wire::GetParameterTypesResponse { types: values.iter().map(ParameterValue::code).collect() }
    }

    fn set_from_wire(&self, parameters: Vec<wire::Parameter>) -> wire::SetParametersResult {
        let settings = parameters.into_iter().map(TryFrom::try_from).collect::<Result<Vec<_>, _>>();
        result_of(settings.map_err(SetParameterError::from).and_then(|settings| self.set(settings)))
    }

    fn answer_set(&self, request: wire::SetParametersRequest) -> wire::SetParametersResponse {
        let results = request.parameters.into_iter().map(|parameter| self.set_from_wire(vec![parameter]));
        wire::SetParametersResponse { results: results.collect() }
    }

    fn answer_set_atomically(
        &self,
        request: wire::SetParametersAtomicallyRequest,
    ) -> wire::SetParametersAtomicallyResponse {
        wire::SetParametersAtomicallyResponse { result: self.set_from_wire(request.parameters) }
    }

    fn answer_describe(&self, request: wire::DescribeParametersRequest) -> wire::DescribeParametersResponse {
        let describe = |name: &String| self.descriptor(name).unwrap_or_else(|| Spec::unknown(name));
        wire::DescribeParametersResponse { descriptors: request.names.iter().map(describe).collect() }
    }

    fn answer_list(&self, request: wire::ListParametersRequest) -> wire::ListParametersResponse {
        wire::ListParametersResponse { result: list(self.names(), &request.prefixes, request.depth) }
    }
}
