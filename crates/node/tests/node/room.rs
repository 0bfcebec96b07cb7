//! Room for messages within a process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rospin_engine::{CallbackGroup, Context, ContextOptions, Executor, ExecutorOptions, SpinOptions};
use rospin_node::{
    MessageInfo, Node, PublishError, Publisher, PublisherOptions, Qos, Ros, Subscription, SubscriptionOptions,
};

use crate::in_process::Number;

/// A node, and an executor that spins only when it is told to.
struct Set {
    node: Node,
    executor: Executor,
    group: CallbackGroup<Vec<i64>>,
}

impl Set {
    fn new() -> Self {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let group = executor.create_group("group", Vec::new());
        Self { node, executor, group }
    }

    fn publisher(&self, options: PublisherOptions) -> Publisher<Number> {
        self.node.create_publisher(options).unwrap()
    }

    fn listen(&self, options: SubscriptionOptions) -> Subscription {
        let hear = |heard: &mut Vec<i64>, number: Number| heard.push(number.data);
        self.node.on(&self.group).create_subscription(options, hear).unwrap()
    }

    fn spin_all(&self) {
        self.executor.spin(SpinOptions::spin_all()).unwrap();
    }
}

fn is_full(room: Result<(), PublishError>) -> bool {
    matches!(room, Err(PublishError::Full { topic }) if topic == "/numbers")
}

#[test]
fn a_publisher_waits_for_room_no_longer_than_it_may() {
    let set = Set::new();
    let subscription = set.listen(SubscriptionOptions::new("numbers").keep_last(2));
    let at_most = Duration::from_millis(50);
    let publisher = set.publisher(PublisherOptions::new("numbers").max_blocking_time(at_most));
    assert_eq!(publisher.wait_for_room(), Ok(()));
    publisher.publish_if_room(Number { data: 1 }).unwrap();
    publisher.publish_if_room(&Number { data: 2 }).unwrap();
    let begin = Instant::now();
    assert!(is_full(publisher.wait_for_room()));
    assert!(begin.elapsed() >= at_most);
    let message = Arc::new(Number { data: 3 });
    let refused = publisher.publish_if_room(Arc::clone(&message)).unwrap_err();
    assert!(Arc::ptr_eq(&refused.message, &message) && is_full(Err(refused.reason)));
    set.spin_all();
    assert_eq!(publisher.wait_for_room(), Ok(()));
    publisher.publish_if_room(message).unwrap();
    set.spin_all();
    assert_eq!(subscription.missed(), 0);
    drop(subscription);
    assert_eq!(set.group.into_payload().unwrap(), [1, 2, 3]);
}

/// A subscription may ask for a `MessageInfo`, be transient local, or have a deadline, for which messages are encoded.
/// None of that makes room in its queue.
#[test]
fn a_full_queue_of_any_form_refuses() {
    let deadline = Qos::keep_last(1).with_deadline(Duration::from_secs(3600));
    let numbers = || SubscriptionOptions::new("numbers").keep_last(1);
    for (kept, timed, informed) in
        [(false, false, true), (true, false, false), (true, false, true), (false, true, false)]
    {
        let set = Set::new();
        let options = PublisherOptions::new("numbers").qos(if timed { deadline } else { Qos::keep_last(1) });
        let publisher = set.publisher(if kept { options.transient_local() } else { options });
        let subscription = if informed {
            let hear = |heard: &mut Vec<i64>, number: Number, _: MessageInfo| heard.push(number.data);
            set.node.on(&set.group).create_subscription(numbers(), hear).unwrap()
        } else {
            set.listen(numbers())
        };
        publisher.publish_if_room(Number { data: 1 }).unwrap();
        let refused = publisher.publish_if_room(Number { data: 2 }).unwrap_err();
        assert!(is_full(Err(refused.reason)), "{kept} {timed} {informed}");
        set.spin_all();
        publisher.publish_if_room(Number { data: 3 }).unwrap();
        set.spin_all();
        assert_eq!(subscription.missed(), 0);
        drop(subscription);
        assert_eq!(set.group.into_payload().unwrap(), [1, 3], "{kept} {timed} {informed}");
    }
}

/// Only the executor could empty the queue.
#[test]
fn a_callback_does_not_wait_for_its_own_executor() {
    let set = Set::new();
    let _full = set.listen(SubscriptionOptions::new("numbers").keep_last(1));
    let publisher = set.publisher(PublisherOptions::new("numbers").max_blocking_time(Duration::MAX));
    let answers = Arc::<Mutex<Vec<bool>>>::default();
    let told = Arc::clone(&answers);
    let ask = move |_: &mut Vec<i64>, number: Number| {
        publisher.publish(number).unwrap();
        told.lock().unwrap().push(is_full(publisher.wait_for_room()));
    };
    let _ask = set.node.on(&set.group).create_subscription("ask", ask).unwrap();
    set.node.create_publisher::<Number>("ask").unwrap().publish(Number { data: 1 }).unwrap();
    set.spin_all();
    assert_eq!(*answers.lock().unwrap(), [true]);
}
