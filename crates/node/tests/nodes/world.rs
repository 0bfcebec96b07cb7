//! The executors, nodes and features of one program, and its run from beginning to end.
//!
//! The locks here are the standard library's, so that taking one is no step of the model. Nothing of rospin runs under
//! them.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use rospin_engine::{
    CallbackGroup, ClockKind, Context, ContextOptions, Executor, ExecutorHandle, ExecutorOptions, GroupOptions,
    ManualClock, Sleep, SpinOptions,
};
use rospin_node::{Node, NodeOptions, Ros};
use shuttle::thread;

use super::actions::Actions;
use super::lifecycle::Transitions;
use super::parameters::Parameters;
use super::program::{Kind, Program};
use super::rng::Rng;
use super::schedule::Quiet;
use super::services::Services;
use super::synchronizers::Synchronizers;
use super::topics::Topics;
use super::transforms::Transforms;

/// The number of times that time passes, until nobody should wait any more.
const ROUNDS: usize = 60;
/// The number of times that it still passes when nobody waits any more, for what goes on in callbacks.
const LAST_ROUNDS: usize = 8;
/// The number of notes that a failure shows.
const NOTES: usize = 80;

pub(crate) type Act<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A feature of nodes, which the threads of a program use and which judges what it sees.
pub(crate) trait Feature: Send + Sync {
    /// Does something that the seed decides.
    fn act(&self, rng: Rng) -> Act<'_>;

    /// Judges when all threads but the main one are blocked.
    fn quiet(&self);

    /// Judges when no thread waits any more and time does not go on.
    fn end(&self);
}

/// What happened, and the first rule that was broken.
#[derive(Default)]
pub(crate) struct Book {
    notes: Mutex<Vec<String>>,
    broken: Mutex<Option<String>>,
}

impl Book {
    pub(crate) fn note(&self, text: String) {
        lock(&self.notes).push(format!("thread {}: {text}", me()));
    }

    /// Notes that a rule is broken, unless `holds`. The main thread ends the program then.
    pub(crate) fn check(&self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds {
            let rule = rule();
            self.note(format!("BROKEN: {rule}"));
            lock(&self.broken).get_or_insert(rule);
        }
    }

    pub(crate) fn broken(&self) -> Option<String> {
        lock(&self.broken).clone()
    }

    pub(crate) fn story(&self) -> String {
        let notes = lock(&self.notes);
        notes[notes.len().saturating_sub(NOTES)..].join("\n")
    }

    fn stop_if_broken(&self) {
        if let Some(rule) = self.broken() {
            panic!("{rule}");
        }
    }
}

/// What the features of a program have in common.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) book: Arc<Book>,
    pub(crate) context: Context,
    pub(crate) clock: ManualClock,
    pub(crate) ros: Arc<Ros>,
    pub(crate) executors: Vec<ExecutorHandle>,
}

impl Stage {
    /// Creates a node without services of its own.
    pub(crate) fn node(&self, name: &str) -> Node {
        self.ros.create_node(node_options(name)).expect("the name is valid")
    }

    pub(crate) fn executor(&self, rng: &mut Rng) -> &ExecutorHandle {
        rng.pick(&self.executors)
    }

    pub(crate) fn group(&self, rng: &mut Rng, name: &str) -> CallbackGroup<()> {
        let options = GroupOptions::new(name);
        let options = if rng.percent(30) { options.releases_at_await() } else { options };
        self.executor(rng).create_group(options, ())
    }

    /// Returns a sleep of up to that many milliseconds.
    pub(crate) fn sleep(&self, rng: &mut Rng, most: u64) -> Sleep {
        let duration = Duration::from_millis(rng.in_range(0, most));
        self.executor(rng).sleep(ClockKind::Steady, duration)
    }

    /// Returns the time on the steady clock since the program began.
    pub(crate) fn clock_now(&self) -> Duration {
        Duration::from_nanos(self.context.clock().now().as_nanos())
    }

    pub(crate) fn check(&self, holds: bool, rule: impl FnOnce() -> String) {
        self.book.check(holds, rule);
    }

    pub(crate) fn note(&self, text: String) {
        self.book.note(text);
    }
}

/// Returns the options of a node without services of its own.
pub(crate) fn node_options(name: &str) -> NodeOptions {
    NodeOptions::new(name).start_parameter_services(false).start_type_description_service(false).enable_rosout(false)
}

