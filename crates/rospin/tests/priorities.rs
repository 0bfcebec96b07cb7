//! Policies on the engine: in which order callbacks run.

mod common;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use common::{Log, manual, manual_executor, ms, spin_all, watchdog};
use rospin::policy::{Edf, Fifo, FixedPriority, Ordered, Timers, View, WaitSet};
use rospin::trace::TraceEvent;
use rospin::{
    Activation, Chain, Context, ContextOptions, EntityKind, EntityOptions, Executor, ExecutorOptions, Instant,
    ManualClock, Order, Policy, Priority, PriorityMap, Subscription, SubscriptionOptions, TimerOptions,
};
use rospin_core::{EntityId, EntitySpec, GroupId};

/// At 1 ms.
fn executor(policy: impl Policy + 'static) -> (ManualClock, Context, Executor) {
    let (clock, context) = manual();
    clock.advance(ms(1));
    let executor = context.create_executor(ExecutorOptions::new("main").policy(policy));
    (clock, context, executor)
}

/// A subscription in a group of its own that logs its messages under its name; its topic is its name, too.
fn ear(executor: &Executor, log: &Log<String>, name: &str, options: SubscriptionOptions) -> Subscription {
    let (log, name) = (log.clone(), name.to_owned());
    let group = executor.create_group("group", ());
    group.create_subscription(options, move |(), n: Arc<u32>| log.push(format!("{name}{n}"))).unwrap()
}

fn on(topic: &str) -> SubscriptionOptions {
    SubscriptionOptions::new(topic).name(topic)
}

fn publish(context: &Context, topic: &str, n: u32) {
    context.create_publisher::<u32>(topic).unwrap().publish(n);
}

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
        let (publisher, low) = (context.create_publisher::<u32>("high").unwrap(), log.clone());
        let group = executor.create_group("low", ());
        let _low = group.create_subscription("low", move |(), n: Arc<u32>| {
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
        let _busy = group.create_subscription("busy", move |(), n: Arc<u32>| {
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
            let (log, next) = (log.clone(), context.create_publisher::<u32>(to).unwrap());
            let callback = move |(): &mut (), n: Arc<u32>| {
                log.push(format!("{from}{n}"));
                next.publish(n);
            };
            executor.create_group("group", ()).create_subscription(on(from), callback).unwrap()
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

        // At the same time as above, but noticed together with what came later.
        publish(&context, "slow", 1);
        clock.advance(ms(15));
        publish(&context, "middle", 1);
        clock.advance(ms(6));
        publish(&context, "fast", 1);
        spin_all(&executor);
        assert_eq!(log.take(), ["slow1", "fast1", "middle1"], "due at 31, 32 and 36 ms");
    });
}

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
fn what_arrives_at_time_zero_is_the_oldest() {
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
fn what_is_left_in_a_queue_is_as_old_as_it_is_although_more_arrived_meanwhile() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(Fifo::new()));
        let (log, group) = (Log::new(), executor.create_group("group", ()));
        let busy = context.create_publisher::<u32>("busy").unwrap();
        let (own, other) = (log.clone(), log.clone());
        let (publisher, rival) = (busy.clone(), context.create_publisher::<u32>("rival").unwrap());
        let _busy = group.create_subscription("busy", move |(), message: Arc<u32>| {
            own.push(format!("busy{message}"));
            if *message == 0 {
                clock.advance(ms(5));
                rival.publish(0);
                clock.advance(ms(5));
                publisher.publish(2);
            }
        });
        let _rival =
            group.create_subscription("rival", move |(), message: Arc<u32>| other.push(format!("rival{message}")));
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

/// Longest relative deadline first.
#[derive(Default)]
struct LaziestFirst;

impl Order for LaziestFirst {
    type Key = std::cmp::Reverse<Duration>;

    fn name(&self) -> &'static str {
        "laziest-first"
    }

    fn key(&self, activation: &Activation) -> Self::Key {
        std::cmp::Reverse(activation.deadline.saturating_since(activation.release))
    }
}

#[test]
fn users_write_an_order_of_their_own() {
    watchdog(|| {
        let (_, context, executor) = executor(Ordered::<LaziestFirst>::new());
        let log = Log::new();
        let names = [("a", 10), ("b", 30), ("c", 20)];
        let _ears = names.map(|(name, deadline)| ear(&executor, &log, name, on(name).deadline(ms(deadline))));
        names.iter().for_each(|(name, _)| publish(&context, name, 0));
        spin_all(&executor);
        assert_eq!(log.take(), ["b0", "c0", "a0"]);
    });
}

/// Last in, first out.
#[derive(Default)]
struct Stack(VecDeque<Activation>);

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }
    fn register(&mut self, _: EntityId, _: &EntitySpec) {}
    fn unregister(&mut self, _: EntityId, _: &EntitySpec) {}
    fn release(&mut self, activation: Activation) {
        self.0.push_back(activation);
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        let at = self.0.iter().rposition(|activation| view.groups.admits(activation))?;
        self.0.remove(at)
    }
    fn group_freed(&mut self, _: GroupId) {}
    fn withdraw(&mut self, activation: &Activation) {
        self.0.retain(|other| other.sequence != activation.sequence);
    }
    fn has_candidates(&self) -> bool {
        !self.0.is_empty()
    }
}

