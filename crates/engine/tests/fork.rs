//! Executors in a process that was forked off while they spin: nothing hangs there.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use common::{LIMIT, eventually, ms};
use rospin_engine::{Context, ContextOptions, Deployment, Executor, ExecutorOptions, SpinOptions, TimerOptions};

/// Runs `body` in a forked process, which must succeed in time.
fn in_forked_child(body: impl FnOnce()) {
    // SAFETY: the child runs `body` and ends. `body` is not async-signal-safe, and neither is the code that it tests.
    // The C library's `malloc` works in the child, and other locks that threads of the test may have held are not used.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "{}", std::io::Error::last_os_error());
    if child == 0 {
        let is_well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
        // SAFETY: this ends the process at once, without the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!is_well)) };
    }
    let begun = Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: `status` is valid for writing; the child is this process's.
        let ended = unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) };
        if ended == child {
            break;
        }
        if begun.elapsed() > LIMIT {
            // SAFETY: the child was not waited for yet, so the number is still its own.
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        thread::sleep(ms(1));
    }
    assert_eq!(status, 0, "the child has failed");
}

/// Checks that an executor spins in a new context of its own.
fn spin_anew() {
    let context = Context::new(ContextOptions::new());
    let executor = context.create_executor(ExecutorOptions::new("anew"));
    let group = executor.create_group("group", 0);
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let subscription = group.create_local_subscription("topic", |sum: &mut u32, n: Arc<u32>| *sum += *n).unwrap();
    publisher.publish(2);
    // There are no asynchronous callbacks, and Tokio is not used.
    executor.spin(SpinOptions::spin_all()).unwrap();
    drop(subscription);
    assert_eq!(group.into_payload().unwrap(), 2);
}

#[test]
fn an_executor_that_spins_in_the_parent_is_dropped_in_the_child() {
    let text = "executor = [{ name = \"other\" }]\ngroup = [{ name = \"moved\", executor = \"other\" }]";
    let context = Context::new(ContextOptions::new().deployment(Deployment::parse(text).unwrap()));
    let executor: &'static Executor = Box::leak(Box::new(context.create_executor(ExecutorOptions::new("main"))));
    let group = executor.create_group("group", ());
    let moved = executor.create_group("moved", ());
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = Arc::clone(&has_begun);
    let timer = group.create_timer(ms(1), move |(), _| begun.store(true, Ordering::Relaxed)).unwrap();
    let other = moved.create_timer(TimerOptions::periodic(ms(1)), |(), _| {}).unwrap();
    let subscription = group.create_local_subscription("topic", |(), _: Arc<u32>| {}).unwrap();
    let publisher = context.create_local_publisher::<u32>("topic").unwrap();
    let spinning = thread::spawn(|| executor.spin(SpinOptions::new()));
    eventually(|| has_begun.load(Ordering::Relaxed));
    in_forked_child(|| {
        // SAFETY: the executor comes from a box, and the threads that have the reference do not exist in this process.
        let executor = unsafe { Box::from_raw(std::ptr::from_ref(executor).cast_mut()) };
        publisher.publish(1);
        timer.reset();
        drop((timer, other, subscription, publisher));
        executor.halt();
        drop(executor);
        drop((group, moved, context));
        spin_anew();
    });
    executor.halt();
    spinning.join().unwrap().unwrap();
    // SAFETY: the executor comes from a box. The other thread that had the reference has ended, and the child dropped
    // only its copy.
    drop(unsafe { Box::from_raw(std::ptr::from_ref(executor).cast_mut()) });
}

#[test]
fn a_forked_child_has_executors_of_its_own() {
    spin_anew();
    in_forked_child(|| {
        spin_anew();
        in_forked_child(spin_anew);
    });
}
