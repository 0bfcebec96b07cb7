//! A peer that dies without a word, and comes back.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rospin_engine::LossCause;
use rospin_testkit::peers::KilledChild;

use crate::common::{self, Text, context, domain_id, executor, join, process_of, spin, text};

/// Variable with the domain that the other process should join.
const PEER_DOMAIN: &str = "ROSPIN_TEST_PEER_DOMAIN";

/// Starts a talker in a process of its own.
fn start_talker(domain_id: u16) -> KilledChild {
    let mut command = process_of(module_path!(), "the_talkers_process");
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
    let began = std::time::Instant::now();
    for _ in 0..3 {
        heard.store(0, Ordering::Relaxed);
        let talker = start_talker(id);
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
