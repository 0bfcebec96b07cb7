//! In-process topics: queues, transient local publishers, and the fate of every message.

use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{Count, Log, expect, manual, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::{
    Context, ContextOptions, ExecutorOptions, LossCause, Publisher, PublisherOptions, Subscription,
    SubscriptionOptions, TopicError,
};

#[test]
fn messages_are_not_copied() {
    watchdog(|| {
        /// A message that is not even `Clone`.
        struct Image;
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let publisher = context.create_local_publisher::<Image>("images").unwrap();
        let subscribe =
            || group.create_local_subscription("images", |seen: &mut Vec<_>, image: Arc<Image>| seen.push(image));
        let subscriptions = [subscribe().unwrap(), subscribe().unwrap()];
        let image = Arc::new(Image);
        publisher.publish(Arc::clone(&image));
        spin_all(&executor);
        let seen = group.into_payload().unwrap();
        assert_eq!(seen.len(), subscriptions.len());
        assert!(seen.iter().all(|copy| Arc::ptr_eq(copy, &image)));
        drop(seen);
        assert_eq!(Arc::strong_count(&image), 1, "nobody keeps it");
    });
}

#[test]
fn the_oldest_message_makes_room_and_is_counted() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let options = SubscriptionOptions::new("topic").name("ear").keep_last(3);
        let short = group.create_local_subscription(options, |seen, n: Arc<u32>| seen.push(*n)).unwrap();
        let options = SubscriptionOptions::new("topic").keep_last(0);
        let single = group.create_local_subscription(options, |seen, n: Arc<u32>| seen.push(100 + *n)).unwrap();
        let long = group.create_local_subscription("topic", |seen, n: Arc<u32>| seen.push(200 + *n)).unwrap();
        let displaced: Vec<_> = (0..12).map(|n| publisher.publish(n)).collect();
        assert!(displaced.iter().all(|delivery| delivery.queued == 3));
        let displaced: Vec<_> = displaced.into_iter().map(|delivery| delivery.displaced).collect();
        assert_eq!(displaced, [0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3]);
        spin_all(&executor);
        let mut seen = group.into_payload().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [9, 10, 11].into_iter().chain([111]).chain(202..212).collect::<Vec<_>>());
        let lost = [&short, &single, &long].map(|subscription| subscription.lost(LossCause::QueueFull));
        assert_eq!(lost, [9, 11, 2]);
        assert_eq!(short.lost(LossCause::EntityDropped), 0);
        let losses = context.losses();
        assert!(
            losses.iter().any(|loss| loss.entity == "ear" && loss.cause == LossCause::QueueFull && loss.count == 9)
        );
        assert_eq!(losses.iter().map(|loss| loss.count).sum::<u64>(), 22);
    });
}

#[test]
fn the_queue_is_filled_anew_after_it_was_emptied() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let options = SubscriptionOptions::new("topic").keep_last(3);
        let ear = group.create_local_subscription(options, |seen, n: Arc<u32>| seen.push(*n)).unwrap();
        for round in 0..100 {
            for n in 0..=round % 5 {
                publisher.publish(round * 10 + n);
            }
            spin_all(&executor);
        }
        let seen = group.into_payload().unwrap();
        assert!(seen.is_sorted());
        // A round of 4 messages loses one, and a round of 5 loses two.
        assert_eq!(ear.lost(LossCause::QueueFull), 20 + 40);
        assert_eq!(seen.len(), 20 * (1 + 2 + 3 + 3 + 3));
    });
}

/// Returns the messages that a new subscription gets, and its losses.
fn late(context: &Context, options: SubscriptionOptions) -> (Vec<u32>, u64) {
    let executor = context.create_executor(ExecutorOptions::new("late"));
    let group = executor.create_group("group", Vec::new());
    let ear = group.create_local_subscription(options, |seen, n: Arc<u32>| seen.push(*n)).unwrap();
    spin_all(&executor);
    let lost = ear.lost(LossCause::QueueFull);
    (group.into_payload().unwrap(), lost)
}

fn latched(context: &Context, depth: usize) -> Publisher<u32> {
    context.create_local_publisher(PublisherOptions::new("map").transient_local(depth)).unwrap()
}