#[test]
fn users_write_a_policy_of_their_own() {
    watchdog(|| {
        let (_, context, executor) = executor(Stack::default());
        let log = Log::new();
        let names = ["a", "b", "c"];
        let [_a, b, _c] = names.map(|name| ear(&executor, &log, name, on(name)));
        names.iter().for_each(|name| publish(&context, name, 0));
        drop(b);
        spin_all(&executor);
        assert_eq!(log.take(), ["c0", "a0"], "without the one that was removed");
    });
}

/// What runs when the first of two subscriptions makes a timer due, and publishes to itself.
fn wait_set(timers: Timers) -> Vec<String> {
    let (clock, context, executor) = executor(WaitSet::new(timers));
    let log = Log::new();
    let (again, first, hand) = (context.create_publisher::<u32>("a").unwrap(), log.clone(), clock.clone());
    let _a = executor.create_group("a", ()).create_subscription("a", move |(), n: Arc<u32>| {
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
        let _service = group.create_service("service", move |(), ()| service());
        let _ears = ["b", "a"].map(|name| ear(&executor, &log, name, on(name)));
        let _late = group.create_timer(TimerOptions::one_shot(ms(10)), move |(), _| late()).unwrap();
        let _early = group.create_timer(TimerOptions::one_shot(ms(5)), move |(), _| early()).unwrap();
        drop(context.create_client::<(), ()>("service").unwrap().call(()));
        ["a", "b"].iter().for_each(|name| publish(&context, name, 0));
        clock.advance(ms(10));
        spin_all(&executor);
        assert_eq!(log.take(), ["late timer", "timer", "b0", "a0", "service", "stream"]);
    });
}

#[test]
fn the_trace_tells_what_the_scheduler_did() {
    watchdog(|| {
        let (clock, context) = manual();
        let log = Log::new();
        let record = log.clone();
        let trace = move |now: Instant, event: TraceEvent| {
            record.push(match event {
                TraceEvent::Released(activation) => (now, "released", activation.kind, activation.segment),
                TraceEvent::Dispatched(thread, activation) => {
                    assert_eq!(thread.0, 0);
                    (now, "dispatched", activation.kind, activation.segment)
                }
                TraceEvent::Suspended(activation) => (now, "suspended", activation.kind, activation.segment),
                TraceEvent::Completed(activation) => (now, "completed", activation.kind, activation.segment),
                TraceEvent::Overrun(_, count) => (now, "overrun", EntityKind::Timer, count as u32),
                _ => return,
            });
        };
        let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
        let group = executor.create_group("group", ());
        let hand = clock.clone();
        let _timer = group.create_timer(ms(10), move |(), _| hand.advance(ms(1))).unwrap();
        clock.advance(ms(25));
        spin_all(&executor);
        let at = Instant::from_millis;
        let of = |kind| move |ms, what, segment| (at(ms), what, kind, segment);
        let timer = of(EntityKind::Timer);
        let mut events = log.take();
        let overruns: Vec<_> = events.extract_if(.., |event| event.1 == "overrun").collect();
        assert_eq!(events, [timer(10, "released", 0), timer(25, "dispatched", 0), timer(26, "completed", 0)]);
        assert_eq!(overruns.iter().map(|overrun| overrun.3).collect::<Vec<_>>(), [1]);

        let (key, gate) = futures::channel::oneshot::channel::<()>();
        let slot = Arc::new(OnceLock::new());
        slot.set(key).unwrap();
        let mut gate = Some(gate);
        let _stream =
            group.create_stream_async(EntityOptions::new("stream"), futures::stream::iter([1]), move |_, _| {
                let gate = gate.take().unwrap();
                async move { gate.await.unwrap() }
            });
        spin_all(&executor);
        let stream = of(EntityKind::Waitable);
        assert_eq!(
            log.take()[..4],
            [
                stream(26, "released", 0),
                stream(26, "dispatched", 0),
                // A stream may have more: that is found out next.
                stream(26, "released", 0),
                stream(26, "suspended", 0),
            ]
        );
        Arc::into_inner(slot).unwrap().into_inner().unwrap().send(()).unwrap();
        clock.advance(ms(2));
        spin_all(&executor);
        let events = log.take();
        assert_eq!(events[..3], [stream(26, "released", 1), stream(28, "dispatched", 1), stream(28, "completed", 1),]);
    });
}

#[test]
fn boxed_policies_are_chosen_by_name() {
    watchdog(|| {
        for entry in rospin::policy::POLICIES {
            let (_, context) = manual();
            let policy = rospin::policy::by_name(entry.name).unwrap();
            let executor = context.create_executor(ExecutorOptions::new("main").boxed_policy(policy));
            let log = Log::new();
            let _ear = ear(&executor, &log, "a", on("a"));
            (0..3).for_each(|n| publish(&context, "a", n));
            spin_all(&executor);
            assert_eq!(log.take(), ["a0", "a1", "a2"], "{}", entry.name);
        }
        let (_, _context, executor) = manual_executor();
        spin_all(&executor);
    });
}
