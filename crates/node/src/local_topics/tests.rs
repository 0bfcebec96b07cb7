//! Topics whose ends come and go.

use std::thread;

use rospin_engine::{Context, ContextOptions, MixedQueue};

use super::*;
use crate::envelope::Envelope;
use crate::names::{NodeName, TypeName};
use crate::qos::{Durability, Qos};

fn address<M: 'static>() -> Address {
    let topic = NodeName::new("/", "node").unwrap().resolve("topic").unwrap();
    Address::of::<M>(&topic, "type".to_owned(), &TypeName::new("std_msgs/msg/String").unwrap(), &qos())
}

fn qos() -> Qos {
    Qos::sensor_data()
}

fn subscription(qos: &Qos) -> EndKind {
    let context = Context::new(ContextOptions::new());
    let queue: MixedQueue<u32, Envelope> = context.create_mixed_queue("topic", false).unwrap();
    let inlet = Inlet::new(queue.inlet(), 1, context.clock().clone(), &EndEvents::default());
    EndKind::Subscription { requested: Terms::of(qos), inlet }
}

#[test]
fn topics_without_ends_are_forgotten_also_if_the_last_ends_go_at_once() {
    let topics = Arc::new(LocalTopics::default());
    let threads = (0..2).map(|_| {
        let topics = Arc::clone(&topics);
        thread::spawn(move || {
            (0..2000).for_each(|_| drop(topics.enter(address::<u32>(), subscription(&qos()), EndEvents::default())))
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    assert!(topics.known.lock().is_empty());
}

#[test]
fn an_end_that_cannot_be_entered_leaves_nothing() {
    let topics = Arc::new(LocalTopics::default());
    let kept = Box::new(|| -> Kept { Box::new(|| panic!("intended")) });
    let publisher =
        topics.enter(address::<u32>(), EndKind::Publisher { offered: Terms::ALL, kept }, EndEvents::default());
    let late = subscription(&Qos { durability: Durability::TransientLocal, ..qos() });
    let entered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        topics.enter(address::<u64>(), late, EndEvents::default())
    }));
    assert!(entered.is_err() && publisher.count() == 0 && !publisher.has_several_forms());
    drop(publisher);
    assert!(topics.known.lock().is_empty());
}
