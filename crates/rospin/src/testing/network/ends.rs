//! Nodes, publishers, subscriptions and clients on a simulated network.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use bytes::Bytes;
use rospin_engine::Clock;
use rospin_node::{
    Awaited, CallError, Calls, ClientEnd, Durability, EndEvents, EndpointKind, FullName, Gid, Graph, Inlet, Matches,
    Middleware, NodeEnd, NodeName, Publication, PublishError, PublisherEnd, Qos, Refused, RequestId, RequestInbox,
    RequestSource, SentRequest, SubscriptionEnd, TypeName,
};

use super::SimulatedNetwork;
use super::channel::Sample;
use super::discovery::KEEP_ALL;
use super::server::Requests;
use super::state::{End, EndId, HostId, Part, gid_of, of_type};

/// A host as the middleware of its nodes.
pub(super) struct HostMiddleware {
    pub(super) network: SimulatedNetwork,
    pub(super) host: HostId,
    pub(super) graph: Arc<Graph>,
    pub(super) clock: Clock,
}

impl Drop for HostMiddleware {
    fn drop(&mut self) {
        self.network.with(|state| state.end_host(self.host, true));
    }
}

impl Middleware for HostMiddleware {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        let maker =
            Maker { network: self.network.clone(), host: self.host, node: name.to_string(), clock: self.clock.clone() };
        let part = Part::Node;
        let end = maker.add(None, (&name.to_string(), String::new(), None), &Qos::default(), part)?;
        Ok(Box::new(HostNode { maker, _end: end }))
    }
}

/// An end that is removed from the network when this is dropped.
pub(super) struct OwnedEnd {
    pub(super) network: SimulatedNetwork,
    pub(super) id: EndId,
}

impl Drop for OwnedEnd {
    fn drop(&mut self) {
        self.network.with(|state| state.drop_end(self.id));
    }
}

/// What the ends of a node have in common.
struct Maker {
    network: SimulatedNetwork,
    host: HostId,
    node: String,
    clock: Clock,
}

impl Maker {
    fn add(
        &self,
        kind: Option<EndpointKind>,
        (name, type_name, type_hash): (&str, String, Option<String>),
        qos: &Qos,
        part: Part,
    ) -> Result<OwnedEnd, Refused> {
        let end = End {
            host: self.host,
            kind,
            name: name.to_owned(),
            type_name,
            type_hash,
            node: self.node.clone(),
            qos: *qos,
            part,
            exists: true,
            seen_by: std::collections::BTreeSet::new(),
            matched: std::collections::BTreeSet::new(),
            waiters: rospin_engine::Waiters::new(),
        };
        let id = self.network.with(|state| state.is_up(self.host).then(|| state.add(end)));
        let id = id.ok_or_else(|| Refused("its host was killed".to_owned()))?;
        Ok(OwnedEnd { network: self.network.clone(), id })
    }

    fn add_end(
        &self,
        kind: EndpointKind,
        name: &FullName,
        of: &TypeName,
        qos: &Qos,
        part: Part,
    ) -> Result<OwnedEnd, Refused> {
        let (type_name, type_hash) = of_type(of);
        self.add(Some(kind), (name.as_str(), type_name, type_hash), qos, part)
    }
}

/// A node on a host.
struct HostNode {
    maker: Maker,
    _end: OwnedEnd,
}

impl NodeEnd for HostNode {
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        let is_heard = Arc::<AtomicBool>::default();
        let part = Part::Publisher { events: events.clone(), is_heard: Arc::clone(&is_heard), kept: VecDeque::new() };
        let end = self.maker.add_end(EndpointKind::Publisher, topic, message_type, qos, part)?;
        let is_latched = qos.durability == Durability::TransientLocal;
        let (topic, clock) = (topic.to_string(), self.maker.clock.clone());
        Ok(Box::new(HostPublisher { end, topic, qos: *qos, is_latched, is_heard, last: AtomicU64::new(0), clock }))
    }

    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        inlet: Inlet,
        events: &EndEvents,
    ) -> Result<SubscriptionEnd, Refused> {
        let part = Part::Subscription { events: events.clone(), inlet, last: BTreeMap::new() };
        let end = self.maker.add_end(EndpointKind::Subscription, topic, message_type, qos, part)?;
        let matches = EndMatches { network: end.network.clone(), id: end.id };
        Ok(SubscriptionEnd { reader: Box::new(end), matches: Box::new(matches) })
    }

    fn create_service(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        _unsent: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused> {
        let (inbox, inlet) = RequestInbox::new(qos.depth().unwrap_or(KEEP_ALL));
        let end = self.maker.add_end(EndpointKind::Server, service, service_type, qos, Part::Server { inlet })?;
        Ok(Box::new(Requests { end, inbox }))
    }

    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused> {
        let calls = Arc::<Calls<Bytes>>::default();
        let part = Part::Client { calls: Arc::clone(&calls) };
        let end = self.maker.add_end(EndpointKind::Client, service, service_type, qos, part)?;
        Ok(Box::new(HostClient { end, service: service.to_string(), calls }))
    }
}

/// Returns the number of an end's matches.
fn count(network: &SimulatedNetwork, id: EndId) -> usize {
    network.with(|state| state.ends.get(&id).map_or(0, |end| end.matched.len()))
}

