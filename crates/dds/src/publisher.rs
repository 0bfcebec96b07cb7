//! Publishers.

use std::sync::Arc;

use rospin_node::{
    Awaited, Durability, EndEvents, FullName, Gid, Liveliness, Matches, Outrunning, PublishError, PublisherEnd, Qos,
    Refused, TypeName,
};

use crate::cyclone::Writer;
use crate::ends::{endpoint_data, refused, topic_qos};
use crate::matches::{Bond, Ear, End};
use crate::names;
use crate::nodes::{DdsNode, Listed};

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
        let qos = topic_qos(qos, &user_data);
        let ear = Ear::new(&bond, End::FirstWriter);
        let writer = Writer::create(domain.participant(), &name, &dds_type, &qos, &ear).map_err(refused)?;
        bond.writes(writer.probe());
        let listed = node.list(&[], &[writer.guid()]);
        Ok(Self { topic: topic.to_string(), _listed: listed, writer, bond, latched, is_manual, outrunning })
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

    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
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
