//! Publishers, subscriptions, servers and clients as entries of the graph.

use crate::names::{FullName, TypeName};
use crate::qos::{Durability, History, Qos, Reliability};

/// The kind of an [`Endpoint`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndpointKind {
    /// Publishes on a topic.
    Publisher,
    /// Subscribes to a topic.
    Subscription,
    /// Answers the requests of a service.
    Server,
    /// Calls a service.
    Client,
}

/// A publisher, subscription, server or client of any node in the network. A field is `None` if the middleware does
/// not tell it of other processes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Endpoint {
    /// Its kind.
    pub kind: EndpointKind,
    /// The full name of its topic or service, such as `/robot/scan`.
    pub name: String,
    /// The name of its type, such as `std_msgs/msg/String`.
    pub type_name: String,
    /// The hash of its type, `RIHS01_` and 64 digits.
    pub type_hash: Option<String>,
    /// The fully qualified name of its node.
    pub node: Option<String>,
    /// Its reliability.
    pub reliability: Option<Reliability>,
    /// Its durability.
    pub durability: Option<Durability>,
    /// Its history.
    pub history: Option<History>,
}

impl Endpoint {
    /// Returns an endpoint of which nothing else is known.
    #[must_use]
    pub fn new(kind: EndpointKind, name: impl Into<String>, type_name: impl Into<String>) -> Self {
        let (name, type_name) = (name.into(), type_name.into());
        Self { kind, name, type_name, type_hash: None, node: None, reliability: None, durability: None, history: None }
    }

    /// Returns an endpoint of this process, of which everything is known.
    pub(crate) fn ours(kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos, node: String) -> Self {
        Self {
            type_hash: type_name.hash.as_deref().map(str::to_owned),
            node: Some(node),
            reliability: Some(qos.reliability),
            durability: Some(qos.durability),
            history: Some(qos.history),
            ..Self::new(kind, name.as_str(), type_name.to_string())
        }
    }

    /// Returns true if both have the same kind, name and type. One may know more of its node and quality of service
    /// than the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.type_name) == (other.kind, &other.name, &other.type_name)
    }
}