#[test]
fn latched_messages_reach_those_who_come_later_and_ask_for_them() {
    watchdog(|| {
        let (clock, context) = manual();
        let (first, second) = (latched(&context, 2), latched(&context, 1));
        let plain = context.create_local_publisher::<u32>("map").unwrap();
        for (publisher, n) in [(&first, 1), (&second, 2), (&plain, 3), (&first, 4), (&first, 5)] {
            assert!(publisher.try_publish(n).is_err(), "nobody gets it now");
            clock.advance(ms(1));
        }
        let asking = || SubscriptionOptions::new("map").transient_local();
        assert_eq!(late(&context, asking()), (vec![2, 4, 5], 0), "what is kept, in the order of publication");
        assert_eq!(late(&context, asking()), (vec![2, 4, 5], 0), "again for the next one");
        assert_eq!(late(&context, asking().keep_last(2)), (vec![4, 5], 0), "the last ones; that is no loss");
        assert_eq!(late(&context, SubscriptionOptions::new("map")), (vec![], 0), "not asked for");
        let twin = first.clone();
        drop(first);
        assert_eq!(late(&context, asking()), (vec![2, 4, 5], 0), "a clone is the same publisher");
        drop(twin);
        assert_eq!(late(&context, asking()), (vec![2], 0), "gone with its publisher");
        drop(second);
        assert_eq!(late(&context, asking()), (vec![], 0));
    });
}

#[test]
fn latched_messages_of_one_instant_keep_the_order_of_publication() {
    watchdog(|| {
        let (_, context) = manual();
        let (first, second) = (latched(&context, 5), latched(&context, 5));
        for (publisher, n) in [(&second, 1), (&first, 2), (&second, 3), (&first, 4)] {
            publisher.publish(n);
        }
        assert_eq!(late(&context, SubscriptionOptions::new("map").transient_local()).0, [1, 2, 3, 4]);
    });
}

#[test]
fn a_message_that_is_kept_no_longer_is_not_displaced() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let publisher = latched(&context, 1);
        let group = executor.create_group("group", ());
        let options = SubscriptionOptions::new("map").keep_last(2);
        let _ear = group.create_local_subscription(options, |(), _: Arc<u32>| ()).unwrap();
        let displaced: Vec<_> = (0..4).map(|n| publisher.publish(n).displaced).collect();
        assert_eq!(displaced, [0, 0, 1, 1], "only what the queue lost");
    });
}

#[test]
fn a_latched_subscription_goes_on_with_what_is_published_afterwards() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let publisher = latched(&context, 3);
        publisher.publish(1);
        let group = executor.create_group("group", Vec::new());
        let options = SubscriptionOptions::new("map").transient_local();
        let _ear = group.create_local_subscription(options, |seen, n: Arc<u32>| seen.push(*n)).unwrap();
        publisher.publish(2);
        spin_all(&executor);
        publisher.publish(3);
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_type_mismatch_names_the_topic_and_both_types() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<String>("chatter").unwrap();
        let error = group.create_local_subscription("chatter", |(), _: Arc<u64>| {}).unwrap_err();
        for part in ["`chatter`", "String", "u64"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let TopicError::TypeMismatch(mismatch) = error else { panic!("{error}") };
        assert_eq!(mismatch.name, "chatter");
        assert!(context.create_local_publisher::<u64>("chatter").is_err());
        assert_eq!(publisher.publish("all the same".to_owned()).queued, 0);
        drop(publisher);
        assert!(context.create_local_publisher::<u64>("chatter").is_ok(), "nobody uses it as text any more");
        // Two contexts share nothing.
        assert!(Context::new(ContextOptions::new()).create_local_publisher::<u8>("chatter").is_ok());
    });
}

