//! Bytes of messages, requests and responses share the memory of the payload that the middleware received.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rospin_engine::{Context, ContextOptions, Notifier, SpinOptions, TakeError};
use rospin_msgs::std_msgs::msg::UInt8MultiArray;
use rospin_node::{
    Awaited, Blob, CallError, ClientEnd, EndEvents, FullName, Gid, Graph, Inlet, Matches, MessageInfo, Middleware,
    NodeEnd, NodeName, NodeOptions, Packet, PublishError, PublisherEnd, Qos, Refused, ReplyEnd, RequestId,
    RequestInbox, RequestInlet, RequestSource, Ros, SentRequest, ServiceInterface, ServicePart, SubscriptionEnd,
    TypeName,
};
use rospin_wire::cdr::to_payload;
use serde::{Deserialize, Serialize};

/// A middleware whose network is the test: it passes what the test says to subscriptions and servers.
#[derive(Clone, Default)]
pub(crate) struct Given {
    graph: Arc<Graph>,
    pub(crate) topics: Arc<Mutex<HashMap<String, Inlet>>>,
    services: Arc<Mutex<HashMap<String, RequestInlet<Bytes>>>>,
    response: Arc<Mutex<Bytes>>,
}

/// Any end of a publisher, client or server.
struct End(Arc<Mutex<Bytes>>);

impl Middleware for Given {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn create_node(&self, _: &NodeName) -> Result<Box<dyn NodeEnd>, Refused> {
        Ok(Box::new(self.clone()))
    }
}

impl NodeEnd for Given {
    fn create_publisher(
        &self,
        _: &FullName,
        _: &TypeName,
        _: &Qos,
        _: &EndEvents,
    ) -> Result<Box<dyn PublisherEnd>, Refused> {
        Ok(Box::new(End(Arc::default())))
    }

    fn create_subscription(
        &self,
        topic: &FullName,
        _: &TypeName,
        _: &Qos,
        inlet: Inlet,
        _: &EndEvents,
    ) -> Result<SubscriptionEnd, Refused> {
        self.topics.lock().unwrap().insert(topic.to_string(), inlet);
        Ok(SubscriptionEnd { reader: Box::new(()), matches: Box::new(End(Arc::default())) })
    }

    fn create_service(
        &self,
        service: &FullName,
        _: &TypeName,
        _: &Qos,
        _: &Arc<AtomicU64>,
    ) -> Result<RequestSource, Refused> {
        let (inbox, delivery) = RequestInbox::new(10);
        self.services.lock().unwrap().insert(service.to_string(), delivery);
        Ok(Box::new(Requests(inbox)))
    }

    fn create_client(&self, _: &FullName, _: &TypeName, _: &Qos) -> Result<Box<dyn ClientEnd>, Refused> {
        Ok(Box::new(End(Arc::clone(&self.response))))
    }
}

impl Matches for End {
    fn count(&self) -> usize {
        1
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(async {})
    }
}

impl PublisherEnd for End {
    fn is_heard(&self) -> bool {
        false
    }

    fn gid(&self) -> Gid {
        Gid::new([0; 16])
    }

    fn publish(&self, _: &mut Vec<u8>) -> Result<(), PublishError> {
        Ok(())
    }
}

impl ClientEnd for End {
    fn call(&self, _: Vec<u8>) -> Result<SentRequest, CallError> {
        let response = self.0.lock().unwrap().clone();
        let id = RequestId { client: Gid::new([0; 16]), number: 1 };
        Ok(SentRequest { id, response: Box::pin(async { Ok(response) }) })
    }

    fn unreadable(&self) -> u64 {
        0
    }
}

impl ReplyEnd for End {
    fn request_id(&self) -> RequestId {
        RequestId { client: Gid::new([0; 16]), number: 1 }
    }

    fn send(self: Box<Self>, _: Vec<u8>) -> Result<(), Refused> {
        Ok(())
    }

    fn refuse(self: Box<Self>, _: &str) {}
}

struct Requests(RequestInbox<Bytes>);

impl rospin_engine::Source for Requests {
    type Item = (Bytes, Box<dyn ReplyEnd>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        Ok(self.0.pop().map(|request| (request, Box::new(End(Arc::default())) as Box<dyn ReplyEnd>)))
    }
}

/// Returns a message with a large field.
fn image() -> UInt8MultiArray {
    UInt8MultiArray { data: vec![7; 1 << 20].into(), ..UInt8MultiArray::default() }
}

/// Asserts that the bytes are those of the payload, and in the same place.
fn assert_in(payload: &Bytes, data: &Blob) {
    assert!(payload.as_ptr_range().contains(&data.as_ptr()), "the bytes were copied");
    assert!(*data == image().data);
}

#[test]
fn a_subscription_does_not_copy_the_bytes_of_a_large_message() {
    let (network, ros) = (Given::default(), Context::new(ContextOptions::new()));
    let ros = Ros::over(&ros, network.clone());
    let node = ros.create_node(NodeOptions::new("viewer")).unwrap();
    let payload = Bytes::from(to_payload(&image()).unwrap());
    let heard = Arc::new(Mutex::new(0));
    let check = || {
        let (payload, heard) = (payload.clone(), Arc::clone(&heard));
        move |data: &Blob| {
            assert_in(&payload, data);
            *heard.lock().unwrap() += 1;
        }
    };
    let (by_value, by_reference, by_arc, informed) = (check(), check(), check(), check());
    let _subscriptions = [
        node.create_subscription("value", move |image: UInt8MultiArray| by_value(&image.data)).unwrap(),
        node.create_subscription("reference", move |image: &UInt8MultiArray| by_reference(&image.data)).unwrap(),
        node.create_subscription("arc", move |image: Arc<UInt8MultiArray>| by_arc(&image.data)).unwrap(),
        node.create_subscription("info", move |image: UInt8MultiArray, _: MessageInfo| informed(&image.data)).unwrap(),
    ];
    for topic in ["/value", "/reference", "/arc", "/info"] {
        network.topics.lock().unwrap()[topic].push(Packet::new(payload.clone(), None), 0);
    }
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(*heard.lock().unwrap(), 4);
}

/// A request and a response of one large field.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Picture {
    data: Blob,
}

enum Paint {}

impl ServiceInterface for Paint {
    type Request = Picture;
    type Response = Picture;
    const TYPE: &str = "pictures/srv/Paint";
    const TYPE_HASH: Option<&str> = None;
}

impl ServicePart<Paint> for Picture {}

#[test]
fn requests_and_responses_are_not_copied() {
    let (network, context) = (Given::default(), Context::new(ContextOptions::new()));
    let ros = Ros::over(&context, network.clone());
    let node = ros.create_node(NodeOptions::new("painter")).unwrap();
    let payload = Bytes::from(to_payload(&Picture { data: image().data }).unwrap());
    let (heard, asked) = (Arc::new(Mutex::new(0)), payload.clone());
    let count = Arc::clone(&heard);
    let _service = node.create_service::<Paint, _>("paint", move |request: Picture| {
        assert_in(&asked, &request.data);
        *count.lock().unwrap() += 1;
        request
    });
    network.services.lock().unwrap()["/paint"].push(payload.clone(), 0);
    *network.response.lock().unwrap() = payload.clone();
    let client = node.create_client::<Paint>("paint").unwrap();
    let call = client.call(Picture { data: Blob::new() });
    let response = ros.executor().spin_until(call, SpinOptions::new()).unwrap().unwrap();
    assert_in(&payload, &response.data);
    ros.executor().spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(*heard.lock().unwrap(), 1);
}
