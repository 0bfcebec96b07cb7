//! Discovery of the type of a topic or a service: nodes that publish the topic, or answer the service, are asked for
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rospin_dynamic::{MessageType, MessageTypeError, ServiceType};
use rospin_engine::{ClockKind, ExecutorHandle};

use super::server::SERVICE;
use crate::graph::EndpointKind;
use crate::interfaces::type_description_interfaces::{GetTypeDescription, GetTypeDescriptionRequest, TypeDescription};
use crate::names::NameError;
use crate::node::Node;

/// Time that discovery may take until the node of a publisher is known, and again until the node's service is matched.
const DISCOVERY: Duration = Duration::from_secs(3);

/// Pause before the graph is looked at again, for facts that it does not announce.
const PAUSE: Duration = Duration::from_millis(20);

/// Time that an answer may take before the node is asked again. A server that does not know its client yet may send
/// its answer to nobody.
const ANSWER: Duration = Duration::from_secs(3);
/// Number of times that a node is asked before it counts as silent.
const ATTEMPTS: usize = 3;

/// Reasons for which the type of a topic or a service could not be learned from the network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskTypeError {
    /// The name of the topic or service is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The topic's publishers, or the service's servers, have several types.
    #[error("{ends} of several types: {}", .types.join(", "))]
    SeveralTypes {
        /// The topic or service and its ends, such as "topic `/chatter` has publishers".
        ends: String,
        /// Names of their types.
        types: Vec<String>,
    },
    /// The nodes of the publishers or servers are unknown, so none can be asked.
    #[error(
        "`{topic}` is of type {type_name}, and no node is known to have it, so nobody can be asked what that is; use \
         `MessageType::find` where the type is installed"
    )]
    NoNode {
        /// Name of the topic or service.
        topic: String,
        /// Name of its type, such as `std_msgs/msg/String`.
        type_name: String,
    },
    /// No node answered with the type.
    #[error(
        "no node tells what type {type_name} of `{topic}` is: {}; nodes of rclcpp and rclpy do from Iron on, nodes of \
         rospin for generated types; use `MessageType::find` where the type is installed", .reasons.join(", ")
    )]
    NobodyTells {
        /// Name of the topic or service.
        topic: String,
        /// Name of its type, such as `std_msgs/msg/String`.
        type_name: String,
        /// The reason for each node that was asked.
        reasons: Vec<String>,
    },
}

/// A type that a node can tell.
trait Told: Sized {
    /// Kind of the ends whose nodes know the type.
    const KIND: EndpointKind;

    /// Returns the described type, with that hash. A type without a hash announces none.
    fn told(description: &TypeDescription, hash: Option<&str>) -> Result<Self, MessageTypeError>;
}

impl Told for MessageType {
    const KIND: EndpointKind = EndpointKind::Publisher;

    fn told(description: &TypeDescription, hash: Option<&str>) -> Result<Self, MessageTypeError> {
        let found = Self::from_description(description)?;
        let Some(hash) = hash else { return Ok(found.without_hash()) };
        found.check_hash(hash)?;
        Ok(found.with_hash())
    }
}

impl Told for ServiceType {
    const KIND: EndpointKind = EndpointKind::Server;

    fn told(description: &TypeDescription, hash: Option<&str>) -> Result<Self, MessageTypeError> {
        let found = Self::from_description(description)?;
        let Some(hash) = hash else { return Ok(found.without_hash()) };
        found.check_hash(hash)?;
        Ok(found.with_hash())
    }
}

impl Node {
    /// Learns the type of a topic from a node that publishes it. The nodes are asked one after the other, by their
    /// service `~/get_type_description`, until one answers. The answer must have the type hash that the graph has. The
    /// type announces that hash, or [none](MessageType::without_hash) if the graph has none.
    ///
    /// Waits until somebody publishes: give it a timeout. Its pauses and timeouts are sleeps of `executor`. Can be
    /// awaited anywhere, inside callbacks, too.
    ///
    /// [`serve_type_descriptions`](Self::serve_type_descriptions) has an example.
    ///
    /// Cancel safe: a future that is dropped early has no effect but the requests that it has sent.
    ///
    /// # Errors
    /// If the topic's name is invalid, its publishers have several types, their nodes stay unknown, or none of these
    /// answers with the type. That takes up to 12 seconds for each node.
    pub fn message_type_of(
        &self,
        executor: &ExecutorHandle,
        topic: &str,
    ) -> impl Future<Output = Result<MessageType, AskTypeError>> + Send + use<> {
        let node = self.clone();
        let executor = executor.clone();
        let resolved = self.resolve_topic(topic);
        async move { learn(&node, &executor, resolved?.to_string()).await }
    }

