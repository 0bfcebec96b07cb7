//! Nodes: names under which entities appear in the ROS graph.
//!
//! A node knows its names, its link to other nodes and its own group. Its entities are created in the modules about
//! them, by methods of `Node` that stand there. What features need in a node, they keep in [`Parts`] and [`Kept`],
//! which find it by its type: so nothing here names a feature.

mod described;
mod graph;
mod kept;
mod parts;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use rospin_engine::{Declaration, ExecutorHandle, Time};

pub(crate) use described::DescribedTypes;
pub use graph::GraphCallback;
use kept::Kept;
pub(crate) use parts::Parts;

use crate::error::Refused;
use crate::graph::{Endpoint, EndpointKind, Graph, Presence};
use crate::group::OwnGroup;
use crate::info::Gid;
use crate::link::Link;
use crate::names::{FullName, NameError, NodeName, TypeName};
use crate::network::{MainExecutor, Network};
use crate::qos::Qos;
use crate::remap::{NameKind, Remaps};

/// Text between the name of an action and the name of one of its parts.
const ACTION: &str = "/_action/";

/// A node of the ROS graph. Cheap to clone. The node leaves the graph when its last clone and its last entity are
/// dropped.
///
/// A node creates publishers, and subscriptions, services, clients and timers on callback groups of any executor. It
/// has no thread of its own and is not spun: executors are.
///
/// The [main executor](crate::Ros::executor) serves its parameters, describes its types and publishes its log records
/// on `/rosout`, unless its [options](crate::NodeOptions) say otherwise.
#[derive(Clone)]
pub struct Node {
    core: Arc<Core>,
    /// Services of the node that end with it. Their entities hold only the core, so they do not keep themselves alive.
    kept: Arc<Kept>,
}

/// A node before it is in the graph.
pub(crate) struct NodeDraft {
    pub(crate) name: NodeName,
    pub(crate) remaps: Remaps,
    /// The executor of the node's own group, unless it is the main one.
    pub(crate) executor: Option<ExecutorHandle>,
    /// True if subscriptions have statistics unless their options say otherwise.
    pub(crate) measures_topics: bool,
    pub(crate) parts: Parts,
}

struct Core {
    name: NodeName,
    parts: Parts,
    described: Arc<DescribedTypes>,
    remaps: Remaps,
    own: OnceLock<OwnGroup>,
    _presence: Presence,
    link: Link,
    // Declared after the link, so that it is dropped after it: the end of the link still uses the network to leave it.
    network: Arc<Network>,
    /// The main executor. Weak, because its callbacks may own the node.
    main: Weak<MainExecutor>,
    /// The executor that the node's options name in place of the main one. It drops its callbacks when it ends, so the
    /// node may hold its handle.
    executor: Option<ExecutorHandle>,
    measures_topics: bool,
}

impl Node {
    /// Enters the node into the graph.
    ///
    /// # Errors
    /// If the middleware refuses.
    pub(crate) fn new(network: &Arc<Network>, main: Weak<MainExecutor>, draft: NodeDraft) -> Result<Self, Refused> {
        let NodeDraft { name, remaps, executor, measures_topics, parts } = draft;
        let link = network.link(&name)?;
        link.recorder().declare(|| Declaration::Node {
            node: name.to_string(),
            name: name.base_name().to_owned(),
            namespace: name.namespace().to_owned(),
        });
        let presence = network.graph().enter_node(name.to_string());
        let core = Core {
            name,
            parts,
            described: Arc::default(),
            remaps,
            own: OnceLock::new(),
            _presence: presence,
            link,
            network: Arc::clone(network),
            main,
            executor,
            measures_topics,
        };
        Ok(Self { core: Arc::new(core), kept: Arc::default() })
    }

    /// Returns the same node for the entities of services that it keeps. Holding it does not keep these services alive.
    pub(crate) fn without_kept(&self) -> Self {
        Self { core: Arc::clone(&self.core), kept: Arc::default() }
    }

