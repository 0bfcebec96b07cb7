//! What comes from the wire and is not what its topic's type says: counted, reported, and nothing else.

mod common;

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use common::{
    AddRequest, AddResponse, AddTwoInts, Text, context, domain_id, executor, join, spin, take_failures, wait,
};
use futures_core::Stream;
use ros2_client::dds::rustdds::bytes::Bytes;
use ros2_client::dds::rustdds::no_key::{DataWriter, SerializerAdapter};
use ros2_client::dds::rustdds::{
    DomainParticipant, DomainParticipantBuilder, DomainParticipantStatusEvent, QosPolicies, RTPSEntity,
    RepresentationIdentifier, StatusEvented, TopicKind,
};
use ros2_client::qos::{History, QosProfile};
use rospin_engine::{Executor, LossCause};
use rospin_ros2_client::{ClientOptions, Message, ServiceOptions, SubscriptionOptions, ros2_client};
use serde::{Deserialize, Serialize};

/// Sends bytes as they are, as little-endian CDR, or as something that ROS 2 never sends.
struct Raw<const KNOWN: bool>;

impl<const KNOWN: bool> SerializerAdapter<Vec<u8>> for Raw<KNOWN> {
    type Error = io::Error;

    fn output_encoding() -> RepresentationIdentifier {
        if KNOWN { RepresentationIdentifier::CDR_LE } else { RepresentationIdentifier::XML }
    }

    fn to_bytes(value: &Vec<u8>) -> io::Result<Bytes> {
        Ok(Bytes::from(value.clone()))
    }
}

/// A participant that knows nothing of ROS.
struct Stranger(DomainParticipant);

impl Stranger {
    fn new(domain_id: u16) -> Self {
        let builder = DomainParticipantBuilder::new(domain_id).with_only_networks([std::net::Ipv4Addr::LOCALHOST]);
        Self(builder.build().unwrap())
    }

    /// A writer that is matched with a reader.
    fn writer<const KNOWN: bool>(
        &self,
        executor: &Executor,
        topic: &str,
        dds_type: &str,
    ) -> DataWriter<Vec<u8>, Raw<KNOWN>> {
        let qos = QosPolicies::from(QosProfile::publisher_default().history(History::KeepLast { depth: 1000 }));
        let topic = self.0.create_topic(topic.to_owned(), dds_type.to_owned(), &qos, TopicKind::NoKey).unwrap();
        let listener = self.0.status_listener();
        let publisher = self.0.create_publisher(&qos).unwrap();
        let writer = publisher.create_datawriter_no_key::<_, Raw<KNOWN>>(&topic, None).unwrap();
        wait(executor, "the stranger is matched", async {
            loop {
                let event = poll_fn(|cx| Pin::new(&mut listener.as_async_status_stream()).poll_next(cx)).await;
                if let Some(DomainParticipantStatusEvent::RemoteReaderMatched { local_writer, .. }) = event
                    && local_writer == writer.guid()
                {
                    return;
                }
            }
        });
        writer
    }
}

/// Little-endian CDR of a string.
fn cdr(data: &str) -> Vec<u8> {
    let length = u32::try_from(data.len() + 1).unwrap();
    [&length.to_le_bytes()[..], data.as_bytes(), &[0]].concat()
}

/// Payloads that are no `std_msgs/String`, whatever the decoder lets pass.
fn no_strings() -> Vec<Vec<u8>> {
    vec![
        vec![],
        vec![1],
        vec![5, 0, 0, 0],
        cdr("cut short")[..8].to_vec(),
        [&u32::MAX.to_le_bytes()[..], b"much longer than it is\0"].concat(),
        [&6_u32.to_le_bytes()[..], &[0xff, 0xfe, 0xc0, 0x80, 0xf5, 0]].concat(),
        [9_i32; 3].map(i32::to_le_bytes).concat(),
    ]
}

/// Noise that is the same on every run.
fn noise(count: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(move |_| {
        let length = next() % 64;
        (0..length).map(|_| next().to_le_bytes()[3]).collect()
    })
}

const STRING: &str = "std_msgs::msg::dds_::String_";

