//! A peer that dies without a word, and comes back.

use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rospin_dds::{CallError, Client};
use rospin_engine::{Executor, LossCause, SpinOptions};
use rospin_testkit::peers::KilledChild;

use crate::common::{
    self, AddRequest, AddResponse, AddTwoInts, PATIENCE, Text, context, domain_id, executor, join, process_of, spin,
    text, wait,
};

/// Variable with the domain that the other process should join.
const PEER_DOMAIN: &str = "ROSPIN_TEST_PEER_DOMAIN";

/// Starts a peer in a process of its own: one of the tests below.
fn start(peer: &str, domain_id: u16) -> KilledChild {
    let mut command = process_of(module_path!(), peer);
    command.env(PEER_DOMAIN, domain_id.to_string());
    KilledChild(command.stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_talker_that_was_killed_is_heard_again_when_it_is_back() {
    let (context, incidents) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("listener").unwrap();
    let group = executor.create_group("listener", ());
    let heard = Arc::new(AtomicU32::new(0));
    let handle = executor.handle();
    let count = Arc::clone(&heard);
    let subscription = node
        .on(&group)
        .create_subscription("chatter", move |_: Text| {
            if count.fetch_add(1, Ordering::Relaxed) == 20 {
                handle.halt();
            }
        })
        .unwrap();
    // A timer that is independent of the network keeps running all the time.
    let ticks = Arc::new(AtomicU64::new(0));
    let ticked = Arc::clone(&ticks);
    let others = executor.create_group("others", ());
    let timer = others.create_timer(Duration::from_millis(5), move |(), _| _ = ticked.fetch_add(1, Ordering::Relaxed));
    let timer = timer.unwrap();
    let began = Instant::now();
    for _ in 0..3 {
        heard.store(0, Ordering::Relaxed);
        let talker = start("the_talkers_process", id);
        spin(&executor, "the talker is heard");
        drop(talker);
    }
    let due = u64::try_from(began.elapsed().as_millis() / 5).unwrap();
    let done = ticks.load(Ordering::Relaxed) + timer.lost(LossCause::TimerOverrun);
    assert!(done >= due.saturating_sub(100), "{done} of {due} ticks");
    assert_eq!(common::take_failures(&incidents), 0);
    drop(subscription);
}

/// The talker's part; without its domain, nothing.
#[test]
fn the_talkers_process() {
    let Ok(id) = std::env::var(PEER_DOMAIN) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id.parse().unwrap()).ros(&context).create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter").unwrap();
    let group = executor.create_group("talker", 0);
    let _timer = group.create_timer(Duration::from_millis(10), move |count: &mut u32, _| {
        *count += 1;
        publisher.publish(text(format!("Hello World: {count}"))).unwrap();
    });
    spin(&executor, "it is killed");
}

/// Calls until a server answers. Returns false if none does.
fn is_answered(executor: &Executor, client: &Client<AddTwoInts>) -> bool {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let patience = SpinOptions::new().timeout(Duration::from_millis(300));
        let response = executor.spin_until(client.call(AddRequest { a: 1, b: 2 }), patience);
        if let Ok(Ok(AddResponse { sum })) = response {
            return sum == 3;
        }
    }
    false
}

/// The server that was killed is matched until its lease ends, when its successor is matched, too. The successor never
/// heard of the call.
#[test]
fn a_call_ends_when_its_server_was_killed_and_started_again() {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let id = domain_id();
    let node = join(id).ros(&context).create_node("caller").unwrap();
    let client = node.create_client::<AddTwoInts>("add_two_ints").unwrap();
    let first = start("the_servers_process", id);
    wait(&executor, "the server is matched", client.wait_for_service());
    let never_answered = AddRequest { a: -1, b: 0 };
    let mut lost = pin!(client.call(never_answered));
    assert!(is_answered(&executor, &client), "the first server answers");
    drop(first);
    let second = start("the_servers_process", id);
    assert!(is_answered(&executor, &client), "the second server answers");
    // Both servers are matched.
    let is_pending = SpinOptions::new().timeout(Duration::from_millis(100));
    assert!(executor.spin_until(lost.as_mut(), is_pending).is_err());
    let mut held = pin!(client.call(never_answered));
    let ended = wait(&executor, "the call ends with the lease of its server", lost);
    assert!(matches!(ended, Err(CallError::Unanswered { .. })), "{ended:?}");
    // The call that went to both servers waits for the second one.
    assert!(executor.spin_until(held.as_mut(), is_pending).is_err());
    assert!(client.service_is_ready() && is_answered(&executor, &client));
    drop(second);
}

/// The server's part, which answers no request with a negative number; without its domain, nothing.
#[test]
fn the_servers_process() {
    let Ok(id) = std::env::var(PEER_DOMAIN) else { return };
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = join(id.parse().unwrap()).ros(&context).create_node("adder").unwrap();
    let group = executor.create_reentrant_group("server");
    let _server = node
        .on(&group)
        .create_service::<AddTwoInts, _>("add_two_ints", |request: AddRequest| async move {
            if request.a < 0 {
                std::future::pending::<()>().await;
            }
            AddResponse { sum: request.a + request.b }
        })
        .unwrap();
    // It outlives whoever waits for it, because a server that ends by itself tells its clients so.
    assert!(executor.spin(SpinOptions::new().timeout(3 * PATIENCE)).is_err(), "nobody halts it");
}