/// Returns a future that resolves once an end has a match.
fn wait(network: &SimulatedNetwork, id: EndId) -> Awaited<()> {
    let network = network.clone();
    Box::pin(async move {
        loop {
            let changed = network.with(|state| {
                let end = state.ends.get_mut(&id)?;
                if end.matched.is_empty() { Some(end.waiters.wait()) } else { None }
            });
            match changed {
                Some(changed) => changed.await,
                None => return,
            }
        }
    })
}

/// Matches of a subscription.
struct EndMatches {
    network: SimulatedNetwork,
    id: EndId,
}

impl Matches for EndMatches {
    fn count(&self) -> usize {
        count(&self.network, self.id)
    }

    fn wait(&self) -> Awaited<()> {
        wait(&self.network, self.id)
    }
}

struct HostPublisher {
    end: OwnedEnd,
    topic: String,
    qos: Qos,
    is_latched: bool,
    is_heard: Arc<AtomicBool>,
    /// Number of the last message.
    last: AtomicU64,
    clock: Clock,
}

impl Matches for HostPublisher {
    fn count(&self) -> usize {
        count(&self.end.network, self.end.id)
    }

    fn wait(&self) -> Awaited<()> {
        wait(&self.end.network, self.end.id)
    }
}

impl PublisherEnd for HostPublisher {
    fn is_heard(&self) -> bool {
        self.is_latched || self.is_heard.load(Ordering::Acquire)
    }

    fn gid(&self) -> Gid {
        gid_of(self.end.id)
    }

    fn pass_over(&self) {
        self.last.fetch_add(1, Ordering::Relaxed);
    }

    fn wait_for_room(&self, _at_most: Duration) -> Result<bool, Refused> {
        // A callback takes no time here, so it does not wait.
        let id = self.end.id;
        Ok(self.end.network.with(|state| {
            let mut channels = state.channels.range((id, 0)..=(id, EndId::MAX));
            !channels.any(|(_, channel)| channel.is_full())
        }))
    }

    fn publish(&self, payload: &mut Vec<u8>) -> Result<(), PublishError> {
        let payload = Bytes::copy_from_slice(payload);
        let time = Some(self.clock.time_of_day());
        let id = self.end.id;
        let is_room = self.end.network.with(|state| {
            let now = state.now;
            let mut channels = state.channels.range((id, 0)..=(id, EndId::MAX));
            let is_full = channels.any(|(_, channel)| channel.is_full());
            // A callback takes no time here, so it does not wait for room.
            if is_full && self.qos.depth().is_none() {
                return false;
            }
            let number = Some(self.last.fetch_add(1, Ordering::Relaxed) + 1);
            let publication = Publication { publisher: gid_of(id), number, time };
            let sample = Sample::Message { payload, publication, published: now };
            if self.is_latched
                && let Some(Part::Publisher { kept, .. }) = state.ends.get_mut(&id).map(|end| &mut end.part)
            {
                kept.push_back(sample.clone());
                if kept.len() > self.qos.depth().unwrap_or(KEEP_ALL) {
                    kept.pop_front();
                }
            }
            state.send_to_all(id, &sample);
            true
        });
        if is_room { Ok(()) } else { Err(PublishError::Full { topic: self.topic.clone() }) }
    }
}

struct HostClient {
    end: OwnedEnd,
    service: String,
    calls: Arc<Calls<Bytes>>,
}

impl Drop for HostClient {
    fn drop(&mut self) {
        self.calls.close();
    }
}

impl Matches for HostClient {
    fn count(&self) -> usize {
        count(&self.end.network, self.end.id)
    }

    fn wait(&self) -> Awaited<()> {
        wait(&self.end.network, self.end.id)
    }
}

impl ClientEnd for HostClient {
    fn call(&self, payload: Vec<u8>) -> Result<SentRequest, CallError> {
        let payload = Bytes::from(payload);
        let id = self.end.id;
        let (number, receiver, is_sent) = self.end.network.with(|state| {
            let (number, receiver) = self.calls.begin();
            state.send_to_all(id, &Sample::Request { payload: payload.clone(), number });
            let is_sent = state.channels.range((id, 0)..=(id, EndId::MAX)).next().is_some();
            (number, receiver, is_sent)
        });
        let service = self.service.clone();
        if !is_sent {
            self.calls.forget(number);
            return Err(CallError::Unavailable { service });
        }
        let response = Box::pin(Call { service, number, receiver, calls: Arc::clone(&self.calls) });
        Ok(SentRequest { id: RequestId { client: gid_of(id), number }, response })
    }

    fn unreadable(&self) -> u64 {
        0
    }
}

/// Call that waits for its response.
struct Call<R> {
    service: String,
    number: i64,
    receiver: R,
    calls: Arc<Calls<Bytes>>,
}

impl<R, E> Future for Call<R>
where
    R: Future<Output = Result<Bytes, E>> + Unpin,
{
    type Output = Result<Bytes, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Poll::Ready(outcome) = Pin::new(&mut self.receiver).poll(cx) else { return Poll::Pending };
        let service = self.service.clone();
        Poll::Ready(match outcome {
            Ok(payload) => Ok(payload),
            Err(_) if self.calls.is_closed() => Err(CallError::ClientGone { service }),
            Err(_) => Err(CallError::Unanswered { service, reason: "its servers have gone".to_owned() }),
        })
    }
}

impl<R> Drop for Call<R> {
    fn drop(&mut self) {
        self.calls.forget(self.number);
    }
}
