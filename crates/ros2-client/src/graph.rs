//! The graph as DDS tells of it: participants' readers and writers, and their nodes on the topic `ros_discovery_info`.
//!
//! One participant listens for the whole domain. What it hears of this process' own participants is left out: that is in the
//! graph already.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, ready};

use futures_core::Stream;
use ros2_client::CreateError;
use ros2_client::dds::rustdds::no_key::SimpleDataReader;
use ros2_client::dds::rustdds::policy::{self, ResourceLimits};
use ros2_client::dds::rustdds::{
    CDRDeserializerAdapter, DomainParticipant, DomainParticipantStatusEvent, EndpointDescription, GUID, LostReason,
    QosPolicies, QosPolicyBuilder, TopicKind,
};
use rospin_engine::TakeError;
use rospin_node::{Durability, Endpoint, Graph, History, Reliability};
use serde::Deserialize;

use crate::listener::Listen;
use crate::matches::Gone;
use crate::names;
use crate::participant::End;

/// The part of an id that all have of a participant.
pub(crate) type Prefix = [u8; 12];

pub(crate) fn prefix_of(id: &[u8]) -> Prefix {
    std::array::from_fn(|at| id.get(at).copied().unwrap_or_default())
}

/// How many messages about nodes are kept until they are dealt with.
const MESSAGES_MAX: i32 = 1024;

/// Enters into the graph what discovery tells of other processes.
#[derive(Default)]
pub(crate) struct Feed {
    pub(crate) graph: Arc<Graph>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// This process' own participants.
    own: BTreeSet<Prefix>,
    /// What other participants said of their nodes; an entry for each that is there.
    said: BTreeMap<Prefix, Said>,
    gone: Gone<Prefix>,
    gone_ends: Gone<GUID>,
}

/// What a participant said of its nodes.
#[derive(Clone, Default)]
struct Said {
    nodes: BTreeSet<String>,
    /// Which node has which reader or writer.
    owners: BTreeMap<[u8; 16], String>,
}

impl Feed {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What runs under the lock leaves nothing half done. Entities of one group call all of this but `own`, so that nothing
        // comes between what is noted here and what is entered into the graph.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A participant is this process' own.
    pub(crate) fn own(&self, participant: GUID) {
        self.lock().own.insert(prefix_of(&participant.to_bytes()));
    }

    /// Enters what an event says, if it says something of the graph.
    pub(crate) fn apply(&self, event: &DomainParticipantStatusEvent) {
        match event {
            DomainParticipantStatusEvent::ParticipantDiscovered { dpd } => {
                self.lock().gone.forget(prefix_of(&dpd.guid.to_bytes()));
            }
            DomainParticipantStatusEvent::ParticipantLost { id, .. } => self.participant_lost(prefix_of(id.as_ref())),
            DomainParticipantStatusEvent::WriterDetected { writer } => self.detected(End::Writers, writer),
            DomainParticipantStatusEvent::ReaderDetected { reader } => self.detected(End::Readers, reader),
            DomainParticipantStatusEvent::WriterLost { guid, reason }
            | DomainParticipantStatusEvent::ReaderLost { guid, reason } => {
                let mut state = self.lock();
                // Who was merely not heard of may be back.
                if matches!(reason, LostReason::Disposed) {
                    state.gone_ends.note(*guid);
                }
                drop(state);
                self.graph.endpoint_went(&guid.to_bytes());
            }
            _ => {}
        }
    }

    fn participant_lost(&self, prefix: Prefix) {
        let mut state = self.lock();
        state.gone.note(prefix);
        state.said.remove(&prefix);
        drop(state);
        self.graph.all_went(&prefix);
    }

