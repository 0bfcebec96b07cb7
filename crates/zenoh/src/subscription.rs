//! Subscriptions: messages that come from other processes.

use std::time::{Duration, SystemTime};

use rospin_node::{
    Durability, EndEvents, EndpointKind, FullName, Gid, Inlet, Packet, Publication, Qos, Refused, Reliability,
    SubscriptionEnd, TypeName,
};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Locality, Sample, SampleKind};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use crate::attachment::Attachment;
use crate::gaps::Gaps;
use crate::matches::Matched;
use crate::names::{Endpoint, ZenohNode, refused};
use crate::payload::contiguous;
use crate::publisher::KEEP_ALL;
use crate::session::Session;

/// Subscription of a Zenoh key.
struct ZenohSubscription {
    // These are dropped in order: the token leaves the graph, and then the subscriber gets no more messages.
    _token: LivelinessToken,
    _subscriber: Ears,
}

/// Zenoh's subscriber. Only transient local subscriptions need the advanced kind, which costs more.
enum Ears {
    Plain { _subscriber: Subscriber<()> },
    Latched { _subscriber: AdvancedSubscriber<()> },
}

/// Creates a subscription. Returns its reader, and the publishers that it is matched with.
pub(crate) fn subscribe(
    node: &ZenohNode,
    topic: &FullName,
    message_type: &TypeName,
    qos: &Qos,
    inlet: Inlet,
    events: &EndEvents,
) -> Result<SubscriptionEnd, Refused> {
    let session = &node.session;
    let endpoint = Endpoint::new(node, EndpointKind::Subscription, topic, message_type, qos)?;
    let latched = qos.durability == Durability::TransientLocal;
    let hear = deliver(inlet, latched.then(|| session.clone()));
    // Messages between nodes of one session are delivered without Zenoh.
    let builder = session.zenoh().declare_subscriber(endpoint.key.clone());
    let builder = builder.allowed_origin(Locality::Remote).callback_mut(hear);
    let subscriber = if latched {
        let history = HistoryConfig::default().detect_late_publishers();
        let builder = builder.history(history.max_samples(qos.depth().unwrap_or(KEEP_ALL)));
        let mut builder = builder.query_timeout(Duration::from_millis(u64::MAX)).subscriber_detection();
        if qos.reliability == Reliability::Reliable {
            builder = builder.recovery(RecoveryConfig::default().heartbeat());
        }
        Ears::Latched { _subscriber: builder.wait().map_err(refused)? }
    } else {
        Ears::Plain { _subscriber: builder.wait().map_err(refused)? }
    };
    let matched = Matched::follow_others(session, &endpoint, events);
    let token = endpoint.announce(session)?;
    let reader = Box::new(ZenohSubscription { _token: token, _subscriber: subscriber });
    Ok(SubscriptionEnd { reader, matches: Box::new(matched) })
}

/// Returns the function that Zenoh's threads call with a sample. A subscription that is `latched_in` a session asks all
/// publishers for the messages that they keep. The publishers of that session itself answer, too, with messages that
/// the subscription has already.
fn deliver(inlet: Inlet, latched_in: Option<Session>) -> impl FnMut(Sample) + Send + Sync + 'static {
    let mut gaps = Gaps::default();
    move |sample| {
        if sample.kind() == SampleKind::Put {
            // Samples without an attachment come from publishers that are not of ROS 2. They are accepted, too.
            let attachment = sample.attachment().and_then(Attachment::decode);
            let is_own = |session: &Session| attachment.is_some_and(|attachment| session.publishes(attachment.source));
            if latched_in.as_ref().is_some_and(is_own) {
                return;
            }
            let missing = attachment.map_or(0, |attachment| gaps.arrived(attachment.source, attachment.number));
            inlet.push(Packet::new(contiguous(sample.payload().clone()), attachment.map(publication)), missing);
        }
    }
}

/// Returns the publication that an attachment describes.
fn publication(attachment: Attachment) -> Publication {
    let Attachment { number, sent_ns, source } = attachment;
    let time = u64::try_from(sent_ns).ok().map(|ns| SystemTime::UNIX_EPOCH + Duration::from_nanos(ns));
    Publication { publisher: Gid::new(source), number: u64::try_from(number).ok(), time }
}
