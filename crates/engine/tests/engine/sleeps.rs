//! Sleeping on any clock, wherever the future is polled.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread;

use crate::common::timers::at;
use crate::common::{
    Count, Log, block_on, expect, manual, manual_executor, ms, spin_all, spin_in_background, threads, watchdog,
};
use futures::future::{Either, join_all, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rospin_engine::policy::FixedPriority;
use rospin_engine::{
    ClockKind, Context, ContextOptions, Deployment, ExecutorOptions, Payload, Priority, SleepError, SpinEnd, SpinError,
    SpinOptions, SubscriptionOptions, Tick, TimerOptions,
};

const STEADY: ClockKind = ClockKind::Steady;

#[test]
fn a_callback_that_slept_goes_on_at_its_own_priority() {
    watchdog(|| {
        for middle in [Priority(1), Priority(50)] {
            let (clock, context) = manual();
            let executor = context.create_executor(ExecutorOptions::new("main").policy(FixedPriority::new()));
            let group = executor.create_group("urgent", None);
            let handle = executor.handle();
            let start = TimerOptions::one_shot(ms(0)).priority(Priority(100));
            let (now, stop) = (context.clock().clone(), executor.handle());
            let _urgent = group.create_timer_async(start, move |woken: Payload<Option<u64>>, _| {
                let (sleep, now, stop) = (handle.sleep(STEADY, ms(10)), now.clone(), stop.clone());
                async move {
                    sleep.await.unwrap();
                    woken.with(|woken| *woken = Some(now.now().as_nanos() / 1_000_000));
                    stop.halt();
                }
            });
            // This callback is always ready, takes a millisecond, and gives up in the end.
            let publisher = context.create_local_publisher::<u32>("load").unwrap();
            let (again, stop) = (publisher.clone(), executor.handle());
            let options = SubscriptionOptions::new("load").priority(middle);
            let _load = executor.create_group("load", ()).create_local_subscription(options, move |(), n: Arc<u32>| {
                clock.advance(ms(1));
                if *n == 1_000 {
                    stop.halt();
                }
                again.publish(*n + 1);
            });
            publisher.publish(0);
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(group.into_payload().unwrap(), Some(10));
        }
    });
}

#[test]
fn a_sleeper_due_when_the_awaited_future_returns_goes_on_at_its_priority() {
    watchdog(|| {
        let (clock, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main").policy(FixedPriority::new()));
        let log = Log::new();
        let urgent = TimerOptions::one_shot(ms(0)).priority(Priority(30));
        let (handle, noted) = (executor.handle(), log.clone());
        let _urgent = executor.create_group("urgent", ()).create_timer_async(urgent, move |_, _| {
            let (sleep, noted) = (handle.sleep(STEADY, ms(7)), noted.clone());
            async move {
                sleep.await.unwrap();
                noted.push("urgent");
            }
        });
        spin_all(&executor);
        let noted = log.clone();
        let _other = executor.create_group("other", ()).create_timer(TimerOptions::one_shot(ms(6)), move |(), _| {
            noted.push("other");
        });
        // Another sleep ends first, so that there is a round of wake-ups between the two polls.
        let mut early = pin!(executor.handle().sleep(STEADY, ms(2)));
        assert!(early.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())).is_pending());
        let mut moves = [ms(5), ms(2), ms(0), ms(0)].into_iter();
        let main = poll_fn(|cx| {
            let Some(by) = moves.next() else {
                return Poll::Ready(());
            };
            clock.advance(by);
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        executor.spin_until(main, SpinOptions::new()).unwrap();
        spin_all(&executor);
        assert_eq!(log.take(), ["urgent", "other"]);
    });
}

#[test]
fn a_callback_that_a_deployment_moved_sleeps_on_its_own_executor() {
    watchdog(|| {
        let deployment = "[[executor]]\nname = \"other\"\n\n[[group]]\nname = \"moved\"\nexecutor = \"other\"\n";
        let deployment = Deployment::parse(deployment).unwrap();
        let context = Context::new(ContextOptions::new().deployment(deployment));
        let main = context.create_executor(ExecutorOptions::new("main"));
        let other = context.create_executor(ExecutorOptions::new("other"));
        let group = main.create_group("moved", ());
        let (handle, stop) = (main.handle(), other.handle());
        let _timer = group.create_timer_async(TimerOptions::one_shot(ms(0)), move |_, _| {
            let (sleep, stop) = (handle.sleep(STEADY, ms(1)), stop.clone());
            async move {
                sleep.await.unwrap();
                stop.halt();
            }
        });
        // The executor that the sleep was created with does not spin.
        assert_eq!(other.spin(SpinOptions::new()).unwrap(), SpinEnd::Halted);
    });
}

#[test]
fn a_sleep_is_told_when_its_executor_is_dropped() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let (handle, woken) = (executor.handle(), Count::new());
        let waker = counting(&woken);
        let cx = &mut TaskContext::from_waker(&waker);
        let gone = SleepError::ExecutorDropped { executor: "main".into() };
        let mut slept = pin!(handle.sleep(STEADY, ms(1)));
        let mut asleep = pin!(handle.sleep(STEADY, ms(2)));
        let mut never_asleep = pin!(handle.sleep(STEADY, ms(3)));
        assert!(slept.as_mut().poll(cx).is_pending() && asleep.as_mut().poll(cx).is_pending());
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(woken.get(), 1);
        drop(executor);
        assert_eq!(woken.get(), 2);
        assert_eq!(slept.as_mut().poll(cx), Poll::Ready(Ok(())), "it was over before");
        assert_eq!(asleep.as_mut().poll(cx), Poll::Ready(Err(gone.clone())));
        assert_eq!(never_asleep.as_mut().poll(cx), Poll::Ready(Err(gone.clone())));
        assert!(gone.to_string().contains("`main`"));
    });
}

