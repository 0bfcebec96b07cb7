//! Publishers.
//!
//! A message that finds no room in time is dropped, because a publisher that is blocked by a stuck subscription is
//! worse. Publishers that are reliable and keep all have a queue of their own, because waiting inside Zenoh holds the
//! lock of its queue. Zenoh has one limit for each session, so publishers of best effort wait as long as reliable ones.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rospin_node::{
    Awaited, Complaints, Durability, EndEvents, EndpointKind, FullName, History, Liveliness, Matches, PublishError,
    PublisherEnd, Qos, Refused, Reliability, TypeName,
};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::matching::MatchingStatus;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::sample::Locality;
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use crate::attachment::{Attachment, Gid};
use crate::matches::Matched;
use crate::names::{Endpoint, ZenohNode, refused};
use crate::session::Session;
use crate::spare::Spare;

/// Number of messages or requests that are kept where the quality of service has no limit, so that memory is bounded.
pub(crate) const KEEP_ALL: usize = 8192;

/// Period of the heartbeats of a transient local, reliable publisher, which tell the number of its last message. It
/// sends none while there is no new message.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// Publisher of messages.
pub(crate) struct ZenohPublisher {
    topic: String,
    gid: Gid,
    /// True if subscriptions that are created later get messages that are published now.
    latched: bool,
    is_reliable: bool,
    /// True while Zenoh knows of a subscriber in another process, of ROS or not.
    has_subscribers: Arc<AtomicBool>,
    session: Session,
    /// Output, which is locked while a message is sent, so that messages leave in the order of their numbers:
    /// subscriptions take gaps for losses.
    output: Mutex<Output>,
    spare: Arc<Spare>,
    // The first field with an effect when it is dropped: the publisher leaves the graph.
    _token: LivelinessToken,
    matched: Matched,
}

struct Output {
    /// Number of the last message.
    last: i64,
    publisher: AdvancedPublisher<'static>,
}

impl ZenohPublisher {
    pub(crate) fn new(
        node: &ZenohNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Self, Refused> {
        let session = &node.session;
        let reliable = qos.reliability == Reliability::Reliable;
        let latched = qos.durability == Durability::TransientLocal;
        let endpoint = Endpoint::new(node, EndpointKind::Publisher, topic, message_type, qos)?;
        if let Some(unknown) = unknown_to_others(qos) {
            let text = format!(
                "topic `{topic}` has a publisher with a {unknown}, of which subscriptions in other processes learn \
                 nothing over Zenoh"
            );
            Complaints::default().tell("quality of service", &text);
        }
        // As in `rmw_zenoh_cpp`, a publisher waits for as long as the connection lives only if it is reliable and keeps
        // all. The others wait for as long as the session's options say, then drop.
        let waits = reliable && qos.history == History::KeepAll;
        let congestion = if waits { CongestionControl::Block } else { CongestionControl::Drop };
        // A publisher that waits holds the lock of the connection's queue of its priority. The other publishers use
        // another priority, so that they do not wait for that lock.
        let priority = if waits { Priority::DataHigh } else { Priority::Data };
        let reliability =
            if reliable { zenoh::qos::Reliability::Reliable } else { zenoh::qos::Reliability::BestEffort };
        let builder = session.zenoh().declare_publisher(endpoint.key.clone());
        let builder = builder.congestion_control(congestion).priority(priority).reliability(reliability);
        // Messages between nodes of one session are delivered without Zenoh.
        let mut builder = builder.allowed_destination(Locality::Remote).advanced();
        if latched {
            let cache = CacheConfig::default().max_samples(qos.depth().unwrap_or(KEEP_ALL));
            builder = builder.publisher_detection().cache(cache);
            if reliable {
                builder = builder.sample_miss_detection(MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT));
            }
        }
        let publisher = builder.wait().map_err(refused)?;
        let has_subscribers = Arc::new(AtomicBool::new(true));
        let noted = Arc::clone(&has_subscribers);
        let note = move |status: MatchingStatus| noted.store(status.matching(), Ordering::Release);
        publisher.matching_listener().callback(note).background().wait().map_err(refused)?;
        let status = publisher.matching_status().wait().map_err(refused)?;
        has_subscribers.store(status.matching(), Ordering::Release);
        let matched = Matched::follow_others(session, &endpoint, events);
        if latched {
            session.begins_to_publish(endpoint.gid);
        }
        Ok(Self {
            topic: topic.to_string(),
            gid: endpoint.gid,
            latched,
            is_reliable: reliable,
            has_subscribers,
            session: session.clone(),
            output: Mutex::new(Output { last: 0, publisher }),
            spare: Arc::default(),
            _token: endpoint.announce(session)?,
            matched,
        })
    }
}

/// Returns the first policy of a publisher that Zenoh does not carry out in other processes; `None` if there is none.
fn unknown_to_others(qos: &Qos) -> Option<&'static str> {
    let policies = [
        (qos.lifespan().is_some(), "lifespan"),
        (qos.liveliness == Liveliness::ManualByTopic, "manual liveliness"),
        (qos.liveliness_lease().is_some(), "lease"),
    ];
    policies.into_iter().find(|(is_set, _)| *is_set).map(|(_, name)| name)
}

impl PublisherEnd for ZenohPublisher {
    fn is_heard(&self) -> bool {
        self.latched || self.has_subscribers.load(Ordering::Acquire) || self.matched.is_any()
    }

    fn gid(&self) -> rospin_node::Gid {
        rospin_node::Gid::new(self.gid)
    }

    fn pass_over(&self) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).last += 1;
    }

    fn wait_for_room(&self, _at_most: Duration) -> Result<bool, Refused> {
        if self.is_reliable {
            return Err(Refused("Zenoh does not tell if there is room for a message".to_owned()));
        }
        Ok(true)
    }

    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        let failed =
            |reason: &dyn fmt::Display| PublishError::Failed { topic: self.topic.clone(), reason: reason.to_string() };
        // No other lock is taken under this one, and no user code runs.
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.last += 1;
        let attachment = Attachment::now(output.last, self.gid);
        output
            .publisher
            .put(self.spare.lend(payload))
            .attachment(attachment.encode())
            .wait()
            .map_err(|error| failed(&error))
    }
}

impl Drop for ZenohPublisher {
    fn drop(&mut self) {
        if self.latched {
            self.session.ends_to_publish(self.gid);
        }
    }
}

impl Matches for ZenohPublisher {
    fn count(&self) -> usize {
        self.matched.count()
    }

    fn wait(&self) -> Awaited<()> {
        self.matched.wait()
    }
}
