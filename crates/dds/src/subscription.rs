//! Subscriptions: messages as a source.

use std::sync::Arc;

use bytes::Bytes;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{FullName, Qos, Refused, TypeName};

use crate::cyclone::{Handle, Reader, Receive, Sample};
use crate::ends::{endpoint_data, entity_qos, refused};
use crate::inbox::{Delivery, Inbox};
use crate::matches::{Bond, Ear, End, Matched};
use crate::names;
use crate::nodes::{DdsNode, Listed};

/// The messages of a subscription.
pub(crate) struct DdsMessages {
    // First out of the graph, then deaf, and only then is counted what was left.
    _listed: Listed,
    _reader: Reader<Ear>,
    inbox: Inbox<Sample>,
}

impl Receive for Delivery<Sample> {
    fn arrived(&self, sample: Sample, writer: Handle) {
        self.note(&sample, writer);
        self.push(sample);
    }
}

/// Subscribes.
pub(crate) fn subscribe(
    node: &DdsNode,
    topic: &FullName,
    message_type: &TypeName,
    qos: &Qos,
) -> Result<(DdsMessages, Matched), Refused> {
    let domain = &node.domain;
    let label = format!("a subscription to topic `{topic}`");
    let bond = Bond::of_topic(label, domain.feed(), domain.watch());
    let user_data = endpoint_data(None, message_type);
    let (name, dds_type) = (names::topic(topic), names::dds_type(message_type, ""));
    let (inbox, delivery) = Inbox::new(qos);
    let ear = Ear::new(&bond, End::FirstReader);
    let qos = entity_qos(qos, &user_data);
    let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, delivery).map_err(refused)?;
    let listed = node.list(&[reader.guid()], &[]);
    Ok((DdsMessages { _listed: listed, _reader: reader, inbox }, Matched(Arc::clone(&bond))))
}

impl Source for DdsMessages {
    type Item = Bytes;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Bytes>, TakeError> {
        Ok(self.inbox.pop().map(Bytes::from_owner))
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}
