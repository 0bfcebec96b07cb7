//! The course of publishing, and the ends of topics that come and go meanwhile.

use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rospin_engine::{
    Context, ContextOptions, EntityKind, EntityOptions, ExecutorOptions, Guarantees, LossCause, Publisher,
    PublisherOptions, SpinOptions, SubscriptionOptions,
};

use crate::common::{spin_in_background, watchdog};

/// A message that reports its drop.
struct Loud(u32, Arc<Mutex<Vec<u32>>>);

impl Drop for Loud {
    fn drop(&mut self) {
        self.1.lock().unwrap_or_else(PoisonError::into_inner).push(self.0);
    }
}

#[test]
fn a_publisher_with_a_lock_of_its_own_notifies_and_drops_after_the_unlock() {
    let context = Context::new(ContextOptions::new());
    let publisher = context.create_local_publisher::<Loud>("topic").unwrap();
    let queue = context.create_local_queue::<Loud>(SubscriptionOptions::new("topic").keep_last(1)).unwrap();
    let dropped = Arc::new(Mutex::new(Vec::new()));
    let loud = |number| Loud(number, Arc::clone(&dropped));
    publisher.publish(loud(1));
    let published = publisher.begin(loud(2));
    assert_eq!((published.delivery().queued, published.delivery().displaced), (1, 1));
    assert!(dropped.lock().unwrap().is_empty());
    drop(published);
    assert_eq!(*dropped.lock().unwrap(), [1]);
    assert_eq!(queue.try_take().map(|message| message.0), Some(2));
}

#[test]
fn losses_of_a_queue_from_before_it_had_an_entity_count_for_the_entity() {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main"));
    let group = executor.create_group("group", 0);
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(2)).unwrap();
    (0..5).for_each(|number| _ = publisher.publish(number));
    let options = EntityOptions::new("entity");
    let entity = group.create_source(EntityKind::Subscription, options, queue, |taken, _| *taken += 1).unwrap();
    (0..2).for_each(|number| _ = publisher.publish(number));
    executor.spin(SpinOptions::spin_all()).unwrap();
    assert_eq!(entity.lost(LossCause::QueueFull), 5);
    let losses = context.losses();
    assert_eq!(losses.iter().map(|loss| (loss.entity.as_str(), loss.count)).collect::<Vec<_>>(), [("entity", 5)]);
    assert_eq!(group.into_payload().unwrap(), 2);
}

#[test]
fn a_topic_without_ends_can_have_another_type() {
    let context = Context::new(ContextOptions::new());
    let number = context.create_local_publisher::<u32>("topic").unwrap();
    let queue = context.create_local_queue::<u32>("topic").unwrap();
    drop(number);
    assert!(context.create_local_publisher::<u64>("topic").is_err(), "the subscription is there");
    drop(queue);
    let other = context.create_local_publisher::<u64>("topic").unwrap();
    assert!(context.create_local_queue::<u32>("topic").is_err());
    assert_eq!(other.publish(1).queued, 0);
}

