//! Wakers of asynchronous callbacks: called from anywhere, at any time, too often, and too late.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::thread;

use crate::common::{Count, Log, manual_executor, spin_all, spin_in_background, threads, watchdog};
use futures::StreamExt;
use rospin_engine::{Context, ContextOptions, ExecutorOptions, Payload, SpinOptions};

#[test]
fn wakers_may_be_called_from_anywhere_and_too_often() {
    watchdog(|| {
        for count in [1, 3] {
            let context = Context::new(ContextOptions::new());
            let executor = Arc::new(context.create_executor(ExecutorOptions::new("pool").threads(threads(count))));
            let group = executor.create_reentrant_group("group");
            let (progress, ended) = (Count::new(), Count::new());
            let wakers = Log::<Waker>::new();
            let (own, up, done) = (wakers.clone(), progress.clone(), ended.clone());
            // The stream does not end, since its end would remove the entity.
            let items = futures::stream::iter(0..8).chain(futures::stream::pending());
            let _entity = group.create_stream_async("start", items, move |_| {
                let (own, up, done, mut polls) = (own.clone(), up.clone(), done.clone(), 0);
                let mut ended = false;
                poll_fn(move |cx| {
                    assert!(!ended, "polled after it ended");
                    polls += 1;
                    own.push(cx.waker().clone());
                    up.up();
                    if polls == 50 {
                        (ended, _) = (true, done.up());
                        return Poll::Ready(());
                    }
                    Poll::Pending
                })
            });
            let spin = spin_in_background(&executor);
            let hammers: Vec<_> = (0..2)
                .map(|_| {
                    let (wakers, ended) = (wakers.clone(), ended.clone());
                    thread::spawn(move || {
                        let mut all = Vec::new();
                        while ended.get() < 8 {
                            all.extend(wakers.take());
                            all.iter().for_each(Waker::wake_by_ref);
                            thread::yield_now();
                        }
                        // These wakers belong to callbacks that have ended.
                        all.iter().for_each(Waker::wake_by_ref);
                        all
                    })
                })
                .collect();
            let late: Vec<_> = hammers.into_iter().flat_map(|hammer| hammer.join().unwrap()).collect();
            executor.halt();
            spin.join().unwrap().unwrap();
            assert_eq!(progress.get(), 8 * 50);
            drop(executor);
            late.into_iter().for_each(Waker::wake);
        }
    });
}

#[test]
fn a_wake_during_the_poll_is_not_lost_and_polls_once_more() {
    watchdog(|| {
        for count in [1, 2] {
            let context = Context::new(ContextOptions::new());
            let executor = context.create_executor(ExecutorOptions::new("main").threads(threads(count)));
            let group = executor.create_group("group", 0);
            let handle = executor.handle();
            let _entity =
                group.create_stream_async("start", futures::stream::iter([1]), move |polls: Payload<u32>, _| {
                    let handle = handle.clone();
                    poll_fn(move |cx| {
                        let count = polls.with(|polls| (*polls += 1, *polls).1);
                        if count == 1000 {
                            handle.halt();
                            return Poll::Ready(());
                        }
                        // Many wake-ups, from here and from another thread, make one poll.
                        cx.waker().wake_by_ref();
                        cx.waker().wake_by_ref();
                        if count.is_multiple_of(100) {
                            let waker = cx.waker().clone();
                            thread::spawn(move || waker.wake()).join().unwrap();
                        }
                        Poll::Pending
                    })
                });
            executor.spin(SpinOptions::new()).unwrap();
            assert_eq!(group.into_payload().ok(), Some(1000));
        }
    });
}

#[test]
fn several_wakes_are_one_poll() {
    watchdog(|| {
        let (_, _context, executor) = manual_executor();
        let group = executor.create_group("group", (0, None));
        let _entity = group.create_stream_async("start", futures::stream::iter([1]), |payload: Payload<_>, _| {
            poll_fn(move |cx| {
                payload.with(|(polls, waker)| {
                    *polls += 1;
                    *waker = Some(cx.waker().clone());
                });
                Poll::<()>::Pending
            })
        });
        let peek = Log::new();
        let wakers = peek.clone();
        let _peek = group.create_stream("peek", futures::stream::iter([1]), move |_: &mut (u32, Option<Waker>), _| {
            wakers.push(());
        });
        spin_all(&executor);
        spin_all(&executor);
        assert_eq!(peek.len(), 0, "the group is held");
        let (polls, waker) = group.into_payload().unwrap();
        assert_eq!(polls, 1);
        // The entity was removed, so this call does nothing.
        waker.unwrap().wake();
        spin_all(&executor);
    });
}
