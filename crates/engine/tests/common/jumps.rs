//! ROS time that jumps back, and executors with jump callbacks.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorOptions, JumpThreshold, RosTime, TimerOptions};

use super::timers::at;
use super::{expect, ms};

/// The threshold for any jump back and for changes of the source.
pub(crate) const BACK: JumpThreshold =
    JumpThreshold { min_forward: None, min_backward: Some(Duration::from_nanos(1)), on_clock_change: true };

/// Returns the context's ROS time, which is active and shows ten seconds.
pub(crate) fn ten_seconds(context: &Context) -> RosTime {
    let time = context.ros_time();
    time.set(at(10_000));
    time.set_active(true);
    time
}

/// Creates an executor on the kernel's clocks, to spin in the background.
pub(crate) fn background() -> (Context, Arc<Executor>, RosTime) {
    let context = Context::new(ContextOptions::new());
    let executor = Arc::new(context.create_executor(ExecutorOptions::new("main")));
    let time = ten_seconds(&context);
    (context, executor, time)
}

/// Waits until the executor spins, that is until one of its callbacks has run.
pub(crate) fn spins(executor: &Executor) {
    let (begin, begun) = mpsc::channel();
    let group = executor.create_group("first", ());
    let _first = group.create_timer(TimerOptions::one_shot(ms(0)), move |(), _| begin.send(()).unwrap()).unwrap();
    expect(&begun);
}