/// Several threads create and drop both ends of one topic. All of them meet: a topic that is being dropped makes room
/// for the next one without a moment at which there are two.
#[test]
fn ends_that_come_while_the_last_ones_go_meet() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let context = context.clone();
                thread::spawn(move || {
                    for number in 0..2000 {
                        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
                        let _queue = context.create_local_queue::<u32>("topic").unwrap();
                        assert!(publisher.publish(number).queued >= 1);
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Subscriptions are created while a transient local publisher publishes. Each gets every message from some message on,
/// in order and once.
#[test]
fn late_subscriptions_miss_nothing_while_a_latched_publisher_publishes() {
    const ROUNDS: u32 = 300;
    const BURST: u32 = 64;
    const KEPT: u32 = 8;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let options = PublisherOptions::new("topic").transient_local(KEPT as usize);
        let publisher: Publisher<u32> = context.create_local_publisher(options).unwrap();
        let both = Arc::new(Barrier::new(2));
        let other = Arc::clone(&both);
        let thread = thread::spawn(move || {
            for round in 0..ROUNDS {
                other.wait();
                (0..BURST).for_each(|number| _ = publisher.publish(round * BURST + number));
                other.wait();
            }
        });
        for round in 0..ROUNDS {
            let options = SubscriptionOptions::new("topic").keep_last((BURST + KEPT) as usize).transient_local();
            both.wait();
            let queue = context.create_local_queue::<u32>(options).unwrap();
            both.wait();
            let heard: Vec<_> = std::iter::from_fn(|| queue.try_take()).map(|number| *number).collect();
            let (first, end) = (heard[0], (round + 1) * BURST);
            assert_eq!(heard, Vec::from_iter(first..end));
            assert!(first + KEPT >= round * BURST && first + KEPT <= end, "{first} {end}");
        }
        thread.join().unwrap();
    });
}

/// Runs the subscription's callbacks on a thread of their own, which is slower than the publisher.
#[test]
fn a_publisher_that_waits_for_room_loses_nothing() {
    watchdog(|| {
        const COUNT: u32 = 2_000;
        let context = Context::new(ContextOptions::new());
        let options = PublisherOptions::new("topic").wait_for_room(Duration::from_secs(600));
        let publisher = context.create_local_publisher::<u32>(options).unwrap();
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
        let group = executor.create_group("group", Vec::new());
        let handle = executor.handle();
        let subscription = group
            .create_local_subscription(
                SubscriptionOptions::new("topic").keep_last(2),
                move |heard: &mut Vec<u32>, message: Arc<u32>| {
                    heard.push(*message);
                    if *message == COUNT - 1 {
                        handle.halt();
                    }
                },
            )
            .unwrap();
        let spinning = spin_in_background(&executor);
        let displaced: usize = (0..COUNT).map(|number| publisher.publish(number).displaced).sum();
        spinning.join().unwrap().unwrap();
        assert_eq!((displaced, subscription.lost(LossCause::QueueFull)), (0, 0));
        drop(subscription);
        assert_eq!(group.into_payload().unwrap(), (0..COUNT).collect::<Vec<_>>());
    });
}

#[test]
fn waiting_for_room_ends_with_its_time() {
    let context = Context::new(ContextOptions::new());
    let at_most = Duration::from_millis(20);
    let publisher =
        context.create_local_publisher::<u32>(PublisherOptions::new("topic").wait_for_room(at_most)).unwrap();
    let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(2)).unwrap();
    (0..2).for_each(|number| _ = publisher.publish(number));
    let begin = Instant::now();
    assert_eq!(publisher.publish(2).displaced, 1);
    assert!(begin.elapsed() >= at_most);
    assert_eq!((queue.try_take().as_deref(), queue.lost(LossCause::QueueFull)), (Some(&1), 1));
}

/// The callback fills the queue of its own group, which nobody empties before it returns.
#[test]
fn a_callback_never_waits_for_room() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let options = PublisherOptions::new("topic").wait_for_room(Duration::from_secs(600));
        let publisher = context.create_local_publisher::<u32>(options).unwrap();
        let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
        let group = executor.create_group("group", 0);
        let (again, handle) = (publisher.clone(), executor.handle());
        let subscription = group
            .create_local_subscription(
                SubscriptionOptions::new("topic").keep_last(2),
                move |_: &mut u32, message: Arc<u32>| {
                    if *message == 0 {
                        (1..=4).for_each(|number| _ = again.publish(number));
                    } else if *message == 4 {
                        handle.halt();
                    }
                },
            )
            .unwrap();
        publisher.publish(0);
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(subscription.lost(LossCause::QueueFull), 2);
    });
}

