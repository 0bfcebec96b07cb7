//! The messages of a topic.

use std::marker::PhantomData;
use std::task::{Context as TaskContext, Poll, ready};

use bytes::Bytes;
use ros2_client::ReadError;
use rospin_node::{Durability, FullName, Qos, Refused, TypeName};

use crate::gaps::Gaps;
use crate::matches::Matched;
use crate::names;
use crate::node::DdsNode;
use crate::participant::End;
use crate::raw::Raw;
use crate::reader::{Read, Reader, poll_sample};

/// The messages of a DDS topic.
pub(crate) struct DdsMessages {
    subscription: ros2_client::Subscription<Raw>,
    gaps: Gaps,
}

impl Read for DdsMessages {
    type Item = Bytes;

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Bytes>, ReadError>> {
        let sample = ready!(poll_sample(&self.subscription, PhantomData, cx));
        self.gaps.note(&sample);
        Poll::Ready(sample.map(|(Raw(payload), _)| Some(payload)))
    }

    fn forget(&mut self) {
        self.gaps = Gaps::default();
    }

    fn missed(&mut self) -> u64 {
        self.gaps.take()
    }
}

/// Subscribes.
pub(crate) fn subscribe(
    node: &DdsNode,
    topic: &FullName,
    message_type: &TypeName,
    qos: &Qos,
) -> Result<(Reader<DdsMessages>, Matched), Refused> {
    let dds_name = names::topic(topic);
    let (subscription, matched) = node.create(&dds_name, End::Readers, qos, |place| {
        let dds_topic = place.topic(dds_name.clone(), names::dds_type(message_type, ""))?;
        let subscribe = || place.node.create_subscription(&dds_topic, Some(place.qos));
        place.participant.matches.register(subscribe, |subscription| subscription.guid())
    })?;
    let messages = DdsMessages { subscription, gaps: Gaps::default() };
    let reader = Reader::new(messages, qos.depth());
    Ok(match qos.durability {
        Durability::Volatile => (reader.skip_old(), matched),
        Durability::TransientLocal => (reader, matched),
    })
}
