//! The ROS graph: nodes, and their endpoints of topics and services.
//!
//! This crate enters the nodes of this process, and a middleware those of other processes. Entering calls no user code
//! and waits for none: watchers are notified, and take the changes on an executor's thread.
//!
//! The graph is fed, not asked: middlewares learn of it in different ways, by events, by messages that were kept for
//! late subscriptions, by tokens. They enter what they learn on any thread, and queries only read it.
//!
//! It is below middlewares and nodes, and names neither: the queries and callbacks of a node stand in
//! `crate::node`, and the middleware's end in `crate::middleware`.

mod changes;
mod departure;
mod endpoint;
mod mismatch;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, PoisonError};

use rospin_engine::{Waiters, Waiting};

use crate::sync::{Mutex, MutexGuard};

pub(crate) use changes::Changes;
use changes::Watchers;
pub(crate) use departure::Departures;
pub use endpoint::{Endpoint, EndpointKind};
use mismatch::{Matching, Mismatch};

use crate::complaints::Complaints;
use crate::info::Gid;
use crate::local_topics::LocalTopics;
use crate::names::TypeName;

/// Names of topics or services with their types. More than one type means that nodes disagree.
pub type NamesAndTypes = BTreeMap<String, BTreeSet<String>>;

/// Change of the graph, as a node's graph callback is told of it: a node or an endpoint came or went.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum GraphChange {
    /// A node of that fully qualified name appeared, and no other node had the name.
    NodeCame(String),
    /// The last node of that fully qualified name disappeared.
    NodeWent(String),
    /// A publisher, subscription, server or client appeared. Its [node](Endpoint::node) may be unknown yet, if the
    /// middleware learns it by other means.
    EndpointCame(Endpoint),
    /// A publisher, subscription, server or client disappeared.
    EndpointWent(Endpoint),
}

/// Nodes of a network and their endpoints, as far as the middleware has discovered them. Those of this process are
/// there at once. If an end of this process cannot communicate with another end of its topic or service, the log has
/// one warning about it.
///
/// Each [middleware](crate::Middleware::graph) has a graph and enters into it what it discovers; programs query it
/// through a [node](crate::Node). The middleware gives every entry an id of its own choice, so it may report an entry
/// more than once.
///
/// Memory is bounded by the entries, plus a bounded number of changes for each watcher.
///
/// ```
/// use rospin_node::{Endpoint, EndpointKind, Graph};
///
/// // A middleware enters what it discovers, under ids of its own.
/// let graph = Graph::new();
/// graph.node_came(b"host1/node1", "/robot/talker");
/// let chatter = Endpoint::new(EndpointKind::Publisher, "/chatter", "std_msgs/msg/String");
/// graph.endpoint_came(b"host1/writer1", chatter);
/// graph.endpoint_belongs_to(b"host1/writer1", "/robot/talker");
/// assert_eq!(graph.node_names(), ["/robot/talker"]);
/// assert_eq!(graph.endpoints(EndpointKind::Publisher, "/chatter").len(), 1);
/// // All that the host has told is here.
/// graph.set_complete_programs(1);
/// assert_eq!(graph.complete_programs(), 1);
/// graph.endpoint_went(b"host1/writer1");
/// graph.node_went(b"host1/node1");
/// // The host has gone, with all that may be left of it.
/// graph.all_went(b"host1/");
/// assert!(graph.node_names().is_empty());
/// ```
#[derive(Default)]
pub struct Graph {
    state: Mutex<State>,
    /// The topics that nodes of this process share without the middleware.
    local_topics: Arc<LocalTopics>,
    matching: Matching,
    complaints: Complaints,
}

#[derive(Default)]
struct State {
    nodes: BTreeMap<Id, String>,
    /// Number of nodes by name.
    names: BTreeMap<String, usize>,
    endpoints: BTreeMap<Id, Endpoint>,
    /// The last id that was given to an entry of this process.
    last: u64,
    watchers: Watchers,
    departures: departure::Watchers,
    /// Number of other programs of which everything is here that they have told.
    complete_programs: usize,
    /// Tasks that wait for the next change.
    waiters: Waiters,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Id {
    Ours(u64),
    Others(Vec<u8>),
}

/// Process whose entries a change enters: this one, or another one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    Others,
}

impl State {
    /// Removes a node. Returns the end of its name, or `None` if there is no such node, or another one has the same
    /// name.
    fn node_went(&mut self, id: &Id) -> Option<GraphChange> {
        let name = self.nodes.remove(id)?;
        let count = self.names.get_mut(&name)?;
        *count -= 1;
        if *count > 0 {
            return None;
        }
        self.names.remove(&name);
        Some(GraphChange::NodeWent(name))
    }

