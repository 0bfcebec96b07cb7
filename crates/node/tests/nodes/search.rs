//! Runs programs under several schedules, and makes one that fails small.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use super::program::Program;
use super::schedule::{Quiet, Steps};
use super::world::{Book, lock, run};

/// The number of schedules that every program is run under.
pub(crate) const SCHEDULES: u64 = 3;
/// The number of steps after which a program counts as one that never ends. None needs a tenth of them.
const STEPS: usize = 300_000;
/// The number of schedules under which a smaller program has to fail.
const TRIES: u64 = 60;

/// Schedules that are still to be run, by their seeds.
pub(crate) struct Jobs(Mutex<std::ops::Range<u64>>);

impl Jobs {
    pub(crate) fn next(&self) -> Option<u64> {
        lock(&self.0).next()
    }
}

/// The rule that a program broke, and what led to it.
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) story: String,
    schedule: u64,
}

impl Failure {
    /// Returns the message without its numbers, which tells one kind of failure from another.
    fn key(&self) -> String {
        self.message.chars().filter(|letter| !letter.is_ascii_digit()).collect()
    }
}

/// Returns the seed of a program's schedule with that number.
pub(crate) const fn schedule(seed: u64, number: u64) -> u64 {
    (seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1).wrapping_add(number)
}

/// Runs the program under that many schedules, until one fails.
///
/// It runs on a thread of its own: a run that fails may leave threads of the model in the middle of a panic, and the
/// standard library counts panics by thread.
pub(crate) fn first_failure(program: &Program, first: u64, schedules: u64) -> Option<Failure> {
    let program = program.clone();
    let thread = std::thread::spawn(move || run_here(program, first, schedules));
    thread.join().unwrap_or_else(|_| panic!("the search itself panicked"))
}

fn run_here(program: Program, first: u64, schedules: u64) -> Option<Failure> {
    let jobs = Arc::new(Jobs(Mutex::new(first..first + schedules)));
    let quiet = Arc::<Quiet>::default();
    // The book of the schedule that runs.
    let current = Arc::new(Mutex::new(Arc::<Book>::default()));
    let mut config = Config::new();
    config.stack_size = 0x4_0000;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(STEPS);
    config.silence_warnings = true;
    let runner = Runner::new(Steps::new(Arc::clone(&jobs), Arc::clone(&quiet)), config);
    let in_run = Arc::clone(&current);
    let program = Arc::new(program);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        runner.run(move || {
            let book = Arc::<Book>::default();
            *lock(&in_run) = Arc::clone(&book);
            run(&program, &quiet, &book);
        })
    }));
    let panic = ran.err()?;
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
    // The panic may carry a value that only the model can drop.
    std::mem::forget(panic);
    let book = Arc::clone(&lock(&current));
    let message = book.broken().or(text).unwrap_or_else(|| "a panic without text".to_owned());
    Some(Failure { message, story: book.story(), schedule: lock(&jobs.0).start - 1 })
}

/// Returns the smallest program that was found to fail in the same way.
pub(crate) fn shrink(mut program: Program, mut failure: Failure) -> (Program, Failure) {
    'smaller: loop {
        for smaller in program.smaller() {
            // First the same schedule, then others.
            let again = first_failure(&smaller, failure.schedule, TRIES);
            if let Some(again) = again.filter(|again| again.key() == failure.key()) {
                program = smaller;
                failure = again;
                continue 'smaller;
            }
        }
        return (program, failure);
    }
}

/// Silences the messages of panics, which are part of the programs.
pub(crate) fn be_quiet() {
    // The first run sets the model's own hook. An empty run does that now, so that it does not replace this hook later.
    shuttle::check_random(|| {}, 1);
    if std::env::var_os("EXPLORE_LOUD").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}
