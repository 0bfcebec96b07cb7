//! Leftovers of removed entities reach no other entity, although flags and identifiers are reused.

use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Duration;

use crate::common::{Count, Log, manual, manual_executor, ms, spin_all, watchdog};
use rospin_engine::policy::FixedPriority;
use rospin_engine::{
    EntityKind, EntityOptions, ExecutorOptions, Notifier, Priority, Source, SubscriptionOptions, TakeError,
    TimerOptions,
};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_message_to_a_subscription_that_is_gone_does_not_fire_the_next_timer() {
    watchdog(|| {
        let (_clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let fired = Count::new();
        for _ in 0..3 {
            let subscription = group.create_local_subscription("topic", |(), _: Arc<u32>| {}).unwrap();
            publisher.publish(1);
            drop(subscription);
            let count = fired.clone();
            let timer = group.create_timer(TimerOptions::one_shot(HOUR), move |(), _| _ = count.up()).unwrap();
            spin_all(&executor);
            drop(timer);
        }
        assert_eq!(fired.get(), 0, "none of them was due");
    });
}

#[test]
fn a_message_to_a_subscription_that_is_gone_does_not_fire_a_cancelled_timer() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let subscription = group.create_local_subscription("topic", |(), _: Arc<u32>| {}).unwrap();
        publisher.publish(1);
        drop(subscription);
        let fired = Count::new();
        let count = fired.clone();
        let timer = group.create_timer(ms(10), move |(), _| _ = count.up()).unwrap();
        timer.cancel();
        clock.advance(ms(20));
        spin_all(&executor);
        assert_eq!(fired.get(), 0);
    });
}

/// A source that hands its notifier out and never has an item.
struct Silent(Arc<Mutex<Option<Notifier>>>);

impl Source for Silent {
    type Item = ();
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        *self.0.lock().unwrap() = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<()>, TakeError> {
        Ok(None)
    }
}

#[test]
fn a_waker_that_outlived_its_entity_does_not_fire_a_timer_that_a_callback_creates() {
    watchdog(|| {
        let (_clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let notifier = Arc::new(Mutex::new(None));
        let silent = group.create_source(
            EntityKind::Waitable,
            EntityOptions::new("silent"),
            Silent(notifier.clone()),
            |(), ()| {},
        );
        spin_all(&executor);
        drop(silent);
        spin_all(&executor);
        // Only the waker is left of the entity.
        let mut stale = notifier.lock().unwrap().take().map(Waker::from);
        let fired = Count::new();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let timers = Arc::new(Mutex::new(Vec::new()));
        let (count, created, on) = (fired.clone(), Arc::clone(&timers), group.clone());
        let _creator = group
            .create_local_subscription("topic", move |(), _: Arc<u32>| {
                stale.take().into_iter().for_each(Waker::wake);
                let count = count.clone();
                let timer = on.create_timer(TimerOptions::one_shot(HOUR), move |(), _| _ = count.up());
                created.lock().unwrap().push(timer.unwrap());
            })
            .unwrap();
        for _ in 0..3 {
            publisher.publish(1);
            spin_all(&executor);
        }
        assert_eq!(timers.lock().unwrap().len(), 3);
        assert_eq!(fired.get(), 0, "none of them was due");
        timers.lock().unwrap().clear();
    });
}

#[test]
fn entities_created_and_dropped_while_a_callback_runs_take_no_memory_until_it_ends() {
    watchdog(|| {
        let (_clock, _context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let (outside, dropped) = (executor.handle(), Count::new());
        let count = dropped.clone();
        let _busy = group.create_timer(TimerOptions::one_shot(Duration::ZERO), move |(), _| {
            for n in 1..=100 {
                let on = outside.create_group("short-lived", count.on_drop());
                let captured = count.on_drop();
                let timer = on.create_timer(ms(1), move |_, _| captured.touch()).unwrap();
                timer.reset();
                drop(timer);
                drop(on);
                assert_eq!(count.get(), 2 * n, "callback and payload are gone at once");
            }
        });
        spin_all(&executor);
        assert_eq!(dropped.get(), 200);
    });
}

#[test]
fn an_urgent_callback_waits_neither_for_thousands_of_removals_nor_for_the_drops() {
    watchdog(|| {
        const MANY: usize = 2_000;
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(FixedPriority::new()));
        let (ran, dropped, seen) = (Count::new(), Count::new(), Log::new());
        let victims = executor.create_group("victims", ());
        let mut timers = Vec::new();
        let mut subscriptions = Vec::new();
        for _ in 0..MANY / 2 {
            let (captured, count) = (dropped.on_drop(), ran.clone());
            let timer = victims.create_timer(ms(1), move |(), _| {
                captured.touch();
                count.up();
            });
            timers.push(timer.unwrap());
            let (captured, count) = (dropped.on_drop(), ran.clone());
            let subscription = victims.create_local_subscription("all", move |(), _: Arc<u32>| {
                captured.touch();
                count.up();
            });
            subscriptions.push(subscription.unwrap());
        }
        let (urgent, all) = (
            context.create_local_publisher::<u32>("urgent").unwrap(),
            context.create_local_publisher::<u32>("all").unwrap(),
        );
        let mut once = Some((timers, subscriptions));
        let busy = executor.create_group("busy", ());
        let start = SubscriptionOptions::new("start").priority(Priority(50));
        let _busy = busy.create_local_subscription(start, move |(), _: Arc<u32>| {
            // All timers are due, and their handles are dropped.
            clock.advance(ms(1));
            all.publish(1);
            drop(once.take());
            urgent.publish(1);
        });
        let (log, count) = (seen.clone(), dropped.clone());
        let _urgent = executor.create_group("urgent", ()).create_local_subscription(
            SubscriptionOptions::new("urgent").priority(Priority(100)),
            move |(), _: Arc<u32>| log.push(count.get()),
        );
        context.create_local_publisher::<u32>("start").unwrap().publish(1);
        spin_all(&executor);
        assert!(seen.take()[0] <= 1, "it waited for one drop at most");
        assert_eq!((ran.get(), dropped.get()), (0, MANY), "none of them ran, all of them are dropped");
    });
}
