//! Nodes as DDS participants know them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ros2_client::dds::rustdds::policy::ResourceLimits;
use ros2_client::dds::rustdds::{QosPolicies, QosPolicyBuilder, Topic, TopicKind};
use ros2_client::qos::{self, WhenFull};
use ros2_client::{CreateError, NodeName, QosProfile};
use rospin_node::{Durability, Qos, Refused, Reliability};

use crate::domain::Domain;
use crate::participant::{End, Participant};

/// How much is kept where the quality of service has no limit: as much as a writer of RustDDS keeps.
const KEEP_ALL: i32 = 8192;

/// A node as each participant knows it that has an entity of it.
pub(crate) struct DdsNode {
    name: NodeName,
    nodes: Mutex<Nodes>,
    // After the nodes, which say goodbye through it.
    domain: Domain,
}

struct Nodes {
    at: BTreeMap<usize, ros2_client::Node>,
    /// Without an entity, it is in the first participant only for others to see it.
    is_empty: bool,
}

/// A node without what the middleware would serve from a spinner of its own, which would take discovery's events from ours.
fn announce(participant: &Participant, name: &NodeName) -> Result<ros2_client::Node, Refused> {
    let options = ros2_client::NodeOptions::new().enable_rosout(false).start_parameter_services(false);
    participant.context.new_node(name.clone(), options).map_err(refused)
}

/// Where an entity is to be created.
pub(crate) struct Place<'a> {
    pub(crate) node: &'a mut ros2_client::Node,
    pub(crate) participant: &'a Participant,
    pub(crate) qos: QosProfile,
}

impl Place<'_> {
    /// A topic of the participant's.
    pub(crate) fn topic(&self, dds_name: String, dds_type: String) -> Result<Topic, CreateError> {
        let mut qos = QosPolicies::from(&self.qos);
        if self.qos.history == qos::History::KeepAll {
            // Without a limit of ours, a reader's would be 64.
            let (max_samples, max_instances) = (KEEP_ALL, KEEP_ALL);
            let limits = ResourceLimits { max_samples, max_instances, max_samples_per_instance: max_samples };
            qos = qos.modify_by(&QosPolicyBuilder::new().resource_limits(limits).build());
        }
        let dds = self.participant.context.domain_participant();
        Ok(dds.create_topic(dds_name, dds_type, &qos, TopicKind::NoKey)?)
    }
}

impl DdsNode {
    pub(crate) fn new(domain: &Domain, name: &rospin_node::NodeName) -> Result<Self, Refused> {
        let name = NodeName::new(name.namespace(), name.base_name()).map_err(refused)?;
        let at = [(0, announce(&domain.first_participant(), &name)?)].into();
        Ok(Self { name, nodes: Mutex::new(Nodes { at, is_empty: true }), domain: domain.clone() })
    }

    pub(crate) const fn domain(&self) -> &Domain {
        &self.domain
    }

    pub(crate) fn fully_qualified_name(&self) -> String {
        self.name.fully_qualified_name()
    }

    /// Creates an entity in the participant for that end of the topic.
    pub(crate) fn create<T>(
        &self,
        topic: &str,
        end: End,
        qos: &Qos,
        create: impl FnOnce(Place<'_>) -> Result<T, CreateError>,
    ) -> Result<T, Refused> {
        let (at, participant) = self.domain.participant(topic, end).map_err(refused)?;
        // Creating an entity is all that is done under the lock; a panic there leaves the node's lists as they were.
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        let node = match nodes.at.entry(at) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(announce(&participant, &self.name)?),
        };
        let created = create(Place { node, participant: &participant, qos: profile(qos) }).map_err(refused)?;
        if std::mem::take(&mut nodes.is_empty) && at != 0 {
            // It is there twice, of which tools warn; the other one has the entity.
            nodes.at.remove(&0);
        }
        Ok(created)
    }
}

impl fmt::Debug for DdsNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DdsNode").field("name", &self.name.fully_qualified_name()).finish_non_exhaustive()
    }
}

pub(crate) fn refused(error: impl fmt::Display) -> Refused {
    Refused(error.to_string())
}

/// The quality of service in the middleware's words. A writer that is ahead of its readers by more than the middleware keeps is
/// an error at once: nothing here blocks an executor's thread.
fn profile(qos: &Qos) -> QosProfile {
    let profile = QosProfile::publisher_default().history(match qos.depth() {
        Some(depth) => qos::History::KeepLast { depth },
        None => qos::History::KeepAll,
    });
    QosProfile {
        durability: match qos.durability {
            Durability::Volatile => qos::Durability::Volatile,
            Durability::TransientLocal => qos::Durability::TransientLocal,
        },
        ..match qos.reliability {
            Reliability::Reliable => profile.reliability_reliable(WhenFull::Fail),
            Reliability::BestEffort => QosProfile { reliability: qos::Reliability::BestEffort, ..profile },
        }
    }
}
