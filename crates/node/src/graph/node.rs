//! What nodes tell of the graph.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rospin_engine::{CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, SourceError};

use super::{Changes, Endpoint, EndpointKind, GraphChange};
use crate::names::NameError;
use crate::node::Node;

/// Names of topics or services, with their types: more than one where nodes do not agree.
pub type NamesAndTypes = BTreeMap<String, BTreeSet<String>>;

/// All of this is what is known at this moment. What belongs to this process is known at once; what others have, once discovery
/// told of it, and for DDS once the executor of the domain has spun. Each call locks for a moment and allocates what it returns.
impl Node {
    /// The fully qualified names of all nodes, sorted, each once: nodes that share a name are one here.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.graph().node_names()
    }

    /// The topics that somebody publishes or subscribes to.
    #[must_use]
    pub fn topic_names_and_types(&self) -> NamesAndTypes {
        self.graph().names_and_types([EndpointKind::Publisher, EndpointKind::Subscription])
    }

    /// The services that have a server or a client.
    #[must_use]
    pub fn service_names_and_types(&self) -> NamesAndTypes {
        self.graph().names_and_types([EndpointKind::Server, EndpointKind::Client])
    }

    /// How many publishers a topic has, whatever their type and quality of service. Relative and remapped names are resolved as for publishers of this node.
    ///
    /// # Errors
    /// If the topic's name is none.
    pub fn count_publishers(&self, topic: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Publisher, topic)
    }

    /// How many subscriptions a topic has, as [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the topic's name is none.
    pub fn count_subscriptions(&self, topic: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Subscription, topic)
    }

    /// How many servers a service has, as [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the service's name is none.
    pub fn count_servers(&self, service: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Server, service)
    }

    /// How many clients a service has, as [`count_publishers`](Self::count_publishers).
    ///
    /// # Errors
    /// If the service's name is none.
    pub fn count_clients(&self, service: &str) -> Result<usize, NameError> {
        self.count(EndpointKind::Client, service)
    }

    /// The publishers of a topic: their nodes, types and quality of service, as far as they are known.
    ///
    /// # Errors
    /// If the topic's name is none.
    pub fn publishers_info_by_topic(&self, topic: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Publisher, topic)
    }

    /// The subscriptions of a topic, as [`publishers_info_by_topic`](Self::publishers_info_by_topic).
    ///
    /// # Errors
    /// If the topic's name is none.
    pub fn subscriptions_info_by_topic(&self, topic: &str) -> Result<Vec<Endpoint>, NameError> {
        self.endpoints(EndpointKind::Subscription, topic)
    }

    /// Waits for the next change of the graph, from this call on and not from the first poll: who calls it before looking at the
    /// graph misses nothing.
    pub fn wait_for_graph_change(&self) -> impl Future<Output = ()> + Send + use<> {
        // It ends with the middleware, too.
        self.graph().next_change()
    }

    /// Has a callback of the group run with each change of the graph from now on, this process' own among them.
    ///
    /// The entity is called as its group, with `/graph` after it. No more than 4096 changes wait for it; the oldest make room,
    /// and are counted.
    ///
    /// ```
    /// # use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinOptions};
    /// # use rospin_node::{GraphChange, Ros, Node};
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
        let options = EntityOptions::new(format!("{}/graph", group.name()));
        let changes = Changes::new(self.graph());
        let entity = group.create_source(EntityKind::Waitable, options, changes, callback)?;
        Ok(GraphCallback { entity, _node: self.clone() })
    }

    fn count(&self, kind: EndpointKind, name: &str) -> Result<usize, NameError> {
        Ok(self.graph().count(kind, self.resolve(name)?.as_str()))
    }

    fn endpoints(&self, kind: EndpointKind, name: &str) -> Result<Vec<Endpoint>, NameError> {
        Ok(self.graph().endpoints(kind, self.resolve(name)?.as_str()))
    }
}

/// Runs a callback with each change of the graph.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One that is
/// running is not waited for.
#[must_use = "the callback is removed when its handle is dropped"]
pub struct GraphCallback {
    entity: Entity,
    _node: Node,
}

impl GraphCallback {
    /// The entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// How many changes made room for newer ones before the callback could have them. If there were any, what is there now is
    /// what the [node](Node::node_names) says.
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
