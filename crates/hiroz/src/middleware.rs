//! A session as the middleware of nodes.

use std::sync::Arc;

use rospin::{EntityOptions, ExecutorHandle};
use rospin_node::{Decode, Encode, FullName, Graph, Middleware, NodeName, Qos, Refused, Service, TypeName};

use crate::client::ZenohClient;
use crate::matches::Matched;
use crate::names::ZenohNode;
use crate::publisher::ZenohPublisher;
use crate::service::{ZenohReply, ZenohRequests};
use crate::session::Session;
use crate::subscription::{self, ZenohMessages};

impl Middleware for Session {
    type Node = ZenohNode;
    type Publisher<M: Encode> = ZenohPublisher<M>;
    type Messages<D: Decode> = ZenohMessages<D>;
    type Matches = Matched;
    type Requests<S: Service> = ZenohRequests<S>;
    type Reply<S: Service> = ZenohReply<S>;
    type Client<S: Service> = ZenohClient<S>;

    fn graph(&self) -> &Arc<Graph> {
        Session::graph(self)
    }

    fn create_node(&self, name: &NodeName) -> Result<ZenohNode, Refused> {
        ZenohNode::new(self, name)
    }

    fn create_publisher<M: Encode>(
        &self,
        node: &ZenohNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<ZenohPublisher<M>, Refused> {
        ZenohPublisher::new(node, topic, message_type, qos)
    }

    fn create_subscription<D: Decode>(
        &self,
        node: &ZenohNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        decode: D,
    ) -> Result<(ZenohMessages<D>, Matched), Refused> {
        subscription::subscribe(node, topic, message_type, qos, decode)
    }

    fn create_service<S: Service>(
        &self,
        node: &ZenohNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<ZenohRequests<S>, Refused> {
        ZenohRequests::new(node, service, service_type, qos)
    }

    /// Responses find their calls by themselves, and are decoded where they are awaited: no entity takes them.
    fn create_client<S: Service>(
        &self,
        node: &ZenohNode,
        _executor: &ExecutorHandle,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        _options: EntityOptions,
    ) -> Result<ZenohClient<S>, Refused> {
        ZenohClient::new(node, service, service_type, qos)
    }
}
