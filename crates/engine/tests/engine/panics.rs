//! Panics in callbacks: caught, reported once, and handled as the group says.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::common::{Count, Log, ms, spin_all, spin_in_background, threads, watchdog, with_incidents};
use futures::channel::oneshot;
use rospin_engine::{
    ExecutorOptions, GroupOptions, Incident, IncidentKind, LossCause, OnPanic, Payload, SpinError, SpinOptions,
    SubscriptionOptions,
};

fn boom(entity: &str, group: &str, message: &str) -> (String, String, String, IncidentKind) {
    ("main".into(), group.into(), entity.into(), IncidentKind::Panicked(message.into()))
}

fn parts(incident: Incident) -> (String, String, String, IncidentKind) {
    (incident.executor, incident.group, incident.entity, incident.kind)
}

fn taken(incidents: &Log<Incident>) -> Vec<(String, String, String, IncidentKind)> {
    incidents.take().into_iter().map(parts).collect()
}

fn named(name: &str) -> SubscriptionOptions {
    SubscriptionOptions::new("topic").name(name)
}

#[test]
fn by_default_the_entity_goes_on_with_its_next_item() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", Vec::new());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let _bad = group.create_local_subscription(named("bad"), |seen, n: Arc<u8>| {
            seen.push(*n);
            assert!(*n != 1, "no {n}");
            seen.push(10 + *n);
        });
        let _good = group.create_local_subscription(named("good"), |seen, n: Arc<u8>| seen.push(100 + *n));
        for n in 0..3 {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(taken(&incidents), [boom("bad", "node", "no 1")]);
        // All messages have come, in any order, and the payload is as the panic left it.
        let mut seen = group.into_payload().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 10, 12, 100, 101, 102]);
        assert_eq!(context.losses(), []);
    });
}

#[test]
fn remove_removes_the_entity_only() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group(GroupOptions::new("node").on_panic(OnPanic::Remove), 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let drops = Count::new();
        let captured = drops.on_drop();
        let bad = group
            .create_local_subscription(named("bad"), move |_, _: Arc<u8>| {
                captured.touch();
                panic!("once");
            })
            .unwrap();
        let _good = group.create_local_subscription(named("good"), |ran, _: Arc<u8>| *ran += 1);
        for n in 0..3 {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(taken(&incidents), [boom("bad", "node", "once")]);
        assert_eq!(drops.get(), 1);
        assert_eq!(publisher.subscription_count(), 1);
        assert_eq!(bad.lost(LossCause::EntityDropped), 2, "what was queued is counted");
        publisher.publish(3);
        spin_all(&executor);
        assert_eq!(group.into_payload().ok(), Some(4));
    });
}

#[test]
fn halt_ends_the_spin_with_the_incident_and_the_next_one_goes_on() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group(GroupOptions::new("node").on_panic(OnPanic::Halt), 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let _bad = group.create_local_subscription(named("bad"), |ran, n: Arc<u8>| {
            assert!(*n != 1, "fatal");
            *ran += 1;
        });
        for n in 0..3 {
            publisher.publish(n);
        }
        let error = executor.spin(SpinOptions::spin_all()).unwrap_err();
        assert!(error.to_string().contains("`bad`") && error.to_string().contains("`node`"), "{error}");
        let SpinError::Panicked(incident) = error else { panic!("{error}") };
        assert_eq!(parts(incident), boom("bad", "node", "fatal"));
        assert_eq!(taken(&incidents), [boom("bad", "node", "fatal")], "reported once, besides");
        spin_all(&executor);
        assert_eq!(group.into_payload().ok(), Some(2));
    });
}

#[test]
fn halt_beats_the_awaited_future() {
    watchdog(|| {
        let (context, _) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group(GroupOptions::new("node").on_panic(OnPanic::Halt), ());
        let _bad = group.create_stream("bad", futures::stream::iter([1]), |(), _| panic!("fatal"));
        let result = executor.spin_until(std::future::pending::<()>(), SpinOptions::new());
        assert!(matches!(result, Err(SpinError::Panicked(_))), "{result:?}");
    });
}

#[test]
fn timers_keep_ticking_after_a_panic() {
    watchdog(|| {
        let clock = rospin_engine::ManualClock::new();
        let context = rospin_engine::Context::new(rospin_engine::ContextOptions::new().manual_clock(clock.clone()));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", 0);
        let _timer = group.create_timer(ms(1), |ticks, _| {
            *ticks += 1;
            panic!("every time");
        });
        for _ in 0..5 {
            clock.advance(ms(1));
            spin_all(&executor);
        }
        assert_eq!(group.into_payload().ok(), Some(5));
    });
}

