//! The spin contract: the ends of a spin by a timeout, a future or a halt, and their results.

use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::common::{Log, manual, manual_executor, ms, spin_all, spin_in_background, threads, watchdog};
use futures::channel::oneshot;
use rospin_engine::{Context, ContextOptions, ExecutorOptions, SpinEnd, SpinError, SpinOptions};

fn is_timeout(result: &Result<SpinEnd, SpinError>) -> bool {
    matches!(result, Err(SpinError::Timeout))
}

#[test]
fn a_timeout_is_an_error_and_not_early() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        for count in [1, 3] {
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let begin = std::time::Instant::now();
            assert!(is_timeout(&executor.spin(SpinOptions::new().timeout(ms(10)))));
            assert!(is_timeout(&executor.spin(SpinOptions::spin_once().timeout(ms(10)))));
            let waited = executor.spin_until(std::future::pending::<()>(), SpinOptions::new().timeout(ms(10)));
            assert!(matches!(waited, Err(SpinError::Timeout)));
            assert!(begin.elapsed() >= ms(30));
        }
    });
}

#[test]
fn the_timeout_is_measured_on_the_context_s_clock_and_waits_for_the_callback() {
    watchdog(|| {
        let (clock, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let log = Log::new();
        let ran = log.clone();
        let hand = clock.clone();
        let _subscription = group
            .create_local_subscription("topic", move |(), n: Arc<u8>| {
                hand.advance(ms(60));
                ran.push(*n);
            })
            .unwrap();
        for n in 0..4 {
            publisher.publish(n);
        }
        assert!(is_timeout(&executor.spin(SpinOptions::new().timeout(ms(100)))));
        assert_eq!(log.take(), [0, 1], "over in the second callback, which ends");
        spin_all(&executor);
        assert_eq!(log.take(), [2, 3], "what was left is not lost");
    });
}

#[test]
fn moving_the_clock_ends_a_spin_that_waits() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let executor = Arc::new(executor);
        let group = executor.create_group("group", ());
        let (ticked, ticks) = mpsc::channel();
        let _timer = group.create_timer(ms(50), move |(), tick| ticked.send(tick.due).unwrap()).unwrap();
        let spinning = Arc::clone(&executor);
        let spin = thread::spawn(move || spinning.spin(SpinOptions::new().timeout(ms(80))));
        // The spin may not have begun yet, and its timeout counts from its beginning.
        let first = loop {
            clock.advance(ms(50));
            if let Ok(due) = ticks.recv_timeout(ms(20)) {
                break due;
            }
        };
        assert!(first.as_nanos() >= 50_000_000);
        clock.advance(ms(80));
        assert!(is_timeout(&spin.join().unwrap()));
    });
}

#[test]
fn spin_until_returns_what_the_future_resolves_to() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        // The future is neither `Send` nor `'static`.
        let local = Rc::new(40);
        let borrowed = &local;
        let future = async move { **borrowed + 2 };
        assert_eq!(executor.spin_until(future, SpinOptions::new()).unwrap(), 42);

        let (sender, receiver) = oneshot::channel();
        let other = thread::spawn(move || {
            thread::sleep(ms(5));
            sender.send(1).unwrap();
        });
        assert_eq!(executor.spin_until(receiver, SpinOptions::new()).unwrap(), Ok(1), "woken from a thread");
        other.join().unwrap();

        let group = executor.create_group("group", None);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let _subscription = group
            .create_local_subscription("topic", |reply: &mut Option<oneshot::Sender<u8>>, n: Arc<u8>| {
                let _ = reply.take().map(|reply| reply.send(*n));
            })
            .unwrap();
        let (sender, receiver) = oneshot::channel();
        let _start = group.create_stream("start", futures::stream::iter([sender]), |reply, sender| {
            *reply = Some(sender);
        });
        spin_all(&executor);
        publisher.publish(2);
        assert_eq!(executor.spin_until(receiver, SpinOptions::new()).unwrap(), Ok(2), "woken from a callback");
    });
}

#[test]
fn spin_until_works_on_several_threads() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        let executor = context.create_executor(ExecutorOptions::new("pool").threads(threads(4)));
        let group = executor.create_reentrant_group("group");
        for round in 0..50 {
            let (sender, receiver) = oneshot::channel();
            let stream = futures::stream::iter([std::sync::Mutex::new(Some(sender))]);
            let _entity = group.create_stream("reply", stream, move |sender| {
                sender.lock().unwrap().take().unwrap().send(round).unwrap();
            });
            assert_eq!(executor.spin_until(receiver, SpinOptions::new()).unwrap(), Ok(round));
        }
    });
}

#[test]
fn a_future_that_does_not_resolve_in_the_spin_is_an_error() {
    watchdog(|| {
        let (_, _, executor) = manual_executor();
        let never = std::future::pending::<()>;
        assert!(matches!(executor.spin_until(never(), SpinOptions::spin_all()), Err(SpinError::Halted)));
        executor.halt();
        assert!(matches!(executor.spin_until(never(), SpinOptions::new()), Err(SpinError::Halted)));
        let late = executor.spin_until(never(), SpinOptions::new().timeout(Duration::ZERO));
        assert!(matches!(late, Err(SpinError::Timeout)));
    });
}

#[test]
fn halt_ends_an_idle_spin_from_another_thread() {
    watchdog(|| {
        let context = Context::new(ContextOptions::new());
        for count in [1, 4] {
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let executor = Arc::new(executor);
            for _ in 0..100 {
                let spin = spin_in_background(&executor);
                executor.halt();
                spin.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn halt_from_a_callback_stops_at_that_callback() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", ());
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let log = Log::new();
        let (ran, handle) = (log.clone(), executor.handle());
        let _subscription = group
            .create_local_subscription("topic", move |(), n: Arc<u8>| {
                ran.push(*n);
                // Both halts end the spin that is going on, and not the next one.
                handle.halt();
                handle.halt();
            })
            .unwrap();
        for n in 0..3 {
            publisher.publish(n);
        }
        for n in 0..3 {
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(log.take(), [n]);
        }
    });
}

#[test]
fn a_halt_in_a_spin_that_ends_anyway_does_not_end_the_next_one() {
    watchdog(|| {
        let (_, context, executor) = manual_executor();
        let group = executor.create_group("group", 0);
        let publisher = context.create_local_publisher::<u8>("topic").unwrap();
        let handle = executor.handle();
        let _subscription = group
            .create_local_subscription("topic", move |ran, n: Arc<u8>| {
                *ran += 1;
                if *n == 0 {
                    handle.halt();
                }
            })
            .unwrap();
        for n in 0..3 {
            publisher.publish(n);
        }
        executor.spin(SpinOptions::spin_once()).unwrap();
        spin_all(&executor);
        assert_eq!(group.into_payload().ok(), Some(3));
    });
}

#[test]
fn a_halt_before_spin_is_not_lost_and_counts_once() {
    watchdog(|| {
        for count in [1, 4] {
            let (_, context) = manual();
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_group("group", 0);
            let publisher = context.create_local_publisher::<u8>("topic").unwrap();
            let _subscription = group.create_local_subscription("topic", |ran, _: Arc<u8>| *ran += 1).unwrap();
            publisher.publish(0);
            executor.handle().halt();
            executor.spin(SpinOptions::new()).unwrap();
            assert!(is_timeout(&executor.spin(SpinOptions::new().timeout(Duration::ZERO))));
            spin_all(&executor);
            assert_eq!(group.into_payload().ok(), Some(1));
        }
    });
}
