//! Publishers.

use std::fmt;

use ros2_client::WriteError;
use rospin_node::{Encode, FullName, Matches, PublishError, PublisherEnd, Qos, Refused, TypeName};

use crate::matches::Matched;
use crate::names;
use crate::node::DdsNode;
use crate::participant::End;

/// A publisher of a DDS topic.
pub struct DdsPublisher<M: Encode> {
    topic: String,
    publisher: ros2_client::Publisher<M>,
    matched: Matched,
}

impl<M: Encode> DdsPublisher<M> {
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

impl<M: Encode> PublisherEnd<M> for DdsPublisher<M> {
    fn publish(&self, message: M) -> Result<(), PublishError> {
        self.publisher.publish(message).map_err(|error| {
            let topic = self.topic.clone();
            match error.forget_data() {
                WriteError::WouldBlock { .. } => PublishError::Full { topic },
                error => PublishError::Failed { topic, reason: error.to_string() },
            }
        })
    }
}

impl<M: Encode> Matches for DdsPublisher<M> {
    fn count(&self) -> usize {
        self.matched.count()
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        self.matched.wait()
    }
}

impl<M: Encode> fmt::Debug for DdsPublisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DdsPublisher").field("topic", &self.topic).finish_non_exhaustive()
    }
}
