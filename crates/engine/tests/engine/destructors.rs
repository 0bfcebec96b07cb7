//! User destructors that panic: each panic is contained, however many there are.

use std::sync::Arc;

use crate::common::{Count, manual_executor, ms, spin_all, threads, watchdog, with_incidents};
use rospin_engine::{ExecutorOptions, Payload, SpinOptions, SubscriptionOptions};

fn named(name: &str) -> SubscriptionOptions {
    SubscriptionOptions::new("topic").name(name)
}

/// A value whose drop is counted and panics.
struct Bomb(Count);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.up();
        panic!("a destructor panics");
    }
}

#[test]
fn all_contents_of_an_executor_may_panic_when_it_is_dropped() {
    watchdog(|| {
        let (_clock, _context, executor) = manual_executor();
        let dropped = Count::new();
        let mut timers = Vec::new();
        for n in 0..3 {
            let group = executor.create_group(format!("group{n}"), Bomb(dropped.clone()));
            let bomb = Bomb(dropped.clone());
            timers.push(group.create_timer(ms(1), move |_, _| _ = &bomb).unwrap());
            let bomb = Bomb(dropped.clone());
            group.create_timer(ms(1), move |_, _| _ = &bomb).unwrap().detach();
        }
        drop(executor);
        assert_eq!(dropped.get(), 9);
    });
}

/// A value whose drop panics, unless its thread panics already.
struct Mine;

impl Drop for Mine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

#[test]
fn a_panic_value_that_panics_itself_when_dropped_is_contained() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", 0);
        let _bad = group.create_stream("bad", futures::stream::iter([1, 2]), |ran, _| {
            *ran += 1;
            std::panic::panic_any(Mine);
        });
        spin_all(&executor);
        assert_eq!(incidents.len(), 2);
        assert_eq!(group.into_payload().ok(), Some(2));
    });
}

#[test]
fn on_several_threads_a_panic_in_a_drop_is_contained() {
    watchdog(|| {
        let context = rospin_engine::Context::new(rospin_engine::ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(4)));
        let group = executor.create_reentrant_group("node");
        let (handle, ended) = (executor.handle(), Count::new());
        let counter = ended.clone();
        let _bad = group.create_stream("bad", futures::stream::iter(0..40), move |n| {
            // Without this pause, the calling thread would run all destructors.
            std::thread::sleep(ms(1));
            if counter.up() == 40 {
                handle.halt();
            }
            if n % 4 == 0 {
                std::panic::panic_any(Mine);
            }
        });
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!(ended.get(), 40);
    });
}

#[test]
fn a_panic_in_the_drop_of_captured_state_stops_nobody_else() {
    watchdog(|| {
        let (context, _) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let mine = Mine;
        let bad = group.create_local_subscription(named("bad"), move |_, _: Arc<u8>| _ = &mine).unwrap();
        let _good = group.create_local_subscription(named("good"), |ran, _: Arc<u8>| *ran += 1);
        let killer = executor.create_group("killer", ());
        let _killer = killer.create_stream("killer", futures::stream::iter([bad]), |(), bad| drop(bad));
        publisher.publish(1);
        spin_all(&executor);
        publisher.publish(2);
        spin_all(&executor);
        assert_eq!(publisher.subscription_count(), 1);
        assert_eq!(group.into_payload().ok(), Some(2));
    });
}

#[test]
fn a_panic_in_the_drop_of_a_future_or_a_message_is_contained() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let mines = context.create_local_publisher::<Mine>("mines").unwrap();
        let _future = group.create_local_subscription_async(named("future"), |ran: Payload<i32>, _: Arc<u8>| {
            let mine = Mine;
            async move {
                ran.with(|ran| *ran += 1);
                let _mine = &mine;
            }
        });
        let _message = group.create_local_subscription("mines", |ran, _: Arc<Mine>| *ran += 10);
        for n in 0..2 {
            publisher.publish(n);
            mines.publish(Mine);
        }
        spin_all(&executor);
        assert_eq!(incidents.len(), 4);
        assert_eq!(group.into_payload().ok(), Some(22));
    });
}
