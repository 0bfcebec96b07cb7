//! Callbacks that are known to come before all that happens later, and those that are not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rospin_engine::policy::{Fifo, FixedPriority};
use rospin_engine::{
    CallbackGroup, Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, Instant, Notifier,
    Pending, Policy, Priority, Publisher, Source, SubscriptionOptions, TakeError, TimerOptions,
};

use crate::common::{spin_all, watchdog};

/// The names of the callbacks that ran.
type Order = Vec<&'static str>;

/// Creates an executor with that policy, and a group on it.
fn group(context: &Context, policy: impl Policy + 'static) -> (Executor, CallbackGroup<Order>) {
    let executor = context.create_executor(ExecutorOptions::new("main").policy(policy));
    let group = executor.create_group("group", Order::new());
    (executor, group)
}

/// Creates a publisher on the topic.
fn publisher(context: &Context, topic: &str) -> Publisher<u32> {
    context.create_local_publisher(topic).unwrap()
}

/// Runs two messages of one topic, the first of whose callbacks publishes one message on another topic, and then a
/// third one on the same topic. Returns the order.
fn order_of_messages(policy: impl Policy + 'static, priority_of_other: u32) -> Order {
    let context = Context::new(ContextOptions::new());
    let (executor, group) = group(&context, policy);
    let (same, other) = (publisher(&context, "same"), publisher(&context, "other"));
    let options = SubscriptionOptions::new("other").priority(Priority(priority_of_other));
    let _other = group.create_local_subscription(options, |order, _: Arc<u32>| order.push("other")).unwrap();
    let publishers = (publisher(&context, "same"), other);
    let callback = move |order: &mut Order, number: Arc<u32>| {
        order.push(["first", "second", "third"][*number as usize]);
        if *number == 0 {
            publishers.1.publish(0);
            publishers.0.publish(2);
        }
    };
    let _same =
        group.create_local_subscription(SubscriptionOptions::new("same").priority(Priority(5)), callback).unwrap();
    same.publish(0);
    same.publish(1);
    spin_all(&executor);
    group.into_payload().unwrap()
}

#[test]
fn a_message_comes_before_later_ones_of_a_queue_that_is_known_to_have_more() {
    watchdog(|| {
        assert_eq!(order_of_messages(Fifo::new(), 1), ["first", "second", "other", "third"]);
        assert_eq!(order_of_messages(FixedPriority::new(), 5), ["first", "second", "other", "third"]);
    });
}

#[test]
fn a_more_urgent_message_comes_before_all_of_a_queue_that_is_known_to_have_more() {
    watchdog(|| {
        assert_eq!(order_of_messages(FixedPriority::new(), 9), ["first", "other", "second", "third"]);
        assert_eq!(order_of_messages(FixedPriority::new(), 1), ["first", "second", "third", "other"]);
    });
}

/// Runs two messages, during the first of which a timer falls due and a third one is published. Returns the order.
fn order_of_timer(policy: impl Policy + 'static, priority_of_timer: u32) -> Order {
    // The kernel's clock: a manual clock tells executors when it is moved, so that they look at the timer for another
    // reason.
    let context = Context::new(ContextOptions::new());
    let (executor, group) = group(&context, policy);
    let (numbers, again) = (publisher(&context, "numbers"), publisher(&context, "numbers"));
    let clock = context.clock().clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    let callback = move |order: &mut Order, number: Arc<u32>| {
        order.push(["first", "second", "third"][*number as usize]);
        if *number == 0 {
            let due = receiver.recv().unwrap();
            while clock.now() <= due {}
            again.publish(2);
        }
    };
    let options = SubscriptionOptions::new("numbers").priority(Priority(5));
    let _subscription = group.create_local_subscription(options, callback).unwrap();
    numbers.publish(0);
    numbers.publish(1);
    let due = context.clock().now() + Duration::from_millis(20);
    sender.send(due).unwrap();
    let options = TimerOptions::one_shot(Duration::ZERO).first_due(due).priority(Priority(priority_of_timer));
    let _timer = group.create_timer(options, |order, _| order.push("timer")).unwrap();
    spin_all(&executor);
    group.into_payload().unwrap()
}

#[test]
fn a_timer_comes_before_messages_that_were_published_after_its_due_time() {
    watchdog(|| {
        assert_eq!(order_of_timer(Fifo::new(), 1), ["first", "second", "timer", "third"]);
        assert_eq!(order_of_timer(FixedPriority::new(), 5), ["first", "second", "timer", "third"]);
    });
}

#[test]
fn a_more_urgent_timer_comes_before_the_next_message_that_is_known() {
    watchdog(|| {
        let order = order_of_timer(FixedPriority::new(), 9);
        // A machine that stood still before the spin has the timer run first.
        assert!(order == ["first", "timer", "second", "third"] || order[0] == "timer", "{order:?}");
    });
}

/// A source of one item, which is there as soon as somebody has told so.
#[derive(Clone, Default)]
struct Told {
    is_there: Arc<AtomicBool>,
    notifier: Arc<Mutex<Option<Notifier>>>,
}

impl Told {
    /// Notifies of the item, as one that arrived at `arrival`.
    fn tell(&self, arrival: Instant) {
        self.is_there.store(true, Ordering::Release);
        self.notifier.lock().unwrap().as_ref().unwrap().notify_at(arrival);
    }
}

impl Source for Told {
    type Item = ();
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.notifier.lock().unwrap() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<()>, TakeError> {
        Ok(self.is_there.swap(false, Ordering::AcqRel).then_some(()))
    }

    fn pending(&self) -> Pending {
        Pending::Empty
    }
}

#[test]
fn an_item_that_arrived_early_comes_first_although_its_notification_is_late() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let (executor, group) = group(&context, Fifo::new());
        let before = context.clock().now();
        let publishers: Vec<_> = ["one", "two", "three"].iter().map(|topic| publisher(&context, topic)).collect();
        let told = Told::default();
        let options = EntityOptions::new("told");
        let _told = group.create_source(EntityKind::Waitable, options, told.clone(), |order, ()| order.push("told"));
        let create = |topic: &'static str| {
            let told = told.clone();
            let callback = move |order: &mut Order, _: Arc<u32>| {
                order.push(topic);
                if topic == "one" {
                    told.tell(before);
                }
            };
            group.create_local_subscription(topic, callback).unwrap()
        };
        let _subscriptions = ["one", "two", "three"].map(create);
        publishers.iter().for_each(|publisher| _ = publisher.publish(0));
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), ["one", "told", "two", "three"]);
    });
}