    /// One thread of the middleware tells of readers and writers and another one of their end, so what is told of may have gone.
    fn detected(&self, end: End, found: &EndpointDescription) {
        let Some((kind, name)) = names::of_topic(end, &found.topic_name) else { return };
        let (id, state) = (found.guid.to_bytes(), self.lock());
        let prefix = prefix_of(&id);
        if state.own.contains(&prefix) || state.gone.has(prefix) || state.gone_ends.has(found.guid) {
            return;
        }
        let mut endpoint = Endpoint::new(kind, name, names::of_type(kind, &found.type_name));
        endpoint.type_hash = type_hash(&found.user_data);
        endpoint.node = state.said.get(&prefix).and_then(|said| said.owners.get(&id)).cloned();
        endpoint.reliability = Some(reliability(end, &found.qos));
        endpoint.durability = durability(&found.qos);
        endpoint.history = history(&found.qos);
        drop(state);
        self.graph.endpoint_came(&id, endpoint);
    }

    /// Enters what a participant says of its nodes: all that it has now. Whoever says something of another one is not believed.
    pub(crate) fn said(&self, writer: GUID, message: ParticipantEntitiesInfo) {
        let prefix = prefix_of(&writer.to_bytes());
        if prefix_of(&message.gid) != prefix {
            return;
        }
        let mut said = Said::default();
        for node in message.nodes {
            let name = format!("{}/{}", node.namespace.trim_end_matches('/'), node.name);
            let ends = node.readers.into_iter().chain(node.writers);
            said.owners.extend(ends.map(|id| (id, name.clone())));
            said.nodes.insert(name);
        }
        let mut state = self.lock();
        if state.own.contains(&prefix) || state.gone.has(prefix) {
            return;
        }
        let before = state.said.remove(&prefix).unwrap_or_default();
        let now = state.said.entry(prefix).or_insert(said).clone();
        drop(state);
        let id = |name: &str| [&prefix, name.as_bytes()].concat();
        for name in now.nodes.difference(&before.nodes) {
            self.graph.node_came(&id(name), name.as_str());
        }
        for name in before.nodes.difference(&now.nodes) {
            self.graph.node_went(&id(name));
        }
        for (end, name) in now.owners.iter().filter(|(end, name)| before.owners.get(*end) != Some(*name)) {
            self.graph.endpoint_belongs_to(end, name);
        }
    }
}

/// What ROS 2 from Iron on says of a type beside its name: `typehash=` and the hash, among settings that end in semicolons.
fn type_hash(user_data: &[u8]) -> Option<String> {
    let settings = std::str::from_utf8(user_data).ok()?;
    settings.split(';').find_map(|setting| setting.strip_prefix("typehash=")).map(str::to_owned)
}

/// What is not said on the wire is the standard's default.
fn reliability(end: End, qos: &QosPolicies) -> Reliability {
    match (qos.reliability(), end) {
        (Some(policy::Reliability::Reliable { .. }), _) | (None, End::Writers) => Reliability::Reliable,
        (Some(policy::Reliability::BestEffort), _) | (None, End::Readers) => Reliability::BestEffort,
    }
}

fn durability(qos: &QosPolicies) -> Option<Durability> {
    match qos.durability() {
        None | Some(policy::Durability::Volatile) => Some(Durability::Volatile),
        Some(policy::Durability::TransientLocal) => Some(Durability::TransientLocal),
        // What ROS does not have.
        Some(_) => None,
    }
}

/// Most implementations do not tell.
fn history(qos: &QosPolicies) -> Option<History> {
    Some(match qos.history()? {
        policy::History::KeepLast { depth } => History::KeepLast(usize::try_from(depth).ok()?),
        policy::History::KeepAll => History::KeepAll,
    })
}

/// `rmw_dds_common/msg/ParticipantEntitiesInfo` of ROS 2 from Iron on: which nodes a participant has.
#[derive(Deserialize)]
pub(crate) struct ParticipantEntitiesInfo {
    gid: [u8; 16],
    nodes: Vec<NodeEntitiesInfo>,
}

#[derive(Deserialize)]
struct NodeEntitiesInfo {
    namespace: String,
    name: String,
    readers: Vec<[u8; 16]>,
    writers: Vec<[u8; 16]>,
}