    /// Enters a node. Returns two changes: the end of the name that the id had before, and the new name. Each is `None`
    /// if it does not happen, for example because another node has that name.
    fn node_came(&mut self, id: Id, name: String) -> [Option<GraphChange>; 2] {
        if self.nodes.get(&id) == Some(&name) {
            return [None, None];
        }
        let went = self.node_went(&id);
        let count = self.names.entry(name.clone()).or_default();
        *count += 1;
        let came = if *count == 1 { Some(GraphChange::NodeCame(name.clone())) } else { None };
        self.nodes.insert(id, name);
        [went, came]
    }

    fn endpoint_went(&mut self, id: &Id) -> Option<GraphChange> {
        self.endpoints.remove(id).map(GraphChange::EndpointWent)
    }

    /// Enters an endpoint. Returns two changes: the end of the endpoint that the id had before, if any, and the new
    /// endpoint. Both are `None` if it is the same endpoint, of which more is known now.
    fn endpoint_came(&mut self, id: Id, endpoint: Endpoint) -> [Option<GraphChange>; 2] {
        let before = self.endpoints.insert(id, endpoint.clone());
        match before {
            // It is the same endpoint, of which more is known now.
            Some(before) if before.is_same(&endpoint) => [None, None],
            before => [before.map(GraphChange::EndpointWent), Some(GraphChange::EndpointCame(endpoint))],
        }
    }

    fn next_id(&mut self) -> Id {
        self.last += 1;
        Id::Ours(self.last)
    }
}

impl Graph {
    /// Returns an empty graph.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Returns an empty graph, for a middleware that connects ends of the same name, type and hash, whatever their
    /// quality of service.
    #[must_use]
    pub fn matched_by_hash() -> Arc<Self> {
        Arc::new(Self { matching: Matching::ByHash, ..Self::default() })
    }

    /// Enters a node of another process under its fully qualified name. Replaces the entry with the same id.
    pub fn node_came(&self, id: &[u8], name: impl Into<String>) {
        let id = Id::Others(id.to_vec());
        let name = name.into();
        self.change(|state| state.node_came(id, name));
    }

    /// Removes a node of another process. Does nothing if the graph has no such entry.
    pub fn node_went(&self, id: &[u8]) {
        self.change(|state| [state.node_went(&Id::Others(id.to_vec()))]);
    }

    /// Enters a publisher, subscription, server or client of another process. Replaces the entry with the same id.
    /// Watchers are not notified if only the node, the type hash or the quality of service differ.
    pub fn endpoint_came(&self, id: &[u8], endpoint: Endpoint) {
        self.change(|state| state.endpoint_came(Id::Others(id.to_vec()), endpoint));
    }

    /// Removes a publisher, subscription, server or client of another process. Does nothing if the graph has no such
    /// entry.
    pub fn endpoint_went(&self, id: &[u8]) {
        self.change(|state| [state.endpoint_went(&Id::Others(id.to_vec()))]);
    }

    /// Sets the node of a publisher, subscription, server or client of another process, by the node's fully qualified
    /// name. Does nothing if the graph has no such entry. Watchers are not notified.
    pub fn endpoint_belongs_to(&self, id: &[u8], node: &str) {
        let id = Id::Others(id.to_vec());
        let mut state = self.lock();
        if let Some(endpoint) = state.endpoints.get_mut(&id).filter(|endpoint| endpoint.node.as_deref() != Some(node)) {
            endpoint.node = Some(node.to_owned());
        }
    }

    /// Sets the number of other programs of which the graph has everything: each has told which nodes it has, with their
    /// publishers, subscriptions, servers and clients, and all of these have been entered. Wakes tasks that wait for a
    /// change; watchers are not notified. A middleware whose programs do not tell that leaves the number at zero.
    pub fn set_complete_programs(&self, count: usize) {
        let mut state = self.lock();
        state.complete_programs = count;
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
    }

    /// Returns the number of other programs of which the graph has everything that they have told.
    #[must_use]
    pub fn complete_programs(&self) -> usize {
        self.lock().complete_programs
    }

    /// Removes all entries of other processes whose id begins with `prefix`.
    pub fn all_went(&self, prefix: &[u8]) {
        let is_meant = |id: &&Id| matches!(id, Id::Others(id) if id.starts_with(prefix));
        self.change(|state| {
            let endpoints: Vec<_> = state.endpoints.keys().filter(is_meant).cloned().collect();
            let nodes: Vec<_> = state.nodes.keys().filter(is_meant).cloned().collect();
            let mut changes: Vec<_> = endpoints.iter().map(|id| state.endpoint_went(id)).collect();
            changes.extend(nodes.iter().map(|id| state.node_went(id)));
            changes
        });
    }

