//! A spin: how it begins, its threads, and how it ends. [`crate::spin`] is what its threads do, and lists the steps of
//! the shutdown.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rospin_core::{ClockKind, Instant, ThreadIndex};

use crate::access::Access;
use crate::current::SpinningThread;
use crate::executor_core::ExecutorCore;
use crate::executor_options::Until;
use crate::lookout::Lookout;
use crate::main_future::MainFuture;
use crate::os::TickCounter;
use crate::panics::contain;
use crate::ros_time::RunsCallbacks;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::spin::Seat;
use crate::spin_end::{SpinEnd, SpinError};
use crate::state::State;
use crate::sync::brief::Brief;
use crate::sync::{spawn_scoped, thread};

/// One call of `spin`: the executor, the condition on which the spin ends, and the state that its threads share.
pub(crate) struct Spin<'a> {
    pub(crate) core: &'a ExecutorCore,
    pub(crate) executor: &'a Arc<Shared>,
    pub(crate) runtime: &'a Runtime,
    pub(crate) threads: u16,
    pub(crate) until: Until,
    /// The deadline of the spin, on the steady clock; `None` if it has no timeout.
    pub(crate) deadline: Option<Instant>,
    /// The number of callbacks that a spin of what [is ready](Until::Some) still runs.
    budget: AtomicUsize,
    stop: AtomicBool,
    timed_out: AtomicBool,
}

impl<'a> Spin<'a> {
    pub(crate) fn new(core: &'a ExecutorCore, runtime: &'a Runtime, threads: u16) -> Self {
        Self {
            core,
            executor: &core.shared,
            runtime,
            threads,
            until: Until::Halted,
            deadline: None,
            budget: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
        }
    }

    /// Spins until the condition on which the spin ends holds, or until `main` is done if it is given. Nothing runs any
    /// more when this returns.
    pub(crate) fn run(&self, main: Option<MainFuture<'_>>) -> Result<SpinEnd, SpinError> {
        let executor = self.executor;
        if !executor.spinning.come() {
            return Err(SpinError::AlreadySpinning { executor: executor.name.clone() });
        }
        let _spinning = Spinning(executor);
        let mut state = self.core.lock_state();
        executor.note_spin();
        state.parked = 0;
        state.watch = None;
        executor.threads.forget();
        // The runtime's thread is started before, because it must not inherit the settings that this thread gets now.
        let set_up = executor.threads.enter(&executor.name);
        let spun = match &set_up {
            Err(report) => Err(SpinError::Shortfall(report.clone())),
            Ok(_) if self.width() == 1 => {
                let access = RefCell::new(&mut *state);
                self.runtime.run(|| self.thread(&access, ThreadIndex(0), main));
                Ok(())
            }
            Ok(_) => self.spin_threads(&mut state, main),
        };
        drop(set_up);
        let was_halted = executor.halt.swap(false, Ordering::AcqRel);
        let fatal = state.fatal.take();
        let leftovers = state.take_leftovers();
        drop(state);
        leftovers.deal_with(executor);
        // Makes the changes that were submitted during the last step.
        self.core.settle();
        spun?;
        match fatal {
            Some(incident) => Err(SpinError::Panicked(incident)),
            None if was_halted => Ok(SpinEnd::Halted),
            None if self.timed_out.load(Ordering::Acquire) => Err(SpinError::Timeout),
            None => Ok(SpinEnd::Done),
        }
    }

    fn spin_threads(&self, state: &mut State, main: Option<MainFuture<'_>>) -> Result<(), SpinError> {
        let access = &Brief::new(state);
        thread::scope(|scope| {
            let mut others = Vec::new();
            for number in 1..self.threads {
                let name = format!("{}-{number}", self.executor.name);
                let self_ = self;
                let thread_name = name.clone();
                let body = move || self_.other_thread(access, ThreadIndex(number), &thread_name);
                match spawn_scoped(scope, &name, body) {
                    Ok(thread) => others.push(thread),
                    Err(error) => {
                        self.stop();
                        return Err(SpinError::Thread(error));
                    }
                }
            }
            self.runtime.run(|| self.thread(access, ThreadIndex(0), main));
            let ended = others.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            ended.collect()
        })
    }

