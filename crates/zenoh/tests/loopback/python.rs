//! With a peer that shares no code: Eclipse Zenoh under Python, with the keys, tokens and attachments of
//! `rmw_zenoh_cpp`.
//!
//! See `rospin_testkit::peers::python` for what it wants.

use rospin_testkit::peers::matrix;
use rospin_testkit::peers::python::Peer;
use rospin_testkit::peers::wire::WirePeer;
use rospin_zenoh::{PublisherOptions, ServiceOptions};

use crate::common::{
    AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, keep_all, spin, take_failures, text, wait,
};

/// Eclipse Zenoh under Python: its package, and an import of it.
const PACKAGE: [&str; 2] = ["eclipse-zenoh", "import zenoh; zenoh.Session"];

/// Starts the peer, which stays until its input ends, or says that the test is skipped.
fn peer(part: &str, place: &Place) -> Option<Peer> {
    Peer::start(PACKAGE, "wire/zenoh_peer.py", &[part, &place.endpoint], &[])
}

#[test]
fn strings_go_there_and_back() {
    let place = Place::new();
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let node = place.host().ros(&context).create_node("talker").unwrap();
    let Some(peer) = peer("echo", &place) else { return };
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("chatter").qos(keep_all())).unwrap();
    let group = executor.create_group("echo", Vec::new());
    let handle = executor.handle();
    let subscription = node.on(&group).create_subscription("echo", move |heard: &mut Vec<String>, message: Text| {
        if message.data == "the end" { handle.halt() } else { heard.push(message.data) }
    });
    let subscription = subscription.unwrap();
    wait(&executor, "the peer hears", publisher.wait_for_subscription());
    wait(&executor, "the peer is heard", subscription.wait_for_publisher());
    let said = ["Hello World: 1", "", "größer als ASCII", "with \u{1} control", &"long ".repeat(20_000)];
    for data in &said {
        publisher.publish(text(*data)).unwrap();
    }
    publisher.publish(text("the end")).unwrap();
    spin(&executor, "all came back");
    assert_eq!((subscription.missed(), take_failures(&incidents)), (0, 0));
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), said);
    peer.assert_success();
}

#[test]
fn its_server_answers() {
    let place = Place::new();
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = place.host().ros(&context).create_node("caller").unwrap();
    let Some(peer) = peer("add", &place) else { return };
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    wait(&executor, "the peer serves", client.wait_for_service());
    let calls: Vec<_> = (1..=10).map(|n| (n, client.call(AddRequest { a: n, b: 1 << 40 }))).collect();
    for (n, call) in calls {
        assert_eq!(wait(&executor, "the response comes", call).unwrap().sum, n + (1 << 40));
    }
    assert_eq!(wait(&executor, "the last response comes", client.call(AddRequest { a: 0, b: 0 })).unwrap().sum, 0);
    assert_eq!(client.undecodable(), 0);
    peer.assert_success();
}

#[test]
fn its_client_is_answered() {
    let place = Place::new();
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let node = place.host().ros(&context).create_node("adder").unwrap();
    let group = executor.create_group("server", 0);
    // The peer sends eleven requests at once.
    let options = ServiceOptions::new("add_two_ints").keep_last(20);
    let handle = executor.handle();
    let server = node.on(&group).create_service::<AddTwoInts, _>(
        options,
        move |asked: &mut i32, AddRequest { a, b }: AddRequest| {
            *asked += 1;
            if (a, b) == (0, 0) {
                handle.halt();
            }
            AddResponse { sum: a + b }
        },
    );
    let server = server.unwrap();
    let Some(peer) = peer("call", &place) else { return };
    spin(&executor, "the peer has asked for zeros");
    assert_eq!((server.unsent_responses(), take_failures(&incidents)), (0, 0));
    peer.assert_success();
    drop(server);
    assert_eq!(group.into_payload().unwrap(), 11);
}

#[test]
fn everything_works_both_ways() {
    let place = Place::new();
    let Some(peer) = WirePeer::find(PACKAGE, ["zenoh", &place.endpoint], ("RUST_LOG", "error")) else { return };
    let join = || place.host().ros(&context().0);
    matrix::all_parts_work("Zenoh under Python", &|part| peer.start(part), join);
}