    /// Keeps a service of the node, such as that of its parameters, until the node ends or [`end_kept`](Self::end_kept)
    /// is called.
    pub(crate) fn keep<T: Send + 'static>(&self, service: T) {
        self.kept.add(service);
    }

    /// Ends the service of that type, if the node keeps one, because another one takes its place.
    pub(crate) fn end_kept<T: Send + 'static>(&self) {
        self.kept.end::<T>();
    }

    /// Returns what a feature keeps in the node.
    pub(crate) fn part<T: Send + Sync + 'static>(&self) -> &Arc<T> {
        self.core.parts.get()
    }

    /// Returns the name with its namespace, such as `/robot/talker`.
    #[must_use]
    #[doc(alias = "get_fully_qualified_name")]
    pub fn fully_qualified_name(&self) -> String {
        self.core.name.to_string()
    }

    /// Returns the name without the namespace, such as `talker`.
    #[must_use]
    #[doc(alias = "get_name")]
    pub fn name(&self) -> &str {
        self.core.name.base_name()
    }

    /// Returns the namespace, such as `/robot`; `/` is the outermost one.
    #[must_use]
    #[doc(alias = "get_namespace")]
    pub fn namespace(&self) -> &str {
        self.core.name.namespace()
    }

    /// Returns the name and the namespace. See [`fully_qualified_name`](Self::fully_qualified_name) for the text.
    #[must_use]
    pub fn node_name(&self) -> &NodeName {
        &self.core.name
    }

    /// Returns ROS time, the time of `/clock` in simulation and of the system clock otherwise. It is for the stamps of
    /// messages: `node.now().into()` is a `builtin_interfaces/Time`. Neither blocks nor allocates.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::Header;
    /// use rospin::{Context, ContextOptions, Ros, Time};
    ///
    /// let context = Context::new(ContextOptions::new());
    /// let node = Ros::in_process(&context).create_node("camera")?;
    /// let header = Header { stamp: node.now().into(), frame_id: "camera".to_owned() };
    /// assert!(Time::from(header.stamp) <= node.now());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[doc(alias = "get_clock")]
    pub fn now(&self) -> Time {
        self.core.network.context.clock().ros()
    }

    /// Returns the absolute name of the topic that this node calls `name`. The name is
    /// [resolved](NodeName::resolve) first and [remapped](crate::NodeOptions::remap) then. Every entity of the node
    /// gets its name this way.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve_topic(&self, name: &str) -> Result<FullName, NameError> {
        self.resolve(name, NameKind::Topic)
    }

    /// Returns the absolute name of the service that this node calls `name`, as
    /// [`resolve_topic`](Self::resolve_topic) does for topics.
    ///
    /// # Errors
    /// If `name` is not a valid name.
    pub fn resolve_service(&self, name: &str) -> Result<FullName, NameError> {
        self.resolve(name, NameKind::Service)
    }

    fn resolve(&self, name: &str, kind: NameKind) -> Result<FullName, NameError> {
        let remapped = |name: &str| Ok(self.core.remaps.apply(self.node_name().resolve(name)?, kind));
        match name.split_once(ACTION) {
            // A rule for an action applies to all of its parts.
            Some((action, part)) => remapped(&format!("{}{ACTION}{part}", remapped(action)?)),
            None => remapped(name),
        }
    }

    /// Returns the graph of all nodes of the network.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        self.core.network.graph()
    }

    /// Returns the generated types of the node's endpoints.
    pub(crate) fn described_types(&self) -> &Arc<DescribedTypes> {
        &self.core.described
    }

    /// Returns true if its subscriptions have statistics unless their options say otherwise.
    pub(crate) fn enables_topic_statistics(&self) -> bool {
        self.core.measures_topics
    }

    /// Enters an endpoint of this node into the graph. Dropping the result removes it.
    pub(crate) fn enter(&self, kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos) -> Presence {
        self.enter_endpoint(type_name, Endpoint::ours(kind, name, type_name, qos, self.fully_qualified_name()))
    }

    /// Enters a publisher of this node, see [`enter`](Self::enter).
    pub(crate) fn enter_publisher(&self, gid: Gid, name: &FullName, type_name: &TypeName, qos: &Qos) -> Presence {
        let kind = EndpointKind::Publisher;
        let endpoint = Endpoint::ours(kind, name, type_name, qos, self.fully_qualified_name());
        self.enter_endpoint(type_name, Endpoint { gid: Some(gid), ..endpoint })
    }

    fn enter_endpoint(&self, type_name: &TypeName, endpoint: Endpoint) -> Presence {
        if let Some(description) = type_name.described.0 {
            self.core.described.note(description);
        }
        self.graph().enter_endpoint(endpoint)
    }

    /// Returns the cell of the node's own group, which is filled when the group is first used.
    pub(crate) fn own(&self) -> &OnceLock<OwnGroup> {
        &self.core.own
    }

    /// Returns the executor of the node's own group, or `None` if it was dropped.
    pub(crate) fn own_executor(&self) -> Option<ExecutorHandle> {
        match &self.core.executor {
            Some(executor) => Some(executor.clone()),
            None => Some(self.core.main.upgrade()?.handle()),
        }
    }

    /// Returns the link through which the node's entities communicate.
    pub(crate) fn link(&self) -> &Link {
        &self.core.link
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.fully_qualified_name()).finish_non_exhaustive()
    }
}