#[test]
fn an_asynchronous_callback_that_panics_frees_its_group() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", Vec::new());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (sender, receiver) = oneshot::channel::<()>();
        let mut receiver = Some(receiver);
        let drops = Count::new();
        let dropped = drops.clone();
        let callback = move |seen: Payload<Vec<u8>>, n: Arc<u8>| {
            let (mut gate, held) = ((*n == 1).then(|| receiver.take()).flatten(), dropped.on_drop());
            assert!(*n != 0, "in the closure");
            async move {
                held.touch();
                if let Some(gate) = gate.take() {
                    let _ = gate.await;
                    seen.with(|_| panic!("in the payload"));
                }
                seen.with(|seen| seen.push(*n));
                assert!(*n != 2, "in the first poll");
            }
        };
        let _bad = group.create_local_subscription_async(named("bad"), callback);
        let _good = group.create_local_subscription(named("good"), |seen, n: Arc<u8>| seen.push(100 + *n));
        for n in 0..4 {
            publisher.publish(n);
        }
        spin_all(&executor);
        assert_eq!(taken(&incidents), [boom("bad", "node", "in the closure")]);
        sender.send(()).unwrap();
        spin_all(&executor);
        let expected = ["in the payload", "in the first poll"].map(|message| boom("bad", "node", message));
        assert_eq!(taken(&incidents), expected);
        let mut seen = group.into_payload().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [2, 3, 100, 101, 102, 103]);
        assert_eq!(drops.get(), 4, "every activation's state, once");
    });
}

#[test]
fn a_reentrant_asynchronous_callback_loses_nothing_but_the_one_that_panics() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_reentrant_group("node");
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let log = Log::new();
        let ran = log.clone();
        let callback = move |n: Arc<u8>| {
            let (ran, mut polls) = (ran.clone(), 0);
            poll_fn(move |cx| {
                polls += 1;
                if polls < 3 {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                assert!(!n.is_multiple_of(4), "no {n}");
                ran.push(*n);
                Poll::Ready(())
            })
        };
        let _bad = group.create_local_subscription_async(named("bad").keep_last(40), callback);
        for n in 0..40 {
            publisher.publish(n);
        }
        spin_all(&executor);
        let mut ran = log.take();
        ran.sort_unstable();
        assert_eq!(ran, (0..40).filter(|n| n % 4 != 0).collect::<Vec<_>>());
        assert_eq!(incidents.len(), 10);
    });
}

#[test]
fn a_panic_with_a_value_that_is_not_text_is_reported() {
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", ());
        let _bad = group.create_stream("bad", futures::stream::iter([1]), |(), n| std::panic::panic_any(n));
        spin_all(&executor);
        let taken = incidents.take();
        assert_eq!(taken.len(), 1);
        assert!(matches!(&taken[0].kind, IncidentKind::Panicked(text) if !text.is_empty()));
    });
}

#[test]
fn on_several_threads_each_panic_is_reported_once_and_the_others_go_on() {
    const MESSAGES: usize = 400;
    watchdog(|| {
        let (context, incidents) = with_incidents();
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(4))));
        let publisher = context.create_local_publisher::<usize>("topic").unwrap();
        let ended = Count::new();
        let group = executor.create_group("exclusive", ());
        let reentrant = executor.create_reentrant_group("reentrant");
        let counter = ended.clone();
        let _exclusive =
            group.create_local_subscription(named("exclusive").keep_last(MESSAGES), move |(), n: Arc<usize>| {
                counter.up();
                assert!(n.is_multiple_of(2));
            });
        let counter = ended.clone();
        let _reentrant =
            reentrant.create_local_subscription(named("reentrant").keep_last(MESSAGES), move |n: Arc<usize>| {
                counter.up();
                assert!(n.is_multiple_of(2));
            });
        for n in 0..MESSAGES {
            publisher.publish(n);
        }
        let spin = spin_in_background(&executor);
        crate::common::eventually(|| ended.get() == 2 * MESSAGES);
        executor.halt();
        spin.join().unwrap().unwrap();
        let incidents = incidents.take();
        for entity in ["exclusive", "reentrant"] {
            let of_entity = incidents.iter().filter(|incident| incident.entity == entity && incident.group == entity);
            assert_eq!(of_entity.count(), MESSAGES / 2);
        }
    });
}

#[test]
fn on_several_threads_a_panic_that_halts_ends_all_of_them() {
    watchdog(|| {
        let (context, _) = with_incidents();
        let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(4)));
        let reentrant = executor.create_reentrant_group(GroupOptions::new("node").on_panic(OnPanic::Halt));
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (meeting, ended) = (std::sync::Barrier::new(4), Count::new());
        let counter = ended.clone();
        let _subscription = reentrant.create_local_subscription(named("bad"), move |n: Arc<u8>| {
            meeting.wait();
            assert!(*n != 0, "fatal");
            std::thread::sleep(ms(20));
            counter.up();
        });
        for n in 0..4 {
            publisher.publish(n);
        }
        let error = executor.spin(SpinOptions::new()).unwrap_err();
        assert!(matches!(error, SpinError::Panicked(_)));
        assert_eq!(ended.get(), 3, "the callbacks that were running are waited for");
    });
}

#[test]
fn a_panic_in_the_report_of_a_panic_stops_nobody() {
    watchdog(|| {
        let reports = Count::new();
        let counter = reports.clone();
        let options = rospin_engine::ContextOptions::new().manual_clock(rospin_engine::ManualClock::new());
        let context = rospin_engine::Context::new(options.on_incident(move |_| {
            counter.up();
            panic!("in the report");
        }));
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("node", 0);
        let _bad = group.create_stream("bad", futures::stream::iter(0..3), |ran, _| {
            *ran += 1;
            panic!("in the callback");
        });
        spin_all(&executor);
        assert_eq!(reports.get(), 3);
        assert_eq!(group.into_payload().ok(), Some(3));
    });
}
