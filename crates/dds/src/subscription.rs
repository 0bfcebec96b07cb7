//! Subscriptions: messages that come from other processes.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rospin_node::{EndEvents, FullName, Gid, Inlet, Packet, Publication, Qos, Refused, SubscriptionEnd, TypeName};

use crate::cyclone::{Guid, Handle, Reader, Receive, Sample};
use crate::ends::{endpoint_data, refused, topic_qos};
use crate::gaps::Gaps;
use crate::matches::{Bond, Ear, End, Matched};
use crate::names;
use crate::nodes::{DdsNode, Listed};
use crate::room::{Counted, Room};

/// Subscription of a DDS topic.
struct DdsSubscription {
    // Dropped before the reader, so that the subscription leaves the graph first.
    _listed: Listed,
    _reader: Reader<Ear>,
}

/// Receiver of a subscription's messages, which leaves them in the subscription's queue.
struct Messages {
    inlet: Inlet,
    gaps: Mutex<Gaps>,
    /// The room of a subscription that keeps all.
    room: Option<Arc<Room>>,
}

impl Receive for Messages {
    fn arrived(&self, sample: Sample, writer: Handle, id: &Guid, lifespan: Option<Duration>) {
        let missing = Gaps::before(&self.gaps, &sample, writer);
        let time = sample.sent_ns().map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns));
        // DDS does not count messages that were published while no reader was matched, so its numbers are not the
        // publisher's.
        let publication = Publication { publisher: Gid::new(*id), number: None, time };
        let payload = match &self.room {
            Some(room) => Bytes::from_owner(Counted::new(sample, room)),
            None => Bytes::from_owner(sample),
        };
        let packet = Packet::new(payload, Some(publication)).with_lifespan(lifespan);
        self.inlet.push(packet, missing);
    }

    fn refuses(&self) -> bool {
        self.room.is_some()
    }

    fn has_room(&self, count: usize) -> bool {
        self.room.as_ref().is_none_or(|room| Room::is_for(room, count))
    }
}

/// Creates a subscription, which passes messages of other participants to `inlet`.
pub(crate) fn subscribe(
    node: &DdsNode,
    topic: &FullName,
    message_type: &TypeName,
    qos: &Qos,
    inlet: Inlet,
    events: &EndEvents,
) -> Result<SubscriptionEnd, Refused> {
    let domain = &node.domain;
    let label = format!("a subscription to topic `{topic}`");
    let bond = Bond::of_topic(label, domain.feed(), domain.watch(), events);
    let user_data = endpoint_data(None, message_type);
    let (name, dds_type) = (names::topic(topic), names::dds_type(message_type, ""));
    let room = inlet.keeps_all().then(|| Room::new(&inlet, domain.watch()));
    let messages = Messages { inlet, gaps: Mutex::default(), room: room.clone() };
    let ear = Ear::new(&bond, End::FirstReader);
    let qos = topic_qos(qos, &user_data);
    let reader = Reader::create(domain.participant(), &name, &dds_type, &qos, &ear, messages).map_err(refused)?;
    if let Some(room) = room {
        room.is_of(reader.probe());
    }
    let id = Gid::new(reader.guid());
    let listed = node.list(&[reader.guid()], &[]);
    let reader = Box::new(DdsSubscription { _listed: listed, _reader: reader });
    Ok(SubscriptionEnd { reader, matches: Box::new(Matched { bond: Arc::clone(&bond), id }) })
}
