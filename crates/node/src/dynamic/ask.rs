//! Learning the type of a topic from those who publish it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use rospin_engine::{ClockKind, ExecutorHandle};

use super::message_type::MessageType;
use super::server::SERVICE;
use crate::graph::EndpointKind;
use crate::interfaces::type_description_interfaces::{GetTypeDescription, GetTypeDescriptionRequest};
use crate::names::NameError;
use crate::node::Node;

/// How long a node may take to be known as the one that has a publisher, and to be matched with.
const DISCOVERY: Duration = Duration::from_secs(3);

/// How long is waited before the graph is looked at again, for what it does not tell.
const PAUSE: Duration = Duration::from_millis(20);

/// How long an answer may take, and how often a node is asked: a server that does not know its client yet may answer to nobody.
const ANSWER: Duration = Duration::from_secs(3);
const ATTEMPTS: usize = 3;

/// Why the type of a topic was not learned from the network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskTypeError {
    /// The topic's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Publishers do not agree.
    #[error("topic `{topic}` has publishers of several types: {}", .types.join(", "))]
    SeveralTypes {
        /// The topic.
        topic: String,
        /// Their types.
        types: Vec<String>,
    },
    /// Whoever publishes has no node that could be asked.
    #[error(
        "topic `{topic}` is of type {type_name}, and no node is known to publish it, so nobody can be asked what that is; use \
         `MessageType::find` where the type is installed"
    )]
    NoNode {
        /// The topic.
        topic: String,
        /// Its type.
        type_name: String,
    },
    /// Nobody told.
    #[error(
        "no node tells what type {type_name} of topic `{topic}` is: {}; nodes of rclcpp and rclpy do from Iron on, nodes of \
         rospin after `serve_type_descriptions`; use `MessageType::find` where the type is installed", .reasons.join(", ")
    )]
    NobodyTells {
        /// The topic.
        topic: String,
        /// Its type.
        type_name: String,
        /// Why not, from each node that was asked.
        reasons: Vec<String>,
    },
}

impl Node {
    /// Learns the type of a topic from the nodes that publish it, one after the other until one tells: they are asked for it by
    /// their service `~/get_type_description`. What comes back must have the hash that the graph says, where it says one.
    ///
    /// Waits until somebody publishes: give it a timeout. What it waits for by time sleeps on `executor`. Can be awaited
    /// anywhere, inside callbacks, too.
    ///
    /// See [`serve_type_descriptions`](Self::serve_type_descriptions) for an example.
    ///
    /// # Errors
    /// If the topic's name is none, its publishers do not agree, or none of them tells. That takes some seconds a node.
    pub fn message_type_of(
        &self,
        executor: &ExecutorHandle,
        topic: &str,
    ) -> impl Future<Output = Result<MessageType, AskTypeError>> + Send + use<> {
        let (node, executor, resolved) = (self.clone(), executor.clone(), self.resolve(topic));
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

/// The type of a topic, and the nodes that publish it, each with the hash of its type as far as that is known.
async fn publishers(
    node: &Node,
    executor: &ExecutorHandle,
    topic: &str,
) -> Result<(String, BTreeMap<String, Option<String>>), AskTypeError> {
    let graph = node.graph();
    let mut waited = Duration::ZERO;
    loop {
        // Looking after asking, nothing is missed.
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
        // Which node it is is told to nobody.
        let _ = executor.sleep(ClockKind::Steady, PAUSE).await;
        waited += PAUSE;
    }
}

/// Asks a node; if it does not tell, why.
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
        hash.map_or(Ok(()), |hash| found.check_hash(&hash)).map_err(|error| error.to_string())?;
        return Ok(found);
    }
    Err("it does not answer".to_owned())
}

/// What the future resolves to, unless that takes longer.
async fn within<F: Future>(executor: &ExecutorHandle, longest: Duration, future: F) -> Option<F::Output> {
    let (mut future, mut over) = (pin!(future), pin!(executor.sleep(ClockKind::Steady, longest)));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => over.as_mut().poll(cx).map(|_| None),
    })
    .await
}