#[test]
fn a_callback_publishes_to_its_own_topic() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let publisher = context.create_local_publisher::<u32>("topic").unwrap();
            let (forward, handle) = (publisher.clone(), executor.handle());
            let last = Arc::new(Mutex::new(0));
            let seen = Arc::clone(&last);
            let group = executor.create_reentrant_group("group");
            let options = SubscriptionOptions::new("topic").keep_last(1);
            let ear = group.create_local_subscription(options, move |n: Arc<u32>| {
                *seen.lock().unwrap() = *n;
                if *n == 1000 {
                    handle.halt();
                } else {
                    forward.publish(*n + 1);
                }
            });
            publisher.publish(1);
            executor.spin(rospin_engine::SpinOptions::new()).unwrap();
            assert_eq!(*last.lock().unwrap(), 1000);
            assert_eq!(ear.unwrap().lost(LossCause::QueueFull), 0);
        }
    });
}

#[test]
fn a_message_that_publishes_when_it_is_dropped_blocks_nobody() {
    watchdog(|| {
        // The slot is emptied in the end, because a message that owns its transient local publisher would never be
        // dropped.
        type Slot = Arc<Mutex<Option<Publisher<Echo>>>>;
        struct Echo(Slot, Count, u32);
        impl Drop for Echo {
            fn drop(&mut self) {
                self.1.up();
                let publisher = self.0.lock().unwrap().clone();
                if let Some(publisher) = publisher.filter(|_| self.2 > 0) {
                    publisher.publish(Echo(Arc::clone(&self.0), self.1.clone(), self.2 - 1));
                }
            }
        }
        let (_, context, executor) = manual_executor();
        let options = PublisherOptions::new("topic").transient_local(1);
        let publisher = context.create_local_publisher::<Echo>(options).unwrap();
        let slot = Slot::new(Mutex::new(Some(publisher.clone())));
        let drops = Count::new();
        let group = executor.create_group("group", ());
        let options = SubscriptionOptions::new("topic").keep_last(1);
        let ear = group.create_local_subscription(options, |(), _: Arc<Echo>| {}).unwrap();
        for _ in 0..4 {
            publisher.publish(Echo(Arc::clone(&slot), drops.clone(), 1));
        }
        drop(ear);
        spin_all(&executor);
        assert!(drops.get() >= 3);
        assert_eq!(publisher.subscription_count(), 0);
        slot.lock().unwrap().take();
    });
}

#[test]
fn a_message_to_a_dropped_subscription_is_returned() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let publisher = context.create_local_publisher::<String>("topic").unwrap();
        let options = SubscriptionOptions::new("topic").name("gone");
        let ear = group.create_local_subscription(options, |ran, _: Arc<String>| *ran += 1).unwrap();
        assert_eq!(publisher.subscription_count(), 1);
        for _ in 0..3 {
            assert_eq!(publisher.try_publish("hello".to_owned()).unwrap().queued, 1);
        }
        drop(ear);
        spin_all(&executor);
        assert_eq!(publisher.subscription_count(), 0);
        let message = Arc::new("bye".to_owned());
        let refused = publisher.try_publish(Arc::clone(&message)).unwrap_err();
        assert!(refused.to_string().contains("`topic`"), "{refused}");
        assert!(Arc::ptr_eq(&refused.message, &message));
        assert_eq!(publisher.publish(message).queued, 0);
        let losses = context.losses();
        assert_eq!(losses.len(), 1, "{losses:?}");
        assert_eq!(
            (losses[0].entity.as_str(), losses[0].cause, losses[0].count),
            ("gone", LossCause::EntityDropped, 3)
        );
        assert_eq!(group.into_payload().ok(), Some(0));
    });
}

