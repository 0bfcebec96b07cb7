//! The cost of a message between nodes of one process, by the size of the message and by the kinds of subscriptions.
//!
//! `cargo bench -p rospin-node --bench in_process` prints a table. Each message is published as an `Arc` and taken by
//! one callback before the next one. The cost should not depend on the size, unless a subscription of another Rust type
//! needs it encoded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rospin::dynamic::{DynamicMessage, MessageType};
use rospin::msgs::std_msgs::msg::String as Text;
use rospin_engine::{Context, ContextOptions, SpinOptions};
use rospin_node::{MessageInfo, Node, Ros};

const MEASURED: Duration = Duration::from_millis(200);
const ROUNDS: usize = 7;
const SIZES: [usize; 3] = [8, 64 << 10, 1 << 20];

/// Returns the time per message, in nanoseconds: the best of several rounds.
fn measure(size: usize, subscribe: impl FnOnce(&Node)) -> f64 {
    let context = Context::new(ContextOptions::new());
    let ros = Ros::in_process(&context);
    let node = ros.create_node("node").expect("a node");
    let publisher = node.create_publisher::<Text>("text").expect("a publisher");
    subscribe(&node);
    let message = Arc::new(Text { data: "a".repeat(size) });
    let round = || {
        let (begin, mut count) = (Instant::now(), 0_u32);
        while begin.elapsed() < MEASURED {
            for _ in 0..16 {
                publisher.publish(Arc::clone(&message)).expect("it is published");
                ros.executor().spin(SpinOptions::spin_all()).expect("it is taken");
            }
            count += 16;
        }
        begin.elapsed().as_nanos() as f64 / f64::from(count)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn shared(node: &Node) {
    let subscription = node.create_subscription("text", |text: Arc<Text>| assert!(!text.data.is_empty()));
    std::mem::forget(subscription.expect("a subscription"));
}

fn informed(node: &Node) {
    let subscription = node.create_subscription("text", |text: Arc<Text>, info: MessageInfo| {
        assert!(!text.data.is_empty() && info.is_in_process);
    });
    std::mem::forget(subscription.expect("a subscription"));
}

fn dynamic(node: &Node) {
    let prefixes = [concat!(env!("CARGO_MANIFEST_DIR"), "/../dynamic/tests/install")];
    let message_type = MessageType::find_in("std_msgs/msg/String", &prefixes).expect("the type");
    let subscription = node.create_dynamic_subscription("text", &message_type, |_: DynamicMessage| ());
    std::mem::forget(subscription.expect("a subscription"));
}

#[expect(clippy::print_stdout, reason = "it is what a benchmark is for")]
fn main() {
    println!("{:>12} {:>16} {:>10}", "bytes", "shared, ns", "of 8 B's");
    let least = measure(SIZES[0], shared);
    for size in SIZES {
        let cost = if size == SIZES[0] { least } else { measure(size, shared) };
        println!("{size:>12} {cost:>16.0} {:>10.2}", cost / least);
    }
    let asked = measure(SIZES[0], informed);
    println!("{:>12} {asked:>16.0} {:>10.2}   for a callback that takes a `MessageInfo`", SIZES[0], asked / least);
    let encoded = measure(SIZES[1], |node| {
        shared(node);
        dynamic(node);
    });
    println!(
        "{:>12} {encoded:>16.0} {:>10.2}   with a dynamic subscription beside it, which gets it encoded",
        SIZES[1],
        encoded / least
    );
}
