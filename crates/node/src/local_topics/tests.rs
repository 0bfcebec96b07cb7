//! Topics whose ends come and go.

use std::thread;

use rospin_engine::{Context, ContextOptions, MixedQueue, TopicError};

use super::*;
use crate::info::Gid;
use crate::names::{NodeName, TypeName};
use crate::qos::{Durability, Qos};

fn address<M: 'static>() -> Address {
    let topic = NodeName::new("/", "node").unwrap().resolve("topic").unwrap();
    Address::of::<M>(&topic, "type".to_owned(), &TypeName::new("std_msgs/msg/String").unwrap(), &qos())
}

fn qos() -> Qos {
    Qos::sensor_data()
}

/// Adds a subscription of type `M`.
fn enter<M: 'static>(topics: &Arc<LocalTopics>, qos: &Qos) -> Entered<MixedQueue<u32, Envelope>> {
    let context = Context::new(ContextOptions::new());
    let create = |_| {
        let queue: MixedQueue<u32, Envelope> = context.create_mixed_queue("topic", false)?;
        let inlet = Inlet::new(queue.inlet(), context.clock().clone(), &EndEvents::default(), false);
        Ok::<_, TopicError>((inlet, queue))
    };
    topics.enter_subscription(address::<M>(), Terms::of(qos), EndEvents::default(), 1, create).unwrap()
}

#[test]
fn topics_without_ends_are_forgotten_also_if_the_last_ends_go_at_once() {
    let topics = Arc::new(LocalTopics::default());
    let threads = (0..2).map(|_| {
        let topics = Arc::clone(&topics);
        thread::spawn(move || (0..2000).for_each(|_| drop(enter::<u32>(&topics, &qos()))))
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert!(topics.known.lock().is_empty());
}

#[test]
fn an_end_that_cannot_be_entered_leaves_nothing() {
    let topics = Arc::new(LocalTopics::default());
    let kept = || {
        let origin = Origin { publisher: Gid::new([0; 16]), number: 1, published: Instant::from_nanos(0), order: 1 };
        vec![Arc::new(Envelope::Shared { message: Arc::new(1_u32), origin })]
    };
    let keeper = Keeper { kept: Box::new(kept), encode: Arc::new(|_: &Envelope| panic!("intended")) };
    let publisher = topics.enter_publisher(address::<u32>(), Terms::ALL, EndEvents::default(), keeper);
    let late = Qos { durability: Durability::TransientLocal, ..qos() };
    let entered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| enter::<u64>(&topics, &late)));
    assert!(entered.is_err() && publisher.count() == 0 && !publisher.crosses());
    let failing = |_| Err::<(Inlet, ()), _>("intended");
    let terms = Terms::of(&qos());
    let entered = topics.enter_subscription(address::<u64>(), terms, EndEvents::default(), 1, failing);
    assert!(entered.is_err() && publisher.count() == 0 && !publisher.crosses());
    drop((entered, publisher));
    assert!(topics.known.lock().is_empty());
}
