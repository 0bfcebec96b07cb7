//! Payloads that are not of their topic's type: counted, reported, and nothing else.

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Text, context, domain_id, executor, join, spin, take_failures, wait,
};
use rospin_dds::{ClientOptions, Message, ServiceOptions, SubscriptionOptions};
use rospin_engine::LossCause;
use serde::{Deserialize, Serialize};

use crate::common::stranger::Stranger;

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

/// Returns random bytes that are the same on every run.
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
fn malformed_messages_are_counted_and_the_callback_does_not_run() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("listener").unwrap();
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
    let writer = stranger.writer(&executor, "rt/chatter", STRING);
    wait(&executor, "the subscription is matched", subscription.wait_for_publisher());

    let failed = || subscription.lost(LossCause::TakeFailed);
    let early = Stranger::introduce(&executor, &writer, failed);
    let bad = no_strings();
    for payload in &bad {
        writer.write(payload.clone(), None).unwrap();
    }
    writer.write(cdr("still there"), None).unwrap();
    spin(&executor, "the good one is heard");
    assert_eq!(failed(), early + bad.len() as u64);
    assert_eq!(take_failures(&incidents) as u64, failed());

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
    let node = join(id).ros(&context).create_node("listener").unwrap();
    let options = || SubscriptionOptions::new("chatter").keep_last(2 * PAYLOADS);
    let texts = executor.create_group("texts", 0_usize);
    let nested = executor.create_group("nested", 0_usize);
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
    let writer = stranger.writer(&executor, "rt/chatter", STRING);
    for subscription in &subscriptions {
        wait(&executor, "the subscription is matched", subscription.wait_for_publisher());
    }
    let failed = || subscriptions[0].lost(LossCause::TakeFailed);
    let early = usize::try_from(Stranger::introduce(&executor, &writer, failed)).unwrap();
    for payload in noise(PAYLOADS) {
        writer.write(payload, None).unwrap();
    }
    writer.write(cdr("the end"), None).unwrap();
    spin(&executor, "the end is heard");
    executor.spin(rospin_engine::SpinOptions::spin_all()).unwrap();
    let lost = subscriptions.each_ref().map(|subscription| subscription.lost(LossCause::TakeFailed));
    let heard = [texts, nested].map(|group| group.into_payload().unwrap());
    assert_eq!(usize::try_from(lost[0]).unwrap() + heard[0], early + PAYLOADS + 1);
    assert_eq!(take_failures(&incidents), usize::try_from(lost[0] + lost[1]).unwrap());
    assert!(lost[0] > 100 && lost[1] > 100, "{lost:?}");
}

#[test]
fn malformed_requests_and_responses_are_counted() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", 0);
    let options = ServiceOptions::new("add_two_ints").keep_last(100);
    let server = node
        .on(&group)
        .create_service::<AddTwoInts, _>(options, |served: &mut i32, request: AddRequest| {
            *served += 1;
            AddResponse { sum: request.a.wrapping_add(request.b) }
        })
        .unwrap();
    let client = node.create_client::<AddTwoInts>(ClientOptions::new("add_two_ints")).unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    let stranger = Stranger::new(id);
    let service = "example_interfaces::srv::dds_::AddTwoInts";
    let requests = stranger.writer(&executor, "rq/add_two_intsRequest", &format!("{service}_Request_"));
    let responses = stranger.writer(&executor, "rr/add_two_intsReply", &format!("{service}_Response_"));
    let failed = || server.lost(LossCause::TakeFailed);
    let early = Stranger::introduce(&executor, &requests, failed);
    let early_responses = Stranger::introduce(&executor, &responses, || client.undecodable());
    // A payload of 13 bytes and more would be complete, because payloads are padded to a multiple of four: RustDDS'
    // requests need no header.
    for length in 0..13 {
        requests.write(vec![0; length], None).unwrap();
    }
    for length in 0..5 {
        responses.write(vec![0; length], None).unwrap();
    }
    // A complete response to another client.
    responses.write(vec![0; 24], None).unwrap();
    wait(&executor, "all is counted", async {
        while failed() < early + 13 || client.undecodable() < early_responses + 5 {
            let _ =
                executor.handle().sleep(rospin_engine::ClockKind::Steady, std::time::Duration::from_millis(1)).await;
        }
    });
    let response = wait(&executor, "the service still answers", client.call(AddRequest { a: 2, b: 3 }));
    assert_eq!(response.unwrap().sum, 5);
    assert_eq!((failed(), client.undecodable()), (early + 13, early_responses + 5));
    assert_eq!(take_failures(&incidents) as u64, failed());
    assert_eq!(group.into_payload().unwrap(), 1);
}