    /// Enters a node of this process, until the result is dropped.
    pub(crate) fn enter_node(self: &Arc<Self>, name: String) -> Presence {
        self.enter(|state, id| state.node_came(id, name))
    }

    /// Enters a publisher, subscription, server or client of this process, until the result is dropped.
    pub(crate) fn enter_endpoint(self: &Arc<Self>, endpoint: Endpoint) -> Presence {
        self.enter(|state, id| state.endpoint_came(id, endpoint))
    }

    fn enter<C>(self: &Arc<Self>, enter: impl FnOnce(&mut State, Id) -> C) -> Presence
    where
        C: IntoIterator<Item = Option<GraphChange>>,
    {
        let mut entered = None;
        self.change_of(Whose::Ours, |state| {
            let id = state.next_id();
            entered = Some(id.clone());
            enter(state, id)
        });
        Presence { graph: Arc::clone(self), id: entered.unwrap_or(Id::Ours(0)) }
    }

    /// Returns the fully qualified names of all nodes, sorted, without duplicates.
    #[must_use]
    pub fn node_names(&self) -> Vec<String> {
        self.lock().names.keys().cloned().collect()
    }

    /// Returns the names of all endpoints of these kinds, with their types.
    pub(crate) fn names_and_types(&self, kinds: [EndpointKind; 2]) -> NamesAndTypes {
        let mut names = NamesAndTypes::new();
        for endpoint in self.lock().endpoints.values().filter(|endpoint| kinds.contains(&endpoint.kind)) {
            let types: &mut BTreeSet<_> = names.entry(endpoint.name.clone()).or_default();
            types.insert(endpoint.type_name.clone());
        }
        names
    }

    pub(crate) fn count(&self, kind: EndpointKind, name: &str) -> usize {
        self.lock().endpoints.values().filter(|endpoint| endpoint.kind == kind && endpoint.name == name).count()
    }

    /// Returns true if the publisher with that id is known, and publishes on that topic. It takes time that grows with
    /// the number of endpoints.
    #[must_use]
    pub fn has_publisher(&self, topic: &str, publisher: Gid) -> bool {
        self.publishers(topic).contains(&Some(publisher))
    }

    /// Returns the ids of the publishers of that topic, each `None` if the middleware does not tell it.
    pub(crate) fn publishers(&self, topic: &str) -> Vec<Option<Gid>> {
        let state = self.lock();
        let publishers = state.endpoints.values().filter(|endpoint| endpoint.kind == EndpointKind::Publisher);
        publishers.filter(|endpoint| endpoint.name == topic).map(|endpoint| endpoint.gid).collect()
    }

    /// Returns the endpoints of that kind and full name.
    #[must_use]
    pub fn endpoints(&self, kind: EndpointKind, name: &str) -> Vec<Endpoint> {
        let state = self.lock();
        state.endpoints.values().filter(|endpoint| endpoint.kind == kind && endpoint.name == name).cloned().collect()
    }

    /// Returns all endpoints of that kind.
    #[must_use]
    pub fn endpoints_of(&self, kind: EndpointKind) -> Vec<Endpoint> {
        self.lock().endpoints.values().filter(|endpoint| endpoint.kind == kind).cloned().collect()
    }

    /// Returns true if ends are connected only where the offered quality of service meets the demanded one.
    #[must_use]
    pub fn matches_qos(&self) -> bool {
        self.matching == Matching::ByName
    }

    /// Returns the part of a type that ends must have in common to be connected.
    #[must_use]
    pub fn type_key(&self, type_name: &TypeName) -> String {
        match (self.matching, &type_name.hash) {
            (Matching::ByName, _) => type_name.to_string(),
            (Matching::ByHash, None) => format!("{type_name} without hash"),
            (Matching::ByHash, Some(hash)) => format!("{type_name} {hash}"),
        }
    }

    /// Returns the topics that nodes of this process share without the middleware.
    pub(crate) const fn local_topics(&self) -> &Arc<LocalTopics> {
        &self.local_topics
    }

