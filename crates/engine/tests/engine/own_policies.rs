//! Policies of executors: custom ones, and by name.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use crate::common::ears::{ear, executor, on, publish};
use crate::common::{Count, Log, OnDrop, manual, manual_executor, ms, spin_all, watchdog, with_incidents};
use futures::channel::oneshot;
use rospin_core::{EntityId, EntitySpec, GroupId};
use rospin_engine::policy::{Ordered, View};
use rospin_engine::trace::TraceEvent;
use rospin_engine::{
    Activation, Context, EntityOptions, Executor, ExecutorOptions, GroupOptions, IncidentKind, Instant, OnPanic, Order,
    Payload, Policy, SpinError, SpinOptions,
};

/// The order by relative deadline, longest first.
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

/// A policy that is last in, first out.
#[derive(Default)]
struct Stack(VecDeque<Activation>);

impl Policy for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }
    fn register(&mut self, _: EntityId, _: &EntitySpec) {}
    fn unregister(&mut self, _: EntityId, _: &EntitySpec) {}
    fn release(&mut self, activation: &Activation) {
        self.0.push_back(*activation);
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

#[test]
fn boxed_policies_are_chosen_by_name() {
    watchdog(|| {
        for entry in rospin_engine::policy::POLICIES {
            let (_, context) = manual();
            let policy = rospin_engine::policy::by_name(entry.name).unwrap();
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

/// A policy that is first in, first out, and panics in the middle of a method when it is told to.
struct Moody {
    stack: Stack,
    panics_in: Arc<Mutex<Option<&'static str>>>,
}

impl Moody {
    fn may_panic(&self, place: &'static str) {
        if self.panics_in.lock().unwrap().take_if(|at| *at == place).is_some() {
            panic!("the policy panics in {place}");
        }
    }
}

impl Policy for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }
    fn register(&mut self, _: EntityId, _: &EntitySpec) {}
    fn unregister(&mut self, _: EntityId, _: &EntitySpec) {
        self.may_panic("unregister");
    }
    fn release(&mut self, activation: &Activation) {
        self.stack.release(activation);
        self.may_panic("release");
    }
    fn pick(&mut self, view: &mut View<'_>) -> Option<Activation> {
        self.may_panic("pick");
        self.stack.pick(view)
    }
    fn group_freed(&mut self, _: GroupId) {
        self.may_panic("group_freed");
    }
    fn withdraw(&mut self, activation: &Activation) {
        self.stack.withdraw(activation);
    }
    fn has_candidates(&self) -> bool {
        self.may_panic("has_candidates");
        self.stack.has_candidates()
    }
}

/// Creates an executor with that policy, and the place of where the policy panics next.
fn moody(context: &Context, threads: u16) -> (Executor, Arc<Mutex<Option<&'static str>>>) {
    let panics_in = Arc::new(Mutex::new(None));
    let policy = Moody { stack: Stack::default(), panics_in: Arc::clone(&panics_in) };
    (context.create_executor(ExecutorOptions::new("main").threads(threads).policy(policy)), panics_in)
}

/// Checks that the executor goes on after a panic: it takes two messages, and panics while it does once `arm` was
/// called.
fn goes_on_after_a_panic(context: &Context, executor: &Executor, place: &str, arm: impl FnOnce()) {
    let group = executor.create_group("group", 0);
    let _subscription = group.create_local_subscription("topic", |sum, n: Arc<u32>| *sum += *n).unwrap();
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    publisher.publish(1);
    publisher.publish(10);
    arm();
    let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
    assert!(spun.is_err(), "{place}: the panic is the caller's to see");
    publisher.publish(100);
    spin_all(executor);
    let sum = group.into_payload().expect("the payload is there");
    assert_eq!(sum, 111, "{place}");
}

#[test]
fn a_policy_that_panics_leaves_groups_free_and_payloads_where_they_are() {
    watchdog(|| {
        for place in ["release", "pick", "group_freed"] {
            let (_, context) = manual();
            let (executor, panics_in) = moody(&context, 1);
            goes_on_after_a_panic(&context, &executor, place, || *panics_in.lock().unwrap() = Some(place));
        }
    });
}

/// Of three messages, one is released when the policy panics. The notifications of all three were seen by then.
#[test]
fn a_policy_that_panics_loses_no_notification() {
    watchdog(|| {
        let (_, context) = manual();
        let (executor, panics_in) = moody(&context, 1);
        let log = Log::new();
        let names = ["a", "b", "c"];
        let _ears = names.map(|name| ear(&executor, &log, name, on(name)));
        spin_all(&executor);
        names.iter().for_each(|name| publish(&context, name, 0));
        *panics_in.lock().unwrap() = Some("release");
        let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
        assert!(spun.is_err(), "the panic is the caller's to see");
        let heard = |executor: &Executor| {
            spin_all(executor);
            let mut heard = log.take();
            heard.sort();
            heard
        };
        assert_eq!(heard(&executor), ["a0", "b0", "c0"]);
        names.iter().for_each(|name| publish(&context, name, 1));
        assert_eq!(heard(&executor), ["a1", "b1", "c1"]);
    });
}

#[test]
fn a_trace_that_panics_leaves_groups_free_and_payloads_where_they_are() {
    watchdog(|| {
        for place in ["Released", "Dispatched", "Completed"] {
            let panics_in = Arc::new(Mutex::new(Some(place)));
            let (_, context) = manual();
            let trace = move |_: Instant, event: TraceEvent| {
                let is_it = |place: &mut &str| format!("{event:?}").starts_with(*place);
                if panics_in.lock().unwrap().take_if(is_it).is_some() {
                    panic!("the trace panics");
                }
            };
            let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
            goes_on_after_a_panic(&context, &executor, place, || {});
        }
    });
}

/// Creates an executor whose trace panics once it is armed, at the event of that kind with that number.
fn with_mined_trace(kind: &'static str, number: usize) -> (Context, Executor, Arc<AtomicBool>) {
    let (_, context) = manual();
    let armed = Arc::new(AtomicBool::new(false));
    let is_armed = Arc::clone(&armed);
    let mut left = number;
    let trace = move |_: Instant, event: TraceEvent| {
        if !is_armed.load(Ordering::SeqCst) || !format!("{event:?}").starts_with(kind) {
            return;
        }
        if left == 0 {
            is_armed.store(false, Ordering::SeqCst);
            panic!("the trace panics");
        }
        left -= 1;
    };
    let executor = context.create_executor(ExecutorOptions::new("main").trace(trace));
    (context, executor, armed)
}

/// The second release is that of the item which the first callback has left. It is told while the first activation
/// ends.
#[test]
fn a_trace_that_panics_at_the_release_of_what_is_left_leaves_the_group_free() {
    watchdog(|| {
        let (context, executor, armed) = with_mined_trace("Released", 1);
        goes_on_after_a_panic(&context, &executor, "Released", || armed.store(true, Ordering::SeqCst));
    });
}

#[test]
fn a_trace_that_panics_at_a_suspension_loses_no_wake_up() {
    watchdog(|| {
        let (context, executor, armed) = with_mined_trace("Suspended", 0);
        let group = executor.create_group("group", 0);
        let callback = move |sum: Payload<u32>, n: Arc<u32>| {
            let mut is_woken = false;
            poll_fn(move |cx| {
                if !std::mem::replace(&mut is_woken, true) {
                    // The executor sees the wake-up before it suspends the activation.
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                sum.with(|sum| *sum += *n);
                Poll::Ready(())
            })
        };
        let _subscription = group.create_local_subscription_async("topic", callback).unwrap();
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        publisher.publish(1);
        armed.store(true, Ordering::SeqCst);
        let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
        assert!(spun.is_err(), "the panic is the caller's to see");
        publisher.publish(10);
        spin_all(&executor);
        assert_eq!(group.into_payload().expect("the payload is there"), 11);
    });
}

/// A change whose trace panics is over. The executor does not look for it for ever.
#[test]
fn a_spin_ends_after_a_trace_has_panicked_in_a_change() {
    watchdog(|| {
        let (context, executor, armed) = with_mined_trace("Withdrawn", 0);
        let group = executor.create_group("group", ());
        let handle = executor.handle();
        let _first = group.create_local_subscription("topic", move |(), _: Arc<u32>| handle.halt()).unwrap();
        let second = group.create_local_subscription("topic", |(), _: Arc<u32>| ()).unwrap();
        context.create_local_publisher::<u32>("topic").unwrap().publish(1);
        executor.spin(SpinOptions::spin_all()).unwrap();
        armed.store(true, Ordering::SeqCst);
        let removed = catch_unwind(AssertUnwindSafe(|| drop(second)));
        assert!(removed.is_err(), "the second callback is ready, so the trace is told of its end");
        spin_all(&executor);
    });
}

/// With several threads the policy is asked for more between the pick and the run, if another thread is idle.
#[test]
fn a_policy_that_panics_between_pick_and_run_loses_no_activation() {
    watchdog(|| {
        for panics_at_segment in [0, 1] {
            let (_, context) = manual();
            let (executor, panics_in) = moody(&context, 2);
            let group = executor.create_group("group", ());
            let heard = Count::new();
            let (count, arm) = (heard.clone(), Arc::clone(&panics_in));
            let callback = move |_: Payload<()>, _: Arc<u32>| {
                let (count, arm) = (count.clone(), Arc::clone(&arm));
                let mut is_woken = false;
                poll_fn(move |cx| {
                    if !std::mem::replace(&mut is_woken, true) {
                        if panics_at_segment == 1 {
                            *arm.lock().unwrap() = Some("has_candidates");
                        }
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    count.up();
                    Poll::Ready(())
                })
            };
            let _subscription = group.create_local_subscription_async("topic", callback).unwrap();
            let publisher = context.create_local_publisher::<u32>("topic").unwrap();
            if panics_at_segment == 0 {
                *panics_in.lock().unwrap() = Some("has_candidates");
            }
            let mut published = 0;
            std::thread::scope(|scope| {
                let spin = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::default()))));
                // One message after the other, until one is picked while the other thread is idle.
                while !spin.is_finished() {
                    if heard.get() == published {
                        publisher.publish(1);
                        published += 1;
                    }
                    std::thread::yield_now();
                }
                assert!(spin.join().unwrap().is_err(), "the panic is the caller's to see");
            });
            spin_all(&executor);
            assert_eq!(heard.get(), published, "{panics_at_segment}");
        }
    });
}

/// A message that arrives while a callback runs is released before that run is given back.
#[test]
fn a_policy_that_panics_at_a_release_loses_no_suspended_callback() {
    watchdog(|| {
        let (_, context) = manual();
        let (executor, panics_in) = moody(&context, 1);
        let group = executor.create_group("group", 0);
        let log = Log::new();
        let _ear = ear(&executor, &log, "other", on("other"));
        let wakers = Log::new();
        let (arm, waiting, to) = (Arc::clone(&panics_in), wakers.clone(), context.clone());
        let callback = move |sum: Payload<u32>, n: Arc<u32>| {
            let (arm, waiting, to) = (Arc::clone(&arm), waiting.clone(), to.clone());
            let mut is_woken = false;
            poll_fn(move |cx| {
                if !std::mem::replace(&mut is_woken, true) {
                    waiting.push(cx.waker().clone());
                    publish(&to, "other", 0);
                    *arm.lock().unwrap() = Some("release");
                    return Poll::Pending;
                }
                sum.with(|sum| *sum += *n);
                Poll::Ready(())
            })
        };
        let _subscription = group.create_local_subscription_async("topic", callback).unwrap();
        context.create_local_publisher::<u32>("topic").unwrap().publish(1);
        let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
        assert!(spun.is_err(), "the panic is the caller's to see");
        wakers.take().into_iter().for_each(std::task::Waker::wake);
        spin_all(&executor);
        assert_eq!((log.take(), group.into_payload().unwrap()), (vec!["other0".to_owned()], 1));
    });
}

#[test]
fn a_policy_that_panics_hides_no_panic_of_a_callback() {
    watchdog(|| {
        for place in ["release", "group_freed", "unregister"] {
            for on_panic in [OnPanic::Continue, OnPanic::Remove, OnPanic::Halt] {
                let (context, incidents) = with_incidents();
                let (executor, panics_in) = moody(&context, 1);
                let group = executor.create_group(GroupOptions::new("group").on_panic(on_panic), ());
                let arm = Arc::clone(&panics_in);
                let callback = move |(): &mut (), _: Arc<u32>| {
                    *arm.lock().unwrap() = Some(place);
                    panic!("the callback panics");
                };
                let _subscription = group.create_local_subscription("topic", callback).unwrap();
                let publisher = context.create_local_publisher::<u32>("topic").unwrap();
                publisher.publish(0);
                publisher.publish(1);
                let spin = || catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
                let spun = spin();
                let is_removed = on_panic == OnPanic::Remove;
                assert_eq!(spun.is_err(), place != "unregister" || is_removed, "{place} {on_panic:?}");
                let next = spin();
                *panics_in.lock().unwrap() = None;
                let told: Vec<_> = incidents.take().into_iter().map(|incident| incident.kind).collect();
                let told_once = IncidentKind::Panicked("the callback panics".into());
                assert_eq!(told.first(), Some(&told_once), "{place} {on_panic:?}");
                if on_panic == OnPanic::Halt {
                    let ends =
                        [spun, next].into_iter().flatten().filter(|end| matches!(end, Err(SpinError::Panicked(_))));
                    assert!(ends.count() > 0, "{place}");
                }
            }
        }
    });
}

#[test]
fn a_policy_that_panics_while_a_group_is_removed_leaves_none_of_its_callbacks() {
    watchdog(|| {
        let (_, context) = manual();
        let (executor, panics_in) = moody(&context, 1);
        let dropped = Count::new();
        let group = executor.create_group("group", dropped.on_drop());
        let heard = Count::new();
        let subscribe = || {
            let (count, captured) = (heard.clone(), dropped.on_drop());
            let callback = move |_: &mut OnDrop, _: Arc<u32>| {
                captured.touch();
                count.up();
            };
            group.create_local_subscription("topic", callback).unwrap()
        };
        let _subscriptions = [subscribe(), subscribe(), subscribe()];
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        publisher.publish(1);
        spin_all(&executor);
        *panics_in.lock().unwrap() = Some("unregister");
        let removed = catch_unwind(AssertUnwindSafe(|| group.remove()));
        assert!(removed.is_err(), "the panic is the caller's to see");
        publisher.publish(2);
        spin_all(&executor);
        assert_eq!((heard.get(), dropped.get()), (3, 4), "three callbacks ran once, and went with their payload");
    });
}

/// The first activation is that which finds the end of the stream. The second one ends later, and the entity with it.
#[test]
fn a_trace_that_panics_at_the_last_completion_keeps_no_entity_whose_stream_has_ended() {
    watchdog(|| {
        let (_context, executor, armed) = with_mined_trace("Completed", 1);
        let group = executor.create_reentrant_group("group");
        let dropped = Count::new();
        let captured = dropped.on_drop();
        let (key, gate) = oneshot::channel::<()>();
        let callback = move |gate: oneshot::Receiver<()>| {
            captured.touch();
            async move { gate.await.unwrap() }
        };
        let options = EntityOptions::new("stream").max_in_flight(2);
        let _entity = group.create_stream_async(options, futures::stream::iter([gate]), callback).unwrap();
        armed.store(true, Ordering::SeqCst);
        spin_all(&executor);
        key.send(()).unwrap();
        let spun = catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::spin_all())));
        assert!(spun.is_err(), "the panic is the caller's to see");
        spin_all(&executor);
        assert_eq!(dropped.get(), 1);
    });
}
