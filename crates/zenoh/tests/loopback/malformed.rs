//! Payloads that are not of their topic's type: they are counted and reported, and no callback runs.

use rospin_engine::{Executor, LossCause, SpinOptions};
use rospin_zenoh::zenoh::qos::CongestionControl;
use rospin_zenoh::zenoh::{self, Wait};
use rospin_zenoh::{CallError, Message, ServiceInterface, ServiceOptions, Session, SubscriptionOptions};
use serde::{Deserialize, Serialize};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, spin, take_failures, wait, wait_until,
};

/// Returns the key of a topic or a service, without the library that the adapter uses for it.
fn key(name: &str, dds_type: &str, hash: &str) -> String {
    format!("0/{name}/{dds_type}/{hash}")
}

fn chatter() -> String {
    key("chatter", "std_msgs::msg::dds_::String_", Text::TYPE_HASH.unwrap())
}

fn add_two_ints() -> String {
    key("add_two_ints", "example_interfaces::srv::dds_::AddTwoInts_", AddTwoInts::TYPE_HASH.unwrap())
}

/// Returns `body` as little-endian CDR with its header.
fn cdr(body: &[u8]) -> Vec<u8> {
    [&[0, 1, 0, 0], body].concat()
}

fn string(data: &str) -> Vec<u8> {
    let length = u32::try_from(data.len() + 1).unwrap();
    cdr(&[&length.to_le_bytes()[..], data.as_bytes(), &[0]].concat())
}

/// Payloads that are no `std_msgs/String`, whatever the decoder lets pass.
fn no_strings() -> Vec<Vec<u8>> {
    vec![
        vec![],
        vec![0, 1, 0],
        cdr(&[]),
        cdr(&[1]),
        cdr(&[5, 0, 0, 0]),
        string("cut short")[..12].to_vec(),
        cdr(&[&u32::MAX.to_le_bytes()[..], b"much longer than it is\0"].concat()),
        cdr(&[&6_u32.to_le_bytes()[..], &[0xff, 0xfe, 0xc0, 0x80, 0xf5, 0]].concat()),
        cdr(&[9_i32; 3].map(i32::to_le_bytes).concat()),
        // A valid string, except that its header names another encoding.
        [&[0, 9, 0, 0], &string("XCDR")[4..]].concat(),
        b"{ data: 'JSON' }".to_vec(),
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

/// A session that hosts a node, and one that knows nothing of ROS.
fn host_and_stranger() -> (Session, zenoh::Session) {
    let (host, guest) = Place::new().both();
    (host, guest.zenoh().clone())
}

/// A publisher of a stranger's that the subscription of our node hears.
fn publisher(executor: &Executor, stranger: &zenoh::Session) -> zenoh::pubsub::Publisher<'static> {
    // No message may be dropped because a connection has no room.
    let builder = stranger.declare_publisher(chatter()).congestion_control(CongestionControl::Block);
    let publisher = builder.wait().unwrap();
    wait_until(executor, "the stranger is heard", || publisher.matching_status().wait().unwrap().matching());
    publisher
}

#[test]
fn malformed_messages_are_counted_and_the_callback_does_not_run() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let (host, stranger) = host_and_stranger();
    let node = host.ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("listener", Vec::new());
    let handle = executor.handle();
    let options = SubscriptionOptions::new("chatter").keep_last(1000);
    let subscription = node.on(&group).create_subscription(options, move |heard: &mut Vec<String>, message: Text| {
        heard.push(message.data);
        handle.halt();
    });
    let subscription = subscription.unwrap();
    let publisher = publisher(&executor, &stranger);
    let bad = no_strings();
    for payload in &bad {
        publisher.put(payload.clone()).wait().unwrap();
    }
    // An attachment is no part of the message: with an invalid one, the message is still valid.
    publisher.put(string("still there")).attachment(vec![1, 2, 3]).wait().unwrap();
    spin(&executor, "the good one is heard");
    assert_eq!(subscription.lost(LossCause::TakeFailed), bad.len() as u64);
    assert_eq!(take_failures(&incidents), bad.len());
    publisher.delete().wait().unwrap();
    publisher.put(string("and again")).wait().unwrap();
    spin(&executor, "the next one is heard");
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), ["still there", "and again"]);
    assert_eq!(take_failures(&incidents), bad.len());
}

/// A message in which lengths nest.
#[derive(Clone, Serialize, Deserialize)]
struct Nested {
    names: Vec<String>,
    numbers: Vec<Vec<f64>>,
    flag: bool,
}

impl Message for Nested {
    const TYPE: &str = Text::TYPE;
    const TYPE_HASH: Option<&str> = Text::TYPE_HASH;
}