    /// Returns a future that resolves with the next change after this call.
    pub(crate) fn next_change(&self) -> Waiting {
        self.lock().waiters.wait()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves no entry half changed: only moves of values happen there.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes changes that enter no end of this process, see [`change_of`](Self::change_of).
    fn change<C>(&self, make: impl FnOnce(&mut State) -> C)
    where
        C: IntoIterator<Item = Option<GraphChange>>,
    {
        self.change_of(Whose::Others, make);
    }

    /// Changes the graph by `make`, which returns the changes. Then releases the lock, notifies watchers, and logs
    /// mismatches of the endpoints that came. These are of the process `whose`.
    fn change_of<C>(&self, whose: Whose, make: impl FnOnce(&mut State) -> C)
    where
        C: IntoIterator<Item = Option<GraphChange>>,
    {
        let mut state = self.lock();
        let changes: Vec<_> = make(&mut state).into_iter().flatten().collect();
        if changes.is_empty() {
            return;
        }
        let told = changes::tell(&mut state.watchers, &changes);
        let departed = departure::tell(&mut state.departures, &changes);
        let mismatches = self.mismatches(&state, whose, &changes);
        let waiters = state.waiters.take();
        drop(state);
        told.notify();
        for notifier in departed {
            notifier.notify();
        }
        waiters.wake();
        for mismatch in mismatches {
            self.complaints.tell(mismatch.matter, &mismatch.text);
        }
    }
}

impl Graph {
    /// Returns the mismatches between endpoints that came and all others. At least one of the two is of this process.
    fn mismatches(&self, state: &State, whose: Whose, changes: &[GraphChange]) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        for change in changes {
            let GraphChange::EndpointCame(endpoint) = change else { continue };
            // The map has entries of this process first. Two entries of other processes are not compared with each
            // other.
            let others = state.endpoints.iter().take_while(|(id, _)| whose == Whose::Ours || matches!(id, Id::Ours(_)));
            for (id, other) in others {
                let both_ours = whose == Whose::Ours && matches!(id, Id::Ours(_));
                mismatches.extend(mismatch::find(endpoint, other, self.matching, both_ours));
            }
        }
        mismatches
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let nodes = state.nodes.len();
        let endpoints = state.endpoints.len();
        f.debug_struct("Graph").field("nodes", &nodes).field("endpoints", &endpoints).finish_non_exhaustive()
    }
}

/// An entry of this process. Dropping it removes the entry.
pub(crate) struct Presence {
    graph: Arc<Graph>,
    id: Id,
}

impl Drop for Presence {
    fn drop(&mut self) {
        // The id is that of an endpoint or of a node.
        self.graph.change(|state| [state.endpoint_went(&self.id), state.node_went(&self.id)]);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    fn endpoint(kind: EndpointKind, name: &str) -> Endpoint {
        Endpoint::new(kind, name, "std_msgs/msg/String")
    }

    #[test]
    fn a_node_is_there_as_long_as_one_of_its_name() {
        let graph = Graph::new();
        graph.node_came(b"1", "/arm");
        graph.node_came(b"1", "/arm");
        graph.node_came(b"2", "/arm");
        let ours = graph.enter_node("/leg".to_owned());
        assert_eq!(graph.node_names(), ["/arm", "/leg"]);
        graph.node_went(b"1");
        graph.node_went(b"1");
        assert_eq!(graph.node_names(), ["/arm", "/leg"]);
        graph.node_went(b"2");
        drop(ours);
        assert_eq!(graph.node_names(), [""; 0]);
        graph.node_came(b"3", "/arm");
        graph.node_came(b"3", "/hand");
        assert_eq!(graph.node_names(), ["/hand"]);
    }

    #[test]
    fn a_participant_that_goes_takes_its_nodes_and_endpoints_along() {
        let graph = Graph::new();
        let ours = graph.enter_endpoint(endpoint(EndpointKind::Publisher, "/a"));
        graph.node_came(b"ab1", "/arm");
        graph.endpoint_came(b"ab2", endpoint(EndpointKind::Publisher, "/a"));
        graph.endpoint_came(b"ac1", endpoint(EndpointKind::Publisher, "/a"));
        graph.endpoint_belongs_to(b"ac1", "/leg");
        graph.endpoint_belongs_to(b"ad1", "/nobody");
        assert_eq!(graph.count(EndpointKind::Publisher, "/a"), 3);
        graph.all_went(b"ab");
        assert_eq!((graph.node_names().len(), graph.count(EndpointKind::Publisher, "/a")), (0, 2));
        drop(ours);
        assert_eq!(graph.endpoints(EndpointKind::Publisher, "/a")[0].node.as_deref(), Some("/leg"));
    }

    #[test]
    fn a_waiting_future_is_woken_by_changes_only() {
        let graph = Graph::new();
        graph.endpoint_came(b"1", endpoint(EndpointKind::Server, "/a"));
        let mut changed = pin!(graph.next_change());
        let mut has_changed = || changed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        graph.endpoint_came(b"1", Endpoint { node: Some("/arm".to_owned()), ..endpoint(EndpointKind::Server, "/a") });
        graph.endpoint_went(b"2");
        assert!(!has_changed());
        drop(graph.next_change());
        graph.endpoint_went(b"1");
        assert!(has_changed());
        assert!(graph.lock().waiters.is_empty());
        let mut told = pin!(graph.next_change());
        graph.set_complete_programs(1);
        assert!(told.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        assert_eq!(graph.complete_programs(), 1);
    }
}
