//! The dispatch loop: drain, pick, run, complete; park when there is nothing.
//!
//! One loop for any number of threads. With one thread the state is borrowed, with several it is behind a lock that is
//! held between callbacks only.

use std::cell::RefCell;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rospin_core::{Instant, ThreadIndex};

use crate::clock::STEP_NOTICED_AFTER;
use crate::distance::Distance;
use crate::executor::{SpinEnd, SpinError};
use crate::lock_free::parker::{Deadline, Ticket};
use crate::main_future::MainFuture;
use crate::os::named;
use crate::ros_time::RunsCallbacks;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::state::State;
use crate::work::Run;

/// When a spin ends by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Until {
    /// When it is halted.
    #[default]
    Halted,
    /// After one activation.
    Once,
    /// When nothing is ready any more.
    Idle,
}

/// Access to the state for the threads of one spin.
trait Access {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R;
}

impl Access for RefCell<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.borrow_mut())
    }
}

impl Access for Mutex<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One call of `spin`.
pub(crate) struct Spin<'a> {
    pub(crate) executor: &'a Arc<Shared>,
    pub(crate) runtime: &'a Runtime,
    pub(crate) threads: u16,
    pub(crate) until: Until,
    /// On the executor's clock.
    pub(crate) deadline: Option<Instant>,
    stop: AtomicBool,
    timed_out: AtomicBool,
}

/// What one thread has at hand, from step to step.
struct Seat {
    thread: ThreadIndex,
    /// What it runs, or ran and has not given back yet.
    run: Option<Run>,
    distance: Distance,
    idle_since: Option<Instant>,
    /// Whether the state counts it among those that are parked.
    was_idle: bool,
}

/// What a thread does next.
enum Next {
    /// Run what is at hand.
    Run,
    Park(Ticket, Deadline),
    /// Look for something to do until then, instead of parking.
    Poll(Instant),
    /// Look again, once what came up is dealt with.
    Again,
    Stop,
}

impl<'a> Spin<'a> {
    pub(crate) fn new(executor: &'a Arc<Shared>, runtime: &'a Runtime, threads: u16) -> Self {
        Self {
            executor,
            runtime,
            threads,
            until: Until::Halted,
            deadline: None,
            stop: AtomicBool::new(false),
            timed_out: AtomicBool::new(false),
        }
    }

    /// Spins until it is over; nothing runs any more when this returns.
    pub(crate) fn run(&self, main: Option<MainFuture<'_>>) -> Result<SpinEnd, SpinError> {
        let executor = self.executor;
        if executor.spinning.swap(true, Ordering::AcqRel) {
            return Err(SpinError::AlreadySpinning { executor: executor.name.clone() });
        }
        let _spinning = Spinning(executor);
        let mut state = executor.lock_state();
        state.parked = 0;
        state.watch = None;
        executor.threads.forget();
        // The runtime has its thread already, which is not to inherit what this one gets.
        let set_up = executor.threads.enter(&executor.name);
        let spun = match &set_up {
            Err(report) => Err(SpinError::Shortfall(report.clone())),
            Ok(_) if self.threads == 1 || self.until != Until::Halted => {
                let access = RefCell::new(&mut *state);
                self.runtime.run(|| self.thread(&access, ThreadIndex(0), main));
                Ok(())
            }
            Ok(_) => self.spin_threads(&mut state, main),
        };
        drop(set_up);
        let was_halted = executor.halt.swap(false, Ordering::AcqRel);
        let fatal = state.fatal.take();
        drop(state);
        // What was submitted while the last step was made.
        executor.settle();
        spun?;
        match fatal {
            Some(incident) => Err(SpinError::Panicked(incident)),
            None if was_halted => Ok(SpinEnd::Halted),
            None if self.timed_out.load(Ordering::Acquire) => Err(SpinError::Timeout),
            None => Ok(SpinEnd::Done),
        }
    }

