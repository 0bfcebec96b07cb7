//! Publishers, subscriptions, servers and clients as entries of the graph.

use std::time::Duration;

use crate::info::Gid;
use crate::names::{FullName, TypeName};
use crate::qos::{Durability, History, Liveliness, Qos, Reliability};

/// Kind of an [`Endpoint`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndpointKind {
    /// Publisher of a topic.
    Publisher,
    /// Subscription of a topic.
    Subscription,
    /// Server of a service.
    Server,
    /// Client of a service.
    Client,
}

/// Publisher, subscription, server or client of any node in the network. A field is `None` if the middleware does not
/// know it for other processes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Endpoint {
    /// Kind of the endpoint.
    pub kind: EndpointKind,
    /// Full name of its topic or service, such as `/robot/scan`.
    pub name: String,
    /// Name of its type, such as `std_msgs/msg/String`.
    pub type_name: String,
    /// Hash of its type, `RIHS01_` and 64 digits. `None` is also a type without a hash.
    pub type_hash: Option<String>,
    /// Fully qualified name of its node.
    pub node: Option<String>,
    /// Id of a publisher or subscription of another process. Messages tell that of their publisher:
    /// [`MessageInfo::publisher_gid`](crate::MessageInfo::publisher_gid). `None` for other kinds.
    pub gid: Option<Gid>,
    /// Reliability that it offers or demands.
    pub reliability: Option<Reliability>,
    /// Durability that it offers or demands.
    pub durability: Option<Durability>,
    /// History that it keeps.
    pub history: Option<History>,
    /// Longest time between two messages that it offers or requests. `None` is also no limit.
    pub deadline: Option<Duration>,
    /// Time after which its messages are not worth receiving any more. `None` is also no limit.
    pub lifespan: Option<Duration>,
    /// Signs of life that it offers or requests.
    pub liveliness: Option<Liveliness>,
    /// Longest time between two signs of life. `None` is also no limit.
    pub liveliness_lease_duration: Option<Duration>,
}

impl Endpoint {
    /// Returns an endpoint with a kind, a name and a type, whose other fields are `None`.
    #[must_use]
    pub fn new(kind: EndpointKind, name: impl Into<String>, type_name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            type_name: type_name.into(),
            type_hash: None,
            node: None,
            gid: None,
            reliability: None,
            durability: None,
            history: None,
            deadline: None,
            lifespan: None,
            liveliness: None,
            liveliness_lease_duration: None,
        }
    }

    /// Returns an endpoint of this process, of which everything is known.
    pub(crate) fn ours(kind: EndpointKind, name: &FullName, type_name: &TypeName, qos: &Qos, node: String) -> Self {
        Self {
            type_hash: type_name.hash.as_deref().map(str::to_owned),
            node: Some(node),
            reliability: Some(qos.reliability),
            durability: Some(qos.durability),
            history: Some(qos.history),
            deadline: qos.deadline(),
            lifespan: qos.lifespan(),
            liveliness: Some(qos.liveliness),
            liveliness_lease_duration: qos.liveliness_lease(),
            ..Self::new(kind, name.as_str(), type_name.to_string())
        }
    }

    /// Returns true if both have the same kind, name and type. One may know more of its node and quality of service
    /// than the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.kind, &self.name, &self.type_name) == (other.kind, &other.name, &other.type_name)
    }
}
