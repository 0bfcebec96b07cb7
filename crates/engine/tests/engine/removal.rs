//! Dropping entities and groups while their executor spins: from their own callback, from another one, from a thread.

use std::sync::{Arc, Mutex, mpsc};
use std::thread;

use crate::common::{Count, Log, expect, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::{Context, ContextOptions, ExecutorOptions, LossCause, Priority, SubscriptionOptions, Timer};

/// A place for a handle that is created after the callback that uses it.
type Slot<T> = Arc<Mutex<Option<T>>>;

#[test]
fn a_subscription_dropped_by_its_own_callback_runs_no_more() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (log, drops) = (Log::new(), Count::new());
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let slot = Slot::default();
        let (own, ran, captured) = (Arc::clone(&slot), log.clone(), drops.on_drop());
        let callback = move |(): &mut (), n: Arc<u8>| {
            captured.touch();
            ran.push(*n);
            if *n == 1 {
                drop(own.lock().unwrap().take());
            }
        };
        let options = SubscriptionOptions::new("topic").name("ear");
        *slot.lock().unwrap() = Some(group.create_local_subscription(options, callback).unwrap());
        for n in 0..5 {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(log.take(), [0, 1]);
        assert_eq!(drops.get(), 1);
        assert_eq!(publisher.subscription_count(), 0);
        let losses = context.losses();
        assert_eq!((losses[0].entity.as_str(), losses[0].cause, losses[0].count), ("ear", LossCause::EntityDropped, 3));
    });
}

#[test]
fn a_subscription_dropped_by_another_callback_does_not_run_from_the_next_pick_on() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let ran = Count::new();
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let counter = ran.clone();
        let victim = group.create_local_subscription("topic", move |(), _: Arc<u8>| _ = counter.up()).unwrap();
        let slot = Mutex::new(Some(victim));
        let options = SubscriptionOptions::new("topic").priority(Priority(1));
        let callback = move |(): &mut (), _: Arc<u8>| drop(slot.lock().unwrap().take());
        let _killer = group.create_local_subscription(options, callback).unwrap();
        publisher.publish(1);
        publisher.publish(2);
        spin_all(&executor);
        assert_eq!(ran.get(), 0, "it was ready, but its handle went first");
        assert_eq!(publisher.subscription_count(), 1);
    });
}

#[test]
fn a_timer_dropped_by_its_own_callback_ticks_no_more() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let (ran, drops) = (Count::new(), Count::new());
        let group = executor.create_group("group", ());
        let slot: Slot<Timer> = Slot::default();
        let (own, counter, captured) = (Arc::clone(&slot), ran.clone(), drops.on_drop());
        let timer = group.create_timer(ms(1), move |(), _| {
            captured.touch();
            counter.up();
            drop(own.lock().unwrap().take());
        });
        *slot.lock().unwrap() = Some(timer.unwrap());
        for _ in 0..3 {
            clock.advance(ms(1));
            spin_all(&executor);
        }
        assert_eq!((ran.get(), drops.get()), (1, 1));
    });
}

#[test]
fn a_group_removed_by_its_own_callback_ends_with_it() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let (ran, drops) = (Count::new(), Count::new());
        let group = executor.create_group("group", drops.on_drop());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (own, counter, captured) = (Mutex::new(Some(group.clone())), ran.clone(), drops.on_drop());
        let callback = move |_: &mut _, _: Arc<u8>| {
            captured.touch();
            counter.up();
            own.lock().unwrap().take().unwrap().remove();
        };
        let subscription = group.create_local_subscription("topic", callback).unwrap();
        let (counter, captured) = (ran.clone(), drops.on_drop());
        let timer = group.create_timer(ms(1), move |_, _| {
            captured.touch();
            counter.up();
        });
        publisher.publish(1);
        publisher.publish(2);
        executor.spin(rospin_engine::SpinOptions::spin_once()).unwrap();
        clock.advance(ms(5));
        spin_all(&executor);
        assert_eq!(ran.get(), 1);
        assert_eq!(drops.get(), 3, "two callbacks and the payload, once each");
        // Handles of removed entities and groups do nothing, or return errors.
        timer.unwrap().reset();
        let late = group.create_timer(ms(1), |_, _| unreachable!("its group is gone"));
        assert!(matches!(late, Err(rospin_engine::TimerError::GroupGone(_))));
        drop(subscription);
        clock.advance(ms(5));
        spin_all(&executor);
        assert_eq!(drops.get(), 3);
    });
}

#[test]
fn a_group_removed_by_another_group_s_callback_ends_with_all_of_its_entities() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (ran, drops) = (Count::new(), Count::new());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let killer = executor.create_group("killer", ());
        let victim = executor.create_group("victim", drops.on_drop());
        let reentrant = executor.create_reentrant_group("reentrant");
        let groups = Mutex::new(Some((victim.clone(), reentrant.clone())));
        let callback = move |(): &mut (), _: Arc<u8>| {
            let (victim, reentrant) = groups.lock().unwrap().take().unwrap();
            victim.remove();
            reentrant.remove();
        };
        let _killer = killer.create_local_subscription("topic", callback).unwrap();
        let counter = ran.clone();
        let _first = victim.create_local_subscription("topic", move |_, _: Arc<u8>| _ = counter.up()).unwrap();
        let counter = ran.clone();
        let _second = reentrant.create_local_subscription("topic", move |_: Arc<u8>| _ = counter.up()).unwrap();
        publisher.publish(1);
        spin_all(&executor);
        assert_eq!((ran.get(), drops.get()), (0, 1));
        assert_eq!(publisher.subscription_count(), 1);
    });
}

