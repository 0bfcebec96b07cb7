//! R2R nodes on a rospin executor: the order of urgency, the counts of what is displaced, and R2R's own ways beside it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::channel::mpsc;
use r2r::QosProfile;
use r2r::std_msgs::msg::Int64;
use rospin_r2r::{
    EntityKind, EntityOptions, Incoming, LossCause, Priority, R2rExecutor, R2rNode, R2rOptions, SpinOptions,
};

/// A time that nothing here takes, unless a wake-up was lost.
const LONG: Duration = Duration::from_secs(20);

fn executor() -> R2rExecutor {
    R2rExecutor::new(R2rOptions::new())
}

fn create_node(executor: &R2rExecutor, name: &str) -> R2rNode {
    executor.create_node(r2r::Context::create().expect("a context"), name, "").expect("a node")
}

fn reliable(depth: usize) -> QosProfile {
    QosProfile::default().reliable().keep_last(depth)
}

/// Waits for what other threads do, which takes no more than moments.
fn wait_for(mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < LONG, "it does not come");
        thread::yield_now();
    }
}

/// A topic with both ends in one node, which know each other.
fn create_topic(node: &R2rNode, topic: &str, depth: usize) -> (Incoming<Int64>, r2r::Publisher<Int64>) {
    let incoming = node.subscribe(topic, reliable(depth)).expect("a subscription");
    let publisher = node.create_publisher::<Int64>(topic, reliable(100)).expect("a publisher");
    wait_for(|| publisher.get_inter_process_subscription_count().is_ok_and(|count| count == 1));
    (incoming, publisher)
}

/// Publishes messages, each of which the pump has moved to the queue before the next one.
fn publish_one_by_one(publisher: &r2r::Publisher<Int64>, incoming: &Incoming<Int64>, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let before = incoming.len() as u64 + incoming.lost();
        publisher.publish(&Int64 { data: number }).expect("a message");
        wait_for(|| incoming.len() as u64 + incoming.lost() > before);
    }
}

#[test]
fn the_most_urgent_message_runs_first() {
    let executor = executor();
    let node = create_node(&executor, "urgency");
    node.start();
    let group = executor.create_group("order", Vec::new());
    let mut entities = Vec::new();
    let mut waiting = Vec::new();
    for (name, priority) in [("low", 1), ("high", 8), ("middle", 4)] {
        let (incoming, publisher) = create_topic(&node, &format!("/urgency/{name}"), 10);
        publish_one_by_one(&publisher, &incoming, 0..2);
        waiting.push((name, priority, incoming));
    }
    for (name, priority, incoming) in waiting {
        let options = EntityOptions::new(name).priority(Priority(priority));
        let note = move |order: &mut Vec<&str>, _: Int64| order.push(name);
        entities.push(group.create_source(EntityKind::Subscription, options, incoming, note).expect("an entity"));
    }
    executor.spin(SpinOptions::spin_all()).expect("a spin");
    assert_eq!(group.into_payload().expect("the order"), ["high", "high", "middle", "middle", "low", "low"]);
}

/// R2R would have kept the oldest ten messages.
#[test]
fn the_newest_messages_stay_and_displaced_ones_are_counted() {
    let executor = executor();
    let node = create_node(&executor, "depth");
    node.start();
    let (mut incoming, publisher) = create_topic(&node, "/depth", 15);
    publish_one_by_one(&publisher, &incoming, 0..40);
    assert_eq!((incoming.len(), incoming.lost()), (15, 25));
    let oldest = futures::executor::block_on(incoming.next()).expect("a message");
    assert_eq!(oldest.data, 25);
}

#[test]
fn messages_that_an_entity_displaces_are_counted_at_the_entity() {
    let executor = executor();
    let node = create_node(&executor, "losses");
    node.start();
    let (incoming, publisher) = create_topic(&node, "/losses", 2);
    let (other, after) = create_topic(&node, "/losses_end", 10);
    let group = executor.create_group("last", 0);
    let entity = group
        .create_source(EntityKind::Subscription, "losses", incoming, |last, message: Int64| *last = message.data)
        .expect("an entity");
    // The executor does not spin, so whatever the pump takes displaces what is older. The middleware would displace
    // messages that the pump has not taken yet: a spin that takes the message after one has taken that one, too.
    for number in 0..10 {
        publisher.publish(&Int64 { data: number }).expect("a message");
        publish_one_by_one(&after, &other, number..number + 1);
    }
    wait_for(|| entity.lost(LossCause::QueueFull) == 8);
    executor.spin(SpinOptions::spin_all()).expect("a spin");
    assert_eq!((entity.lost(LossCause::QueueFull), other.lost()), (8, 0));
    drop(entity);
    assert_eq!(group.into_payload().expect("the last number"), 9);
}

