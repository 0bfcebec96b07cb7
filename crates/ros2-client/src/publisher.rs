//! Publishers.

use ros2_client::WriteError;
use rospin_node::{Awaited, FullName, Matches, PublishError, PublisherEnd, Qos, Refused, TypeName};

use crate::matches::Matched;
use crate::names;
use crate::node::DdsNode;
use crate::participant::End;
use crate::raw::Raw;

/// A publisher of a DDS topic.
pub(crate) struct DdsPublisher {
    topic: String,
    publisher: ros2_client::Publisher<Raw>,
    matched: Matched,
}

impl DdsPublisher {
    pub(crate) fn new(node: &DdsNode, topic: &FullName, message_type: &TypeName, qos: &Qos) -> Result<Self, Refused> {
        let dds_name = names::topic(topic);
        let (publisher, matched) = node.create(&dds_name, End::Writers, qos, |place| {
            let dds_topic = place.topic(dds_name.clone(), names::dds_type(message_type, ""))?;
            let publish = || place.node.create_publisher(&dds_topic, Some(place.qos));
            place.participant.matches.register(publish, |publisher| publisher.guid())
        })?;
        Ok(Self { topic: topic.to_string(), publisher, matched })
    }
}

impl PublisherEnd for DdsPublisher {
    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        self.publisher.publish(std::mem::take(payload).into()).map_err(|error| {
            let topic = self.topic.clone();
            match error.forget_data() {
                WriteError::WouldBlock { .. } => PublishError::Full { topic },
                error => PublishError::Failed { topic, reason: error.to_string() },
            }
        })
    }
}

impl Matches for DdsPublisher {
    fn count(&self) -> usize {
        self.matched.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.matched.wait())
    }
}
