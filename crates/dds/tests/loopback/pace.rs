//! Messages that are published as fast as possible, with a history of limited depth.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_dds::{PublisherOptions, SubscriptionOptions};
use rospin_engine::SpinOptions;

use crate::common::{PATIENCE, Text, context, domain_id, executor, join, text, wait};

/// The number of messages, which together are many times what the buffer of a socket holds.
const COUNT: u64 = 1500;

/// Publishes as fast as possible. Returns the number of messages that were lost.
fn lost(max_blocking_time: Duration) -> u64 {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let talker = here.ros(&context).create_node("talker").unwrap();
    let listener = there.ros(&context).create_node("listener").unwrap();
    let options = PublisherOptions::new("fast").keep_last(50).max_blocking_time(max_blocking_time);
    let publisher = talker.create_publisher::<Text>(options).unwrap();
    let group = main.create_group("listener", ());
    let heard = Arc::<AtomicU64>::default();
    let count = Arc::clone(&heard);
    // It has room for all, so that none is lost but on its way.
    let options = SubscriptionOptions::new("fast").keep_last(2000);
    let subscription = listener.on(&group).create_subscription(options, move |message: Text| {
        if message.data.is_empty() {
            count.store(u64::MAX, Ordering::Relaxed);
        } else {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let subscription = subscription.unwrap();
    wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    wait(&main, "the subscription is matched", subscription.wait_for_publisher());
    let data = "x".repeat(64 << 10);
    thread::scope(|scope| {
        scope.spawn(|| main.spin(SpinOptions::new()).unwrap());
        let begin = Instant::now();
        for _ in 0..COUNT {
            publisher.publish(text(data.clone())).unwrap();
        }
        publisher.publish(text("")).unwrap();
        while heard.load(Ordering::Relaxed) != u64::MAX && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        main.halt();
    });
    assert_eq!(heard.load(Ordering::Relaxed), u64::MAX, "the last one is heard");
    subscription.missed()
}

/// A publisher whose messages overflow the buffer of a socket waits a moment for those that are on their way. On a busy
/// machine that may be too short for a few of them.
#[test]
fn a_publisher_does_not_outrun_the_socket_of_a_subscription() {
    let paced = lost(Duration::from_millis(100));
    let unpaced = lost(Duration::ZERO);
    assert!(unpaced > COUNT / 10 && paced <= unpaced / 5, "{paced} lost with a pace, {unpaced} without one");
}
