//! Nodes: names under which entities appear in the ROS graph.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ros2_client::{CreateError, Name, NodeName};

use crate::domain::Domain;
use crate::names::{self, NameError};
use crate::participant::{End, Participant};

/// How a node is set up; a plain `&str` is its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeOptions {
    name: String,
    namespace: String,
}

impl NodeOptions {
    /// A node of that name in the namespace `/`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: "/".to_owned() }
    }

    /// Sets the namespace, such as `/robot`: the node's relative topics and services are in it.
    #[must_use]
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }
}

impl From<&str> for NodeOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// A node of the ROS graph. Cheap to clone; it is in the graph from its first entity until the last clone and the last entity
/// are dropped.
///
/// It creates publishers, and on callback groups of any executor subscriptions, services and clients. It has no thread and
/// nothing to be spun of its own.
#[derive(Clone)]
pub struct Node(Arc<Inner>);

struct Inner {
    name: NodeName,
    /// The node as each participant knows it that has an entity of it.
    nodes: Mutex<BTreeMap<usize, ros2_client::Node>>,
    // After the nodes, which say goodbye through it.
    domain: Domain,
}

/// Where an entity is to be created.
pub(crate) struct Place<'a> {
    pub(crate) node: &'a mut ros2_client::Node,
    pub(crate) participant: &'a Participant,
}

impl Node {
    pub(crate) fn new(domain: &Domain, options: &NodeOptions) -> Result<Self, NameError> {
        let name = names::node(&options.namespace, &options.name)?;
        Ok(Self(Arc::new(Inner { name, nodes: Mutex::default(), domain: domain.clone() })))
    }

    /// The name with its namespace, such as `/robot/talker`.
    #[must_use]
    pub fn fully_qualified_name(&self) -> String {
        self.0.name.fully_qualified_name()
    }

    /// The domain that the node is in.
    #[must_use]
    pub fn domain(&self) -> &Domain {
        &self.0.domain
    }

    pub(crate) fn name(&self) -> &NodeName {
        &self.0.name
    }

    /// The topic's name on the wire. `prefix` says what kind it is.
    pub(crate) fn dds_name(&self, topic: &Name, prefix: &str, suffix: &str) -> String {
        topic.to_dds_name(prefix, &self.0.name, suffix)
    }

    /// Creates an entity in the participant for that end of the topic. What went wrong is told in words.
    pub(crate) fn create<T>(
        &self,
        topic: &str,
        end: End,
        create: impl FnOnce(Place<'_>) -> Result<T, CreateError>,
    ) -> Result<T, String> {
        let (at, participant) = self.0.domain.participant(topic, end).map_err(|error| error.to_string())?;
        // Creating an entity is all that is done under the lock; a panic there leaves the node's lists as they were.
        let mut nodes = self.0.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let node = match nodes.entry(at) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                // What the middleware would serve from a spinner of its own, which would take discovery's events from ours.
                let options = ros2_client::NodeOptions::new().enable_rosout(false).start_parameter_services(false);
                let node = participant.context.new_node(self.0.name.clone(), options);
                entry.insert(node.map_err(|error| error.to_string())?)
            }
        };
        create(Place { node, participant: &participant }).map_err(|error| error.to_string())
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.fully_qualified_name()).finish_non_exhaustive()
    }
}