#[test]
fn noise_is_survived() {
    const PAYLOADS: usize = 900;
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let (host, stranger) = host_and_stranger();
    let node = host.ros(&context).create_node("listener").unwrap();
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
    let publisher = publisher(&executor, &stranger);
    for (number, payload) in noise(PAYLOADS).enumerate() {
        // Half of the messages begin with a valid header.
        publisher.put(if number % 2 == 0 { cdr(&payload) } else { payload }).wait().unwrap();
    }
    publisher.put(string("the end")).wait().unwrap();
    spin(&executor, "the end is heard");
    executor.spin(SpinOptions::spin_all()).unwrap();
    let lost = subscriptions.each_ref().map(|subscription| subscription.lost(LossCause::TakeFailed));
    let missed = subscriptions.each_ref().map(rospin_zenoh::Subscription::missed);
    drop(subscriptions);
    let heard = [texts, nested].map(|group| group.into_payload().unwrap());
    for (lost, heard) in lost.into_iter().zip(heard) {
        assert_eq!(usize::try_from(lost).unwrap() + heard, PAYLOADS + 1);
        assert!(lost > 100, "{lost}");
    }
    assert_eq!(take_failures(&incidents), usize::try_from(lost[0] + lost[1]).unwrap());
    assert_eq!(missed, [0, 0]);
}

#[test]
fn a_malformed_request_is_counted_and_its_client_told() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let (host, stranger) = host_and_stranger();
    let node = host.ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", 0);
    let options = ServiceOptions::new("add_two_ints").keep_last(100);
    let server = node.on(&group).create_service::<AddTwoInts, _>(options, |served: &mut i32, request: AddRequest| {
        *served += 1;
        AddResponse { sum: request.a.wrapping_add(request.b) }
    });
    let server = server.unwrap();
    let attachment = |number: i64| [&number.to_le_bytes()[..], &0_i64.to_le_bytes(), &[16], &[7; 16]].concat();
    let request = cdr(&[2_i64, 3].map(i64::to_le_bytes).concat());
    // None of these is a valid request: first the payload is cut short, then the attachment, then one or both are
    // missing.
    let cut = (0..request.len()).map(|length| (Some(request[..length].to_vec()), Some(attachment(1))));
    let nameless = (0..33).map(|length| (Some(request.clone()), Some(attachment(1)[..length].to_vec())));
    let bare = [(None, Some(attachment(1))), (Some(request.clone()), None), (None, None)];
    let bad: Vec<_> = cut.chain(nameless).chain(bare).collect();
    let querier = stranger.declare_querier(add_two_ints()).wait().unwrap();
    wait_until(&executor, "the stranger is heard", || querier.matching_status().wait().unwrap().matching());
    let mut replies = Vec::new();
    for (payload, attachment) in bad.clone() {
        let get = querier.get().attachment(attachment);
        let get = if let Some(payload) = payload { get.payload(payload) } else { get };
        replies.push(get.wait().unwrap());
    }
    wait_until(&executor, "all is counted", || server.lost(LossCause::TakeFailed) == bad.len() as u64);
    assert_eq!(take_failures(&incidents), bad.len());
    for reply in replies {
        let error = reply.recv().unwrap().into_result().unwrap_err();
        assert!(error.payload().try_to_string().unwrap().contains("the "), "a reason: {error:?}");
    }
    // A valid request, and the attachment of its response as rmw_zenoh_cpp expects it.
    let replies = querier.get().payload(request).attachment(attachment(42)).wait().unwrap();
    let reply = wait(&executor, "the answer comes", replies.recv_async()).unwrap().into_result().unwrap();
    assert_eq!(reply.payload().to_bytes()[..], cdr(&5_i64.to_le_bytes()));
    let answered = reply.attachment().unwrap().to_bytes();
    assert_eq!((&answered[..8], &answered[16..]), (&attachment(42)[..8], &attachment(42)[16..]));
    drop(server);
    assert_eq!(group.into_payload().unwrap(), 1);
}

#[test]
fn a_malformed_response_ends_its_call_and_is_counted() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let (host, stranger) = host_and_stranger();
    let node = host.ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let response = cdr(&5_i64.to_le_bytes());
    let mut responses = (0..response.len()).map(|length| response[..length].to_vec()).collect::<Vec<_>>().into_iter();
    let count = responses.len();
    let queryable = stranger.declare_queryable(add_two_ints()).complete(true).callback_mut(move |query| {
        let payload = responses.next().unwrap_or_else(|| response.clone());
        query.reply(query.key_expr(), payload).wait().unwrap();
    });
    let _queryable = queryable.wait().unwrap();
    let token = format!(
        "@ros2_lv/0/{}/0/1/SS/%/%/stranger/%add_two_ints/example_interfaces::srv::dds_::AddTwoInts_/{}/::,10:,:,:,,",
        stranger.zid(),
        AddTwoInts::TYPE_HASH.unwrap(),
    );
    let _token = stranger.liveliness().declare_token(token).wait().unwrap();
    wait(&executor, "the server is matched", client.wait_for_service());
    for n in 0..count {
        let outcome = wait(&executor, "the call ends", client.call(AddRequest { a: 2, b: 3 }));
        assert!(matches!(outcome, Err(CallError::Unanswered { .. })), "{n}: {outcome:?}");
    }
    assert_eq!(client.undecodable(), count as u64);
    assert_eq!(wait(&executor, "it is answered", client.call(AddRequest { a: 2, b: 3 })).unwrap().sum, 5);
}
