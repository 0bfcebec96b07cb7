//! A domain as the middleware of nodes.

use std::sync::Arc;

use rospin::{EntityOptions, ExecutorHandle, GroupOptions};
use rospin_node::{Decode, Encode, FullName, Graph, Matches, Middleware, NodeName, Qos, Refused, Service, TypeName};

use crate::client::DdsClient;
use crate::domain::Domain;
use crate::matches::Matched;
use crate::node::DdsNode;
use crate::publisher::DdsPublisher;
use crate::reader::Reader;
use crate::server::{self, DdsReply, DdsRequests};
use crate::subscription::{self, DdsMessages};

impl Middleware for Domain {
    type Node = DdsNode;
    type Publisher<M: Encode> = DdsPublisher<M>;
    type Messages<D: Decode> = Reader<DdsMessages<D>>;
    type Matches = Matched;
    type Requests<S: Service> = Reader<DdsRequests<S>>;
    type Reply<S: Service> = DdsReply<S>;
    type Client<S: Service> = DdsClient<S>;

    fn graph(&self) -> &Arc<Graph> {
        &self.feed().graph
    }

    fn create_node(&self, name: &NodeName) -> Result<DdsNode, Refused> {
        DdsNode::new(self, name)
    }

    fn create_publisher<M: Encode>(
        &self,
        node: &DdsNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<DdsPublisher<M>, Refused> {
        DdsPublisher::new(node, topic, message_type, qos)
    }

    fn create_subscription<D: Decode>(
        &self,
        node: &DdsNode,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        decode: D,
    ) -> Result<(Reader<DdsMessages<D>>, Matched), Refused> {
        subscription::subscribe(node, topic, message_type, qos, decode)
    }

    fn create_service<S: Service>(
        &self,
        node: &DdsNode,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Reader<DdsRequests<S>>, Refused> {
        server::serve(node, self.mapping(), service, service_type, qos)
    }

    fn create_client<S: Service>(
        &self,
        node: &DdsNode,
        executor: &ExecutorHandle,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        options: EntityOptions,
    ) -> Result<DdsClient<S>, Refused> {
        let group = GroupOptions::new(format!("client{service}")).node(node.fully_qualified_name());
        let group = executor.create_reentrant_group(group);
        DdsClient::new(node, self.mapping(), &group, service, service_type, qos, options)
    }
}

impl Matches for Matched {
    fn count(&self) -> usize {
        self.count()
    }

    fn wait(&self) -> impl Future<Output = ()> + Send + 'static {
        self.wait()
    }
}