#[test]
fn futures_that_combine_sleeps() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let handle = executor.handle();
        let log = Log::new();
        let pauses = [30, 10, 20, 10, 0].into_iter().enumerate().map(|(n, pause)| {
            let sleep = handle.sleep(STEADY, ms(pause));
            async move { sleep.await.map(|()| n) }
        });
        let mut pauses: FuturesUnordered<_> = pauses.collect();
        let (told, times) = (log.clone(), clock.clone());
        let handle = &handle;
        let all = async move {
            while let Some(woken) = pauses.next().await {
                told.push(woken.unwrap());
                times.advance(ms(10));
            }
            let (long, short) = (handle.sleep(STEADY, ms(1_000_000)), handle.sleep(STEADY, ms(5)));
            times.advance(ms(5));
            assert!(matches!(select(long, short).await, Either::Right((Ok(()), _))));
            futures::select! {
                _ = handle.sleep(STEADY, ms(1_000_000)).fuse() => panic!("it is too early"),
                woken = handle.sleep(STEADY, ms(0)).fuse() => woken.unwrap(),
            }
        };
        executor.spin_until(all, SpinOptions::spin_all()).unwrap();
        assert_eq!(log.take(), [4, 1, 3, 2, 0]);
    });
}

#[test]
fn spins_end_as_without_sleepers() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let (handle, turns) = (executor.handle(), Count::new());
        let group = executor.create_group("group", ());
        let counter = turns.clone();
        let _timer = group.create_timer_async(TimerOptions::one_shot(ms(0)), move |_, _: Tick| {
            let (handle, turns) = (handle.clone(), counter.clone());
            async move {
                for _ in 0..3 {
                    handle.sleep(STEADY, ms(0)).await.unwrap();
                    turns.up();
                }
                handle.sleep(STEADY, ms(10)).await.unwrap();
                turns.up();
            }
        });
        // `spin_all` does not wait for a sleep, but wakes a sleeper that is due.
        spin_all(&executor);
        assert_eq!(turns.get(), 3);
        let timeout = executor.spin(SpinOptions::new().timeout(ms(0)));
        assert!(matches!(timeout, Err(SpinError::Timeout)), "{timeout:?}");
        clock.advance(ms(10));
        assert_eq!(turns.get(), 3, "nothing runs outside of a spin");
        // `spin_once` runs one callback; a sleep does not count.
        assert_eq!(executor.spin(SpinOptions::spin_once()).unwrap(), SpinEnd::Done);
        assert_eq!(turns.get(), 4);
        let handle = executor.handle();
        assert!(matches!(
            executor.spin_until(handle.sleep(STEADY, ms(1)), SpinOptions::spin_all()),
            Err(SpinError::Halted)
        ));
        assert_eq!(executor.spin_until(handle.sleep(STEADY, ms(0)), SpinOptions::spin_all()).unwrap(), Ok(()));
    });
}

#[test]
fn other_threads_sleep_on_an_executor() {
    watchdog(|| {
        for count in [1, 3] {
            let (clock, context) = manual();
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("main").threads(threads(count))));
            let (handle, woken) = (executor.handle(), Count::new());
            let waker = counting(&woken);
            let mut early = pin!(handle.sleep(STEADY, ms(0)));
            assert!(early.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending(), "nothing spins yet");
            let spin = spin_in_background(&executor);
            block_on(early).unwrap();
            let (begin, begun) = mpsc::channel();
            let sleeper = thread::spawn(move || {
                let mut sleep = pin!(handle.sleep_until(at::<rospin_engine::Instant>(100)));
                let slept = poll_fn(|cx| {
                    let polled = sleep.as_mut().poll(cx);
                    let _ = begin.send(());
                    polled
                });
                block_on(slept)
            });
            expect(&begun);
            clock.advance(ms(100));
            assert_eq!(sleeper.join().unwrap(), Ok(()));
            executor.halt();
            spin.join().unwrap().unwrap();
        }
    });
}

