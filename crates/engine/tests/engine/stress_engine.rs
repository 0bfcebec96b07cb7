//! Real threads on every way into the lock-free pieces: notifiers, publishers against takers, entities that come and
//! go, halts, executors that are dropped while notifiers use them. Counts are small, since the sanitizers run this,
//! too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{Count, eventually, spin_in_background, threads, watchdog};
use futures::channel::{mpsc, oneshot};
use rospin_engine::{
    Context, ContextOptions, EntityKind, EntityOptions, ExecutorOptions, LossCause, Notifier, Pending, ReentrantGroup,
    Source, SpinOptions, SubscriptionOptions, TakeError,
};

/// A source of items that are only counted. The count is relaxed, so that only the notification makes an item visible.
#[derive(Clone, Default)]
struct Tally(Arc<AtomicUsize>);

impl Tally {
    fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A source that sends its notifier away when it is attached.
struct Tallied(Tally, std::sync::mpsc::Sender<Notifier>);

impl Source for Tallied {
    type Item = ();
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let _ = self.1.send(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<()>, TakeError> {
        let taken = self.0.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        Ok(taken.ok().map(drop))
    }

    fn pending(&self) -> Pending {
        if self.0.0.load(Ordering::Relaxed) == 0 { Pending::Empty } else { Pending::Unknown }
    }
}

/// Creates an entity that counts its items. Returns it with its notifier and the tally to add to.
fn tallied(group: &ReentrantGroup, taken: &Count) -> (rospin_engine::Entity, Notifier, Tally) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let (tally, taken) = (Tally::default(), taken.clone());
    let options = EntityOptions::new("tallied");
    let source = Tallied(tally.clone(), sender);
    let callback = move |()| {
        taken.up();
    };
    let entity = group.create_source(EntityKind::Waitable, options, source, callback).expect("it can notify");
    (entity, receiver.recv().expect("attached at once"), tally)
}

fn context() -> Context {
    Context::new(ContextOptions::new())
}

#[test]
fn no_notification_is_lost() {
    const EACH: usize = 2_000;
    for (executor_threads, busy_poll_us) in [(1, 0), (3, 0), (1, 20), (3, 20)] {
        watchdog(move || {
            let busy_poll = Duration::from_micros(busy_poll_us);
            let executor = ExecutorOptions::new("main").threads(threads(executor_threads)).busy_poll(busy_poll);
            let executor = Arc::new(context().create_executor(executor));
            let group = executor.create_reentrant_group("group");
            let taken = Count::new();
            let entities: Vec<_> = (0..3).map(|_| tallied(&group, &taken)).collect();
            let spinning = spin_in_background(&executor);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for number in 0..EACH {
                            for (_, notifier, tally) in &entities {
                                tally.add();
                                notifier.notify();
                            }
                            // This pause lets the executor park now and then.
                            if number % 16 == 0 {
                                thread::yield_now();
                            }
                        }
                    });
                }
            });
            eventually(|| taken.get() == 3 * 3 * EACH);
            executor.halt();
            spinning.join().unwrap().unwrap();
        });
    }
}

#[test]
fn each_notification_alone_wakes_the_executor() {
    watchdog(|| {
        let executor = ExecutorOptions::new("main").threads(threads(2));
        let executor = Arc::new(context().create_executor(executor));
        let group = executor.create_reentrant_group("group");
        let taken = Count::new();
        let (_entity, notifier, tally) = tallied(&group, &taken);
        let spinning = spin_in_background(&executor);
        for round in 1..=500 {
            tally.add();
            notifier.notify();
            eventually(|| taken.get() == round);
        }
        executor.halt();
        spinning.join().unwrap().unwrap();
    });
}

