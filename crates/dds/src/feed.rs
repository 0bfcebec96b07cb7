//! The graph, and the list of all readers and writers, from discovery.
//!
//! The library calls the feed on its threads. Readers and writers of this process's own participant are left out of the
//! graph, because the crate `rospin-node` enters the endpoints of this process.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rospin_node::{Complaints, Graph};
use rospin_wire::cdr::from_payload;
use serde::{Deserialize, Serialize};

use crate::cyclone::{Discover, Found, Guid, Handle, Receive, Sample};
use crate::entries::{self, Change, Changes, Prefix, prefix_of};
use crate::form::{self, Form};
use crate::names::End;
use crate::user_data::{self, Pair};

/// Reader or writer of any process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Peer {
    pub(crate) guid: Guid,
    /// Pair of ends that it belongs to, if its user data names one.
    pub(crate) pair: Option<Pair>,
    /// True if it is a server that reads requests of both forms.
    pub(crate) reads_both_forms: bool,
}

impl Peer {
    /// Returns the form of its requests and responses. Cyclone DDS has no other way than a header; neither has an
    /// implementation that names a pair, because no other mapping has pairs.
    pub(crate) fn form(&self) -> Form {
        if self.reads_both_forms {
            Form::Both
        } else if self.pair.is_some() {
            Form::Header
        } else {
            form::of_vendor(&self.guid)
        }
    }
}

/// Receiver of discovery that enters other processes into the graph.
#[derive(Default)]
pub(crate) struct Feed {
    pub(crate) graph: Arc<Graph>,
    state: Mutex<State>,
    complaints: Complaints,
}

#[derive(Default)]
struct State {
    /// Participant of this process.
    own: Option<Prefix>,
    /// Participants that exist, each with its nodes.
    participants: BTreeMap<Prefix, ListedNodes>,
    peers: BTreeMap<Handle, Arc<Peer>>,
    /// Readers and writers that discovery knows.
    known: HashSet<Guid>,
    /// Number of participants of which everything is known that they list, as the graph has it.
    complete: usize,
    changes: Changes,
}

/// Nodes of a participant, as its last message lists them.
#[derive(Clone, Default)]
struct ListedNodes {
    nodes: BTreeSet<String>,
    /// Node of each reader and writer.
    owners: BTreeMap<Guid, String>,
    /// Number of the listed readers and writers that discovery does not know yet; `None` before the first message.
    missing: Option<usize>,
}

impl State {
    /// Notes that discovery knows a reader or writer, or does not know it any more.
    fn set_known(&mut self, guid: &Guid, is_known: bool) {
        let is_changed = if is_known { self.known.insert(*guid) } else { self.known.remove(guid) };
        if !is_changed {
            return;
        }
        if let Some(listed) = self.participants.get_mut(&prefix_of(guid))
            && let Some(missing) = &mut listed.missing
            && listed.owners.contains_key(guid)
        {
            *missing = if is_known { *missing - 1 } else { *missing + 1 };
        }
    }

