//! The dispatch loop: drain, pick, run, complete, and park if there is nothing to run. The decisions between two
//! callbacks are in `turn`.
//!
//! The same loop serves any number of threads. One thread borrows the state; several share it behind a lock that is
//! held only between callbacks.

use crate::sync::atomic::{AtomicBool, Ordering};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rospin_core::{Instant, ThreadIndex};

use crate::access::Access;
use crate::current::Seat as SeatOfThread;
use crate::executor_core::ExecutorCore;
use crate::executor_options::Until;
use crate::incident::contain;
use crate::lock_free::parker::{Deadline, Ticket};
use crate::lookout::Lookout;
use crate::main_future::MainFuture;
use crate::os::{ShortSlices, TickCounter};
use crate::ros_time::RunsCallbacks;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::state::{State, WrittenLines};
use crate::sync::brief::Brief;
use crate::sync::{spawn_scoped, thread};
use crate::work::Run;

mod end;
mod in_place;
mod turn;

pub use end::{SpinEnd, SpinError};

/// One call of `spin`: the executor, the condition on which the spin ends, and the state that its threads share.
pub(crate) struct Spin<'a> {
    core: &'a ExecutorCore,
    executor: &'a Arc<Shared>,
    pub(crate) runtime: &'a Runtime,
    pub(crate) threads: u16,
    pub(crate) until: Until,
    /// The deadline of the spin, on the steady clock; `None` if it has no timeout.
    pub(crate) deadline: Option<Instant>,
    stop: AtomicBool,
    timed_out: AtomicBool,
}

/// State of one thread of a spin, from step to step.
struct Seat {
    thread: ThreadIndex,
    /// The run that is under way, or that was not returned to the state yet.
    run: Option<Run>,
    /// True if a callback ran since the last check of the end of the spin.
    ran_one: bool,
    idle_since: Option<Instant>,
    /// True if the state counts the thread as parked.
    was_idle: bool,
    /// True if the last step was for leftovers of user code, so that this one is for callbacks.
    cleaned_up: bool,
    /// True if the thread has woken sleepers since its last pick.
    has_woken: bool,
    /// True if the awaited future was woken and is polled only after the next pick.
    main_waits: bool,
    lookout: Lookout,
    /// The thread's short time slices, once it waited for work.
    slices: Option<ShortSlices>,
}

/// The next action of a thread.
enum Next {
    /// Run the callback in the seat.
    Run,
    Park(Ticket, Deadline),
    /// Poll for work until that time instead of parking.
    Poll(Instant),
    /// Report incidents and drop leftovers of user code, then look again.
    CleanUp,
    /// Look again, since there are more changes to make.
    Again,
    /// Wake the sleepers that are due at this time, then look again.
    Wake(Instant),
    Stop,
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
            stop: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
        }
    }

    /// Spins until the condition on which the spin ends holds, or until `main` is done if it is given. Nothing runs any
    /// more when this returns.
    pub(crate) fn run(&self, main: Option<MainFuture<'_>>) -> Result<SpinEnd, SpinError> {
        let executor = self.executor;
        if executor.spinning.swap(true, Ordering::AcqRel) {
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
                let (self_, thread_name) = (self, name.clone());
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
        let _here = SeatOfThread::take(self.executor, self.width());
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
        };
        let looped = catch_unwind(AssertUnwindSafe(|| self.dispatch(access, &mut seat, main)));
        if let Err(panic) = looped {
            // Other threads must stop, and the group must get its payload back.
            self.stop();
            let run = seat.run.take();
            contain(|| access.with(|state| state.give_back_and_end(run)));
            resume_unwind(panic);
        }
    }

    fn dispatch(&self, access: &impl Access, seat: &mut Seat, mut main: Option<MainFuture<'_>>) {
        let mut lines = WrittenLines::new();
        loop {
            let woken = main.as_mut().filter(|main| main.is_woken());
            // The future is not polled between a round of wake-ups and its pick. It might take long, and sleepers that
            // become due meanwhile would miss the pick.
            seat.main_waits = seat.has_woken && woken.is_some();
            if let Some(main) = woken.filter(|_| !seat.main_waits) {
                self.give_back_before_poll(access, seat);
                if main.poll_if_woken() {
                    self.stop();
                }
            }
            let (next, wake_another) = access.with_lines(&mut lines, |state| {
                if std::mem::take(&mut seat.was_idle) {
                    unpark(state, seat.thread);
                }
                if self.may_run_in_place(state, seat) && self.runs_in_place(state, seat, main.as_ref()) {
                    return (Next::Again, false);
                }
                let next = self.step(state, seat);
                // A thread that is about to run user code leaves other work to other threads.
                let is_busy = matches!(next, Next::Run | Next::CleanUp | Next::Wake(_));
                (next, is_busy && self.others_are_needed(state))
            });
            if wake_another {
                self.executor.call_another();
            }
            let is_called = || {
                let main_woken = main.as_ref().is_some_and(MainFuture::is_woken);
                main_woken || self.stopped() || self.executor.wants_attention()
            };
            match next {
                Next::Run => {
                    if let Some(run) = &mut seat.run {
                        run.run();
                    }
                }
                Next::CleanUp => access.with(State::take_some_leftovers).deal_with(self.executor),
                Next::Poll(until) => {
                    while !is_called() && self.executor.now() < until {
                        std::hint::spin_loop();
                    }
                }
                Next::Park(ticket, _) if is_called() => self.executor.bell.parker.cancel(ticket),
                Next::Park(ticket, deadline) => {
                    // Threads that look for work without waiting never need it.
                    seat.slices.get_or_insert_with(ShortSlices::new);
                    self.executor.bell.parker.park(ticket, deadline);
                }
                Next::Again => {}
                Next::Wake(now) => self.executor.sleeps.wake_due(&self.executor.times, now),
                Next::Stop => return,
            }
        }
    }

    /// Gives back the run and calls another thread for other work, since the awaited future is polled next and may take
    /// long.
    fn give_back_before_poll(&self, access: &impl Access, seat: &mut Seat) {
        let wake_another = access.with(|state| {
            if std::mem::take(&mut seat.was_idle) {
                unpark(state, seat.thread);
            }
            self.finish(state, seat, self.executor.now());
            self.others_are_needed(state)
        });
        if wake_another {
            self.executor.call_another();
        }
    }

    /// Returns the number of threads that take part. Short spins use only the calling thread.
    fn width(&self) -> u16 {
        if self.until == Until::Halted { self.threads } else { 1 }
    }

    fn stop(&self) {
        if !self.stop.swap(true, Ordering::AcqRel) {
            self.executor.bell.parker.unpark_all();
        }
    }

    #[inline]
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// Notes that the thread is not parked any more.
fn unpark(state: &mut State, thread: ThreadIndex) {
    state.parked -= 1;
    state.watch = state.watch.filter(|(watcher, _)| *watcher != thread);
}

/// Guard that marks the executor as not spinning when it is dropped.
struct Spinning<'a>(&'a Shared);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.stop_spinning();
    }
}
