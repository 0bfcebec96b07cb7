//! Topics that nodes of ROS 2 and ours have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rospin_engine::{Executor, Overrun, SpinOptions, Timer};
use rospin_node::{Node, PublisherOptions, Subscription, SubscriptionOptions, TimerOptions};

use super::super::{context, executor, text, wait, wait_until};
use super::{Network, Process};
use crate::conformance::messages::Text;

/// Script of a node of ROS 2 with the arguments LENGTH and COUNT. It ends when it has heard COUNT messages on
/// `chatter`, and fails if one of them has another number of characters than LENGTH.
const COUNTER: &str = "ros2_counter.py";

/// Creates a listener of what a talker says. Returns it with the number of messages that it heard.
fn listen(executor: &Executor, node: &Node) -> (Subscription, Arc<AtomicU32>) {
    let heard = Arc::new(AtomicU32::new(0));
    let group = executor.create_group("listener", ());
    let counted = Arc::clone(&heard);
    let hear = move |message: Text| {
        assert!(message.data.starts_with("Hello World"), "{}", message.data);
        counted.fetch_add(1, Ordering::Relaxed);
    };
    (node.on(&group).create_subscription("chatter", hear).expect("a subscription"), heard)
}

/// ROS 2's talker is heard, whoever comes first, and after it was killed and started again.
///
/// # Panics
/// If it is not.
pub fn a_talker_is_heard(network: impl Fn() -> Network) {
    for ours_is_first in [true, false] {
        let network = network();
        let (context, _) = context();
        let executor = executor(&context, "main");
        let early = if ours_is_first { Some(network.node(&context)) } else { None };
        let first = network.demo("talker");
        let node = early.unwrap_or_else(|| network.node(&context));
        let (_subscription, heard) = listen(&executor, &node);
        wait_until(&executor, "two messages are heard", || heard.load(Ordering::Relaxed) >= 2);
        // The drop is a SIGKILL. The next process is another talker.
        drop(first);
        let _second = network.demo("talker");
        let before = heard.load(Ordering::Relaxed);
        wait_until(&executor, "two more are heard", || heard.load(Ordering::Relaxed) >= before + 2);
        let talker = || node.publishers_info_by_topic("/chatter").expect("a name").pop()?.node;
        wait_until(&executor, "its node is known", || talker().as_deref() == Some("/talker"));
    }
}

/// ROS 2's listener hears, whoever comes first, and after it was killed and started again.
///
/// # Panics
/// If it does not.
pub fn a_listener_hears(network: impl Fn() -> Network) {
    for ours_is_first in [true, false] {
        let network = network();
        let (context, _) = context();
        let executor = executor(&context, "main");
        let early = if ours_is_first { Some(network.node(&context)) } else { None };
        let first = network.demo("listener");
        let node = early.unwrap_or_else(|| network.node(&context));
        let publisher = node.create_publisher::<Text>("chatter").expect("a publisher");
        wait(&executor, "the listener is matched", publisher.wait_for_subscription());
        wait_until(&executor, "its node is known", || node.node_names().contains(&"/listener".to_owned()));
        publisher.publish(text("one")).expect("room");
        wait_until(&executor, "it hears", || first.said("I heard: [one]"));
        drop(first);
        let second = network.demo("listener");
        wait_until(&executor, "the next one hears", || {
            publisher.publish(text("two")).expect("room");
            second.said("I heard: [two]")
        });
    }
}

/// A latched message is heard by a node of ROS 2 that comes later, and theirs by ours.
///
/// # Panics
/// If it is not.
pub fn late_nodes_hear_latched_messages(network: &Network) {
    let (context, _) = context();
    let ros = network.ros(&context);
    let executor = ros.executor();
    let node = ros.create_node("ours").expect("a node");
    let latched = PublisherOptions::new("ours").keep_last(1).transient_local();
    let publisher = node.create_publisher::<Text>(latched).expect("a publisher");
    publisher.publish(text("map")).expect("room");
    let theirs = network.script("ros2_latched.py", &[]);
    wait_until(executor, "they hear ours", || theirs.said("heard map"));
    let options = SubscriptionOptions::new("theirs").keep_last(1).transient_local();
    let message = node.wait_for_message::<Text>(options).expect("a subscription");
    assert_eq!(wait(executor, "we hear theirs", message).expect("a message").data, "their map");
}

/// A node of ROS 2 hears every message at 1 kHz, for 5 s; `ROSPIN_TEST_MESSAGES=60000` makes it a minute.
///
/// # Panics
/// If it does not.
pub fn every_message_of_1_khz_is_heard(network: &Network) {
    let (context, _) = context();
    let executor = executor(&context, "main");
    let node = network.node(&context);
    let count = std::env::var("ROSPIN_TEST_MESSAGES").map_or(5_000, |count| count.parse().expect("a number"));
    let counter = network.script(COUNTER, &["1", &count.to_string()]);
    let publish = publish(&executor, &node, counter, Duration::from_millis(1), "x".to_owned(), count);
    // More messages than by default may take longer than there is patience.
    let time = Duration::from_millis(count.into());
    assert!(executor.spin(SpinOptions::new().timeout(time)).is_err(), "nothing ends it before");
    publish.until_all_are_heard(&executor);
}

/// All large messages arrive, at 10 Hz. Middlewares cut them into fragments.
///
/// # Panics
/// If one does not.
pub fn large_messages_are_heard(network: impl Fn() -> Network) {
    for (length, count) in [(1 << 20, 20), (10 << 20, 5)] {
        let network = network();
        let (context, _) = context();
        let executor = executor(&context, "main");
        let node = network.node(&context);
        let counter = network.script(COUNTER, &[&length.to_string(), &count.to_string()]);
        let publish = publish(&executor, &node, counter, Duration::from_millis(100), "x".repeat(length), count);
        publish.until_all_are_heard(&executor);
    }
}

/// A timer that publishes, and the counter that hears it.
struct Published {
    counter: Process,
    _timer: Timer,
}

/// Publishes the text `data` on `chatter`, `count` times every `period`, once the `counter` is matched. Returns what
/// goes on.
fn publish(
    executor: &Executor,
    node: &Node,
    counter: Process,
    period: Duration,
    data: String,
    count: u32,
) -> Published {
    let publisher =
        node.create_publisher::<Text>(PublisherOptions::new("chatter").keep_last(1000)).expect("a publisher");
    wait(executor, "the counter is matched", publisher.wait_for_subscription());
    let message = Arc::new(Text { data });
    let mut left = count;
    let send = move || {
        if left > 0 {
            left -= 1;
            publisher.publish(Arc::clone(&message)).expect("room");
        }
    };
    let options = TimerOptions::periodic(period).overrun(Overrun::CatchUp(u32::MAX));
    let timer = node.on(&executor.create_group("control", ())).create_wall_timer(options, send).expect("a timer");
    Published { counter, _timer: timer }
}

impl Published {
    /// Spins until the counter has ended, which it does once it has heard all messages.
    fn until_all_are_heard(mut self, executor: &Executor) {
        wait_until(executor, "the counter has heard all", || self.counter.has_ended());
    }
}
