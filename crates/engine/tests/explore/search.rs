//! Runs many programs, one after the other, and reports the first one that fails.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::drive::{self, Broken, Verdict};
use super::generate::generate;
use super::model::Rule;
use super::program::Program;
use super::schedule::{Quiet, Steps};
use super::world::lock;

/// The number of schedules that every program is run under.
pub(crate) const SCHEDULES: u64 = 3;
/// The number of steps without a note after which a program counts as one that never ends. A program does a limited
/// number of things, and notes each of them.
const STEPS: usize = 20_000;

/// A program and a schedule.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) program: Arc<Program>,
    pub(crate) schedule: u64,
}

/// Jobs that are still to be run.
pub(crate) struct Jobs {
    source: Mutex<Box<dyn FnMut() -> Option<Job> + Send>>,
    current: Mutex<Option<Job>>,
}

impl Jobs {
    pub(crate) fn new(source: impl FnMut() -> Option<Job> + Send + 'static) -> Arc<Self> {
        Arc::new(Self { source: Mutex::new(Box::new(source)), current: Mutex::new(None) })
    }

    /// Returns the seed of the next schedule, if there is one.
    pub(crate) fn next(&self) -> Option<u64> {
        let next = (lock(&self.source))();
        let schedule = next.as_ref().map(|job| job.schedule);
        *lock(&self.current) = next;
        schedule
    }

    fn current(&self) -> Option<Job> {
        lock(&self.current).clone()
    }
}

/// Program that broke a rule.
#[derive(Clone)]
pub(crate) struct Failure {
    pub(crate) job: Job,
    pub(crate) broken: Broken,
}

/// Runs the jobs up to the first one that fails, on a thread of its own. A run that fails may leave threads of the
/// model in the middle of a panic, and the standard library counts panics by thread.
fn run_until_failure(jobs: &Arc<Jobs>) -> Option<Failure> {
    let jobs = Arc::clone(jobs);
    std::thread::spawn(move || run_here(&jobs)).join().unwrap_or_else(|_| panic!("the search itself panicked"))
}

fn run_here(jobs: &Arc<Jobs>) -> Option<Failure> {
    let quiet = Arc::<Quiet>::default();
    let verdict = Arc::<Verdict>::default();
    let mut config = Config::new();
    config.stack_size = 0x2_0000;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    let runner = Runner::new(Steps::new(Arc::clone(jobs), Arc::clone(&quiet)), config);
    let (in_runner, verdict_in_runner) = (Arc::clone(jobs), Arc::clone(&verdict));
    let ran = catch_unwind(AssertUnwindSafe(|| {
        runner.run(move || {
            if let Some(job) = in_runner.current() {
                drive::run(&job.program, &quiet, &verdict_in_runner);
            }
        })
    }));
    let panic = ran.err()?;
    let job = jobs.current()?;
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    // The panic may carry a value that only the model can drop.
    std::mem::forget(panic);
    let broken = verdict.take().unwrap_or_else(|| {
        let message = text.unwrap_or_else(|| "a panic without text".to_owned());
        Broken { rule: Rule::Engine, message, story: verdict.story() }
    });
    Some(Failure { job, broken })
}

/// Silences the messages of panics, which are part of the programs.
pub(crate) fn be_quiet() {
    // The first run sets the model's own hook. An empty run does that now, so that it does not replace this hook later.
    let jobs = Jobs::new(|| None);
    drop(run_until_failure(&jobs));
    shuttle::check_random(|| {}, 1);
    if std::env::var_os("EXPLORE_LOUD").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

/// Runs programs by their seeds, each under several schedules, and calls `before` with each seed.
///
/// Returns the number of programs that ran, and the first failure with the seed of its program.
pub(crate) fn search(
    seeds: impl Iterator<Item = u64> + Send + 'static,
    mut before: impl FnMut(u64) + Send + 'static,
) -> (u64, Option<(u64, Failure)>) {
    let count = Arc::new(Mutex::new((0, 0)));
    let counted = Arc::clone(&count);
    let mut seeds = seeds;
    let mut queue = VecDeque::new();
    let jobs = Jobs::new(move || {
        if queue.is_empty() {
            let seed = seeds.next()?;
            before(seed);
            let program = Arc::new(generate(seed));
            queue.extend(
                (0..SCHEDULES).map(|number| Job { program: Arc::clone(&program), schedule: schedule(seed, number) }),
            );
            let mut count = lock(&counted);
            *count = (count.0 + 1, seed);
        }
        queue.pop_front()
    });
    let failure = run_until_failure(&jobs);
    let (count, seed) = *lock(&count);
    (count, failure.map(|failure| (seed, failure)))
}

/// Returns the seed of a program's schedule with that number.
pub(crate) const fn schedule(seed: u64, number: u64) -> u64 {
    seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(number)
}

/// Runs a program under that number of schedules, until one of them fails. Returns `None` if none does.
pub(crate) fn any_failure(program: Program, schedules: u64) -> Option<Failure> {
    let program = Arc::new(program);
    let mut rest = 0..schedules;
    let jobs = Jobs::new(move || Some(Job { program: Arc::clone(&program), schedule: rest.next()? }));
    run_until_failure(&jobs)
}

/// Runs a program under up to `schedules` schedules, from the one with the seed `first` on, until one of them fails
/// with that key. Returns `None` if none does.
pub(crate) fn try_program(program: &Program, first: u64, schedules: u64, key: &str) -> Option<Failure> {
    let program = Arc::new(program.clone());
    let mut numbers = first..first + schedules;
    loop {
        let mut rest = numbers.clone();
        let of = Arc::clone(&program);
        let done = Arc::new(Mutex::new(rest.start));
        let told = Arc::clone(&done);
        let jobs = Jobs::new(move || {
            let schedule = rest.next()?;
            *lock(&told) = rest.start;
            Some(Job { program: Arc::clone(&of), schedule })
        });
        let failure = run_until_failure(&jobs)?;
        if failure.broken.key() == key {
            return Some(failure);
        }
        numbers.start = *lock(&done);
    }
}
