//! The spin contract: callbacks run during spins, on the right threads.

use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Count, Log, expect, manual, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use rospin_engine::{
    ClockKind, Context, ContextOptions, Executor, ExecutorOptions, Payload, Priority, SpinEnd, SpinError, SpinOptions,
    SubscriptionOptions, TimerOptions,
};

#[test]
fn executors_and_handles_go_to_other_threads() {
    fn check<T: Send + Sync>() {}
    check::<Executor>();
    check::<rospin_engine::ExecutorHandle>();
    check::<Context>();
    check::<rospin_engine::CallbackGroup<()>>();
    check::<rospin_engine::Timer>();
    check::<rospin_engine::Publisher<u8>>();
    check::<rospin_engine::Notifier>();
}

#[test]
fn nothing_runs_before_spin() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let ran = Count::new();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let counter = ran.clone();
        let _subscription = group.create_local_subscription("topic", move |(), _: Arc<u8>| _ = counter.up()).unwrap();
        let counter = ran.clone();
        let _timer = group.create_timer(ms(1), move |(), _| _ = counter.up()).unwrap();
        let counter = ran.clone();
        let _stream = group.create_stream("stream", futures::stream::iter([1, 2]), move |(), _| _ = counter.up());
        publisher.publish(1);
        clock.advance(ms(1));
        assert_eq!(ran.get(), 0);
        spin_all(&executor);
        assert_eq!(ran.get(), 4);
    });
}

#[test]
fn callbacks_in_flight_are_waited_for_and_nothing_runs_afterwards() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(4)));
        let group = executor.create_reentrant_group("group");
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (started, ended) = (Count::new(), Count::new());
        let all_running = Arc::new(Barrier::new(4));
        let (begun, done, handle) = (started.clone(), ended.clone(), executor.handle());
        let _subscription = group
            .create_local_subscription("topic", move |_: Arc<u8>| {
                begun.up();
                all_running.wait();
                handle.halt();
                // The callback ends long after the halt, so only a spin that waits sees the end.
                thread::sleep(ms(30));
                done.up();
            })
            .unwrap();
        for _ in 0..8 {
            publisher.publish(1);
        }
        executor.spin(SpinOptions::new()).unwrap();
        assert_eq!((started.get(), ended.get()), (4, 4));
        publisher.publish(1);
        thread::sleep(ms(30));
        assert_eq!(started.get(), 4, "nothing runs after spin returned");
    });
}

#[test]
fn spin_once_runs_exactly_one_callback_on_the_calling_thread() {
    watchdog(|| {
        let (_, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(3)));
        let group = executor.create_reentrant_group("group");
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let log = Log::new();
        let ran = log.clone();
        let _subscription =
            group.create_local_subscription("topic", move |n: Arc<u8>| ran.push((*n, thread::current().id()))).unwrap();
        for n in 0..3 {
            publisher.publish(n);
        }
        let here = thread::current().id();
        for n in 0..3 {
            executor.spin(SpinOptions::spin_once()).unwrap();
            assert_eq!(log.take(), [(n, here)]);
        }
        let nothing = executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO));
        assert!(matches!(nothing, Err(SpinError::Timeout)));
        assert_eq!(log.len(), 0);
    });
}

#[test]
fn spin_once_with_no_time_left_still_runs_what_is_ready() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let _subscription = group.create_local_subscription("topic", |sum, n: Arc<u8>| *sum += *n).unwrap();
        let _timer = group.create_timer(ms(5), |sum, _| *sum += 100).unwrap();
        publisher.publish(1);
        executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO)).unwrap();
        clock.advance(ms(5));
        executor.spin(SpinOptions::spin_once().timeout(Duration::ZERO)).unwrap();
        assert_eq!(group.into_payload().ok(), Some(101));
    });
}

#[test]
fn spin_once_waits_for_work_from_another_thread() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let _subscription = group.create_local_subscription("topic", |sum, n: Arc<u8>| *sum += *n).unwrap();
        let other = thread::spawn(move || {
            thread::sleep(ms(5));
            publisher.publish(7);
            publisher.publish(8);
        });
        executor.spin(SpinOptions::spin_once()).unwrap();
        other.join().unwrap();
        assert_eq!(group.into_payload().ok(), Some(7));
    });
}