/// What others say of their nodes.
pub(crate) struct Nodes {
    reader: SimpleDataReader<ParticipantEntitiesInfo, CDRDeserializerAdapter<ParticipantEntitiesInfo>>,
    feed: Arc<Feed>,
}

impl Nodes {
    pub(crate) fn new(participant: &DomainParticipant, feed: Arc<Feed>) -> Result<Self, CreateError> {
        let limits = ResourceLimits {
            max_samples: MESSAGES_MAX,
            max_instances: MESSAGES_MAX,
            max_samples_per_instance: MESSAGES_MAX,
        };
        let qos = QosPolicyBuilder::new()
            .durability(policy::Durability::TransientLocal)
            .reliable(ros2_client::dds::rustdds::Duration::ZERO)
            // Of all participants together.
            .history(policy::History::KeepLast { depth: MESSAGES_MAX })
            .resource_limits(limits)
            .build();
        let (name, type_name) =
            ("ros_discovery_info".to_owned(), "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_".to_owned());
        let topic = participant.create_topic(name, type_name, &qos, TopicKind::NoKey)?;
        let reader = participant.create_subscriber(&qos)?.create_simple_datareader_no_key(&topic, Some(qos))?;
        Ok(Self { reader, feed })
    }
}

impl Listen for Nodes {
    const A_TAKE: usize = 16;

    fn poll_listen(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), TakeError>> {
        // The stream has no state of its own.
        let message = ready!(pin!(self.reader.as_async_stream()).poll_next(cx)).ok_or(TakeError::Closed)?;
        let message = message.map_err(|error| TakeError::Failed(Box::new(error)))?;
        let writer = message.writer_guid();
        self.feed.said(writer, message.into_value());
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(participant: u8, end: u8) -> [u8; 16] {
        let mut id = [participant; 16];
        // An entity kind that exists: a reader without key.
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
        feed.said(GUID::from_bytes(id(writer, 9)), message);
    }

    fn names(feed: &Feed) -> Vec<String> {
        feed.graph.node_names()
    }

    #[test]
    fn the_latest_word_counts() {
        let feed = Feed::default();
        says(&feed, 1, 1, &["arm", "leg"]);
        says(&feed, 2, 2, &["arm"]);
        assert_eq!(names(&feed), ["/robot/arm", "/robot/leg"]);
        says(&feed, 1, 1, &["hand"]);
        assert_eq!(names(&feed), ["/robot/arm", "/robot/hand"]);
        says(&feed, 2, 2, &[]);
        assert_eq!(names(&feed), ["/robot/hand"]);
    }

    #[test]
    fn the_hash_of_a_type_is_among_the_settings() {
        assert_eq!(type_hash(b"typehash=RIHS01_df66;").as_deref(), Some("RIHS01_df66"));
        assert_eq!(type_hash(b"enclave=/;typehash=RIHS01_df66;other=1;").as_deref(), Some("RIHS01_df66"));
        for none in [&b""[..], b"typehash", b"notypehash=1;", b"\xfftypehash=1;"] {
            assert_eq!(type_hash(none), None);
        }
    }

    #[test]
    fn who_speaks_for_others_or_after_the_end_is_not_believed() {
        let feed = Feed::default();
        feed.own(GUID::from_bytes(id(7, 0)));
        says(&feed, 7, 7, &["own"]);
        says(&feed, 1, 2, &["other"]);
        assert_eq!(names(&feed), [""; 0]);
        says(&feed, 1, 1, &["arm"]);
        assert_eq!(names(&feed), ["/robot/arm"]);
        feed.participant_lost(prefix_of(&id(1, 0)));
        says(&feed, 1, 1, &["late"]);
        assert_eq!(names(&feed), [""; 0]);
        assert!(feed.lock().said.is_empty());
        feed.lock().gone.forget(prefix_of(&id(1, 0)));
        says(&feed, 1, 1, &["back"]);
        assert_eq!(names(&feed), ["/robot/back"]);
    }
}
