//! Waiting for the next message of a topic.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, ManualClock, SpinOptions};
use rospin_msgs::std_msgs::msg::Int32;
use rospin_node::{
    Node, Publisher, PublisherOptions, Ros, SubscriptionOptions, Tick, TimerOptions, TopicError, WaitForMessage,
    WaitForMessageError,
};

struct Fixture {
    clock: ManualClock,
    ros: Ros,
    node: Node,
    publisher: Publisher<Int32>,
}

fn fixture() -> Fixture {
    let clock = ManualClock::new();
    let ros = Ros::in_process(&Context::new(ContextOptions::new().manual_clock(clock.clone())));
    let node = ros.create_node("node").unwrap();
    let publisher = node.create_publisher(PublisherOptions::new("numbers").transient_local()).unwrap();
    Fixture { clock, ros, node, publisher }
}

impl Fixture {
    fn publish(&self, data: i32) {
        self.publisher.publish(Int32 { data }).unwrap();
    }

    fn spin_all(&self) {
        self.ros.executor().spin(SpinOptions::spin_all()).unwrap();
    }

    /// Runs everything that is ready, and returns the result if there is one.
    fn poll(&self, waiting: &mut WaitForMessage<Int32>) -> Option<Result<i32, WaitForMessageError>> {
        let mut poll = || pin!(&mut *waiting).poll(&mut TaskContext::from_waker(Waker::noop()));
        // The executor watches the timeout from the first poll on.
        let mut polled = poll();
        if polled.is_pending() {
            self.spin_all();
            polled = poll();
        }
        match polled {
            Poll::Ready(result) => Some(result.map(|number| number.data)),
            Poll::Pending => None,
        }
    }
}

#[test]
fn the_first_message_from_then_on_is_returned_and_the_subscription_ends() {
    let world = fixture();
    world.publish(1);
    let mut waiting = world.node.wait_for_message::<Int32>("numbers").unwrap();
    assert_eq!((world.poll(&mut waiting), world.publisher.subscription_count()), (None, 1));
    world.publish(2);
    world.publish(3);
    assert_eq!(world.poll(&mut waiting), Some(Ok(2)));
    world.spin_all();
    assert_eq!((world.publisher.subscription_count(), waiting.publisher_count()), (0, 0));
}

#[test]
fn a_message_that_was_kept_is_returned_if_the_options_ask_for_it() {
    let world = fixture();
    world.publish(1);
    let options = SubscriptionOptions::new("numbers").transient_local();
    let mut waiting = world.node.wait_for_message::<Int32>(options).unwrap();
    assert_eq!(world.poll(&mut waiting), Some(Ok(1)));
}

#[test]
fn a_callback_of_the_nodes_own_group_can_await_a_message_on_one_thread() {
    let world = fixture();
    let heard = Arc::new(AtomicI32::new(0));
    let (node, log) = (world.node.clone(), Arc::clone(&heard));
    let _timer = world.node.create_timer(TimerOptions::one_shot(Duration::ZERO), move |_: Tick| {
        let (waiting, log) = (node.wait_for_message::<Int32>("numbers").unwrap(), Arc::clone(&log));
        async move { log.store(waiting.await.unwrap().data, Ordering::Relaxed) }
    });
    world.spin_all();
    world.publish(7);
    world.spin_all();
    assert_eq!(heard.load(Ordering::Relaxed), 7);
}

#[test]
fn waiting_ends_with_the_timeout() {
    let world = fixture();
    let after = Duration::from_millis(10);
    let mut waiting = world.node.wait_for_message::<Int32>("numbers").unwrap().timeout(after);
    assert_eq!(world.poll(&mut waiting), None);
    world.clock.advance(Duration::from_millis(9));
    assert_eq!(world.poll(&mut waiting), None);
    world.clock.advance(Duration::from_millis(1));
    let timeout = WaitForMessageError::Timeout { topic: "numbers".to_owned(), after };
    assert_eq!(world.poll(&mut waiting), Some(Err(timeout)));
    world.spin_all();
    assert_eq!(world.publisher.subscription_count(), 0);
}

#[test]
fn a_future_that_is_dropped_takes_its_subscription_along() {
    let world = fixture();
    drop(world.node.wait_for_message::<Int32>("numbers").unwrap());
    world.spin_all();
    assert_eq!(world.publisher.subscription_count(), 0);
}

#[test]
fn waiting_ends_with_its_executor() {
    let Fixture { ros, node, .. } = fixture();
    let waiting = node.wait_for_message::<Int32>("numbers").unwrap();
    let name = ros.executor().handle().name().to_owned();
    drop(ros);
    let polled = pin!(waiting).poll(&mut TaskContext::from_waker(Waker::noop()));
    let gone = WaitForMessageError::ExecutorDropped { topic: "numbers".to_owned(), executor: name };
    assert_eq!(polled, Poll::Ready(Err(gone)));
    assert!(matches!(node.wait_for_message::<Int32>("numbers"), Err(TopicError::Source(_))));
}
