//! Entries of other processes in the graph, which change in the order in which their changes were found out.
//!
//! The library reports participants, endpoints and messages on several threads. A change is decided under a lock, and
//! made after the lock was released, because the graph calls wakers, which may call the library. The changes therefore
//! wait in a queue, which one thread at a time empties.

use std::collections::VecDeque;

use rospin_node::{Durability, Endpoint, EndpointKind, Gid, Graph, History, Liveliness, Reliability};

use crate::cyclone::{Found, Guid};
use crate::names::{self, End};
use crate::user_data;

/// Prefix of an id, which all ids of one participant share.
pub(crate) type Prefix = [u8; 12];

/// Returns the prefix of an id.
pub(crate) fn prefix_of(id: &Guid) -> Prefix {
    std::array::from_fn(|at| id[at])
}

/// A change of the graph that is not made yet.
#[derive(Debug)]
pub(crate) enum Change {
    NodeCame { id: Vec<u8>, name: String },
    NodeWent { id: Vec<u8> },
    EndpointCame { id: Guid, endpoint: Box<Endpoint> },
    EndpointBelongsTo { id: Guid, node: String },
    EndpointWent { id: Guid },
    AllWent { prefix: Prefix },
    CompletePrograms { count: usize },
}

impl Change {
    /// Makes the change.
    pub(crate) fn make(self, graph: &Graph) {
        match self {
            Self::NodeCame { id, name } => graph.node_came(&id, name),
            Self::NodeWent { id } => graph.node_went(&id),
            Self::EndpointCame { id, endpoint } => graph.endpoint_came(&id, *endpoint),
            Self::EndpointBelongsTo { id, node } => graph.endpoint_belongs_to(&id, &node),
            Self::EndpointWent { id } => graph.endpoint_went(&id),
            Self::AllWent { prefix } => graph.all_went(&prefix),
            Self::CompletePrograms { count } => graph.set_complete_programs(count),
        }
    }
}

/// Queue of changes, with the right to make them, which one thread at a time has.
#[derive(Default)]
pub(crate) struct Changes {
    waiting: VecDeque<Change>,
    is_taken: bool,
}

impl Changes {
    /// Adds a change at the end of the queue.
    pub(crate) fn push(&mut self, change: Change) {
        self.waiting.push_back(change);
    }

    /// Returns true if the caller has the right to make the changes now. It must make all that [`next`](Self::next)
    /// returns.
    pub(crate) fn take_turn(&mut self) -> bool {
        !std::mem::replace(&mut self.is_taken, true)
    }

    /// Returns the next change; or gives the right back and returns `None` if there is none.
    pub(crate) fn next(&mut self) -> Option<Change> {
        let next = self.waiting.pop_front();
        self.is_taken = next.is_some();
        next
    }
}

/// Returns the entry of the graph for a reader or writer of `node`, which is `None` while the node is not known.
/// Returns `None` if the topic is not of ROS, or if another end stands for this one, see [`names::of_topic`].
pub(crate) fn endpoint(found: &Found<'_>, end: End, node: Option<String>) -> Option<Endpoint> {
    let (kind, name) = names::of_topic(end, found.topic)?;
    let mut endpoint = Endpoint::new(kind, name, names::of_type(kind, found.type_name));
    endpoint.type_hash = user_data::type_hash(found.user_data).map(str::to_owned);
    endpoint.node = node;
    let is_of_topic = matches!(kind, EndpointKind::Publisher | EndpointKind::Subscription);
    endpoint.gid = if is_of_topic { Some(Gid::new(found.guid)) } else { None };
    endpoint.reliability = Some(if found.is_reliable { Reliability::Reliable } else { Reliability::BestEffort });
    endpoint.deadline = found.times.deadline;
    endpoint.lifespan = found.times.lifespan;
    endpoint.liveliness = Some(if found.times.is_manual { Liveliness::ManualByTopic } else { Liveliness::Automatic });
    endpoint.liveliness_lease_duration = found.times.lease;
    endpoint.durability = match found.durability {
        0 => Some(Durability::Volatile),
        1 => Some(Durability::TransientLocal),
        // ROS has no other durability.
        _ => None,
    };
    endpoint.history = match usize::try_from(found.depth) {
        Ok(0) => Some(History::KeepAll),
        Ok(depth) => Some(History::KeepLast(depth)),
        Err(_) => None,
    };
    Some(endpoint)
}
