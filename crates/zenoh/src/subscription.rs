//! Subscriptions: messages as a source.

use std::time::Duration;

use bytes::Bytes;
use hiroz_protocol::EndpointKind;
use rospin_engine::{Notifier, Pending, Source, TakeError};
use rospin_node::{Durability, FullName, Qos, Refused, Reliability, TypeName};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Sample, SampleKind};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use crate::attachment::Attachment;
use crate::gaps::Gaps;
use crate::inbox::{Delivery, Inbox, KEEP_ALL};
use crate::matches::Matched;
use crate::names::{Endpoint, ZenohNode, refused};
use crate::payload::contiguous;

/// The messages of a subscription.
pub(crate) struct ZenohMessages {
    // Dropped in this order: the token leaves the graph, the subscriber hears no more, and the inbox counts the messages
    // left.
    _token: LivelinessToken,
    _subscriber: Ears,
    inbox: Inbox<ZBytes>,
}

/// The subscriber on Zenoh's side. Only latched topics need the advanced kind, which costs more.
enum Ears {
    Plain { _subscriber: Subscriber<()> },
    Latched { _subscriber: AdvancedSubscriber<()> },
}

/// Creates a subscription: its messages, and the publishers that it is matched with.
pub(crate) fn subscribe(
    node: &ZenohNode,
    topic: &FullName,
    message_type: &TypeName,
    qos: &Qos,
) -> Result<(ZenohMessages, Matched), Refused> {
    let session = &node.session;
    let endpoint = Endpoint::new(node, EndpointKind::Subscription, topic, message_type, qos)?;
    let (inbox, delivery) = Inbox::new(qos);
    let builder = session.zenoh().declare_subscriber(endpoint.key.clone()).callback_mut(deliver(delivery));
    let subscriber = if qos.durability == Durability::TransientLocal {
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
    let matched = Matched::follow(session, &endpoint)?;
    let token = endpoint.announce(session)?;
    Ok((ZenohMessages { _token: token, _subscriber: subscriber, inbox }, matched))
}

/// Returns the callback that puts samples into the inbox. It runs on Zenoh's threads, and on the publisher's own thread
/// if the publisher is in the same session.
fn deliver(delivery: Delivery<ZBytes>) -> impl FnMut(Sample) + Send + Sync + 'static {
    let mut gaps = Gaps::default();
    move |sample| {
        if sample.kind() == SampleKind::Put {
            // Samples without an attachment come from publishers that are not of ROS 2. They are heard, too.
            let attachment = sample.attachment().and_then(Attachment::decode);
            let missing = attachment.map_or(0, |attachment| gaps.arrived(attachment.source, attachment.number));
            delivery.push(sample.payload().clone(), missing);
        }
    }
}

impl Source for ZenohMessages {
    type Item = Bytes;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.inbox.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Bytes>, TakeError> {
        Ok(self.inbox.pop().map(contiguous))
    }

    fn pending(&self) -> Pending {
        self.inbox.pending()
    }
}
