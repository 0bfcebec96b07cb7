//! Streams as sources: items, ends, wakes.

use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::thread;

use crate::common::{Count, Log, manual, manual_executor, spin_all, threads, watchdog, with_incidents};
use futures::channel::{mpsc, oneshot};
use futures::{FutureExt, StreamExt};
use rospin_engine::{Context, ContextOptions, EntityOptions, ExecutorOptions, IncidentKind, SpinOptions};

#[test]
fn channels_are_streams() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let (mut sender, receiver) = mpsc::channel::<u32>(4);
            let group = executor.create_group("group", Vec::new());
            let handle = executor.handle();
            let _entity = group.create_stream("channel", receiver, move |seen, n| {
                seen.push(n);
                if n == 999 {
                    handle.halt();
                }
            });
            let feeder = thread::spawn(move || {
                for n in 0..1000 {
                    while sender.try_send(n).is_err() {
                        thread::yield_now();
                    }
                }
            });
            executor.spin(SpinOptions::new()).unwrap();
            feeder.join().unwrap();
            assert_eq!(group.into_payload().unwrap(), (0..1000).collect::<Vec<_>>());
        }
    });
}

#[test]
fn a_stream_that_ends_is_dropped_after_its_last_item() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let drops = Count::new();
        let group = executor.create_group("group", 0);
        let (held, captured) = (drops.on_drop(), drops.on_drop());
        let stream = futures::stream::iter(0..100).map(move |n| {
            held.touch();
            n
        });
        let _entity = group.create_stream("numbers", stream, move |sum, n| {
            captured.touch();
            *sum += n;
        });
        spin_all(&executor);
        assert_eq!(drops.get(), 2);
        let (sender, receiver) = mpsc::unbounded();
        let _entity = group.create_stream("channel", receiver, |sum, n: u32| *sum += n);
        sender.unbounded_send(50).unwrap();
        drop(sender);
        spin_all(&executor);
        assert_eq!(group.into_payload().ok(), Some(5000));
    });
}

#[test]
fn callbacks_under_way_go_on_when_their_stream_ends() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_reentrant_group("group");
        let (keys, gates): (Vec<_>, Vec<_>) = (0..3).map(|_| oneshot::channel::<()>()).unzip();
        let ended = Count::new();
        let counter = ended.clone();
        let _entity = group.create_stream_async("start", futures::stream::iter(gates), move |gate| {
            let counter = counter.clone();
            async move {
                gate.await.unwrap();
                counter.up();
            }
        });
        spin_all(&executor);
        let woken = keys.into_iter().filter_map(|key| key.send(()).ok()).count();
        spin_all(&executor);
        assert_eq!((woken, ended.get()), (3, 3));
    });
}

#[test]
fn a_stream_that_wakes_itself_while_it_is_polled_is_polled_again() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_group("group", Vec::new());
        let mut polls = 0;
        let stream = futures::stream::poll_fn(move |cx| {
            polls += 1;
            if polls > 40 {
                return Poll::Pending;
            }
            if polls % 2 == 0 {
                return Poll::Ready(Some(polls));
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        });
        let _entity = group.create_stream("restless", stream, |seen, n| seen.push(n));
        spin_all(&executor);
        assert_eq!(group.into_payload().unwrap(), (1..=20).map(|n| 2 * n).collect::<Vec<_>>());
    });
}

#[test]
fn several_streams_share_a_spin_with_a_future() {
    watchdog(|| {
        let (_, context) = manual();
        let executor = context.create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", 0);
        let total = Count::new();
        let streams: Vec<_> = (0..10)
            .map(|_| {
                let total = total.clone();
                let options = EntityOptions::new("numbers");
                group
                    .create_stream(options, futures::stream::iter(0..10), move |_: &mut i32, _| _ = total.up())
                    .unwrap()
            })
            .collect();
        let counted = total.clone();
        let all = poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if counted.get() == 100 { Poll::Ready(()) } else { Poll::Pending }
        });
        executor.spin_until(all, SpinOptions::new()).unwrap();
        drop(streams);
    });
}

#[test]
fn a_stream_that_panicked_is_over() {
    watchdog(|| {
        for count in [1, 3] {
            let (context, incidents) = with_incidents();
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let polls = Count::new();
            let group = executor.create_group("group", Vec::new());
            let (counter, drops) = (polls.clone(), Count::new());
            let held = drops.on_drop();
            let stream = futures::stream::poll_fn(move |_| {
                held.touch();
                match counter.up() {
                    3 => panic!("the stream breaks"),
                    n => Poll::Ready(Some(n)),
                }
            });
            let _entity = group.create_stream("broken", stream, |seen, n| seen.push(n));
            spin_all(&executor);
            let incidents = incidents.take();
            assert_eq!(incidents.len(), 1, "{incidents:?}");
            assert_eq!(incidents[0].kind, IncidentKind::Panicked("the stream breaks".into()));
            assert_eq!((polls.get(), drops.get()), (3, 1));
            assert_eq!(group.into_payload().unwrap(), [1, 2]);
        }
    });
}

#[test]
fn a_stream_that_ended_is_not_polled_again_while_a_callback_is_under_way() {
    watchdog(|| {
        for ending in [|| Poll::Ready(None), || panic!("the stream breaks")] {
            let (context, incidents) = with_incidents();
            let executor = context.create_executor(ExecutorOptions::new("main"));
            let (polls, wakers) = (Count::new(), Log::new());
            let (counter, log) = (polls.clone(), wakers.clone());
            let stream = futures::stream::poll_fn(move |cx| {
                log.push(cx.waker().clone());
                if counter.up() == 1 { Poll::Ready(Some(())) } else { ending() }
            });
            let (key, gate) = oneshot::channel::<()>();
            let gate = gate.shared();
            let group = executor.create_reentrant_group("group");
            let _entity = group.create_stream_async("stream", stream, move |()| {
                let gate = gate.clone();
                async move { gate.await.unwrap() }
            });
            spin_all(&executor);
            assert_eq!(polls.get(), 2);
            for _ in 0..3 {
                wakers.take().iter().for_each(Waker::wake_by_ref);
                spin_all(&executor);
            }
            assert_eq!(polls.get(), 2);
            key.send(()).unwrap();
            spin_all(&executor);
            assert!(incidents.len() <= 1);
        }
    });
}
