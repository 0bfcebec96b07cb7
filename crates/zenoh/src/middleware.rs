//! A session as the middleware of nodes.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rospin_engine::ForeignThreads;
use rospin_node::{
    ClientEnd, EndEvents, FullName, Graph, Inlet, Middleware, NodeEnd, NodeName, PublisherEnd, Qos, Refused,
    RequestSource, SubscriptionEnd, TypeName,
};

use crate::client::ZenohClient;
use crate::names::ZenohNode;
use crate::publisher::ZenohPublisher;
use crate::service::ZenohRequests;
use crate::session::Session;
use crate::subscription;

impl Middleware for Session {
    fn graph(&self) -> &Arc<Graph> {
        Session::graph(self)
    }

    fn threads(&self) -> Option<ForeignThreads> {
        Some(rospin_node::ZENOH_THREADS)
    }

    fn network(&self) -> String {
        format!("zenoh/{}", self.domain_id())
    }

    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        Ok(Box::new(ZenohNode::new(self, name)?))
    }
}

impl NodeEnd for ZenohNode {
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        Ok(Box::new(ZenohPublisher::new(self, topic, message_type, qos, events)?))
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
        _unsent: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused> {
        Ok(Box::new(ZenohRequests::new(self, service, service_type, qos)?))
    }

    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused> {
        Ok(Box::new(ZenohClient::new(self, service, service_type, qos)?))
    }
}