#[test]
fn sleeps_on_the_kernels_clocks_are_not_too_short() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_reentrant_group("group");
            let (handle, clock, slept) = (executor.handle(), context.clock().clone(), Count::new());
            let naps = futures::stream::iter((0..30).map(|n| ms(n % 7 + 1)));
            let _entity = group.create_stream_async("naps", naps, move |nap| {
                let (handle, clock, slept) = (handle.clone(), clock.clone(), slept.clone());
                async move {
                    for kind in [STEADY, ClockKind::System, ClockKind::Ros] {
                        let start = clock.read(kind);
                        handle.sleep(kind, nap).await.unwrap();
                        assert!(clock.read(kind) >= start + nap);
                    }
                    if slept.up() == 30 {
                        handle.halt();
                    }
                }
            });
            assert_eq!(executor.spin(SpinOptions::new()).unwrap(), SpinEnd::Halted);
        }
    });
}

#[test]
fn many_sleep_and_leave_in_any_order() {
    const MANY: u64 = 50_000;
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let (handle, woken) = (executor.handle(), Count::new());
        let waker = counting(&woken);
        let cx = &mut TaskContext::from_waker(&waker);
        let due = |n: u64| ms(n.wrapping_mul(2_654_435_761) % 1_000 + 1);
        let mut sleeps: Vec<_> = (0..MANY).map(|n| Box::pin(handle.sleep(STEADY, due(n)))).collect();
        sleeps.iter_mut().for_each(|sleep| assert!(sleep.as_mut().poll(cx).is_pending()));
        let mut kept = Vec::new();
        for (n, sleep) in (0..).zip(sleeps) {
            if n % 3 == 0 {
                kept.push((n, sleep));
            }
        }
        let mut before = 0;
        for now in [1, 500, 1_000] {
            clock.advance(ms(now - before));
            before = now;
            spin_all(&executor);
            let over = kept.iter().filter(|(n, _)| due(*n) <= ms(now)).count();
            assert_eq!(woken.get(), over);
        }
        assert!(kept.iter_mut().all(|(_, sleep)| sleep.as_mut().poll(cx).is_ready()));
    });
}

#[test]
fn a_waker_that_panics_stops_nobody() {
    watchdog(|| {
        struct Bomb;
        impl Wake for Bomb {
            fn wake(self: Arc<Self>) {
                panic!("a waker panics");
            }
        }
        let (clock, _context, executor) = manual_executor();
        let (handle, bomb) = (executor.handle(), Waker::from(Arc::new(Bomb)));
        let mut bombed = pin!(handle.sleep(STEADY, ms(1)));
        assert!(bombed.as_mut().poll(&mut TaskContext::from_waker(&bomb)).is_pending());
        clock.advance(ms(1));
        let others = join_all((0..2).map(|_| handle.sleep(STEADY, ms(0))));
        let others = executor.spin_until(others, SpinOptions::spin_all()).unwrap();
        assert_eq!(others, [Ok(()), Ok(())]);
    });
}

#[test]
fn a_sleep_that_is_dropped_forgets_its_waker() {
    watchdog(|| {
        let (clock, _context, executor) = manual_executor();
        let (handle, woken) = (executor.handle(), Count::new());
        let flag = Arc::new(Counting(woken.clone()));
        let waker = Waker::from(Arc::clone(&flag));
        let mut sleep = Box::pin(handle.sleep(STEADY, ms(1)));
        assert!(sleep.as_mut().poll(&mut TaskContext::from_waker(&waker)).is_pending());
        drop(waker);
        assert_eq!(Arc::strong_count(&flag), 2);
        drop(sleep);
        assert_eq!(Arc::strong_count(&flag), 1);
        clock.advance(ms(1));
        spin_all(&executor);
        assert_eq!(woken.get(), 0);
    });
}

#[test]
fn a_future_that_moves_to_another_executor_sleeps_on_there() {
    watchdog(|| {
        let (clock, context) = manual();
        let [one, other] = ["one", "other"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let mut sleep = pin!(one.handle().sleep(STEADY, ms(10)));
        assert!(matches!(one.spin_until(sleep.as_mut(), SpinOptions::spin_all()), Err(SpinError::Halted)));
        clock.advance(ms(9));
        assert!(matches!(other.spin_until(sleep.as_mut(), SpinOptions::spin_all()), Err(SpinError::Halted)));
        drop(one);
        clock.advance(ms(1));
        assert_eq!(other.spin_until(sleep.as_mut(), SpinOptions::spin_all()).unwrap(), Ok(()));
    });
}

#[test]
fn blocking_on_a_sleep_in_a_synchronous_callback_is_refused_where_it_would_last_for_ever() {
    watchdog(|| {
        for count in [1, 2] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_group("group", None);
            let handle = executor.handle();
            let _timer = group.create_timer(TimerOptions::one_shot(ms(0)), move |slept, _| {
                *slept = Some(block_on(handle.sleep(STEADY, ms(1))));
                handle.halt();
            });
            executor.spin(SpinOptions::new()).unwrap();
            let expected = if count == 1 { Err(SleepError::InCallback { executor: "main".into() }) } else { Ok(()) };
            assert_eq!(group.into_payload().unwrap(), Some(expected));
        }
    });
}

/// A waker that counts its calls.
fn counting(count: &Count) -> Waker {
    Arc::new(Counting(count.clone())).into()
}

struct Counting(Count);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.up();
    }
}