    /// Runs a thread that this spin started and called `name`.
    ///
    /// # Errors
    /// If the thread cannot have its settings and that is to be an error. The spin then stops.
    fn other_thread(&self, access: &impl Access, thread: ThreadIndex, name: &str) -> Result<(), SpinError> {
        let set_up = self.executor.threads.enter(name).inspect_err(|_| self.stop());
        let _set_up = set_up.map_err(SpinError::Shortfall)?;
        self.runtime.run(|| self.thread(access, thread, None));
        Ok(())
    }

    /// Runs the loop of one thread. If a panic of a policy, a trace or the awaited future unwinds through it, puts back
    /// the state and the payload that the thread had.
    fn thread(&self, access: &impl Access, thread: ThreadIndex, main: Option<MainFuture<'_>>) {
        let _inside = RunsCallbacks::here();
        let _here = SpinningThread::enter(self.executor, self.width());
        let mut seat = Seat {
            thread,
            run: None,
            ran_one: false,
            idle_since: None,
            was_idle: false,
            cleaned_up: false,
            has_woken: false,
            main_waits: false,
            lookout: Lookout::new(if self.executor.times.clock.passes() { TickCounter::new() } else { None }),
            slices: None,
            panic: None,
        };
        let looped = catch_unwind(AssertUnwindSafe(|| {
            if self.until == Until::Some {
                self.budget.store(self.count_ready(access), Ordering::Relaxed);
            }
            self.dispatch(access, &mut seat, main);
        }));
        if let Err(panic) = looped {
            // Other threads must stop, and the group must get its payload back. A run that is left in the seat is over:
            // `dispatch` runs each that was picked.
            self.stop();
            contain(|| access.with(|state| self.complete(state, &mut seat, self.executor.now())));
            resume_unwind(panic);
        }
    }

    /// Returns the number of threads that take part. Short spins use only the calling thread.
    pub(crate) fn width(&self) -> u16 {
        if self.until == Until::Halted { self.threads } else { 1 }
    }

    /// Returns the number of activations that are ready now, with all that has arrived and is due. One round of
    /// sleepers that are due is woken before, so that callbacks whose sleep is over count.
    fn count_ready(&self, access: &impl Access) -> usize {
        let executor = self.executor;
        let now = executor.now();
        if executor.sleeps.is_due(&executor.times, now) {
            executor.sleeps.wake_due(&executor.times, now);
        }
        access.with(|state| {
            self.core.make_all_changes(state);
            let now = executor.now();
            state.drain(&executor.bell.inbox, || now);
            state.advance(executor, now);
            state.scheduler.advance(ClockKind::Steady, now, now);
            state.scheduler.ready().len()
        })
    }

    /// Returns true if the spin has run what it was to run. `ran_one` tells that a callback ran since the last call.
    #[inline]
    pub(crate) fn is_done(&self, ran_one: bool) -> bool {
        match self.until {
            Until::Once => ran_one,
            Until::Some => {
                // Such a spin has one thread.
                let ran = usize::from(ran_one);
                self.budget.fetch_sub(ran, Ordering::Relaxed) <= ran
            }
            Until::Halted | Until::Idle => false,
        }
    }

    pub(crate) fn stop(&self) {
        if !self.stop.swap(true, Ordering::AcqRel) {
            self.executor.bell.parker.unpark_all();
        }
    }

    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    pub(crate) fn time_out(&self) {
        self.timed_out.store(true, Ordering::Release);
        self.stop();
    }
}

/// Guard that marks the executor as not spinning when it is dropped.
struct Spinning<'a>(&'a Shared);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.stop_spinning();
    }
}