#[test]
fn a_second_spin_is_refused_and_nothing_is_lost() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = Arc::new(context.create_executor(ExecutorOptions::new("arm").threads(threads(2))));
        let group = executor.create_group("group", 0_u32);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let (results, refusals) = mpsc::channel();
        let (weak, handle) = (Arc::downgrade(&executor), executor.handle());
        let _subscription = group
            .create_local_subscription("topic", move |ran, n: Arc<u8>| {
                *ran += 1;
                let executor = weak.upgrade().unwrap();
                results.send(executor.spin(SpinOptions::spin_once()).unwrap_err()).unwrap();
                if *n == 9 {
                    handle.halt();
                }
            })
            .unwrap();
        let spin = spin_in_background(&executor);
        for n in 0..10 {
            publisher.publish(n);
            // The callback sends this while it runs, so the spin is still going on.
            let refusal = expect(&refusals);
            assert!(matches!(&refusal, SpinError::AlreadySpinning { executor } if executor == "arm"));
            assert!(refusal.to_string().contains("`arm`"), "{refusal}");
            if n < 9 {
                let refusal = executor.spin(SpinOptions::spin_all()).unwrap_err();
                assert!(matches!(refusal, SpinError::AlreadySpinning { .. }));
                let refusal = executor.spin_until(async {}, SpinOptions::new()).unwrap_err();
                assert!(matches!(refusal, SpinError::AlreadySpinning { .. }));
            }
        }
        spin.join().unwrap().unwrap();
        drop(executor.spin(SpinOptions::spin_all()));
        assert_eq!(group.into_payload().ok(), Some(10));
    });
}

#[test]
fn executors_of_one_process_run_side_by_side_and_spin_again() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let ping = Arc::new(context.create_executor(ExecutorOptions::new("ping")));
        let pong = Arc::new(context.create_executor(ExecutorOptions::new("pong").threads(threads(2))));
        let to_pong = context.create_local_publisher::<u32>("to pong").unwrap();
        let to_ping = context.create_local_publisher::<u32>("to ping").unwrap();
        let (last, reached) = mpsc::channel();
        let pinger = ping.create_group("pinger", ());
        let forward = to_pong.clone();
        let _ping = pinger.create_local_subscription("to ping", move |(), n: Arc<u32>| {
            if n.is_multiple_of(100) {
                last.send(*n).unwrap();
            } else {
                forward.publish(*n + 1);
            }
        });
        let ponger = pong.create_group("ponger", ());
        let _pong = ponger.create_local_subscription("to pong", move |(), n: Arc<u32>| _ = to_ping.publish(*n + 1));
        for round in 0..3 {
            let spins = [spin_in_background(&ping), spin_in_background(&pong)];
            to_pong.publish(round * 100 + 1);
            assert_eq!(expect(&reached), (round + 1) * 100);
            ping.halt();
            pong.halt();
            for spin in spins {
                spin.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn a_callback_may_spin_another_executor() {
    watchdog(|| {
        let (_, context, outer) = manual_executor();
        let inner = context.create_executor(ExecutorOptions::new("inner"));
        let inner_group = inner.create_group("inner", 0);
        let _subscription = inner_group.create_local_subscription("topic", |ran, _: Arc<u8>| *ran += 1).unwrap();
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let group = outer.create_group("outer", ());
        let start = futures::stream::iter([inner]);
        let (done, inner_is_done) = mpsc::channel();
        let _entity = group.create_stream("start", start, move |(), inner: Executor| {
            publisher.publish(1);
            done.send(inner.spin(SpinOptions::spin_all()).is_ok()).unwrap();
            done.send(inner_group.clone().into_payload().ok() == Some(1)).unwrap();
        });
        spin_all(&outer);
        assert!(expect(&inner_is_done) && expect(&inner_is_done));
    });
}

#[test]
fn all_threads_take_part_the_caller_s_included() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(4)));
        let group = executor.create_reentrant_group("group");
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let all = Arc::new(Barrier::new(4));
        let log = Log::new();
        let (ran, handle) = (log.clone(), executor.handle());
        let _subscription = group
            .create_local_subscription("topic", move |_: Arc<u8>| {
                ran.push(thread::current().id());
                if all.wait().is_leader() {
                    handle.halt();
                }
            })
            .unwrap();
        for _ in 0..20 {
            for _ in 0..4 {
                publisher.publish(0);
            }
            executor.spin(SpinOptions::new()).unwrap();
            let ran = log.take();
            assert_eq!(ran.iter().collect::<std::collections::HashSet<_>>().len(), 4);
            assert!(ran.contains(&thread::current().id()));
        }
    });
}

