//! A domain as the middleware of nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rospin_engine::ForeignThreads;
use rospin_node::{
    ClientEnd, EndEvents, FullName, Graph, Inlet, Middleware, NodeEnd, NodeName, PublisherEnd, Qos, Refused,
    RequestSource, SubscriptionEnd, TypeName,
};

use crate::client::DdsClient;
use crate::domain::Domain;
use crate::nodes::DdsNode;
use crate::publisher::DdsPublisher;
use crate::service::DdsRequests;
use crate::subscription;

impl Middleware for Domain {
    fn graph(&self) -> &Arc<Graph> {
        &self.feed().graph
    }

    fn threads(&self) -> Option<ForeignThreads> {
        Some(rospin_node::CYCLONE_DDS_THREADS)
    }

    fn network(&self) -> String {
        // What DDS Security lets nobody else read is not for memory that processes share.
        if self.is_secured() { String::new() } else { format!("dds/{}", self.domain_id()) }
    }

    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        Ok(Box::new(DdsNode::new(self, name)))
    }
}

impl NodeEnd for DdsNode {
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        Ok(Box::new(DdsPublisher::new(self, topic, message_type, qos, events)?))
    }

    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        inlet: Inlet,
        events: &EndEvents,
    ) -> Result<SubscriptionEnd, Refused> {
        subscription::subscribe(self, topic, message_type, qos, inlet, events)
    }

    fn create_service(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
        unsent: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused> {
        Ok(Box::new(DdsRequests::new(self, service, service_type, qos, unsent)?))
    }

    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused> {
        Ok(Box::new(DdsClient::new(self, service, service_type, qos)?))
    }
}
