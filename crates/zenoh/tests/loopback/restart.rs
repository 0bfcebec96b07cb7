//! A peer that dies without a word, and comes back.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rospin_engine::LossCause;
use rospin_testkit::peers::KilledChild;
use rospin_zenoh::{CallError, Session};

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, Place, Text, context, executor, guest_options, process_of, spin, text,
    wait, wait_until,
};

/// The variable with the endpoint of this process, for the other one.
const PEER_ENDPOINT: &str = "ROSPIN_TEST_PEER_ENDPOINT";

/// Starts a node in a process of its own.
fn start(place: &Place) -> KilledChild {
    let mut command = process_of(module_path!(), "the_peers_process");
    command.env(PEER_ENDPOINT, &place.endpoint);
    KilledChild(command.stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_peer_that_was_killed_is_met_again_when_it_is_back() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let place = Place::new();
    let node = place.host().ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("listener", ());
    let heard = Arc::new(AtomicU32::new(0));
    let handle = executor.handle();
    let count = Arc::clone(&heard);
    let subscription = node.on(&group).create_subscription("chatter", move |_: Text| {
        if count.fetch_add(1, Ordering::Relaxed) == 20 {
            handle.halt();
        }
    });
    let subscription = subscription.unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    // A timer that is independent of the network keeps running all the time.
    let ticks = Arc::new(AtomicU64::new(0));
    let ticked = Arc::clone(&ticks);
    let others = executor.create_group("others", ());
    let timer = others.create_timer(Duration::from_millis(5), move |(), _| _ = ticked.fetch_add(1, Ordering::Relaxed));
    let timer = timer.unwrap();
    let began = std::time::Instant::now();
    for n in 0..3 {
        heard.store(0, Ordering::Relaxed);
        let peer = start(&place);
        spin(&executor, "the talker is heard");
        wait(&executor, "the server is matched", client.wait_for_service());
        assert_eq!(wait(&executor, "the server answers", client.call(AddRequest { a: n, b: 1 })).unwrap().sum, n + 1);
        // A call that is never answered, because its server dies.
        let call = client.call(AddRequest { a: 0, b: 0 });
        drop(peer);
        let outcome = wait(&executor, "the call ends", call);
        assert!(matches!(outcome, Err(CallError::Unanswered { .. })), "{outcome:?}");
        wait_until(&executor, "it is gone", || subscription.publisher_count() == 0 && !client.service_is_ready());
    }
    let due = u64::try_from(began.elapsed().as_millis() / 5).unwrap();
    let done = ticks.load(Ordering::Relaxed) + timer.lost(LossCause::TimerOverrun);
    assert!(done >= due.saturating_sub(100), "{done} of {due} ticks");
    assert_eq!((common::take_failures(&incidents), subscription.missed()), (0, 0));
}

/// The peer's part; without an endpoint, nothing.
#[test]
fn the_peers_process() {
    let Ok(endpoint) = std::env::var(PEER_ENDPOINT) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = Session::open(guest_options(&endpoint)).unwrap().ros(&context).create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("talker", 0);
    let _timer = group.create_timer(Duration::from_millis(10), move |count: &mut u32, _| {
        *count += 1;
        publisher.publish(text(format!("Hello World: {count}"))).unwrap();
    });
    let server = executor.create_reentrant_group("server");
    let _server = node.on(&server).create_service::<AddTwoInts, _>("add_two_ints", |request: AddRequest| async move {
        if request.a == 0 && request.b == 0 {
            std::future::pending::<()>().await;
        }
        AddResponse { sum: request.a + request.b }
    });
    spin(&executor, "it is killed");
}