#[test]
fn spin_once_beside_an_awaited_future_runs_one_callback() {
    watchdog(|| {
        let (_clock, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let publisher = context.create_local_publisher::<u32>("topic").unwrap();
        let waker = Arc::new(std::sync::Mutex::new(None::<std::task::Waker>));
        let wakes = Arc::clone(&waker);
        let _subscription = group
            .create_local_subscription("topic", move |count, _: Arc<u32>| {
                *count += 1;
                // The wake-up has the future polled again, but it does not resolve.
                if let Some(waker) = &*wakes.lock().unwrap() {
                    waker.wake_by_ref();
                }
            })
            .unwrap();
        (0..5).for_each(|n| _ = publisher.publish(n));
        let future = std::future::poll_fn(|cx| {
            *waker.lock().unwrap() = Some(cx.waker().clone());
            std::task::Poll::<()>::Pending
        });
        let spun = executor.spin_until(future, SpinOptions::spin_once());
        assert!(matches!(spun, Err(SpinError::Halted)), "{spun:?}");
        assert_eq!(group.into_payload().unwrap(), 1);
    });
}

#[test]
fn spin_some_runs_as_many_callbacks_as_are_ready_when_it_begins() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let ran = Log::new();
        let (log, again) = (ran.clone(), publisher.clone());
        let echo = move |(): &mut (), number: Arc<u8>| {
            log.push(*number);
            again.publish(*number + 1);
        };
        let _subscription = group.create_local_subscription("topic", echo).unwrap();
        let log = ran.clone();
        let once = TimerOptions::one_shot(ms(1));
        let _timer = group.create_timer(once, move |(), _| log.push(100)).unwrap();
        let spin_some = || assert_eq!(executor.spin(SpinOptions::spin_some()).unwrap(), SpinEnd::Done);
        spin_some();
        assert_eq!(ran.take(), [], "nothing is ready, and it does not wait");
        publisher.publish(1);
        spin_some();
        assert_eq!(ran.take(), [1]);
        clock.advance(ms(2));
        spin_some();
        assert_eq!(ran.take(), [2, 100]);
        spin_some();
        assert_eq!(ran.take(), [3]);
    });
}

#[test]
fn spin_some_prefers_what_becomes_urgent_meanwhile_and_runs_no_more_for_it() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("urgent").unwrap();
        let ran = Log::new();
        let log = ran.clone();
        let urgent = SubscriptionOptions::new("urgent").priority(Priority(9));
        let _urgent = group.create_local_subscription(urgent, move |(), _: Arc<u8>| log.push(9)).unwrap();
        let mut others = Vec::new();
        for number in 0..3 {
            let topic = format!("topic {number}");
            let (log, urgent) = (ran.clone(), publisher.clone());
            let run = move |(): &mut (), number: Arc<u8>| {
                log.push(*number);
                urgent.publish(9);
            };
            others.push(group.create_local_subscription(topic.as_str(), run).unwrap());
            context.create_local_publisher::<u8>(topic.as_str()).unwrap().publish(number);
        }
        executor.spin(SpinOptions::spin_some()).unwrap();
        assert_eq!(ran.take(), [0, 9, 1]);
        executor.spin(SpinOptions::spin_some()).unwrap();
        assert_eq!(ran.take(), [9, 2]);
    });
}

#[test]
fn spin_some_counts_callbacks_whose_sleep_is_over_as_ready() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let ran = Log::new();
        let (log, sleeper) = (ran.clone(), executor.handle());
        let sleep = move |_: Payload<()>, number: Arc<u8>| {
            let log = log.clone();
            let sleep = sleeper.sleep(ClockKind::Steady, ms(5));
            async move {
                sleep.await.unwrap();
                log.push(*number);
            }
        };
        let options = SubscriptionOptions::new("topic").releases_group_at_await();
        let _subscription = group.create_local_subscription_async(options, sleep).unwrap();
        for number in 1..=3 {
            publisher.publish(number);
        }
        spin_all(&executor);
        assert_eq!(ran.take(), []);
        clock.advance(ms(5));
        executor.spin(SpinOptions::spin_some()).unwrap();
        assert_eq!(ran.take(), [1, 2, 3]);
    });
}

#[test]
fn spin_some_runs_nothing_if_nothing_is_ready_when_it_begins() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let ran = Count::new();
        let count = ran.clone();
        let _subscription = group.create_local_subscription("topic", move |(), _: Arc<u8>| _ = count.up()).unwrap();
        // The future is polled after the count of what is ready.
        let spun = executor.spin_until(
            async {
                publisher.publish(1);
                std::future::pending::<()>().await;
            },
            SpinOptions::spin_some(),
        );
        assert!(matches!(spun, Err(SpinError::Halted)), "{spun:?}");
        assert_eq!(ran.get(), 0);
        executor.spin(SpinOptions::spin_some()).unwrap();
        assert_eq!(ran.get(), 1);
    });
}
