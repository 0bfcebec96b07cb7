//! Nodes: names under which entities appear in the ROS graph.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use rospin_engine::ExecutorHandle;

use crate::dynamic::Known;
use crate::graph::{Endpoint, EndpointKind, Graph, Presence};
use crate::group::OwnGroup;
use crate::link::Link;
use crate::middleware::Refused;
use crate::names::{FullName, NameError, NodeName, TypeName};
use crate::parameters::{ParameterFile, ParameterValue, Store};
use crate::qos::Qos;
use crate::ros::{MainExecutor, Network};
use crate::rosout::RecordQueue;

/// How a node is set up; a plain `&str` is its name.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeOptions {
    name: String,
    namespace: String,
    overrides: BTreeMap<String, ParameterValue>,
    files: Vec<ParameterFile>,
    /// What the node calls a topic or service, and what it is instead; the first that fits.
    remaps: Vec<(String, String)>,
}

impl NodeOptions {
    /// A node of that name in the namespace `/`.
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

    /// Sets the namespace, such as `/robot`: the node's relative topics and services are in it.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// Sets what a parameter begins with in place of its default, as `--ros-args -p name:=value` does elsewhere.
    #[must_use]
    pub fn parameter_override(mut self, name: impl Into<String>, value: impl Into<ParameterValue>) -> Self {
        self.overrides.insert(name.into(), value.into());
        self
    }

    /// Has parameters begin with what the file says of this node, as `--params-file` does elsewhere. Later files go before
    /// earlier ones, and [overrides](Self::parameter_override) before all of them.
    #[must_use]
    pub fn parameter_file(mut self, file: &ParameterFile) -> Self {
        self.files.push(file.clone());
        self
    }

    /// Has the node use the topic or service `to` wherever it says `from`, as `--remap from:=to` does elsewhere. Both are names as
    /// the node itself would write them: relative to its namespace, below the node with `~/`, or absolute. Of several rules for
    /// one name the first one holds.
    ///
    /// ```
    /// use rospin_engine::{Context, ContextOptions};
    /// use rospin_node::{Ros, Node, NodeOptions};
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

/// Why a node could not be created.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// Its name, or one that is [remapped](NodeOptions::remap), is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware refused.
    #[error("could not create node `{node}`: {reason}")]
    Refused {
        /// The node.
        node: NodeName,
        /// What the middleware says.
        #[source]
        reason: Refused,
    },
}

/// A node of the ROS graph. Cheap to clone; it is in the graph until the last clone and the last entity are dropped.
///
/// It creates publishers, and on callback groups of any executor subscriptions, services and clients. It has no thread and
/// nothing to be spun of its own.
pub struct Node(Arc<Inner>);

struct Inner {
    name: NodeName,
    store: Arc<Store>,
    records: Arc<RecordQueue>,
    known: Arc<Known>,
    /// Both sides absolute.
    remaps: Vec<(FullName, FullName)>,
    own: OnceLock<OwnGroup>,
    _presence: Presence,
    link: Link,
    // After the link, which says goodbye through it.
    network: Arc<Network>,
    /// Not owned: it may own the node, by its callbacks.
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

    /// The name with its namespace, such as `/robot/talker`.
    #[must_use]
    pub fn fully_qualified_name(&self) -> String {
        self.0.name.to_string()
    }

    /// The name, and the namespace that relative names are in.
    #[must_use]
    pub fn name(&self) -> &NodeName {
        &self.0.name
    }

    /// The topic or service that this node means by `name`: [as names are resolved](NodeName::resolve), and then
    /// [remapped](NodeOptions::remap). All that is created under this node goes through it.
    ///
    /// # Errors
    /// If it is none.
    pub fn resolve(&self, name: &str) -> Result<FullName, NameError> {
        let resolved = self.name().resolve(name)?;
        let rule = self.0.remaps.iter().find(|(from, _)| *from == resolved);
        Ok(rule.map_or(resolved, |(_, to)| to.clone()))
    }

    /// Returns what is known of all nodes.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        self.0.network.graph()
    }

    /// The node's parameters.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.0.store
    }

    /// The node's log on its way to `/rosout`.
    pub(crate) fn records(&self) -> &Arc<RecordQueue> {
        &self.0.records
    }

    /// The types that the node knows at run time.
    pub(crate) fn known(&self) -> &Arc<Known> {
        &self.0.known
    }

    /// Enters something of this node into the graph, for as long as what it returns lives.
    pub(crate) fn enter(&self, kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos) -> Presence {
        let endpoint = Endpoint::ours(kind, name, type_name, qos, self.fully_qualified_name());
        self.graph().enter_endpoint(endpoint)
    }

    /// Returns the node's own group, once it was needed.
    pub(crate) fn own(&self) -> &OnceLock<OwnGroup> {
        &self.0.own
    }

    /// Returns the executor of its own group, unless that is gone.
    pub(crate) fn main_executor(&self) -> Option<ExecutorHandle> {
        Some(self.0.main.upgrade()?.handle())
    }

    /// Returns what the node's entities talk through.
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
