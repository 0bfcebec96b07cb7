//! Queries of the graph, and callbacks on its changes, as nodes offer them.

use std::fmt;

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, SourceError};

use super::Node;
use crate::graph::{Changes, Endpoint, EndpointKind, GraphChange, NamesAndTypes};
use crate::names::{FullName, NameError};

/// Queries of the graph as it is known at this moment. Entries of this process are known at once, those of others when
/// discovery has told of them. Each query locks for a moment, and allocates its result.
impl Node {
    /// Returns the fully qualified names of all nodes, sorted. Nodes that share a name appear once.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.graph().node_names()
    }

    /// Returns the number of other programs of which the graph has everything that they have: each has told which nodes it
    /// has, with their publishers, subscriptions, servers and clients, and all of these have been heard of. So a tool that
    /// knows how many programs there are need not wait any longer.
    ///
    /// Zero over a middleware whose programs do not tell that. Those of DDS do.
    #[must_use]
    pub fn complete_programs(&self) -> usize {
        self.graph().complete_programs()
    }

    /// Returns the topics that have a publisher or a subscription.
    #[must_use]
    pub fn topic_names_and_types(&self) -> NamesAndTypes {
        self.graph().names_and_types([EndpointKind::Publisher, EndpointKind::Subscription])
    }

    /// Returns the services that have a server or a client.
    #[must_use]
    pub fn service_names_and_types(&self) -> NamesAndTypes {
        self.graph().names_and_types([EndpointKind::Server, EndpointKind::Client])
    }

    /// Returns the number of publishers of a topic, whatever their type and quality of service. The name is resolved
    /// and remapped as for a publisher of this node.
    ///
    /// # Errors
    /// If the topic's name is invalid.
    pub fn count_publishers(&self, topic: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Publisher, topic)
    }

    /// Returns the number of subscriptions of a topic. The name is treated as in
    /// [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the topic's name is invalid.
    pub fn count_subscriptions(&self, topic: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Subscription, topic)
    }

    /// Returns the number of servers of a service. The name is treated as in
    /// [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the service's name is invalid.
    pub fn count_servers(&self, service: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Server, service)
    }

    /// Returns the number of clients of a service. The name is treated as in
    /// [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the service's name is invalid.
    pub fn count_clients(&self, service: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Client, service)
    }

    /// Returns the publishers of a topic: their nodes, types and quality of service, as far as they are known.
    ///
    /// # Errors
    /// If the topic's name is invalid.
    pub fn publishers_info_by_topic(&self, topic: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Publisher, topic)
    }

    /// Returns the subscriptions of a topic, see [`publishers_info_by_topic`](Self::publishers_info_by_topic).
    ///
    /// # Errors
    /// If the topic's name is invalid.
    pub fn subscriptions_info_by_topic(&self, topic: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Subscription, topic)
    }

    /// Returns the servers of a service, see [`publishers_info_by_topic`](Self::publishers_info_by_topic).
    ///
    /// # Errors
    /// If the service's name is invalid.
    pub fn servers_info_by_service(&self, service: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Server, service)
    }

    /// Returns the clients of a service, see [`publishers_info_by_topic`](Self::publishers_info_by_topic).
    ///
    /// # Errors
    /// If the service's name is invalid.
    pub fn clients_info_by_service(&self, service: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Client, service)
    }

    /// Returns the publishers of all topics. Where many topics are of interest, this is faster than to ask for each.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::String as Text;
    /// use rospin::{Context, ContextOptions, Ros};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("recorder")?;
    /// let _chatter = node.create_publisher::<Text>("chatter")?;
    /// let publishers = node.publishers_info();
    /// assert!(publishers.iter().any(|publisher| publisher.name == "/chatter"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn publishers_info(&self) -> Vec<Endpoint> {
        self.graph().endpoints_of(EndpointKind::Publisher)
    }

    /// Returns a future that resolves at the next change of the graph after this call, not after the first poll. A
    /// caller that takes the future first and reads the graph then misses no change.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::String as Text;
    /// use rospin::{Context, ContextOptions, Node, NodeOptions, Ros};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node(NodeOptions::new("watcher").namespace("/robot"))?;
    /// let change = node.wait_for_graph_change();
    /// let _publisher = node.create_publisher::<Text>("chatter")?;
    /// ros.spin_until(change)?;
    /// assert_eq!((node.count_publishers("chatter")?, node.count_subscriptions("chatter")?), (1, 0));
    /// assert_eq!((node.count_servers("add")?, node.count_clients("add")?), (0, 0));
    /// assert!(node.servers_info_by_service("add")?.is_empty() && node.clients_info_by_service("add")?.is_empty());
    /// assert_eq!(node.publishers_info_by_topic("chatter")?[0].type_name, "std_msgs/msg/String");
    /// assert!(node.subscriptions_info_by_topic("chatter")?.is_empty());
    /// assert!(node.node_names().contains(&node.fully_qualified_name()));
    /// let topic = node.resolve_topic("chatter")?.to_string();
    /// assert!(node.topic_names_and_types().iter().any(|(name, _)| *name == topic));
    /// assert!(node.service_names_and_types().iter().all(|(name, _)| *name != topic));
    /// assert_eq!((node.name(), node.namespace()), ("watcher", "/robot"));
    /// // No other program is there.
    /// assert_eq!(node.complete_programs(), 0);
    /// assert_eq!(node.resolve_service("~/reset")?.as_str(), "/robot/watcher/reset");
    /// assert_eq!(node.node_name().base_name(), "watcher");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_graph_change(&self) -> impl Future<Output = ()> + Send + use<> {
        // The future also resolves when the middleware ends.
        self.graph().next_change()
    }

    /// Creates a callback of the group that runs with each change of the graph from now on, including changes by this
    /// process.
    ///
    /// The entity's name consists of those of node and group, followed by `/graph`. At most 4096 changes wait for the
    /// callback. When there are more, the oldest are dropped and counted.
    ///
    /// ```
    /// # use rospin::graph::GraphChange;
    /// # use rospin::{Context, ContextOptions, ExecutorOptions, Node, Ros, SpinOptions};
    /// # let context = Context::new(ContextOptions::new());
    /// # let executor = context.create_executor(ExecutorOptions::new("main"));
    /// # let ros = Ros::in_process(&context);
    /// let node = ros.create_node("watcher")?;
    /// let group = executor.create_group("watch", Vec::new());
    /// let _changes = node.create_graph_callback(&group, |came: &mut Vec<String>, change| {
    ///     if let GraphChange::NodeCame(name) = change {
    ///         came.push(name);
    ///     }
    /// })?;
    /// let _arm = ros.create_node("arm")?;
    /// executor.spin(SpinOptions::spin_all())?;
    /// assert_eq!(group.into_payload().unwrap(), ["/arm"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the group is gone.
    pub fn create_graph_callback<P, F>(
        &self,
        group: &CallbackGroup<P>,
        callback: F,
    ) -> Result<GraphCallback, SourceError>
    where
        P: Send + 'static,
        F: FnMut(&mut P, GraphChange) + Send + 'static,
    {
        let options = EntityOptions::new(group.entity_name("graph"));
        let changes = Changes::new(self.graph());
        let entity = group.create_source(EntityKind::Waitable, options, changes, callback)?;
        Ok(GraphCallback { entity, _node: self.clone() })
    }

    fn count(&self, kind: EndpointKind, name: &str) -> Result<usize, NameError> {
        Ok(self.graph().count(kind, self.resolve_endpoint(kind, name)?.as_str()))
    }

    fn endpoints(&self, kind: EndpointKind, name: &str) -> Result<Vec<Endpoint>, NameError> {
        Ok(self.graph().endpoints(kind, self.resolve_endpoint(kind, name)?.as_str()))
    }

    fn resolve_endpoint(&self, kind: EndpointKind, name: &str) -> Result<FullName, NameError> {
        match kind {
            EndpointKind::Publisher | EndpointKind::Subscription => self.resolve_topic(name),
            EndpointKind::Server | EndpointKind::Client => self.resolve_service(name),
        }
    }
}

/// Callback that runs with each change of the graph. [`Node::create_graph_callback`] creates it.
///
/// Dropping the handle removes the entity: its callback does not run again, from the executor's next pick on. A
/// callback that is running is not waited for.
#[must_use = "the callback is removed when its handle is dropped, and never runs; keep it (`let _callback = ..`, not `let _ = ..`)"]
pub struct GraphCallback {
    entity: Entity,
    _node: Node,
}

impl GraphCallback {
    /// Returns the entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// Returns the number of runs of the callback that ended after their deadlines, which a deployment file sets. They
    /// are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.entity.missed_deadlines()
    }

    /// Returns the number of changes that were dropped before the callback could run with them. If it is not zero,
    /// query the [node](Node::node_names) for the current state.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.entity.lost(LossCause::QueueFull)
    }
}

impl fmt::Debug for GraphCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphCallback").field("name", &self.name()).finish_non_exhaustive()
    }
}