    /// Learns the type of a service from a node that answers it, as [`message_type_of`](Self::message_type_of) learns
    /// that of a topic. Waits until there is a server: give it a timeout.
    ///
    /// [`create_dynamic_client`](Self::create_dynamic_client) has an example.
    ///
    /// Cancel safe: a future that is dropped early has no effect but the requests that it has sent.
    ///
    /// # Errors
    /// If the service's name is invalid, its servers have several types, their nodes stay unknown, or none of these
    /// answers with the type. That takes up to 12 seconds for each node.
    pub fn service_type_of(
        &self,
        executor: &ExecutorHandle,
        service: &str,
    ) -> impl Future<Output = Result<ServiceType, AskTypeError>> + Send + use<> {
        let node = self.clone();
        let executor = executor.clone();
        let resolved = self.resolve_service(service);
        async move { learn(&node, &executor, resolved?.to_string()).await }
    }
}

/// Learns the type of a topic or service from one of the nodes that publish or answer it.
async fn learn<T: Told>(node: &Node, executor: &ExecutorHandle, topic: String) -> Result<T, AskTypeError> {
    let (type_name, nodes) = ends(node, executor, T::KIND, &topic).await?;
    let mut reasons = Vec::new();
    for (asked, hash) in nodes {
        match ask(node, executor, &asked, &type_name, hash).await {
            Ok(found) => return Ok(found),
            Err(reason) => reasons.push(format!("`{asked}` ({reason})")),
        }
    }
    Err(AskTypeError::NobodyTells { topic, type_name, reasons })
}

/// Returns the type of a topic or service, and the nodes that have ends of that kind, each with the type hash if it is
/// known. Waits until there is such an end.
async fn ends(
    node: &Node,
    executor: &ExecutorHandle,
    kind: EndpointKind,
    topic: &str,
) -> Result<(String, BTreeMap<String, Option<String>>), AskTypeError> {
    let graph = node.graph();
    let mut waited = Duration::ZERO;
    loop {
        // The future is taken before the graph is read, so no change is missed.
        let change = graph.next_change();
        let found = graph.endpoints(kind, topic);
        let types: BTreeSet<_> = found.iter().map(|end| end.type_name.clone()).collect();
        let mut types: Vec<_> = types.into_iter().collect();
        if types.len() > 1 {
            let ends = match kind {
                EndpointKind::Publisher => format!("topic `{topic}` has publishers"),
                _ => format!("service `{topic}` has servers"),
            };
            return Err(AskTypeError::SeveralTypes { ends, types });
        }
        let Some(type_name) = types.pop() else {
            change.await;
            continue;
        };
        let of = found.into_iter().filter_map(|end| Some((end.node?, end.type_hash)));
        let nodes: BTreeMap<_, _> = of.collect();
        if !nodes.is_empty() {
            return Ok((type_name, nodes));
        }
        if waited >= DISCOVERY {
            return Err(AskTypeError::NoNode { topic: topic.to_owned(), type_name });
        }
        // The graph does not announce when the node of a publisher becomes known, so look again.
        let _ = executor.sleep(ClockKind::Steady, PAUSE).await;
        waited += PAUSE;
    }
}

/// Asks one node. The error is the reason why it did not answer with the type.
async fn ask<T: Told>(
    node: &Node,
    executor: &ExecutorHandle,
    asked: &str,
    type_name: &str,
    hash: Option<String>,
) -> Result<T, String> {
    let service = format!("{}/{SERVICE}", asked.trim_end_matches('/'));
    let client = node.create_client::<GetTypeDescription>(&*service).map_err(|error| error.to_string())?;
    if within(executor, DISCOVERY, client.wait_for_service()).await.is_none() {
        return Err(format!("it has no service `{service}`"));
    }
    let mut request = GetTypeDescriptionRequest {
        type_name: type_name.to_owned(),
        type_hash: hash.clone().unwrap_or_default(),
        include_type_sources: false,
    };
    let mut reason = "it does not answer".to_owned();
    for _ in 0..ATTEMPTS {
        // The server may go while it is asked: a node that starts may exchange its first one.
        let answer = async {
            client.wait_for_service().await;
            client.call(request.clone()).await
        };
        let response = match within(executor, ANSWER, answer).await {
            Some(Ok(response)) => response,
            Some(Err(error)) => {
                reason = error.to_string();
                continue;
            }
            None => continue,
        };
        if !response.successful {
            // The hash in the graph may be that of a part of the service.
            if T::KIND == EndpointKind::Server && !request.type_hash.is_empty() {
                request.type_hash.clear();
                continue;
            }
            return Err(response.failure_reason);
        }
        let told = &response.type_description.type_description.type_name;
        if told != type_name {
            return Err(format!("it told what {told} is"));
        }
        return T::told(&response.type_description, hash.as_deref()).map_err(|error| error.to_string());
    }
    Err(reason)
}

/// Returns the result of `future`, or `None` if that takes longer than `longest`.
async fn within<F: Future>(executor: &ExecutorHandle, longest: Duration, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut over = pin!(executor.sleep(ClockKind::Steady, longest));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => over.as_mut().poll(cx).map(|_| None),
    })
    .await
}
