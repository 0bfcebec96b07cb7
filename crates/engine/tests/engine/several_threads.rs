//! Several threads: nothing waits for a busy thread while another one is idle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use crate::common::{expect, ms, watchdog};
use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, SpinOptions, TimerOptions};

fn two_threads() -> (Context, Executor) {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("main").threads(2));
    (context, executor)
}

#[test]
fn a_timer_does_not_wait_for_the_awaited_future() {
    watchdog(|| {
        let (_context, executor) = two_threads();
        let group = executor.create_group("group", ());
        let (send, fired) = mpsc::channel();
        // Both threads are idle for some time before, so either may be the one that watches the timers.
        for round in 0..20 {
            let sender = send.clone();
            let _timer =
                group.create_timer(TimerOptions::one_shot(ms(5)), move |(), _| sender.send(round).unwrap()).unwrap();
            let (wake, woken) = mpsc::channel::<std::task::Waker>();
            let waker = std::thread::spawn(move || {
                let waker = woken.recv().unwrap();
                std::thread::sleep(Duration::from_micros(500));
                waker.wake();
            });
            let mut polled = false;
            let future = std::future::poll_fn(|cx| {
                if !polled {
                    polled = true;
                    wake.send(cx.waker().clone()).unwrap();
                    return Poll::Pending;
                }
                // This callback blocks its thread. The other thread runs the timer.
                assert_eq!(expect(&fired), round);
                Poll::Ready(())
            });
            executor.spin_until(future, SpinOptions::new()).unwrap();
            waker.join().unwrap();
        }
    });
}

#[test]
fn a_group_that_is_free_again_does_not_wait_for_the_awaited_future() {
    watchdog(|| {
        let (context, executor) = two_threads();
        let group = executor.create_group("group", ());
        let (send, ran) = mpsc::channel();
        let is_woken = Arc::new(AtomicBool::new(false));
        let waker = Arc::new(std::sync::Mutex::new(None::<std::task::Waker>));
        let publisher = context.create_local_publisher::<u32>("second").unwrap();
        let (woken, wakes) = (Arc::clone(&is_woken), Arc::clone(&waker));
        // The first callback wakes the future, and makes the second callback of its group ready.
        let _first = group
            .create_local_subscription("first", move |(), _: Arc<u32>| {
                publisher.publish(2);
                // The other thread sees that the group is held and goes to sleep.
                std::thread::sleep(ms(20));
                woken.store(true, Ordering::SeqCst);
                wakes.lock().unwrap().take().unwrap().wake();
            })
            .unwrap();
        let _second = group.create_local_subscription("second", move |(), _: Arc<u32>| send.send(()).unwrap()).unwrap();
        let first = context.create_local_publisher::<u32>("first").unwrap();
        for _ in 0..10 {
            is_woken.store(false, Ordering::SeqCst);
            let mut is_published = false;
            let future = std::future::poll_fn(|cx| {
                *waker.lock().unwrap() = Some(cx.waker().clone());
                if !std::mem::replace(&mut is_published, true) {
                    first.publish(1);
                }
                if is_woken.load(Ordering::SeqCst) {
                    expect(&ran);
                    return Poll::Ready(());
                }
                Poll::Pending
            });
            executor.spin_until(future, SpinOptions::new()).unwrap();
        }
    });
}

/// A value whose drop waits for a message.
struct Waits(mpsc::Receiver<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        expect(&self.0);
    }
}

#[test]
fn a_timer_does_not_wait_for_the_drop_of_what_a_callback_captured() {
    watchdog(|| {
        let (_context, executor) = two_threads();
        let group = executor.create_group("group", ());
        let (send, fired) = mpsc::channel();
        let captured = Waits(fired);
        let _timer = group.create_timer(TimerOptions::one_shot(ms(5)), move |(), _| send.send(()).unwrap()).unwrap();
        let slow = group.create_timer(TimerOptions::one_shot(Duration::from_secs(3600)), move |(), _| {
            let _ = &captured;
        });
        let stop = executor.handle();
        let ends = executor.create_group("ends", ());
        let _end = ends.create_timer(TimerOptions::one_shot(ms(100)), move |(), _| stop.halt()).unwrap();
        let mut slow = Some(slow.unwrap());
        let drops = executor.create_group("drops", ());
        let _drop = drops.create_timer(TimerOptions::one_shot(ms(1)), move |(), _| drop(slow.take())).unwrap();
        executor.spin(SpinOptions::new()).unwrap();
    });
}

#[test]
fn a_timer_does_not_wait_for_the_callback_of_the_thread_that_watched_the_timers() {
    watchdog(|| {
        let (_context, executor) = two_threads();
        let [long, short] = ["long", "short"].map(|name| executor.create_group(name, ()));
        let (send, fired) = mpsc::channel();
        let stop = executor.handle();
        // Both threads are idle before, and the one that watches the timers runs this callback.
        let wait = move |(): &mut (), _: rospin_engine::Tick| {
            expect(&fired);
            stop.halt();
        };
        let _long = long.create_timer(TimerOptions::one_shot(ms(50)), wait).unwrap();
        let _short = short.create_timer(TimerOptions::one_shot(ms(60)), move |(), _| send.send(()).unwrap()).unwrap();
        executor.spin(SpinOptions::new()).unwrap();
    });
}
