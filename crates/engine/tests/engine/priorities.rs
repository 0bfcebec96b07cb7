//! The order of callbacks by priorities, by the chains that priorities come from, and by deadlines.

use std::sync::Arc;

use crate::common::ears::{ear, executor, on, publish};
use crate::common::{Log, ms, spin_all, watchdog};
use rospin_engine::policy::{Edf, FixedPriority};
use rospin_engine::{
    Chain, Context, ContextOptions, ExecutorOptions, ManualClock, Priority, PriorityMap, SubscriptionOptions,
    TimerOptions,
};

#[test]
fn fixed_priority_runs_the_highest_first_across_groups() {
    watchdog(|| {
        let (_, context, executor) = executor(FixedPriority::new());
        let log = Log::new();
        let levels = [("a", 1), ("b", 9), ("c", 5), ("d", 0), ("e", 9)];
        let _ears = levels.map(|(name, level)| ear(&executor, &log, name, on(name).priority(Priority(level))));
        for n in 0..2 {
            levels.iter().for_each(|(name, _)| publish(&context, name, n));
        }
        spin_all(&executor);
        let order = log.take();
        assert_eq!(order, ["b0", "b1", "e0", "e1", "c0", "c1", "a0", "a1", "d0", "d1"]);
    });
}

#[test]
fn readiness_is_refreshed_before_every_pick() {
    watchdog(|| {
        let (_, context, executor) = executor(FixedPriority::new());
        let log = Log::new();
        let _high = ear(&executor, &log, "high", on("high").priority(Priority(2)));
        let _middle = ear(&executor, &log, "middle", on("middle").priority(Priority(1)));
        let (publisher, low) = (context.create_local_publisher::<u32>("high").unwrap(), log.clone());
        let group = executor.create_group("low", ());
        let _low = group.create_local_subscription("low", move |(), n: Arc<u32>| {
            low.push(format!("low{n}"));
            publisher.publish(*n);
        });
        (0..3).for_each(|n| publish(&context, "low", n));
        publish(&context, "middle", 0);
        spin_all(&executor);
        assert_eq!(log.take(), ["middle0", "low0", "high0", "low1", "high1", "low2", "high2"]);
    });
}

#[test]
fn a_timer_that_becomes_due_during_a_callback_runs_next_if_it_is_urgent() {
    watchdog(|| {
        let (clock, context, executor) = executor(FixedPriority::new());
        let log = Log::new();
        let (hand, busy, tick) = (clock.clone(), log.clone(), log.clone());
        let group = executor.create_group("busy", ());
        let _busy = group.create_local_subscription("busy", move |(), n: Arc<u32>| {
            busy.push(format!("busy{n}"));
            hand.advance(ms(6));
        });
        let options = TimerOptions::periodic(ms(10)).priority(Priority(1));
        let group = executor.create_group("timer", ());
        let _timer = group.create_timer(options, move |(), _| tick.push("tick".into())).unwrap();
        (0..4).for_each(|n| publish(&context, "busy", n));
        spin_all(&executor);
        assert_eq!(log.take(), ["busy0", "busy1", "tick", "busy2", "busy3", "tick"]);
    });
}

#[test]
fn priorities_come_from_the_chains_of_the_context() {
    watchdog(|| {
        let chains =
            [Chain::new("comfort", 1, ["camera", "display"]), Chain::new("safety", 9, ["lidar", "obstacles", "brake"])];
        let options = ContextOptions::new().manual_clock(ManualClock::new());
        let context = Context::new(options.priorities(PriorityMap::picas(&chains).unwrap()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let log = Log::new();
        let names = ["camera", "nowhere", "display", "lidar", "obstacles", "brake"];
        let _ears = names.map(|name| ear(&executor, &log, name, on(name)));
        let _own = ear(&executor, &log, "own", on("own").priority(Priority(99)));
        let _override =
            ear(&executor, &log, "overridden", SubscriptionOptions::new("own").name("brake").priority(Priority(0)));
        names.iter().chain(&["own"]).for_each(|name| publish(&context, name, 0));
        spin_all(&executor);
        let order = ["own0", "brake0", "obstacles0", "lidar0", "display0", "camera0", "nowhere0", "overridden0"];
        assert_eq!(log.take(), order);
    });
}

#[test]
fn a_chain_runs_through_before_its_next_instance() {
    watchdog(|| {
        let names = ["sense", "filter", "act"];
        let chains = [Chain::new("chain", 1, names)];
        let options = ContextOptions::new().manual_clock(ManualClock::new());
        let context = Context::new(options.priorities(PriorityMap::picas(&chains).unwrap()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let log = Log::new();
        let _act = ear(&executor, &log, "act", on("act"));
        let _forward = [("sense", "filter"), ("filter", "act")].map(|(from, to)| {
            let (log, next) = (log.clone(), context.create_local_publisher::<u32>(to).unwrap());
            let callback = move |(): &mut (), n: Arc<u32>| {
                log.push(format!("{from}{n}"));
                next.publish(n);
            };
            executor.create_group("group", ()).create_local_subscription(on(from), callback).unwrap()
        });
        (0..3).for_each(|n| publish(&context, "sense", n));
        spin_all(&executor);
        let one = |n| names.map(|name| format!("{name}{n}"));
        assert_eq!(log.take(), [one(0), one(1), one(2)].concat());
    });
}

#[test]
fn edf_runs_the_earliest_absolute_deadline_first() {
    watchdog(|| {
        let (clock, context, executor) = executor(Edf::new());
        let log = Log::new();
        let _ears =
            [("none", None), ("slow", Some(30)), ("fast", Some(10)), ("middle", Some(20))].map(|(name, deadline)| {
                let options = deadline.map_or(on(name), |deadline| on(name).deadline(ms(deadline)));
                ear(&executor, &log, name, options)
            });
        let all = ["none", "slow", "middle", "fast"];
        all.iter().for_each(|name| publish(&context, name, 0));
        spin_all(&executor);
        assert_eq!(log.take(), ["fast0", "middle0", "slow0", "none0"]);

        // Published at the same time as above, but noticed together with later messages.
        publish(&context, "slow", 1);
        clock.advance(ms(15));
        publish(&context, "middle", 1);
        clock.advance(ms(6));
        publish(&context, "fast", 1);
        spin_all(&executor);
        assert_eq!(log.take(), ["slow1", "fast1", "middle1"], "due at 31, 32 and 36 ms");
    });
}
