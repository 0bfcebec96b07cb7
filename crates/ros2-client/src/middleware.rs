//! A domain as the middleware of nodes.

use std::sync::Arc;

use rospin_engine::{EntityOptions, GroupOptions};
use rospin_node::{
    Awaited, ClientEnd, FullName, Graph, Matches, Middleware, NodeEnd, NodeName, PayloadSource, PublisherEnd, Qos,
    Refused, RequestSource, TypeName,
};

use crate::client::DdsClient;
use crate::domain::Domain;
use crate::matches::Matched;
use crate::node::DdsNode;
use crate::publisher::DdsPublisher;
use crate::{server, subscription};

impl Middleware for Domain {
    fn graph(&self) -> &Arc<Graph> {
        &self.feed().graph
    }

    fn create_node(&self, name: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        Ok(Box::new(DdsNode::new(self, name)?))
    }
}

impl NodeEnd for DdsNode {
    fn create_publisher(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        Ok(Box::new(DdsPublisher::new(self, topic, message_type, qos)?))
    }

    fn create_subscription(
        &self,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<(PayloadSource, Box<dyn Matches>), Refused> {
        let (reader, matched) = subscription::subscribe(self, topic, message_type, qos)?;
        Ok((Box::new(reader), Box::new(matched)))
    }

    fn create_service(&self, service: &FullName, service_type: &TypeName, qos: &Qos) -> Result<RequestSource, Refused> {
        Ok(Box::new(server::serve(self, self.domain().mapping(), service, service_type, qos)?))
    }

    fn create_client(
        &self,
        service: &FullName,
        service_type: &TypeName,
        qos: &Qos,
    ) -> Result<Box<dyn ClientEnd>, Refused> {
        let group = GroupOptions::new(format!("client{service}")).node(self.fully_qualified_name());
        let group = self.domain().executor().create_reentrant_group(group);
        let options = EntityOptions::new(format!("client{service}"));
        let mapping = self.domain().mapping();
        Ok(Box::new(DdsClient::new(self, mapping, &group, service, service_type, qos, options)?))
    }
}

impl Matches for Matched {
    fn count(&self) -> usize {
        self.count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.wait())
    }
}
