//! Large messages through shared memory, between processes.

mod common;

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Place, Text, context, executor, guest_options, isolated, spin, text, wait, wait_until};
use rospin_testkit::peers::KilledChild;
use rospin_zenoh::zenoh::Wait;
use rospin_zenoh::{PublisherOptions, Session, SessionOptions, SubscriptionOptions};

/// The variable with the endpoint of this process, for the other one.
const PEER_ENDPOINT: &str = "ROSPIN_TEST_SHM_ENDPOINT";
/// The variable that is set if the other process is to use shared memory.
const PEER_WANTS: &str = "ROSPIN_TEST_SHM_WANTED";

/// Returns the text of a message of 1 MiB.
fn large() -> String {
    (0..1 << 20).map(|n: u32| char::from(b'a' + (n % 23) as u8)).collect()
}

/// Starts a node in a process of its own.
fn start(place: &Place, wants: bool) -> KilledChild {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "the_peers_process", "--nocapture"]);
    command.env(PEER_ENDPOINT, &place.endpoint).env(PEER_WANTS, wants.to_string());
    KilledChild(command.stdout(Stdio::null()).spawn().unwrap())
}

/// Publishes a message of 1 MiB again and again until the peer has said something that is `wanted` of one of them.
fn say(options: SessionOptions, place: &Place, peer_wants: bool, wanted: &'static str) -> Vec<String> {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node =
        Session::open(options.listen([place.endpoint.as_str()])).unwrap().ros(&context).create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>(PublisherOptions::new("large").qos(common::keep_all())).unwrap();
    let is_said = Arc::new(AtomicBool::new(false));
    let group = executor.create_group("verdicts", Vec::new());
    let said = Arc::clone(&is_said);
    let callback = move |verdicts: &mut Vec<String>, Text { data }: Text| {
        said.fetch_or(data == wanted, Ordering::Relaxed);
        verdicts.push(data);
    };
    let options = SubscriptionOptions::new("verdict").qos(common::keep_all());
    let subscription = node.on(&group).create_subscription(options, callback).unwrap();
    let _peer = start(place, peer_wants);
    wait(&executor, "the peer is there", subscription.wait_for_publisher());
    wait(&executor, "the peer listens", publisher.wait_for_subscription());
    let message = text(large());
    let mut pause = 0;
    wait_until(&executor, wanted, || {
        if pause == 0 {
            publisher.publish(message.clone()).unwrap();
        }
        pause = (pause + 1) % 20;
        is_said.load(Ordering::Relaxed)
    });
    assert_eq!(subscription.missed(), 0);
    drop(subscription);
    group.into_payload().unwrap()
}

/// Until the memory is there the network does: whichever way, what comes is whole.
#[test]
fn a_large_message_crosses_processes_in_shared_memory() {
    let place = Place::new();
    let verdicts = say(isolated().shared_memory(true), &place, true, "whole, by memory");
    let is_whole = |verdict: &String| verdict == "whole, by network" || verdict == "whole, by memory";
    assert!(verdicts.iter().all(is_whole), "{verdicts:?}");
}

#[test]
fn without_shared_memory_messages_use_the_network() {
    for (here, there) in [(true, false), (false, true)] {
        let place = Place::new();
        let verdicts = say(isolated().shared_memory(here), &place, there, "whole, by network");
        assert!(verdicts.iter().all(|verdict| verdict == "whole, by network"), "{verdicts:?}");
    }
}

/// The peer's part; without an endpoint, nothing.
#[test]
fn the_peers_process() {
    let Ok(endpoint) = std::env::var(PEER_ENDPOINT) else { return };
    let wants = std::env::var(PEER_WANTS).is_ok_and(|wants| wants == "true");
    let (context, _) = context();
    let executor = executor(&context, "main");
    let session = Session::open(guest_options(&endpoint).shared_memory(wants)).unwrap();
    // A plain Zenoh subscriber sees if the last message came through shared memory.
    let by_memory = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&by_memory);
    let key = "0/large/**";
    let raw = session.zenoh().declare_subscriber(key).callback(move |sample| {
        seen.store(sample.payload().as_shm().is_some(), Ordering::SeqCst);
    });
    let _raw = raw.wait().unwrap();
    let node = session.ros(&context).create_node("listener").unwrap();
    let verdicts = node.create_publisher::<Text>(PublisherOptions::new("verdict").qos(common::keep_all())).unwrap();
    let group = executor.create_group("listener", ());
    let expected = large();
    let options = SubscriptionOptions::new("large").qos(common::keep_all());
    let subscription = node.on(&group).create_subscription(options, move |Text { data }: Text| {
        let whole = if data == expected { "whole" } else { "not whole" };
        let way = if by_memory.load(Ordering::SeqCst) { "memory" } else { "network" };
        verdicts.publish(text(format!("{whole}, by {way}"))).unwrap();
    });
    let _subscription = subscription.unwrap();
    spin(&executor, "it is killed");
}
