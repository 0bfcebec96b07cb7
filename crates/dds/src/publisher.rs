//! Publishers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rospin_node::{
    Awaited, Durability, EndEvents, FullName, Gid, Liveliness, Matches, Outrunning, PublishError, PublisherEnd, Qos,
    Refused, Reliability, TypeName,
};

use crate::cyclone::Writer;
use crate::ends::{endpoint_data, refused, topic_qos};
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};

/// The number of bytes after which a publisher that keeps its last messages looks how many are on their way.
const LOOK_EVERY: usize = 64 << 10;
/// Number of bytes that a message counts besides its own.
const BESIDE: usize = 1280;

/// Publisher of a DDS topic.
pub(crate) struct DdsPublisher {
    topic: String,
    // Dropped before the writer, so that the publisher leaves the graph first.
    _listed: Listed,
    writer: Writer<Ear>,
    bond: Arc<Bond>,
    /// True if subscriptions that are created later get messages that are published now.
    latched: bool,
    /// True if the program gives the signs of life.
    is_manual: bool,
    outrunning: Outrunning,
    /// The longest time for which a message waits in order that earlier ones are not lost on their way; `None` if it
    /// does not wait for that.
    pace: Option<Duration>,
    /// Number of bytes since the publisher has looked at what is on its way.
    unlooked: AtomicUsize,
}

impl DdsPublisher {
    pub(crate) fn new(
        node: &DdsNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Self, Refused> {
        let domain = &node.domain;
        let label = format!("a publisher of topic `{topic}`");
        let bond = Bond::of_topic(label, domain.feed(), domain.watch(), events);
        let user_data = endpoint_data(None, message_type);
        let name = names::topic(topic);
        let dds_type = names::dds_type(message_type, "");
        let latched = qos.durability == Durability::TransientLocal;
        let is_manual = qos.liveliness == Liveliness::ManualByTopic;
        let outrunning = Outrunning::new(topic.as_str(), qos);
        // One that keeps all waits for room in its history.
        let paces = qos.reliability == Reliability::Reliable && qos.depth().is_some();
        let pace = paces.then_some(qos.max_blocking_time).filter(|pace| !pace.is_zero());
        let qos = topic_qos(qos, &user_data);
        let ear = Ear::new(&bond, End::FirstWriter);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &qos, &ear).map_err(refused)?;
        bond.writes(writer.probe());
        let listed = node.list(&[], &[writer.guid()]);
        Ok(Self {
            topic: topic.to_string(),
            _listed: listed,
            writer,
            bond,
            latched,
            is_manual,
            outrunning,
            pace,
            unlooked: AtomicUsize::new(0),
        })
    }

    /// Waits for a moment if so much is on its way to readers of this machine that more would be lost. It would be sent
    /// again, and have been overwritten by then.
    fn pace(&self, size: usize) {
        let Some(at_most) = self.pace else { return };
        let unlooked = self.unlooked.fetch_add(size + BESIDE, Ordering::Relaxed);
        if unlooked + size + BESIDE >= LOOK_EVERY {
            self.unlooked.store(0, Ordering::Relaxed);
            self.writer.pace(size, at_most);
        }
    }
}

impl PublisherEnd for DdsPublisher {
    fn is_heard(&self) -> bool {
        self.latched || self.bond.is_heard()
    }

    fn is_heard_besides(&self, known: &[Gid]) -> bool {
        self.latched || self.bond.is_heard_besides(known)
    }

    fn gid(&self) -> Gid {
        Gid::new(self.writer.guid())
    }

    fn pass_over(&self) {
        // A message is a sign of life, also if no subscription gets it.
        self.assert_liveliness();
    }

    fn assert_liveliness(&self) {
        if self.is_manual
            && let Err(error) = self.writer.assert_liveliness()
        {
            log::warn!(
                target: "rospin",
                "a publisher of topic `{}` could not give a sign of life: {error}",
                self.topic
            );
        }
    }

    fn wait_for_room(&self, at_most: Duration) -> Result<bool, Refused> {
        Ok(self.writer.wait_for_room(at_most))
    }

    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        self.pace(payload.len());
        self.writer.write(payload).map_err(|code| {
            let topic = self.topic.clone();
            if code.is_timeout() {
                PublishError::Full { topic }
            } else {
                PublishError::Failed { topic, reason: code.to_string() }
            }
        })?;
        self.outrunning.look(|| self.writer.has_overwritten());
        Ok(())
    }
}

impl Matches for DdsPublisher {
    fn count(&self) -> usize {
        self.bond.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.bond.wait())
    }
}
