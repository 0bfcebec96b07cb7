//! Random programs on the nodes of one process, each judged by a naive model of what it does.
//!
//! All of it runs on one thread with a manual clock. A seed decides the program, and the order: which of two executors
//! spins next, and after how many callbacks it is halted. So an answer may wait while the server goes, and a goal may be
//! canceled between any two callbacks. A failure names its seed.
//!
//! `ROSPIN_NODE_PROGRAMS=100000 cargo test -p rospin-node --test node random` runs more programs than usual, and
//! `ROSPIN_NODE_SEED=4711` one of them again. Interleavings of threads are for `tests/nodes.rs`, and for the engine's
//! `tests/explore.rs`.

mod actions;
mod filters;
mod lifecycle;
mod network;
mod parameters;
mod services;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use rospin_engine::{Context, ContextOptions, Executor, ExecutorHandle, ExecutorOptions, ManualClock, SpinOptions};
use rospin_node::Ros;

/// The number of programs of each kind that a test runs.
const PROGRAMS: u64 = 100;

/// The generator SplitMix64 (Steele et al. 2014).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next() % bound as u64) as usize }
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// Runs programs by their seeds.
#[expect(clippy::print_stderr, reason = "it tells which program failed")]
fn explore(program: impl Fn(&mut Rng)) {
    let seeds = match number("ROSPIN_NODE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("ROSPIN_NODE_PROGRAMS").unwrap_or(PROGRAMS),
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| program(&mut Rng(seed)))) {
            eprintln!("this is the program of ROSPIN_NODE_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// Ends a spin after a number of callbacks, which tell it of themselves.
#[derive(Clone)]
struct Pace {
    left: Arc<AtomicUsize>,
    executors: Vec<ExecutorHandle>,
}

impl Pace {
    /// Counts a callback.
    fn step(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.executors.iter().for_each(ExecutorHandle::halt);
        }
    }
}

/// Two executors that take turns.
struct Stage {
    clock: ManualClock,
    ros: Ros,
    executors: [Executor; 2],
    pace: Pace,
}

impl Stage {
    fn new() -> Self {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).on_incident(|_| {}));
        let executors = ["first", "second"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let handles = executors.iter().map(Executor::handle).collect();
        let pace = Pace { left: Arc::new(AtomicUsize::new(usize::MAX)), executors: handles };
        Self { clock, ros: Ros::in_process(&context), executors, pace }
    }

    fn any_executor(&self, rng: &mut Rng) -> &Executor {
        &self.executors[rng.below(2)]
    }

    /// Runs a few callbacks of one executor, or all that are ready.
    fn spin_some(&self, rng: &mut Rng) {
        let most = if rng.percent(30) { usize::MAX } else { 1 + rng.below(4) };
        self.pace.left.store(most, Ordering::Relaxed);
        self.spin(rng.below(2));
        self.pace.left.store(usize::MAX, Ordering::Relaxed);
        // A halt that came for the other executor ends its next spin at once.
        (0..2).for_each(|executor| self.spin_nothing(executor, most));
    }

    fn spin(&self, executor: usize) {
        self.executors[executor].spin(SpinOptions::spin_all()).expect("nothing fails");
    }

    /// Takes back a halt that may be left: a spin that is halted at its beginning runs nothing.
    fn spin_nothing(&self, executor: usize, most: usize) {
        if most != usize::MAX {
            self.executors[executor].halt();
            self.spin(executor);
        }
    }

    /// Lets time pass.
    fn advance(&self, rng: &mut Rng) {
        self.clock.advance(Duration::from_millis(rng.below(8) as u64));
    }

    /// Runs everything that is ready, on both executors, and what that makes ready.
    fn settle(&self) {
        for _ in 0..6 {
            (0..2).for_each(|executor| self.spin(executor));
        }
    }
}

/// A future that the program polls when it likes, and its output.
struct Awaited<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
}

impl<T> Awaited<T> {
    fn new(future: impl Future<Output = T> + 'static) -> Self {
        Self { future: Box::pin(future) }
    }

    fn poll(&mut self) -> Option<T> {
        poll_once(self.future.as_mut())
    }
}

/// Polls a future once. Returns its output if it has one.
fn poll_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match std::pin::pin!(future).poll(&mut TaskContext::from_waker(Waker::noop())) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// Returns true if all of `some` are among `all`, in their order.
fn is_among<T: PartialEq>(some: &[T], all: &[T]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|one| rest.any(|other| other == one))
}

/// Data that the callbacks of a program share with it.
struct Shared<T>(Arc<Mutex<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Shared<T> {
    fn new() -> Self {
        Self(Arc::default())
    }

    fn with<R>(&self, look: impl FnOnce(&mut T) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
