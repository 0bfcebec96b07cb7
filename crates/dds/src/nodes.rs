//! Nodes of this process, which are announced to others on a topic of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rospin_node::NodeName;
use rospin_wire::cdr::to_payload;

use crate::cyclone::{Code, EntityQos, Guid, Handle, Listen, Participant, Reader, Times, Writer};
use crate::domain::Domain;
use crate::feed::{Feed, NodeEntitiesInfo, Nodes, ParticipantEntitiesInfo};
use crate::user_data;

/// Topic of DDS on which processes announce their nodes.
const TOPIC: &str = "ros_discovery_info";
/// Type of these announcements.
const TYPE: &str = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_";
/// Hash of that type from ROS 2 Iron on. Without it, every process on `rmw_cyclonedds_cpp` warns of it for each of
/// ours.
const TYPE_HASH: &str = "RIHS01_91a0593bacdcc50ea9bdcf849a938b128412cc1ea821245c663bcd26f83c295e";

/// Listener of the topic on which nodes are announced. Its matches are ignored.
struct Unheard;

impl Listen for Unheard {
    fn matched(&self, _: Handle, _: bool) {}
    fn incompatible(&self, _: u32) {}
}

/// Nodes that are announced to others.
pub(crate) struct Announced {
    nodes: Mutex<List>,
    /// Reader of the announcements of other processes.
    _heard: Reader<Unheard>,
}

/// Nodes of this process by their numbers, and the writer that announces them.
struct List {
    participant: Guid,
    /// `None` once this is dropped.
    writer: Option<Writer<Unheard>>,
    nodes: BTreeMap<u64, NodeEntitiesInfo>,
    /// Number of the last node that was created.
    last: u64,
    /// True if there was a node other than those of tools, whose names begin with an underscore.
    has_shown: bool,
}

impl Drop for List {
    fn drop(&mut self) {
        // A tool that has its answer does not wait until all have confirmed that its nodes have gone: nobody lists them.
        if let (Some(writer), false) = (self.writer.take(), self.has_shown) {
            writer.abandon();
        }
    }
}

impl List {
    /// Sends the whole list, as `rmw_cyclonedds_cpp` does after each change.
    fn say(&self) {
        let nodes = self.nodes.values().cloned().collect();
        let message = ParticipantEntitiesInfo { gid: self.participant, nodes };
        // The message consists of texts and bytes, which can always be encoded.
        let Ok(mut bytes) = to_payload(&message) else { return };
        let Some(writer) = &self.writer else { return };
        writer.write(&mut bytes).unwrap_or_else(|error| {
            log::warn!(target: "rospin", "other processes were not told of nodes: {error}");
        });
    }
}

impl Announced {
    pub(crate) fn new(participant: &Participant, feed: &Arc<Feed>) -> Result<Self, Code> {
        let user_data = user_data::of_endpoint(None, Some(TYPE_HASH));
        let qos = EntityQos {
            is_reliable: true,
            is_transient_local: true,
            depth: Some(1),
            ignores_own: false,
            times: Times::default(),
            max_blocking_time: rospin_node::Qos::default().max_blocking_time,
            user_data: user_data.as_bytes(),
        };
        let unheard = Arc::new(Unheard);
        let heard = Reader::create(participant, TOPIC, TYPE, &qos, &unheard, Nodes(Arc::clone(feed)))?;
        let writer = Writer::create(participant, TOPIC, TYPE, &qos, &unheard)?;
        let list = List {
            participant: participant.guid(),
            writer: Some(writer),
            nodes: BTreeMap::new(),
            last: 0,
            has_shown: false,
        };
        // A process without nodes announces an empty list.
        list.say();
        Ok(Self { nodes: Mutex::new(list), _heard: heard })
    }

    /// Makes a change, and announces the nodes that there are then.
    fn change<R>(&self, change: impl FnOnce(&mut List) -> R) -> R {
        // The list is sent under the lock, so that the last change is sent last. Under this lock only the library is
        // called, and the feed, which ignores messages of this process.
        let mut list = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut list);
        list.say();
        result
    }

    /// Announces a node. Returns its number.
    fn node_came(&self, name: &NodeName) -> u64 {
        let namespace = name.namespace().to_owned();
        let name = name.base_name().to_owned();
        self.change(|list| {
            list.last += 1;
            list.has_shown |= !name.starts_with('_');
            let node = NodeEntitiesInfo { namespace, name, readers: Vec::new(), writers: Vec::new() };
            list.nodes.insert(list.last, node);
            list.last
        })
    }
}

/// Node that is in the graph until this value is dropped.
pub(crate) struct DdsNode {
    pub(crate) domain: Domain,
    number: u64,
}

impl DdsNode {
    pub(crate) fn new(domain: &Domain, name: &NodeName) -> Self {
        Self { domain: domain.clone(), number: domain.announced().node_came(name) }
    }

    /// Announces that readers and writers belong to the node, until the returned value is dropped.
    pub(crate) fn list(&self, readers: &[Guid], writers: &[Guid]) -> Listed {
        let listed = Listed {
            domain: self.domain.clone(),
            node: self.number,
            readers: readers.to_vec(),
            writers: writers.to_vec(),
        };
        self.domain.announced().change(|list| {
            if let Some(node) = list.nodes.get_mut(&self.number) {
                node.readers.extend_from_slice(readers);
                node.writers.extend_from_slice(writers);
            }
        });
        listed
    }
}

impl Drop for DdsNode {
    fn drop(&mut self) {
        self.domain.announced().change(|list| list.nodes.remove(&self.number));
    }
}

/// Readers and writers that are announced as a node's.
pub(crate) struct Listed {
    domain: Domain,
    node: u64,
    readers: Vec<Guid>,
    writers: Vec<Guid>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.domain.announced().change(|list| {
            if let Some(node) = list.nodes.get_mut(&self.node) {
                node.readers.retain(|id| !self.readers.contains(id));
                node.writers.retain(|id| !self.writers.contains(id));
            }
        });
    }
}