#[test]
fn a_message_that_would_displace_another_one_is_returned_and_nobody_gets_it() {
    let context = Context::new(ContextOptions::new());
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let roomy = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(9)).unwrap();
    let narrow = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(1)).unwrap();
    assert_eq!(publisher.publish_if_room(1).unwrap().queued, 2);
    let refused = publisher.publish_if_room(2).unwrap_err();
    assert_eq!((*refused.message, refused.topic.as_str()), (2, "topic"));
    assert_eq!((roomy.len(), narrow.len(), narrow.lost(LossCause::QueueFull)), (1, 1, 0));
    assert_eq!(narrow.try_take().as_deref(), Some(&1));
    assert!(publisher.publish_if_room(refused.message).is_ok());
    assert_eq!((roomy.len(), narrow.try_take().as_deref()), (2, Some(&2)));
}

#[test]
fn publishers_that_keep_all_wait_for_subscriptions_that_keep_all_and_for_no_others() {
    let context = Context::new(ContextOptions::new());
    let at_most = Duration::from_millis(20);
    let publisher = context.create_local_publisher::<u32>(PublisherOptions::new("topic").keep_all(at_most)).unwrap();
    let last = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(1)).unwrap();
    // Without a limit of time this would hang if it waited.
    let patient = PublisherOptions::new("topic").keep_all(Duration::MAX);
    let patient = context.create_local_publisher::<u32>(patient).unwrap();
    assert_eq!((patient.publish(0).displaced, patient.publish(1).displaced), (0, 1));
    assert_eq!((last.try_take().as_deref(), last.lost(LossCause::QueueFull)), (Some(&1), 1));
    let all = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_all(2)).unwrap();
    (2..4).for_each(|number| _ = publisher.publish(number));
    let begin = Instant::now();
    assert_eq!(publisher.publish(4).displaced, 2);
    assert!(begin.elapsed() >= at_most);
    assert_eq!((all.try_take().as_deref(), all.lost(LossCause::QueueFull)), (Some(&3), 1));
    // A publisher that keeps the last ones displaces at once.
    let hasty = context.create_local_publisher::<u32>("topic").unwrap();
    assert_eq!([hasty.publish(5), hasty.publish(6)].map(|delivery| delivery.displaced), [1, 2]);
}

#[test]
fn publishers_care_only_for_the_room_of_queues_that_get_their_messages() {
    let context = Context::new(ContextOptions::new());
    let demanding = SubscriptionOptions::new("topic").demands(Guarantees::RELIABLE).keep_last(1);
    let full = context.create_local_queue::<u32>(demanding).unwrap();
    context.create_local_publisher::<u32>("topic").unwrap().publish(0);
    // Without a limit of time this would hang if it waited.
    let unsure = PublisherOptions::new("topic").promises(Guarantees::NONE).wait_for_room(Duration::MAX);
    let unsure = context.create_local_publisher::<u32>(unsure).unwrap();
    assert_eq!((unsure.publish(1).queued, unsure.publish_if_room(2).unwrap().queued), (0, 0));
    assert_eq!((full.try_take().as_deref(), full.try_take()), (Some(&0), None));
}

#[test]
fn a_publisher_that_waits_may_do_so_before_it_takes_a_lock_of_its_own() {
    let context = Context::new(ContextOptions::new());
    let at_most = Duration::from_millis(20);
    let publisher =
        context.create_local_publisher::<u32>(PublisherOptions::new("topic").wait_for_room(at_most)).unwrap();
    let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_all(9).keep_last(1)).unwrap();
    publisher.wait_for_room();
    publisher.publish(0);
    let begin = Instant::now();
    publisher.wait_for_room();
    assert!(begin.elapsed() >= at_most);
    // Without a limit of time this would hang if it waited.
    let patient = PublisherOptions::new("topic").wait_for_room(Duration::MAX);
    let patient = context.create_local_publisher::<u32>(patient).unwrap();
    drop(patient.begin(1));
    assert_eq!((queue.try_take().as_deref(), queue.lost(LossCause::QueueFull)), (Some(&1), 1));
}
