//! Helpers of the engine's tests: a watchdog, logs, counters of drops, a context on a manual clock, a timer on it.

#![allow(dead_code, reason = "every test crate uses a part of it")]

pub(crate) mod counting;
pub(crate) mod ears;
pub(crate) mod jumps;
pub(crate) mod timers;

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rospin_engine::{
    Context, ContextOptions, Executor, ExecutorOptions, Incident, ManualClock, SpinEnd, SpinError, SpinOptions,
};

/// The time after which a test fails instead of hanging.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Runs the test's body, and fails if it does not end in time.
pub(crate) fn watchdog(body: impl FnOnce() + Send + 'static) {
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        let _ = done.send(catch_unwind(AssertUnwindSafe(body)));
    });
    match finished.recv_timeout(LIMIT) {
        Ok(Ok(())) => {}
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => panic!("the test hangs"),
    }
}

/// Waits for a message that must come.
#[track_caller]
pub(crate) fn expect<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(LIMIT).expect("it should have come by now")
}

/// Waits until `condition` holds, which it must in the end.
#[track_caller]
pub(crate) fn eventually(condition: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < LIMIT, "it should have happened by now");
        thread::yield_now();
    }
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn threads(count: u16) -> u16 {
    count
}

/// Creates a context on a manual clock. Returns both.
pub(crate) fn manual() -> (ManualClock, Context) {
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
    (clock, context)
}

/// Creates a context on a manual clock, with a single-threaded executor.
pub(crate) fn manual_executor() -> (ManualClock, Context, Executor) {
    let (clock, context) = manual();
    let executor = context.create_executor(ExecutorOptions::new("main"));
    (clock, context, executor)
}

/// Runs everything that is ready.
#[track_caller]
pub(crate) fn spin_all(executor: &Executor) {
    executor.spin(SpinOptions::spin_all()).expect("spin_all has no reason to fail");
}

/// Spins until halted, on a thread of its own.
pub(crate) fn spin_in_background(executor: &Arc<Executor>) -> JoinHandle<Result<SpinEnd, SpinError>> {
    let executor = Arc::clone(executor);
    thread::spawn(move || executor.spin(SpinOptions::new()))
}

/// A log of events, in order.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn push(&self, entry: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
    }

    /// Takes the entries since the last call.
    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// A counter for any number of threads.
#[derive(Clone, Default)]
pub(crate) struct Count(Arc<AtomicUsize>);

impl Count {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Counts one more. Returns the new count.
    pub(crate) fn up(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub(crate) fn down(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns a value whose drop is counted here.
    pub(crate) fn on_drop(&self) -> OnDrop {
        OnDrop(self.clone())
    }
}

impl Debug for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// A value whose drop is counted.
#[derive(Debug)]
pub(crate) struct OnDrop(Count);

impl OnDrop {
    /// Does nothing. A closure that calls it captures the whole value.
    pub(crate) fn touch(&self) {}
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.up();
    }
}

/// Creates a context on a manual clock that logs its incidents.
pub(crate) fn with_incidents() -> (Context, Log<Incident>) {
    let incidents = Log::new();
    let log = incidents.clone();
    let options = ContextOptions::new().manual_clock(ManualClock::new());
    let context = Context::new(options.on_incident(move |incident| log.push(incident.clone())));
    (context, incidents)
}

/// Waits for a future on a thread that runs nothing else meanwhile.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            return output;
        }
        thread::park();
    }
}