    /// Tells the graph, behind the changes that wait, if another number of participants is known completely now.
    fn count_complete(&mut self) {
        let is_complete =
            |(prefix, listed): &(&Prefix, &ListedNodes)| listed.missing == Some(0) && self.own != Some(**prefix);
        let count = self.participants.iter().filter(is_complete).count();
        if std::mem::replace(&mut self.complete, count) != count {
            self.changes.push(Change::CompletePrograms { count });
        }
    }
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Code under this lock leaves nothing half done, so its poison is ignored.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the changes of the graph that wait, without the lock. If another thread makes them already, it makes
    /// these, too.
    fn make_changes<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        state.count_complete();
        if !state.changes.take_turn() {
            return;
        }
        while let Some(change) = state.changes.next() {
            drop(state);
            change.make(&self.graph);
            state = self.lock();
        }
    }

    /// Notes that a participant is this process's own.
    pub(crate) fn set_own_participant(&self, participant: &Guid) {
        self.lock().own = Some(prefix_of(participant));
    }

    /// Returns the reader or writer of that handle; `None` if discovery does not know it at this moment.
    pub(crate) fn peer(&self, handle: Handle) -> Option<Arc<Peer>> {
        self.lock().peers.get(&handle).cloned()
    }

    /// Returns the readers and writers among `handles` that discovery knows at this moment.
    pub(crate) fn peers<'a>(&self, handles: impl IntoIterator<Item = &'a Handle>) -> Vec<Arc<Peer>> {
        let state = self.lock();
        handles.into_iter().filter_map(|handle| state.peers.get(handle).cloned()).collect()
    }

    /// Logs a complaint, unless it was logged before.
    pub(crate) fn tell(&self, complaint: &str) {
        self.complaints.tell(complaint, complaint);
    }

    /// Enters the nodes that a participant has now, by its own message. Messages about another
    /// participant than their sender, about this one, and about those that discovery does not know are ignored.
    pub(crate) fn enter_nodes(&self, writer: &Guid, message: ParticipantEntitiesInfo) {
        let prefix = prefix_of(writer);
        if prefix_of(&message.gid) != prefix {
            return;
        }
        let mut listed = ListedNodes::default();
        for node in message.nodes {
            let name = format!("{}/{}", node.namespace.trim_end_matches('/'), node.name);
            let ends = node.readers.into_iter().chain(node.writers);
            listed.owners.extend(ends.map(|id| (id, name.clone())));
            listed.nodes.insert(name);
        }
        let mut state = self.lock();
        if state.own == Some(prefix) {
            return;
        }
        listed.missing = Some(listed.owners.keys().filter(|end| !state.known.contains(*end)).count());
        // Messages of a participant that has gone are ignored.
        let Some(entry) = state.participants.get_mut(&prefix) else { return };
        let before = std::mem::replace(entry, listed);
        let now = entry.clone();
        let id = |name: &str| [&prefix, name.as_bytes()].concat();
        for name in now.nodes.difference(&before.nodes) {
            state.changes.push(Change::NodeCame { id: id(name), name: name.clone() });
        }
        for name in before.nodes.difference(&now.nodes) {
            state.changes.push(Change::NodeWent { id: id(name) });
        }
        for (id, node) in now.owners.into_iter().filter(|(end, name)| before.owners.get(end) != Some(name)) {
            state.changes.push(Change::EndpointBelongsTo { id, node });
        }
        self.make_changes(state);
    }
}

impl Discover for Feed {
    fn came(&self, found: &Found<'_>) {
        let end = if found.is_writer { End::Writers } else { End::Readers };
        let peer = Peer {
            guid: found.guid,
            pair: user_data::pair(found.user_data),
            reads_both_forms: user_data::reads_both_forms(found.user_data),
        };
        let prefix = prefix_of(&found.guid);
        let mut state = self.lock();
        state.peers.insert(found.handle, Arc::new(peer));
        state.set_known(&found.guid, true);
        let is_own = state.own == Some(prefix);
        let owner = state.participants.get(&prefix).map(|listed| listed.owners.get(&found.guid).cloned());
        // Readers and writers of a participant that has gone are ignored.
        if let (Some(node), false) = (owner, is_own)
            && let Some(endpoint) = entries::endpoint(found, end, node)
        {
            state.changes.push(Change::EndpointCame { id: found.guid, endpoint: Box::new(endpoint) });
        }
        self.make_changes(state);
    }

    fn went(&self, guid: Guid, handle: Handle) {
        let mut state = self.lock();
        state.peers.remove(&handle);
        state.set_known(&guid, false);
        state.changes.push(Change::EndpointWent { id: guid });
        self.make_changes(state);
    }

    fn participant(&self, guid: Guid, is_alive: bool) {
        let prefix = prefix_of(&guid);
        let mut state = self.lock();
        if is_alive {
            state.participants.entry(prefix).or_default();
            return;
        }
        state.participants.remove(&prefix);
        state.peers.retain(|_, peer| prefix_of(&peer.guid) != prefix);
        state.known.retain(|guid| prefix_of(guid) != prefix);
        state.changes.push(Change::AllWent { prefix });
        self.make_changes(state);
    }
}

/// `rmw_dds_common/msg/ParticipantEntitiesInfo`: the nodes of a participant. Ids have 16 bytes from ROS 2 Iron on.
#[derive(Serialize, Deserialize)]
pub(crate) struct ParticipantEntitiesInfo<Id = Guid> {
    pub(crate) gid: Id,
    pub(crate) nodes: Vec<NodeEntitiesInfo<Id>>,
}

/// `rmw_dds_common/msg/NodeEntitiesInfo`: a node, with the ids of its readers and writers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct NodeEntitiesInfo<Id = Guid> {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) readers: Vec<Id>,
    pub(crate) writers: Vec<Id>,
}

/// Id in messages of ROS 2 Humble, whose last eight bytes are zero.
type HumbleId = [u8; 24];