#[test]
fn across_executors_everything_is_received_or_counted() {
    const PUBLISHERS: u64 = 4;
    const MESSAGES: u64 = 1500;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executors: Vec<_> = [1, 2, 3]
            .into_iter()
            .map(|count| Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(count)))))
            .collect();
        let mut ears: Vec<(Subscription, Count)> = Vec::new();
        for (executor, depth) in executors.iter().flat_map(|executor| [(executor, 1), (executor, 7), (executor, 6000)])
        {
            let received = Count::new();
            let counter = received.clone();
            let options = SubscriptionOptions::new("topic").keep_last(depth);
            let ear = if depth == 7 {
                let group = executor.create_reentrant_group("reentrant");
                group.create_local_subscription(options, move |_: Arc<(u64, u64)>| _ = counter.up())
            } else {
                let group = executor.create_group("exclusive", [0; PUBLISHERS as usize]);
                group.create_local_subscription(options, move |last: &mut [u64; 4], message: Arc<(u64, u64)>| {
                    counter.up();
                    let (publisher, n) = *message;
                    assert!(n > std::mem::replace(&mut last[publisher as usize], n), "in order, none twice");
                })
            };
            ears.push((ear.unwrap(), received));
        }
        let spins: Vec<_> = executors.iter().map(spin_in_background).collect();
        let publishers: Vec<_> = (0..PUBLISHERS)
            .map(|id| {
                let publisher = context.create_local_publisher::<(u64, u64)>("topic").unwrap();
                thread::spawn(move || (1..=MESSAGES).for_each(|n| assert_eq!(publisher.publish((id, n)).queued, 9)))
            })
            .collect();
        for publisher in publishers {
            publisher.join().unwrap();
        }
        let account = |(ear, received): &(Subscription, Count)| received.get() as u64 + ear.lost(LossCause::QueueFull);
        crate::common::eventually(|| ears.iter().all(|ear| account(ear) >= PUBLISHERS * MESSAGES));
        executors.iter().for_each(|executor| executor.halt());
        for spin in spins {
            spin.join().unwrap().unwrap();
        }
        for ear in &ears {
            assert_eq!(account(ear), PUBLISHERS * MESSAGES);
        }
        assert!(ears.iter().skip(2).step_by(3).all(|(ear, _)| ear.lost(LossCause::QueueFull) == 0), "room for all");
    });
}

#[test]
fn the_order_of_subscriptions_is_the_order_of_registration() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let log = Log::new();
        let ears: Vec<_> = (0..5)
            .map(|n| {
                let log = log.clone();
                let group = executor.create_group("group", ());
                group.create_local_subscription("topic", move |(), _: Arc<u8>| log.push(n)).unwrap()
            })
            .collect();
        context.create_local_publisher::<u8>("topic").unwrap().publish(1);
        spin_all(&executor);
        assert_eq!(log.take(), [0, 1, 2, 3, 4]);
        drop(ears);
    });
}

#[test]
fn a_queue_is_taken_from_by_hand_and_calls_its_waker() {
    struct Bell(Count);
    impl std::task::Wake for Bell {
        fn wake(self: Arc<Self>) {
            self.0.up();
        }
    }
    watchdog(|| {
        let (_, context, _) = manual_executor();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let queue = context.create_local_queue::<u32>(SubscriptionOptions::new("topic").keep_last(2)).unwrap();
        publisher.publish(0);
        let rings = Count::new();
        queue.set_waker(Arc::new(Bell(rings.clone())).into());
        assert_eq!(rings.get(), 0, "what was there before does not ring");
        for n in 1..=3 {
            publisher.publish(n);
        }
        assert_eq!((rings.get(), queue.lost(LossCause::QueueFull)), (3, 2));
        assert!(!queue.is_empty());
        let taken: Vec<_> = std::iter::from_fn(|| queue.try_take()).map(|n| *n).collect();
        assert_eq!(taken, [2, 3]);
        assert!(queue.is_empty());
        drop(queue);
        assert_eq!(publisher.publish(4).queued, 0);
        assert_eq!(rings.get(), 3);
        assert!(context.create_local_queue::<u64>("topic").is_err());
    });
}

#[test]
fn a_message_wakes_an_executor_that_sleeps_behind_one_that_does_not() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let [idle, asleep] = ["idle", "asleep"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let (idle_group, group) = (idle.create_group("first", ()), asleep.create_group("second", ()));
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        // The executor of the first subscription does not spin, so nobody has to wake it.
        let _first = idle_group.create_local_subscription("topic", |(), _: Arc<u8>| ()).unwrap();
        let (send, came) = std::sync::mpsc::channel();
        let _second =
            group.create_local_subscription("topic", move |(), number: Arc<u8>| send.send(*number).unwrap()).unwrap();
        let asleep = Arc::new(asleep);
        let spin = spin_in_background(&asleep);
        for number in 0..5 {
            // By then it probably sleeps.
            thread::sleep(ms(5));
            publisher.publish(number);
            assert_eq!(expect(&came), number);
        }
        asleep.halt();
        spin.join().unwrap().unwrap();
    });
}