/// Returns the number of the model's thread that is running.
pub(crate) fn me() -> usize {
    usize::from(shuttle::current::me())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Polls a future that many times and gives it up, unless it resolves before.
pub(crate) fn give_up<T>(future: impl Future<Output = T>, polls: usize) -> Option<T> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(output) = future.as_mut().poll(&mut TaskContext::from_waker(Waker::noop())) {
            return Some(output);
        }
        thread::yield_now();
    }
    None
}

fn feature(kind: Kind, stage: &Stage, rng: &mut Rng) -> Box<dyn Feature> {
    match kind {
        Kind::Services => Box::new(Services::new(stage, rng)),
        Kind::Actions => Box::new(Actions::new(stage, rng)),
        Kind::Parameters => Box::new(Parameters::new(stage, rng)),
        Kind::Lifecycle => Box::new(Transitions::new(stage, rng)),
        Kind::Topics => Box::new(Topics::new(stage, rng)),
        Kind::Transforms => Box::new(Transforms::new(stage, rng)),
        Kind::Synchronizers => Box::new(Synchronizers::new(stage, rng)),
    }
}

/// Runs a program from its beginning to its end, under the schedule that the model chooses. Panics if a rule is broken.
pub(crate) fn run(program: &Arc<Program>, quiet: &Quiet, book: &Arc<Book>) {
    let mut rng = Rng::new(program.seed);
    let clock = ManualClock::new();
    let context = Context::new(ContextOptions::new().manual_clock(clock.clone()).on_incident(|_| {}));
    let create = |(number, threads): (usize, &u16)| {
        context.create_executor(ExecutorOptions::new(format!("x{number}")).threads(*threads))
    };
    let executors: Vec<Executor> = program.executors.iter().enumerate().map(create).collect();
    let handles: Vec<ExecutorHandle> = executors.iter().map(Executor::handle).collect();
    let ros = Arc::new(Ros::in_process(&context));
    let stage = Stage { book: Arc::clone(book), context, clock, ros, executors: handles };
    let features: Vec<(Kind, Box<dyn Feature>)> =
        program.kinds.iter().map(|kind| (*kind, feature(*kind, &stage, &mut rng))).collect();
    let features = Arc::new(features);

    let spinners: Vec<_> = executors.into_iter().map(|executor| thread::spawn(move || spin(executor))).collect();
    let mut done = Vec::new();
    let mut threads = Vec::new();
    for number in 0..program.threads.len() {
        let is_done = Arc::<AtomicBool>::default();
        done.push(Arc::clone(&is_done));
        let program = Arc::clone(program);
        let features = Arc::clone(&features);
        let clock = stage.clock.clone();
        threads.push(thread::spawn(move || {
            for step in &program.threads[number] {
                let mut rng = Rng::new(step.seed);
                if rng.percent(15) {
                    clock.advance(Duration::from_millis(rng.in_range(1, 4)));
                }
                let feature = features.iter().find(|(kind, _)| *kind == step.kind);
                let (_, feature) = feature.expect("a program's steps are of its features");
                shuttle::future::block_on(feature.act(rng));
            }
            is_done.store(true, Ordering::Relaxed);
        }));
    }

    let settle = || {
        quiet.wait();
        features.iter().for_each(|(_, feature)| feature.quiet());
        book.stop_if_broken();
    };
    let mut rounds_left = ROUNDS;
    while rounds_left > 0 {
        settle();
        if done.iter().all(|done| done.load(Ordering::Relaxed)) {
            rounds_left = rounds_left.min(LAST_ROUNDS);
        }
        rounds_left -= 1;
        stage.clock.advance(Duration::from_millis(rng.in_range(1, 5)));
    }
    settle();
    for (number, done) in done.iter().enumerate() {
        book.check(done.load(Ordering::Relaxed), || format!("thread {number} of the program waits in vain"));
    }
    book.stop_if_broken();
    threads.into_iter().for_each(|thread| drop(thread.join()));
    features.iter().for_each(|(_, feature)| feature.end());
    book.stop_if_broken();

    stage.executors.iter().for_each(ExecutorHandle::halt);
    quiet.wait();
    let executors: Vec<Executor> = spinners.into_iter().filter_map(|spinner| spinner.join().ok()).collect();
    book.check(executors.len() == program.executors.len(), || "a spin panicked".to_owned());
    if rng.percent(50) {
        drop(features);
        drop(executors);
    } else {
        drop(executors);
        drop(features);
    }
    book.stop_if_broken();
}

fn spin(executor: Executor) -> Executor {
    executor.spin(SpinOptions::new()).expect("nothing fails");
    executor
}