#[test]
fn a_group_lives_as_long_as_one_of_its_handles() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let (ran, drops) = (Count::new(), Count::new());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let group = executor.create_group("group", drops.on_drop());
        let counter = ran.clone();
        let subscription = group.create_local_subscription("topic", move |_, _: Arc<u8>| _ = counter.up()).unwrap();
        drop(group);
        publisher.publish(1);
        spin_all(&executor);
        assert_eq!((ran.get(), drops.get()), (1, 0));
        drop(subscription);
        spin_all(&executor);
        assert_eq!(drops.get(), 1);
    });
}

#[test]
fn a_running_callback_is_not_waited_for_and_ends() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(2))));
        let drops = Count::new();
        let group = executor.create_group("group", drops.on_drop());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let ((begin, begun), (go, going)) = (mpsc::channel(), mpsc::channel::<()>());
        let (end, ended) = mpsc::channel();
        let captured = drops.on_drop();
        let callback = move |_: &mut crate::common::OnDrop, n: Arc<u8>| {
            captured.touch();
            begin.send(*n).unwrap();
            expect(&going);
            end.send(*n).unwrap();
        };
        let subscription = group.create_local_subscription("topic", callback).unwrap();
        publisher.publish(1);
        publisher.publish(2);
        let spin = spin_in_background(&executor);
        assert_eq!(expect(&begun), 1);
        drop(subscription);
        group.remove();
        assert_eq!(drops.get(), 0, "the callback is running");
        go.send(()).unwrap();
        assert_eq!(expect(&ended), 1);
        executor.halt();
        spin.join().unwrap().unwrap();
        assert!(begun.try_recv().is_err(), "the second message does not come any more");
        drop(executor);
        assert_eq!(drops.get(), 2);
    });
}

#[test]
fn entities_come_and_go_from_threads_while_messages_flow() {
    const ROUNDS: usize = 150;
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(2))));
        let publisher = context.create_local_publisher::<usize>("topic").unwrap();
        let spin = spin_in_background(&executor);
        let (received, drops) = (Count::new(), Count::new());
        let group = executor.create_group("group", ());
        let reentrant = executor.create_reentrant_group("reentrant");
        let churn = {
            let (received, drops) = (received.clone(), drops.clone());
            thread::spawn(move || {
                for _ in 0..ROUNDS {
                    let (counter, captured) = (received.clone(), drops.on_drop());
                    let options = SubscriptionOptions::new("topic").name("guest");
                    let first = group.create_local_subscription(options.clone(), move |(), _: Arc<usize>| {
                        captured.touch();
                        counter.up();
                    });
                    let (counter, captured) = (received.clone(), drops.on_drop());
                    let second = reentrant.create_local_subscription(options, move |_: Arc<usize>| {
                        captured.touch();
                        counter.up();
                    });
                    thread::yield_now();
                    drop((first, second));
                }
            })
        };
        let mut queued = 0;
        for n in 0.. {
            queued += publisher.publish(n).queued;
            if churn.is_finished() {
                break;
            }
            thread::yield_now();
        }
        churn.join().unwrap();
        crate::common::eventually(|| publisher.subscription_count() == 0);
        executor.halt();
        spin.join().unwrap().unwrap();
        spin_all(&executor);
        let lost: u64 = context.losses().iter().map(|loss| loss.count).sum();
        assert_eq!(received.get() + lost as usize, queued, "everything was received or counted");
        drop(executor);
        assert_eq!(drops.get(), 2 * ROUNDS);
    });
}

#[test]
fn two_groups_that_remove_each_other_are_both_gone() {
    watchdog(|| {
        for count in [1, 2] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(count)));
            let drops = Count::new();
            let groups = [0, 1].map(|_| executor.create_group("group", drops.on_drop()));
            let publisher = context.create_local_publisher::<u8>("topic").unwrap();
            let ended = Count::new();
            for (own, other) in [(0, 1), (1, 0)] {
                let victim = Mutex::new(Some(groups[other].clone()));
                let (ended, handle, captured) = (ended.clone(), executor.handle(), drops.on_drop());
                let callback = move |_: &mut crate::common::OnDrop, _: Arc<u8>| {
                    captured.touch();
                    victim.lock().unwrap().take().unwrap().remove();
                    ended.up();
                    handle.halt();
                };
                groups[own].create_local_subscription("topic", callback).unwrap().detach();
            }
            publisher.publish(1);
            executor.spin(rospin_engine::SpinOptions::new()).unwrap();
            spin_all(&executor);
            assert!((1..=count.into()).contains(&ended.get()), "on one thread the second is gone before it runs");
            if count == 1 {
                assert_eq!(drops.get(), 2, "one group with its payload and its callback");
            }
            drop((groups, executor));
            assert_eq!(drops.get(), 4);
            assert_eq!(publisher.subscription_count(), 0);
        }
    });
}
