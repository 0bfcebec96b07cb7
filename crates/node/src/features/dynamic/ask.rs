//! Discovery of a topic's type: nodes that publish the topic are asked for it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rospin_dynamic::MessageType;
use rospin_engine::{ClockKind, ExecutorHandle};

use super::server::SERVICE;
use crate::graph::EndpointKind;
use crate::interfaces::type_description_interfaces::{GetTypeDescription, GetTypeDescriptionRequest};
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

/// Reasons for which the type of a topic could not be learned from the network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskTypeError {
    /// The topic's name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The topic's publishers have several types.
    #[error("topic `{topic}` has publishers of several types: {}", .types.join(", "))]
    SeveralTypes {
        /// Name of the topic.
        topic: String,
        /// Names of its publishers' types.
        types: Vec<String>,
    },
    /// The nodes of the publishers are unknown, so none can be asked.
    #[error(
        "topic `{topic}` is of type {type_name}, and no node is known to publish it, so nobody can be asked what that is; use \
         `MessageType::find` where the type is installed"
    )]
    NoNode {
        /// Name of the topic.
        topic: String,
        /// Name of its type, such as `std_msgs/msg/String`.
        type_name: String,
    },
    /// No node answered with the type.
    #[error(
        "no node tells what type {type_name} of topic `{topic}` is: {}; nodes of rclcpp and rclpy do from Iron on, nodes of \
         rospin for generated types; use `MessageType::find` where the type is installed", .reasons.join(", ")
    )]
    NobodyTells {
        /// Name of the topic.
        topic: String,
        /// Name of its type, such as `std_msgs/msg/String`.
        type_name: String,
        /// The reason for each node that was asked.
        reasons: Vec<String>,
    },
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
        async move {
            let topic = resolved?.to_string();
            let (type_name, nodes) = publishers(&node, &executor, &topic).await?;
            let mut reasons = Vec::new();
            for (asked, hash) in nodes {
                match ask(&node, &executor, &asked, &type_name, hash).await {
                    Ok(found) => return Ok(found),
                    Err(reason) => reasons.push(format!("`{asked}` ({reason})")),
                }
            }
            Err(AskTypeError::NobodyTells { topic, type_name, reasons })
        }
    }
}

/// Returns the type of a topic, and the nodes that publish it, each with the type hash if it is known. Waits until
/// somebody publishes.
async fn publishers(
    node: &Node,
    executor: &ExecutorHandle,
    topic: &str,
) -> Result<(String, BTreeMap<String, Option<String>>), AskTypeError> {
    let graph = node.graph();
    let mut waited = Duration::ZERO;
    loop {
        // The future is taken before the graph is read, so no change is missed.
        let change = graph.next_change();
        let publishers = graph.endpoints(EndpointKind::Publisher, topic);
        let types: BTreeSet<_> = publishers.iter().map(|publisher| publisher.type_name.clone()).collect();
        let mut types: Vec<_> = types.into_iter().collect();
        if types.len() > 1 {
            return Err(AskTypeError::SeveralTypes { topic: topic.to_owned(), types });
        }
        let Some(type_name) = types.pop() else {
            change.await;
            continue;
        };
        let of = publishers.into_iter().filter_map(|publisher| Some((publisher.node?, publisher.type_hash)));
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
async fn ask(
    node: &Node,
    executor: &ExecutorHandle,
    asked: &str,
    type_name: &str,
    hash: Option<String>,
) -> Result<MessageType, String> {
    let service = format!("{}/{SERVICE}", asked.trim_end_matches('/'));
    let client = node.create_client::<GetTypeDescription>(&*service).map_err(|error| error.to_string())?;
    if within(executor, DISCOVERY, client.wait_for_service()).await.is_none() {
        return Err(format!("it has no service `{service}`"));
    }
    let request = GetTypeDescriptionRequest {
        type_name: type_name.to_owned(),
        type_hash: hash.clone().unwrap_or_default(),
        include_type_sources: false,
    };
    for _ in 0..ATTEMPTS {
        let Some(response) = within(executor, ANSWER, client.call(request.clone())).await else { continue };
        let response = response.map_err(|error| error.to_string())?;
        if !response.successful {
            return Err(response.failure_reason);
        }
        let found = MessageType::from_description(&response.type_description).map_err(|error| error.to_string())?;
        if found.name() != type_name {
            return Err(format!("it told what {} is", found.name()));
        }
        let Some(hash) = hash else { return Ok(found.without_hash()) };
        found.check_hash(&hash).map_err(|error| error.to_string())?;
        return Ok(found.with_hash());
    }
    Err("it does not answer".to_owned())
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
