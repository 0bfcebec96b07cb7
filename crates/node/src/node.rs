//! Nodes: names under which entities appear in the ROS graph.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use rospin_engine::ExecutorHandle;

use crate::dynamic::Known;
use crate::error::Refused;
use crate::graph::{Endpoint, EndpointKind, Graph, Presence};
use crate::group::OwnGroup;
use crate::link::Link;
use crate::names::{FullName, NameError, NodeName, TypeName};
use crate::network::{MainExecutor, Network};
use crate::parameters::{ParameterFile, ParameterValue, Store};
use crate::qos::Qos;
use crate::rosout::queue::RecordQueue;

/// Options of a node. A plain `&str` is its name.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeOptions {
    name: String,
    namespace: String,
    overrides: BTreeMap<String, ParameterValue>,
    files: Vec<ParameterFile>,
    /// Remapping rules: the name that the node uses, and the name that it gets. The first rule that matches wins.
    remaps: Vec<(String, String)>,
}

impl NodeOptions {
    /// Returns the options of a node with that name in the namespace `/`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: "/".to_owned(),
            overrides: BTreeMap::new(),
            files: Vec::new(),
            remaps: Vec::new(),
        }
    }

    /// Sets the namespace, such as `/robot`. The node's relative topics and services are in it.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets the initial value of a parameter in place of its default, as `--ros-args -p name:=value` does in rclcpp.
    #[must_use]
    pub fn parameter_override(mut self, name: impl Into<String>, value: impl Into<ParameterValue>) -> Self {
        self.overrides.insert(name.into(), value.into());
        self
    }

    /// Sets the initial values of parameters to those that the file has for this node, as `--params-file` does in
    /// rclcpp. Later files override earlier ones, and an [override](Self::parameter_override) overrides all of them.
    #[must_use]
    pub fn parameter_file(mut self, file: &ParameterFile) -> Self {
        self.files.push(file.clone());
        self
    }

    /// Replaces the topic or service `from` by `to`, as `--remap from:=to` does in rclcpp. Both are names as the node
    /// itself would write them: relative to its namespace, below the node with `~/`, or absolute. If several rules
    /// match one name, the first one is used.
    ///
    /// ```
    /// use rospin::{Context, ContextOptions, Node, NodeOptions, Ros};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let options = NodeOptions::new("talker").namespace("/robot").remap("chatter", "/news");
    /// let node = Ros::in_process(&context).create_node(options)?;
    /// assert_eq!(node.resolve("chatter")?.as_str(), "/news");
    /// assert_eq!(node.resolve("/robot/chatter")?.as_str(), "/news");
    /// assert_eq!(node.resolve("/chatter")?.as_str(), "/chatter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn remap(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.remaps.push((from.into(), to.into()));
        self
    }
}

impl From<&str> for NodeOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// Reasons for which a node could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The node's name, or a name in its [remapping rules](NodeOptions::remap), is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware could not create the node.
    #[error("could not create node `{node}`: {reason}")]
    Refused {
        /// The node's name.
        node: NodeName,
        /// The middleware's reason.
        #[source]
        reason: Refused,
    },
}

/// A node of the ROS graph. Cheap to clone. The node leaves the graph when its last clone and its last entity are
/// dropped.
///
/// A node creates publishers, and subscriptions, services, clients and timers on callback groups of any executor. It
/// has no thread of its own and is not spun: executors are.
pub struct Node(Arc<Inner>);

struct Inner {
    name: NodeName,
    store: Arc<Store>,
    records: Arc<RecordQueue>,
    known: Arc<Known>,
    /// Remapping rules; both names are absolute.
    remaps: Vec<(FullName, FullName)>,
    own: OnceLock<OwnGroup>,
    _presence: Presence,
    link: Link,
    // Declared after the link, so dropped after it: the link says goodbye through the network.
    network: Arc<Network>,
    /// The main executor. Weak, because its callbacks may own the node.
    main: Weak<MainExecutor>,
}

impl Node {
    pub(crate) fn new(
        network: &Arc<Network>,
        main: Weak<MainExecutor>,
        options: NodeOptions,
    ) -> Result<Self, NodeError> {
        let name = NodeName::new(&options.namespace, &options.name)?;
        let resolved = |(from, to): &(String, String)| Ok((name.resolve(from)?, name.resolve(to)?));
        let remaps = options.remaps.iter().map(resolved).collect::<Result<_, NameError>>()?;
        let link = network.link(&name).map_err(|reason| NodeError::Refused { node: name.clone(), reason })?;
        let mut overrides: BTreeMap<_, _> = options.files.iter().flat_map(|file| file.of_node(&name)).collect();
        overrides.extend(options.overrides);
        let store = Store::new(name.to_string(), overrides);
        let records = RecordQueue::new(&name);
        let presence = network.graph().enter_node(name.to_string());
        let (known, network) = (Arc::default(), Arc::clone(network));
        Ok(Self(Arc::new(Inner {
            name,
            remaps,
            store,
            records,
            known,
            own: OnceLock::new(),
            _presence: presence,
            link,
            network,
            main,
        })))
    }

    /// Returns the name with its namespace, such as `/robot/talker`.
    #[must_use]
    pub fn fully_qualified_name(&self) -> String {
        self.0.name.to_string()
    }

    /// Returns the name and the namespace.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.0.name
    }

    /// Returns the absolute name of the topic or service that this node calls `name`. The name is
    /// [resolved](NodeName::resolve) first and [remapped](NodeOptions::remap) then. Every entity of the node gets its
    /// name this way.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve(&self, name: &str) -> Result<FullName, NameError> {
        let resolved = self.name().resolve(name)?;
        let rule = self.0.remaps.iter().find(|(from, _)| *from == resolved);
        Ok(rule.map_or(resolved, |(_, to)| to.clone()))
    }

    /// Returns the graph of all nodes of the network.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        self.0.network.graph()
    }

    /// Returns the node's parameters.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// Returns the node's log records that are on their way to `/rosout`.
    pub(crate) fn records(&self) -> &Arc<RecordQueue> {
        &self.0.records
    }

    /// Returns the types that the node knows at run time.
    pub(crate) fn known(&self) -> &Arc<Known> {
        &self.0.known
    }

    /// Enters an endpoint of this node into the graph. Dropping the result removes it.
    pub(crate) fn enter(&self, kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos) -> Presence {
        let endpoint = Endpoint::ours(kind, name, type_name, qos, self.fully_qualified_name());
        self.graph().enter_endpoint(endpoint)
    }

    /// Returns the cell of the node's own group, which is filled when the group is first used.
    pub(crate) fn own(&self) -> &OnceLock<OwnGroup> {
        &self.0.own
    }

    /// Returns the executor of the node's own group, or `None` if it was dropped.
    pub(crate) fn main_executor(&self) -> Option<ExecutorHandle> {
        Some(self.0.main.upgrade()?.handle())
    }

    /// Returns the link through which the node's entities communicate.
    pub(crate) fn link(&self) -> &Link {
        &self.0.link
    }
}

impl Clone for Node {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.fully_qualified_name()).finish_non_exhaustive()
    }
}