#[test]
fn what_is_no_message_is_counted_and_the_callback_does_not_run() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(&executor, id).ros().create_node("listener").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let handle = executor.handle();
    let subscription = node
        .on(&group)
        .create_subscription(SubscriptionOptions::new("chatter").keep_last(1000), {
            move |heard: &mut Vec<String>, message: Text| {
                heard.push(message.data);
                handle.halt();
            }
        })
        .unwrap();
    let stranger = Stranger::new(id);
    let writer = stranger.writer::<true>(&executor, "rt/chatter", STRING);
    let alien = stranger.writer::<false>(&executor, "rt/chatter", STRING);
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());

    let bad = no_strings();
    for payload in &bad {
        writer.write(payload.clone(), None).unwrap();
    }
    writer.write(cdr("still there"), None).unwrap();
    spin(&executor, "the good one is heard");
    assert_eq!(subscription.lost(LossCause::TakeFailed), bad.len() as u64);
    assert_eq!(take_failures(&incidents), bad.len());

    alien.write(cdr("in XML"), None).unwrap();
    alien.write(cdr("in XML"), None).unwrap();
    wait(&executor, "the strange encoding is counted", async {
        while subscription.lost(LossCause::TakeFailed) < bad.len() as u64 + 2 {
            let _ =
                executor.handle().sleep(rospin_engine::ClockKind::Steady, std::time::Duration::from_millis(1)).await;
        }
    });
    assert_eq!(group.into_payload().unwrap(), ["still there"]);
}

/// A message in which lengths nest.
#[derive(Clone, Serialize, Deserialize)]
struct Nested {
    names: Vec<String>,
    numbers: Vec<Vec<f64>>,
    flag: bool,
}

impl Message for Nested {
    const TYPE: &str = "std_msgs/msg/String";
}

#[test]
fn noise_is_survived() {
    const PAYLOADS: usize = 900;
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(&executor, id).ros().create_node("listener").unwrap();
    let options = || SubscriptionOptions::new("chatter").keep_last(2 * PAYLOADS);
    let (texts, nested) = (executor.create_group("texts", 0_usize), executor.create_group("nested", 0_usize));
    let handle = executor.handle();
    let subscriptions = [
        node.on(&texts).create_subscription(options(), move |heard: &mut usize, message: Text| {
            *heard += 1;
            if message.data == "the end" {
                handle.halt();
            }
        }),
        node.on(&nested).create_subscription(options(), |heard: &mut usize, _: Nested| *heard += 1),
    ]
    .map(Result::unwrap);
    let stranger = Stranger::new(id);
    let writer = stranger.writer::<true>(&executor, "rt/chatter", STRING);
    for subscription in &subscriptions {
        wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    }
    for payload in noise(PAYLOADS) {
        writer.write(payload, None).unwrap();
    }
    writer.write(cdr("the end"), None).unwrap();
    spin(&executor, "the end is heard");
    executor.spin(rospin_engine::SpinOptions::spin_all()).unwrap();
    let lost = subscriptions.each_ref().map(|subscription| subscription.lost(LossCause::TakeFailed));
    let heard = [texts, nested].map(|group| group.into_payload().unwrap());
    assert_eq!(usize::try_from(lost[0]).unwrap() + heard[0], PAYLOADS + 1);
    assert_eq!(take_failures(&incidents), usize::try_from(lost[0] + lost[1]).unwrap());
    assert!(lost[0] > 100 && lost[1] > 100, "{lost:?}");
}

#[test]
fn what_is_no_request_is_counted_and_what_answers_no_call_is_ignored() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(&executor, id).ros().create_node("adder").unwrap();
    let group = executor.create_group("server", 0);
    let options = ServiceOptions::new("add_two_ints").keep_last(100);
    let server = node
        .on(&group)
        .create_service::<AddTwoInts, _, _>(options, |served: &mut i32, request: AddRequest| {
            *served += 1;
            AddResponse { sum: request.a.wrapping_add(request.b) }
        })
        .unwrap();
    let client = node.create_client::<AddTwoInts>(ClientOptions::new("add_two_ints")).unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    let stranger = Stranger::new(id);
    let service = "example_interfaces::srv::dds_::AddTwoInts";
    let requests = stranger.writer::<true>(&executor, "rq/add_two_intsRequest", &format!("{service}_Request_"));
    let responses = stranger.writer::<true>(&executor, "rr/add_two_intsReply", &format!("{service}_Response_"));
    // What is longer is made whole on its way: payloads are filled up to four bytes.
    for length in 0..13 {
        requests.write(vec![0; length], None).unwrap();
    }
    for length in 0..5 {
        responses.write(vec![0; length], None).unwrap();
    }
    // Whole or not, without the identity of a call of ours they are somebody else's.
    responses.write(vec![0; 8], None).unwrap();
    wait(&executor, "all is counted", async {
        while server.lost(LossCause::TakeFailed) < 13 {
            let _ =
                executor.handle().sleep(rospin_engine::ClockKind::Steady, std::time::Duration::from_millis(1)).await;
        }
    });
    let response = wait(&executor, "the service still answers", client.call(AddRequest { a: 2, b: 3 }));
    assert_eq!(response.unwrap().sum, 5);
    assert_eq!((server.lost(LossCause::TakeFailed), client.undecodable()), (13, 0));
    assert_eq!(take_failures(&incidents), 13);
    assert_eq!(group.into_payload().unwrap(), 1);
}