/// Decodes the nodes of a participant in either form; `None` if the payload is of neither. In the form of Humble, the
/// eight bytes behind the participant's id are zero. In the other form the number of nodes is there: zero only if
/// nothing follows.
pub(crate) fn decode(payload: &[u8]) -> Option<ParticipantEntitiesInfo> {
    const IDS_END: std::ops::Range<usize> = 20..28;
    if payload.get(IDS_END).is_none_or(|end| end != [0; 8]) {
        return from_payload(payload).ok();
    }
    let humble: ParticipantEntitiesInfo<HumbleId> = from_payload(payload).ok()?;
    let short = |id: &HumbleId| -> Guid { std::array::from_fn(|at| id[at]) };
    let nodes = humble.nodes.into_iter().map(|node| NodeEntitiesInfo {
        namespace: node.namespace,
        name: node.name,
        readers: node.readers.iter().map(short).collect(),
        writers: node.writers.iter().map(short).collect(),
    });
    Some(ParticipantEntitiesInfo { gid: short(&humble.gid), nodes: nodes.collect() })
}

/// Receiver of other participants' nodes, on the topic `ros_discovery_info`.
pub(crate) struct Nodes(pub(crate) Arc<Feed>);

impl Receive for Nodes {
    fn arrived(&self, sample: Sample, writer: Handle, _id: &Guid, _lifespan: Option<Duration>) {
        // A message that cannot be decoded is ignored: there is no subscription to count it.
        let Some(message) = decode(sample.bytes()) else { return };
        if let Some(peer) = self.0.peer(writer) {
            self.0.enter_nodes(&peer.guid, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use rospin_node::EndpointKind;
    use rospin_wire::cdr::to_payload;

    use super::*;
    use crate::cyclone::Times;

    fn id(participant: u8, end: u8) -> Guid {
        let mut id = [participant; 16];
        (id[14], id[15]) = (end, 0x04);
        id
    }

    fn says(feed: &Feed, writer: u8, participant: u8, nodes: &[&str]) {
        let node = |name: &&str| NodeEntitiesInfo {
            namespace: "/robot".to_owned(),
            name: (*name).to_owned(),
            readers: vec![id(participant, 1)],
            writers: Vec::new(),
        };
        let message = ParticipantEntitiesInfo { gid: id(participant, 0), nodes: nodes.iter().map(node).collect() };
        feed.enter_nodes(&id(writer, 9), message);
    }

    fn found<'a>(guid: Guid, topic: &'a str, is_writer: bool, user_data: &'a [u8]) -> Found<'a> {
        Found {
            handle: u64::from_le_bytes(std::array::from_fn(|at| guid[8 + at])),
            guid,
            is_writer,
            topic,
            type_name: "std_msgs::msg::dds_::String_",
            is_reliable: true,
            durability: 1,
            depth: 7,
            times: Times::default(),
            user_data,
        }
    }

    fn names(feed: &Feed) -> Vec<String> {
        feed.graph.node_names()
    }

    /// Runs both at the same time, on two threads.
    fn at_once(one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
        let both = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                both.wait();
                one();
            });
            both.wait();
            other();
        });
    }

    #[test]
    fn an_endpoint_and_its_owner_arrive_on_two_threads() {
        for round in 0..2_000 {
            let feed = Feed::default();
            feed.participant(id(1, 0), true);
            let chatter = found(id(1, 1), "rt/chatter", true, b"");
            at_once(|| feed.came(&chatter), || says(&feed, 1, 1, &["arm"]));
            let publishers = feed.graph.endpoints(EndpointKind::Publisher, "/chatter");
            assert_eq!(publishers[0].node.as_deref(), Some("/robot/arm"), "round {round}");
        }
    }

    #[test]
    fn a_participant_goes_while_its_nodes_and_endpoints_come() {
        for round in 0..2_000 {
            let feed = Feed::default();
            feed.participant(id(1, 0), true);
            let chatter = found(id(1, 1), "rt/chatter", true, b"");
            let speaks = || {
                feed.came(&chatter);
                says(&feed, 1, 1, &["arm"]);
            };
            at_once(speaks, || feed.participant(id(1, 0), false));
            assert_eq!(names(&feed), [""; 0], "round {round}");
            assert!(format!("{:?}", feed.graph).contains("endpoints: 0"), "round {round}: {:?}", feed.graph);
        }
    }

    #[test]
    fn the_latest_word_counts() {
        let feed = Feed::default();
        feed.participant(id(1, 0), true);
        feed.participant(id(2, 0), true);
        says(&feed, 1, 1, &["arm", "leg"]);
        says(&feed, 2, 2, &["arm"]);
        assert_eq!(names(&feed), ["/robot/arm", "/robot/leg"]);
        says(&feed, 1, 1, &["hand"]);
        assert_eq!(names(&feed), ["/robot/arm", "/robot/hand"]);
        says(&feed, 2, 2, &[]);
        assert_eq!(names(&feed), ["/robot/hand"]);
    }

    #[test]
    fn a_participant_is_complete_once_all_that_it_lists_is_known() {
        let feed = Feed::default();
        feed.set_own_participant(&id(7, 0));
        feed.participant(id(7, 0), true);
        feed.participant(id(1, 0), true);
        feed.participant(id(2, 0), true);
        let complete = || feed.graph.complete_programs();
        feed.came(&found(id(7, 1), "rt/own", true, b""));
        feed.came(&found(id(1, 1), "rt/chatter", true, b""));
        assert_eq!(complete(), 0);
        says(&feed, 1, 1, &["arm", "leg"]);
        assert_eq!(complete(), 1);
        says(&feed, 2, 2, &["hand"]);
        assert_eq!(complete(), 1);
        feed.came(&found(id(2, 1), "rt/chatter", true, b""));
        feed.came(&found(id(2, 1), "rt/chatter", true, b""));
        assert_eq!(complete(), 2);
        feed.went(id(2, 1), 0);
        assert_eq!(complete(), 1);
        says(&feed, 2, 2, &[]);
        assert_eq!(complete(), 2);
        feed.participant(id(1, 0), false);
        assert_eq!(complete(), 1);
    }

    #[test]
    fn a_participant_that_speaks_for_others_or_after_its_end_is_ignored() {
        let feed = Feed::default();
        feed.set_own_participant(&id(7, 0));
        feed.participant(id(7, 0), true);
        feed.participant(id(1, 0), true);
        says(&feed, 7, 7, &["own"]);
        says(&feed, 1, 2, &["other"]);
        assert_eq!(names(&feed), [""; 0]);
        says(&feed, 1, 1, &["arm"]);
        assert_eq!(names(&feed), ["/robot/arm"]);
        feed.participant(id(1, 0), false);
        says(&feed, 1, 1, &["late"]);
        feed.came(&found(id(1, 1), "rt/late", true, b""));
        assert_eq!(names(&feed), [""; 0]);
        assert!(format!("{:?}", feed.graph).contains("endpoints: 0"), "{:?}", feed.graph);
        feed.participant(id(1, 0), true);
        says(&feed, 1, 1, &["back"]);
        assert_eq!(names(&feed), ["/robot/back"]);
    }

    #[test]
    fn nodes_of_humble_are_known_by_their_longer_ids() {
        let node = |name: &str| NodeEntitiesInfo {
            namespace: "/robot".to_owned(),
            name: name.to_owned(),
            readers: vec![id(1, 1)],
            writers: vec![id(1, 2), id(1, 3)],
        };
        let longer = |id: &Guid| -> HumbleId { std::array::from_fn(|at| id.get(at).copied().unwrap_or_default()) };
        for nodes in [vec![], vec![node("arm")], vec![node("arm"), node("leg")]] {
            let message = ParticipantEntitiesInfo { gid: id(1, 0), nodes: nodes.clone() };
            let humble = ParticipantEntitiesInfo {
                gid: longer(&message.gid),
                nodes: nodes
                    .iter()
                    .map(|node| NodeEntitiesInfo {
                        namespace: node.namespace.clone(),
                        name: node.name.clone(),
                        readers: node.readers.iter().map(longer).collect(),
                        writers: node.writers.iter().map(longer).collect(),
                    })
                    .collect(),
            };
            for payload in [to_payload(&message).unwrap(), to_payload(&humble).unwrap()] {
                let decoded = decode(&payload).unwrap();
                assert_eq!(to_payload(&decoded).unwrap(), to_payload(&message).unwrap());
            }
        }
    }

    #[test]
    fn cyclone_and_ends_with_pairs_use_headers() {
        let feed = Feed::default();
        let of = |vendor: u8, user_data: &[u8]| {
            let mut guid = id(vendor, 1);
            guid[0] = 1;
            feed.came(&found(guid, "rq/addRequest", true, user_data));
            feed.peer(found(guid, "", true, b"").handle).unwrap().form()
        };
        assert_eq!(of(16, b""), Form::Header);
        assert_eq!(of(18, b"clientid=1.2;"), Form::Header);
        assert_eq!(of(16, b"serviceid=1.2;rospin_forms=1;"), Form::Both);
        assert_eq!(of(15, b"typehash=RIHS01_df66;"), Form::Identity);
    }
}