/// A task that has five messages waiting wakes an urgent one with its first: the urgent one runs before the second.
#[test]
fn a_task_gives_way_to_a_more_urgent_one_between_two_messages() {
    let executor = executor();
    let node = create_node(&executor, "ways");
    node.start();
    let (mut incoming, publisher) = create_topic(&node, "/ways", 10);
    publish_one_by_one(&publisher, &incoming, 0..3);
    let (order, (wake, mut woken)) = (Arc::new(Mutex::new(Vec::new())), mpsc::unbounded());
    let low = executor.create_spawner("low", Some(Priority(1))).expect("a spawner");
    let high = executor.create_spawner("high", Some(Priority(8))).expect("a spawner");
    let noted = Arc::clone(&order);
    high.spawn(async move {
        while let Some(number) = woken.next().await {
            noted.lock().expect("a lock").push(("high", number));
        }
    });
    let noted = Arc::clone(&order);
    low.spawn(async move {
        while let Some(message) = incoming.next().await {
            noted.lock().expect("a lock").push(("low", message.data));
            wake.unbounded_send(message.data).expect("the urgent task");
        }
    });
    executor.spin(SpinOptions::spin_all()).expect("a spin");
    let order = order.lock().expect("a lock");
    assert_eq!(*order, [("low", 0), ("high", 0), ("low", 1), ("high", 1), ("low", 2), ("high", 2)]);
}

#[test]
fn streams_and_sources_end_with_their_node() {
    let executor = executor();
    let node = create_node(&executor, "short");
    let (mut stream, _) = create_topic(&node, "/short/stream", 10);
    let mut timer = node.create_wall_timer(Duration::from_secs(3_600)).expect("a timer");
    drop(node);
    assert!(futures::executor::block_on(stream.next()).is_none());
    assert!(futures::executor::block_on(timer.tick()).is_err());
}

#[test]
fn entities_may_be_created_while_the_node_is_spun() {
    let executor = Arc::new(executor());
    let node = create_node(&executor, "growing");
    let spinning = Arc::clone(&executor);
    let spin = thread::spawn(move || spinning.spin(SpinOptions::new()).expect("a spin"));
    for round in 0..10 {
        let (mut incoming, publisher) = create_topic(&node, &format!("/growing{round}"), 10);
        publisher.publish(&Int64 { data: round }).expect("a message");
        assert_eq!(futures::executor::block_on(incoming.next()).expect("a message").data, round);
    }
    executor.handle().halt();
    spin.join().expect("the spin");
}

#[tokio::test]
async fn tasks_of_tokio_take_from_the_streams() {
    let executor = executor();
    let node = create_node(&executor, "tokio");
    node.start();
    let (mut incoming, publisher) = create_topic(&node, "/tokio", 10);
    let task = tokio::spawn(async move { incoming.next().await.expect("a message").data });
    publisher.publish(&Int64 { data: 7 }).expect("a message");
    assert_eq!(tokio::time::timeout(LONG, task).await.expect("soon").expect("the task"), 7);
}

#[test]
fn ticks_that_nobody_takes_are_counted() {
    let executor = executor();
    let node = create_node(&executor, "ticks");
    let mut timer = node.create_wall_timer(Duration::from_millis(1)).expect("a timer");
    node.start();
    wait_for(|| timer.lost() >= 3);
    futures::executor::block_on(timer.tick()).expect("a tick");
}

#[test]
fn a_panic_of_a_task_leaves_the_others_alone() {
    let executor = R2rExecutor::new(R2rOptions::new().context(|context| context.on_incident(|_| {})));
    let spawner = executor.create_spawner("tasks", None).expect("a spawner");
    let (sender, receiver) = futures::channel::oneshot::channel();
    spawner.spawn(async { panic!("a test's panic") });
    spawner.spawn(async move { sender.send(3).expect("the test waits") });
    let received = executor.spin_until(receiver, SpinOptions::new().timeout(LONG)).expect("a spin");
    assert_eq!(received, Ok(3));
}