    fn spin_threads(&self, state: &mut State, main: Option<MainFuture<'_>>) -> Result<(), SpinError> {
        let access = &Mutex::new(state);
        std::thread::scope(|scope| {
            let mut others = Vec::new();
            for number in 1..self.threads {
                let name = format!("{}-{number}", self.executor.name);
                let builder = named(&name);
                let body = move || self.other_thread(access, ThreadIndex(number), &name);
                match builder.spawn_scoped(scope, body) {
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

    /// A thread that this spin started.
    fn other_thread(&self, access: &impl Access, thread: ThreadIndex, name: &str) -> Result<(), SpinError> {
        let set_up = self.executor.threads.enter(name).inspect_err(|_| self.stop());
        let _set_up = set_up.map_err(SpinError::Shortfall)?;
        self.runtime.run(|| self.thread(access, thread, None));
        Ok(())
    }

    /// The loop of one thread.
    fn thread(&self, access: &impl Access, thread: ThreadIndex, mut main: Option<MainFuture<'_>>) {
        // Whatever unwinds through here (a policy, a trace, the awaited future) must not leave other threads behind.
        let _stop = StopOnUnwind(self);
        let _inside = RunsCallbacks::here();
        let mut seat = Seat { thread, run: None, distance: Distance::new(), idle_since: None, was_idle: false };
        loop {
            if let Some(run) = &mut seat.run {
                // With several threads the others may be waiting for its group.
                if self.threads == 1 && run.has_source() {
                    seat.distance.keep(run, self.executor);
                }
                run.arm();
            }
            if main.as_ref().is_some_and(MainFuture::is_woken) {
                // First give back what ran: the future must not hold up a group.
                access.with(|state| self.finish(state, seat.run.take(), self.executor.now()));
                if main.as_mut().is_some_and(MainFuture::poll_if_woken) {
                    self.stop();
                }
            }
            let (next, leftovers, wake_another) = access.with(|state| {
                if std::mem::take(&mut seat.was_idle) {
                    unpark(state, thread);
                }
                if self.goes_on(state, &mut seat) {
                    return (Next::Run, None, false);
                }
                let (next, wake_another) = self.step(state, &mut seat);
                let leftovers = state.has_leftovers().then(|| state.take_leftovers());
                (next, leftovers, wake_another)
            });
            if wake_another {
                self.executor.call_another();
            }
            if let Some(leftovers) = leftovers {
                leftovers.deal_with(self.executor);
            }
            let is_called = || {
                let main_woken = main.as_ref().is_some_and(MainFuture::is_woken);
                main_woken || self.stopped() || self.executor.wants_attention()
            };
            match next {
                Next::Run => {
                    let arms_later = seat.distance.is_dense();
                    seat.run.iter_mut().for_each(|run| run.run(arms_later));
                }
                Next::Poll(until) => {
                    while !is_called() && self.executor.now() < until {
                        std::hint::spin_loop();
                    }
                }
                Next::Park(ticket, _) if is_called() => self.executor.bell.parker.cancel(ticket),
                Next::Park(ticket, deadline) => self.executor.bell.parker.park(ticket, deadline),
                Next::Again => {}
                Next::Stop => return,
            }
        }
    }

    /// Everything between two callbacks. Says whether there is something for another thread, too.
    fn step(&self, state: &mut State, seat: &mut Seat) -> (Next, bool) {
        let executor = self.executor;
        executor.run_commands(state);
        executor.answer_call();
        // Read after the commands: a clock that was moved is one of them.
        let now = executor.now();
        state.drain(&executor.bell.inbox, now);
        let ran_one = self.finish(state, seat.run.take(), now);
        if self.is_over(state, now, ran_one) {
            return (Next::Stop, false);
        }
        if state.has_leftovers() {
            // Before the pick: user code must not run between an urgent callback's pick and its start.
            return (Next::Again, false);
        }
        state.advance(executor, now);
        seat.run = state.start(now, seat.thread);
        state.watch_ros_time(executor);
        if seat.run.is_some() {
            seat.idle_since = None;
            (Next::Run, self.threads > 1 && self.others_are_needed(state))
        } else {
            (self.idle(state, seat, now), false)
        }
    }

    /// The short way from a callback to itself: nothing has happened meanwhile, and no time matters or none has come.
    fn goes_on(&self, state: &mut State, seat: &mut Seat) -> bool {
        let Some(run) = &mut seat.run else {
            return false;
        };
        let executor = self.executor;
        let is_quiet = !executor.wants_attention() && !self.stopped() && self.until != Until::Once;
        if !is_quiet || state.has_leftovers() || state.has_other_timers() {
            return false;
        }
        let due = state.scheduler.next_due();
        let now = if due.is_none() && self.deadline.is_none() && !state.scheduler.is_traced() {
            // Nobody will ask what time it was, and reading the clock is the dearest part of this way.
            run.activation.release
        } else {
            executor.now()
        };
        due.is_none_or(|due| now < due) && !self.is_late(now) && state.go_on(now, seat.thread, run)
    }

    /// Gives back what ran; says whether its callback did.
    fn finish(&self, state: &mut State, finished: Option<Run>, now: Instant) -> bool {
        finished.is_some_and(|finished| state.finish(self.executor, finished, now))
    }

    fn is_over(&self, state: &State, now: Instant, ran_one: bool) -> bool {
        let halted = state.fatal.is_some() || self.executor.halt.load(Ordering::Acquire);
        let done = ran_one && self.until == Until::Once;
        if halted || done {
            self.stop();
        } else if self.until != Until::Once && self.is_late(now) && !self.stopped() {
            self.time_out();
        }
        self.stopped()
    }

    fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    fn time_out(&self) {
        self.timed_out.store(true, Ordering::Release);
        self.stop();
    }

    /// There is nothing to run now.
    fn idle(&self, state: &mut State, seat: &mut Seat, now: Instant) -> Next {
        if self.until == Until::Idle {
            self.stop();
            return Next::Stop;
        }
        if self.is_late(now) {
            self.time_out();
            return Next::Stop;
        }
        let clock = &self.executor.clock;
        let steady = state.scheduler.next_due();
        let system = state.next_due_by_system_clock(self.executor);
        // One parked thread watches the timers; the others need not get up for them.
        let due = self.next_due(state);
        let watches = state.watch.is_none_or(|(_, until)| due.is_some_and(|due| due < until));
        let deadline = if watches {
            state.watch = due.map(|due| (seat.thread, due));
            clock.deadline([steady, self.deadline].into_iter().flatten().min(), system)
        } else {
            clock.deadline(self.deadline, None)
        };
        // With the state in hand: whoever gets it next sees this thread as parked.
        state.parked += 1;
        seat.was_idle = true;
        let poll_until = *seat.idle_since.get_or_insert(now) + self.executor.busy_poll;
        if now < poll_until && clock.passes() {
            let ends = [due.filter(|_| watches), self.deadline, Some(now + STEP_NOTICED_AFTER)];
            return Next::Poll(ends.into_iter().flatten().fold(poll_until, Instant::min));
        }
        Next::Park(self.executor.bell.parker.prepare(), deadline)
    }

    /// Whether a parked thread should get up: there is more to run, or a timer that no parked thread watches.
    fn others_are_needed(&self, state: &State) -> bool {
        let unwatched = |due| state.watch.is_none_or(|(_, until)| due < until);
        let is_ros_time_up = || self.executor.ros_watch.is_up_now(&self.executor.clock.driver().dial);
        state.parked > 0
            && (state.scheduler.has_candidates() || self.next_due(state).is_some_and(unwatched) || is_ros_time_up())
    }

    /// When the next timer of a clock that passes by itself is due, on the steady clock as it stands now.
    fn next_due(&self, state: &State) -> Option<Instant> {
        let system = state.next_due_by_system_clock(self.executor).map(|due| {
            let clock = &self.executor.clock;
            clock.now() + due.saturating_since(clock.system())
        });
        [state.scheduler.next_due(), system].into_iter().flatten().min()
    }

    fn stop(&self) {
        if !self.stop.swap(true, Ordering::AcqRel) {
            self.executor.bell.parker.unpark_all();
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }
}

/// The thread is not parked any more.
fn unpark(state: &mut State, thread: ThreadIndex) {
    state.parked -= 1;
    state.watch = state.watch.filter(|(watcher, _)| *watcher != thread);
}

/// Ends the spin for all threads if one of them unwinds.
struct StopOnUnwind<'a>(&'a Spin<'a>);

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

/// Ends the spin however it ends.
struct Spinning<'a>(&'a Shared);

impl Drop for Spinning<'_> {
    fn drop(&mut self) {
        self.0.stop_spinning();
    }
}
