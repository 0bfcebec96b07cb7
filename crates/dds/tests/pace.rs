//! Messages that are published as fast as possible, with a history of limited depth. A program of its own, since other
//! tests would take the processor from it.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rospin_dds::{Publisher, PublisherOptions, SubscriptionOptions};
use rospin_engine::SpinOptions;

use common::{PATIENCE, Text, context, domain_id, executor, join, text, wait};

/// The number of messages, which together are many times what the buffer of a socket holds.
const COUNT: usize = 1500;

/// Has so many publishers of one process publish as fast as possible. Returns the number of messages that were lost.
fn lost(publishers: u64, max_blocking_time: Duration) -> u64 {
    let (context, _) = context();
    let main = executor(&context, "main");
    let id = domain_id();
    let (here, there) = (join(id), join(id));
    let talker = here.ros(&context).create_node("talker").unwrap();
    let listener = there.ros(&context).create_node("listener").unwrap();
    let create = |_| {
        let options = PublisherOptions::new("fast").keep_last(50).max_blocking_time(max_blocking_time);
        talker.create_publisher::<Text>(options).unwrap()
    };
    let publishers: Vec<Publisher<Text>> = (0..publishers).map(create).collect();
    let group = main.create_group("listener", ());
    let ended = Arc::<AtomicUsize>::default();
    let count = Arc::clone(&ended);
    // It has room for all, so that none is lost but on its way.
    let options = SubscriptionOptions::new("fast").keep_last(2000);
    let subscription = listener.on(&group).create_subscription(options, move |(): &mut (), message: Text| {
        if message.data.is_empty() {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let subscription = subscription.unwrap();
    for publisher in &publishers {
        wait(&main, "the publisher is matched", publisher.wait_for_subscription());
    }
    let data = "x".repeat(64 << 10);
    thread::scope(|scope| {
        scope.spawn(|| main.spin(SpinOptions::new()).unwrap());
        for publisher in &publishers {
            scope.spawn(|| {
                for _ in 0..COUNT / publishers.len() {
                    publisher.publish(text(data.clone())).unwrap();
                }
                publisher.publish(text("")).unwrap();
            });
        }
        let begin = Instant::now();
        while ended.load(Ordering::Relaxed) < publishers.len() && begin.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(1));
        }
        main.halt();
    });
    assert_eq!(ended.load(Ordering::Relaxed), publishers.len(), "the last ones are heard");
    subscription.missed()
}

/// Publishers whose messages overflow the buffer of a socket wait for those that are on their way. On a busy machine,
/// a process may not answer for longer than they wait, or be so slow that nothing overflows. So there are several tries.
#[test]
fn publishers_do_not_outrun_the_socket_of_a_subscription() {
    for publishers in [1, 4] {
        let tries = |max_blocking_time, is_enough: &dyn Fn(u64) -> bool| {
            let mut all = Vec::new();
            while all.last().is_none_or(|lost| !is_enough(*lost)) {
                assert!(all.len() < 10, "{all:?} of {publishers} publishers were lost with {max_blocking_time:?}");
                all.push(lost(publishers, max_blocking_time));
            }
            all[all.len() - 1]
        };
        let unpaced = tries(Duration::ZERO, &|lost| lost > COUNT as u64 / 10);
        tries(Duration::from_millis(100), &|lost| lost <= unpaced / 5);
    }
}