/// A message whose drop is counted, and whose content sanitizers see being written and read.
struct Message(Vec<usize>, #[allow(dead_code, reason = "its drop counts")] crate::common::OnDrop);

#[test]
fn every_message_is_received_or_counted_and_dropped() {
    const EACH: usize = 2_000;
    watchdog(|| {
        let context = context();
        let (received, dropped) = (Count::new(), Count::new());
        let executors: Vec<_> = [1, 2]
            .map(|count| ExecutorOptions::new(format!("of {count}")).threads(threads(count)))
            .into_iter()
            .map(|options| Arc::new(context.create_executor(options)))
            .collect();
        let mut subscriptions = Vec::new();
        for executor in &executors {
            for depth in [1, 3] {
                let group = executor.create_reentrant_group("group");
                let options = SubscriptionOptions::new("messages").keep_last(depth);
                let received = received.clone();
                let subscription = group.create_local_subscription(options, move |message: Arc<Message>| {
                    assert_eq!(message.0[0], message.0[1]);
                    received.up();
                });
                subscriptions.push(subscription.unwrap());
            }
        }
        let spinning: Vec<_> = executors.iter().map(spin_in_background).collect();
        thread::scope(|scope| {
            for base in [0, EACH] {
                let publisher = context.create_local_publisher("messages").unwrap();
                let dropped = &dropped;
                scope.spawn(move || {
                    for number in base..base + EACH {
                        publisher.publish(Message(vec![number; 2], dropped.on_drop()));
                    }
                });
            }
        });
        let lost = || subscriptions.iter().map(|subscription| subscription.lost(LossCause::QueueFull)).sum::<u64>();
        eventually(|| received.get() + usize::try_from(lost()).unwrap() == subscriptions.len() * 2 * EACH);
        for (executor, spinning) in executors.iter().zip(spinning) {
            executor.halt();
            spinning.join().unwrap().unwrap();
        }
        assert_eq!(dropped.get(), 2 * EACH);
    });
}

#[test]
fn entities_come_and_go_under_load() {
    watchdog(|| {
        let context = context();
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(2))));
        let spinning = spin_in_background(&executor);
        let over = AtomicBool::new(false);
        let (sent, dropped) = (Count::new(), Count::new());
        thread::scope(|scope| {
            let (over, sent, dropped) = (&over, &sent, &dropped);
            let publisher = context.create_local_publisher("messages").unwrap();
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    sent.up();
                    publisher.publish(Message(vec![7; 2], dropped.on_drop()));
                    thread::yield_now();
                }
            });
            let client = context.create_local_client::<u32, u32>("double").unwrap();
            let caller = context.create_executor(ExecutorOptions::new("caller"));
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    // The call ends with a response or an error, and never hangs.
                    if let Ok(answer) = caller.spin_until(client.call(21), SpinOptions::new()).unwrap() {
                        assert_eq!(answer, 42);
                    }
                }
            });
            for _ in 0..100 {
                let group = executor.create_group("group", 0_usize);
                let depth_two = SubscriptionOptions::new("messages").keep_last(2);
                let add = |sum: &mut usize, message: Arc<Message>| *sum += message.0[0];
                let _early = group.create_local_subscription(depth_two.clone(), add).unwrap();
                let service = group.create_local_service("double", |_, number: u32| number * 2);
                thread::yield_now();
                let _late = group.create_local_subscription(depth_two, add).unwrap();
                drop(service);
            }
            over.store(true, Ordering::Relaxed);
        });
        executor.halt();
        spinning.join().unwrap().unwrap();
        drop(executor);
        assert_eq!(sent.get(), dropped.get());
    });
}

#[test]
fn wakers_are_called_from_everywhere() {
    const COUNT: usize = 500;
    watchdog(|| {
        let executor = Arc::new(context().create_executor(ExecutorOptions::new("main").threads(threads(2))));
        let group = executor.create_reentrant_group("group");
        let (items, stream) = mpsc::unbounded::<oneshot::Receiver<usize>>();
        let sum = Count::new();
        let counted = sum.clone();
        let entity = group.create_stream_async("awaiting", stream, move |item| {
            let counted = counted.clone();
            async move {
                assert!(item.await.unwrap() < COUNT);
                counted.up();
            }
        });
        let spinning = spin_in_background(&executor);
        thread::scope(|scope| {
            for _ in 0..2 {
                let items = items.clone();
                scope.spawn(move || {
                    for number in 0..COUNT {
                        let (answer, asked) = oneshot::channel();
                        items.unbounded_send(asked).unwrap();
                        thread::yield_now();
                        answer.send(number).unwrap();
                    }
                });
            }
        });
        eventually(|| sum.get() == 2 * COUNT);
        executor.halt();
        spinning.join().unwrap().unwrap();
        drop(entity);
    });
}

#[test]
fn every_halt_ends_a_spin() {
    watchdog(|| {
        for executor_threads in [1, 3] {
            let executor = ExecutorOptions::new("main").threads(threads(executor_threads));
            let executor = context().create_executor(executor);
            let group = executor.create_reentrant_group("group");
            let (_entity, notifier, tally) = tallied(&group, &Count::new());
            let over = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        tally.add();
                        notifier.notify();
                        thread::yield_now();
                    }
                });
                for _ in 0..100 {
                    let handle = executor.handle();
                    scope.spawn(move || handle.halt());
                    executor.spin(SpinOptions::new()).unwrap();
                }
                over.store(true, Ordering::Relaxed);
            });
        }
    });
}

/// A signal keeps its executor alive. Under AddressSanitizer this test also finds leaks.
#[test]
fn notifiers_outlive_their_executor() {
    watchdog(|| {
        for _ in 0..100 {
            let executor = context().create_executor(ExecutorOptions::new("main"));
            let group = executor.create_reentrant_group("group");
            let (entity, notifier, tally) = tallied(&group, &Count::new());
            let notifying = thread::spawn(move || {
                for _ in 0..50 {
                    tally.add();
                    notifier.notify();
                }
            });
            executor.spin(SpinOptions::spin_all()).unwrap();
            drop((executor, group));
            drop(entity);
            notifying.join().unwrap();
        }
    });
}
