//! The order of rclcpp's executors: first in, first out, and wait sets.

use std::sync::Arc;

use crate::common::ears::{ear, executor, on, publish};
use crate::common::{Log, manual, ms, spin_all, watchdog};
use rospin_engine::policy::{Fifo, Timers, WaitSet};
use rospin_engine::{ExecutorOptions, Priority, TimerOptions};

#[test]
fn fifo_runs_in_the_order_of_arrival_not_of_notice() {
    watchdog(|| {
        let (clock, context, executor) = executor(Fifo::new());
        let log = Log::new();
        let _ears = ["a", "b", "c"].map(|name| ear(&executor, &log, name, on(name).priority(Priority(7))));
        let order = ["c", "a", "c", "b", "b", "a", "c", "a"];
        for (n, name) in order.iter().enumerate() {
            publish(&context, name, n as u32);
            clock.advance(ms(1));
        }
        spin_all(&executor);
        let arrival: Vec<_> = order.iter().enumerate().map(|(n, name)| format!("{name}{n}")).collect();
        assert_eq!(log.take(), arrival);
    });
}

#[test]
fn a_message_that_arrives_at_time_zero_is_the_oldest() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
        let log = Log::new();
        let _ears = ["second", "first"].map(|name| ear(&executor, &log, name, on(name)));
        publish(&context, "first", 0);
        clock.advance(ms(1));
        publish(&context, "second", 1);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(log.take(), ["first0", "second1"]);
    });
}

#[test]
fn a_message_left_in_a_queue_keeps_its_age_although_more_arrived_meanwhile() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
        let (log, group) = (Log::new(), executor.create_group("group", ()));
        let busy = context.create_local_publisher::<u32>("busy").unwrap();
        let (own, other) = (log.clone(), log.clone());
        let (publisher, rival) = (busy.clone(), context.create_local_publisher::<u32>("rival").unwrap());
        let _busy = group.create_local_subscription("busy", move |(), message: Arc<u32>| {
            own.push(format!("busy{message}"));
            if *message == 0 {
                clock.advance(ms(5));
                rival.publish(0);
                clock.advance(ms(5));
                publisher.publish(2);
            }
        });
        let _rival = group
            .create_local_subscription("rival", move |(), message: Arc<u32>| other.push(format!("rival{message}")));
        busy.publish(0);
        busy.publish(1);
        spin_all(&executor);
        assert_eq!(log.take(), ["busy0", "busy1", "rival0", "busy2"]);
    });
}

#[test]
fn fifo_mixes_timers_by_their_due_times_with_messages_by_their_arrival() {
    watchdog(|| {
        let (clock, context, executor) = executor(Fifo::new());
        let log = Log::new();
        let _ear = ear(&executor, &log, "m", on("m"));
        let tick = log.clone();
        let group = executor.create_group("group", ());
        let _timer = group.create_timer(TimerOptions::one_shot(ms(5)), move |(), _| tick.push("tick".into())).unwrap();
        for n in [3, 6] {
            clock.advance(ms(3));
            publish(&context, "m", n);
        }
        clock.advance(ms(10));
        spin_all(&executor);
        assert_eq!(log.take(), ["m3", "tick", "m6"]);
    });
}

/// Returns the callbacks that run, in order, if the first of two subscriptions makes a timer due and publishes to
/// itself.
fn wait_set(timers: Timers) -> Vec<String> {
    let (clock, context, executor) = executor(WaitSet::new(timers));
    let log = Log::new();
    let (again, first, hand) = (context.create_local_publisher::<u32>("a").unwrap(), log.clone(), clock.clone());
    let _a = executor.create_group("a", ()).create_local_subscription("a", move |(), n: Arc<u32>| {
        first.push(format!("a{n}"));
        if *n == 0 {
            hand.advance(ms(10));
            again.publish(1);
        }
    });
    let _b = ear(&executor, &log, "b", on("b"));
    let tick = log.clone();
    let _timer = executor.create_group("t", ()).create_timer(ms(10), move |(), _| tick.push("tick".into())).unwrap();
    publish(&context, "b", 0);
    publish(&context, "b", 1);
    publish(&context, "a", 0);
    spin_all(&executor);
    log.take()
}

#[test]
fn wait_sets_serve_what_was_ready_at_the_polling_point() {
    watchdog(|| {
        assert_eq!(wait_set(Timers::Inside), ["a0", "b0", "tick", "a1", "b1"], "E2");
        assert_eq!(wait_set(Timers::Outside), ["a0", "tick", "b0", "a1", "b1"], "E1");
    });
}

#[test]
fn wait_sets_serve_by_kind_then_by_registration() {
    watchdog(|| {
        let (clock, context, executor) = executor(WaitSet::new(Timers::Inside));
        let log = Log::new();
        let group = executor.create_group("group", ());
        let entry = |name: &'static str| {
            let log = log.clone();
            move || log.push(name.to_owned())
        };
        let (stream, service, late, early) = (entry("stream"), entry("service"), entry("late timer"), entry("timer"));
        let _stream = group.create_stream("stream", futures::stream::iter([1]), move |(), _| stream());
        let _service = group.create_local_service("service", move |(), ()| service());
        let _ears = ["b", "a"].map(|name| ear(&executor, &log, name, on(name)));
        let _late = group.create_timer(TimerOptions::one_shot(ms(10)), move |(), _| late()).unwrap();
        let _early = group.create_timer(TimerOptions::one_shot(ms(5)), move |(), _| early()).unwrap();
        drop(context.create_local_client::<(), ()>("service").unwrap().call(()));
        ["a", "b"].iter().for_each(|name| publish(&context, name, 0));
        clock.advance(ms(10));
        spin_all(&executor);
        assert_eq!(log.take(), ["late timer", "timer", "b0", "a0", "service", "stream"]);
    });
}
