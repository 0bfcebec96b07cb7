//! The executor's thread, from one callback to the next: *drain* ([`drain`]), *pick* ([`pick`]), *run* ([`run`]),
//! *complete* ([`complete`]). `Spin::dispatch` is the loop, and `Spin::step` is everything between two callbacks: it
//! drains, completes the last run, and picks the next one. So what arrived during a run is drained before the run is
//! completed. The same loop serves any number of threads: one thread borrows the state, and several share it behind a
//! lock that is held only between callbacks.
//!
//! The only thread of an executor has a second way from one callback to the next, and most callbacks take it: it runs
//! synchronous ones without a deadline, except timers, where they are ([`crate::in_place`]). Both ways lead to the same
//! decisions.
//!
//! # The life of an activation
//!
//! ```text
//!                  1                       3                       4
//!   none ---------------------> ready ----------------> running ----------------> over
//!     \                         ^  ^  \                    |
//!      \ 2                   5 /   |   \ 8                 | 6
//!       v                     /    |    v                  v          9
//!        held back ----------+     |    withdrawn       suspended -----------> withdrawn
//!                                  |          7            |
//!                                  +-----------------------+
//! ```
//!
//! 1. A drain or a due time releases the entity: `Scheduler::release`. While an activation is ready, further releases
//!    change nothing, except that an earlier one counts.
//! 2. The same, while as many activations of the entity are under way as may be. The entity keeps it; the policy does
//!    not know it yet.
//! 3. `Scheduler::next` picks it and takes its group, and arms a timer again. `State::lend` lends callback and payload
//!    to the thread.
//! 4. The callback returned, panicked, or found nothing to take. `State::complete` gives back what was lent and calls
//!    `Scheduler::complete`, which frees the group. `State::fail` deals with panics.
//! 5. Another activation of the entity completed, so there is room: `Scheduler::complete`.
//! 6. The future is not ready. `State::suspend` gives back what was lent and calls `Scheduler::suspend`: the activation
//!    keeps its group, unless its options release groups at await. The thread is free.
//! 7. Its waker was called. A drain calls `Scheduler::resume`, and the next segment is ready. If the waker was called
//!    while the segment ran, `State::suspend` does that at once.
//! 8. The entity was removed, or its timer was cancelled or restarted: `Scheduler::remove_entity`,
//!    `Scheduler::cancel_timer`. The same holds for what is held back.
//! 9. The entity was removed: `State::remove_entity`. Its future is dropped later, without the state.
//!
//! # Shutdown
//!
//! 1. Somebody wants the end of the spin: `Shared::halt`, a deadline, the awaited future, a panic in a group that
//!    halts, or a thread that cannot have its settings. `halt` sets a flag and unparks all threads.
//! 2. The first thread that notices, between two callbacks, calls `Spin::stop`: a flag for all threads of the spin,
//!    which are unparked once.
//! 3. Each thread gives its run back before it looks at that flag, in `Spin::step`. So callbacks that run are waited
//!    for. Suspended ones stay where they are and go on in the next spin; raised flags stay raised.
//! 4. The calling thread joins the others: `Spin::spin_threads`.
//! 5. `Spin::run` undoes the OS settings of its thread, unlocks the state, and only then reports incidents and drops
//!    what was removed, since both are user code.
//! 6. `ExecutorCore::settle` makes the changes that were submitted during the last step.
//! 7. `Shared::stop_spinning`: jumps of ROS time no longer wait for this executor.

mod complete;
mod drain;
mod pick;
mod run;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rospin_core::{Instant, ThreadIndex};

use crate::access::Access;
use crate::executor_options::Until;
use crate::lock_free::parker::{Deadline, Ticket};
use crate::lookout::Lookout;
use crate::main_future::MainFuture;
use crate::os::ShortSlices;
use crate::spin_call::Spin;
use crate::state::{State, WrittenLines};
use crate::sync::atomic::Ordering;
pub(crate) use run::Run;

/// State of one thread of a spin, from step to step. The executor that the thread spins is in its
/// [`SpinningThread`](crate::current::SpinningThread).
pub(crate) struct Seat {
    pub(crate) thread: ThreadIndex,
    /// The run that is under way, or that was not given back to the state yet.
    pub(crate) run: Option<Run>,
    /// True if a callback ran since the last check of the end of the spin.
    pub(crate) ran_one: bool,
    pub(crate) idle_since: Option<Instant>,
    /// True if the state counts the thread as parked.
    pub(crate) was_idle: bool,
    /// True if the last step was for leftovers of user code, so that this one is for callbacks.
    pub(crate) cleaned_up: bool,
    /// True if the thread has woken sleepers since its last pick.
    pub(crate) has_woken: bool,
    /// True if the awaited future was woken and is polled only after the next pick.
    pub(crate) main_waits: bool,
    pub(crate) lookout: Lookout,
    /// The thread's short time slices, once it waited for work.
    pub(crate) slices: Option<ShortSlices>,
    /// The panic of a policy between a pick and its run.
    pub(crate) panic: Option<Box<dyn Any + Send>>,
}

/// The next action of a thread.
pub(crate) enum Next {
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

impl Spin<'_> {
    /// Runs the loop of a thread until the spin ends.
    pub(crate) fn dispatch(&self, access: &impl Access, seat: &mut Seat, mut main: Option<MainFuture<'_>>) {
        let mut lines = WrittenLines::new();
        loop {
            let woken = main.as_mut().filter(|main| main.is_woken());
            // The future is not polled between a round of wake-ups and its pick. It might take long, and sleepers that
            // become due meanwhile would miss the pick.
            seat.main_waits = seat.has_woken && woken.is_some();
            if let Some(main) = woken.filter(|_| !seat.main_waits) {
                self.complete_before_poll(access, seat);
                if main.poll_if_woken() {
                    self.stop();
                }
            }
            let (next, wake_another) = access.with_lines(&mut lines, |state| {
                self.unpark_if_idle(state, seat);
                if self.may_run_in_place(state, seat) && self.runs_in_place(state, seat, main.as_ref()) {
                    return (Next::Again, false);
                }
                let next = self.step(state, seat);
                // A thread that is about to run user code leaves other work to other threads.
                let is_busy = matches!(next, Next::Run | Next::CleanUp | Next::Wake(_));
                (next, is_busy && self.has_parked(state) && self.ask_for_others(state, seat))
            });
            if wake_another {
                self.executor.call_another();
                unwind_after_run(seat);
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

    /// Does everything between two callbacks, and returns the next action.
    #[inline]
    fn step(&self, state: &mut State, seat: &mut Seat) -> Next {
        let executor = self.executor;
        self.core.make_some_changes(state);
        executor.answer_call();
        // The clock is read after the changes, since a moved clock counts as one of them.
        let now = executor.now();
        if !executor.bell.inbox.is_empty() || state.has_drained() {
            state.drain(&executor.bell.inbox, || now);
        }
        self.complete(state, seat, now);
        if state.must_look(now) {
            state.look_for_held_up(executor, now);
        }
        if self.is_over(state, seat, now) {
            return Next::Stop;
        }
        // Leftovers come before the pick: user code must not run between an urgent callback's pick and its start. They
        // alternate with callbacks, so that neither waits for long.
        if state.has_leftovers() && !seat.cleaned_up {
            seat.cleaned_up = true;
            return Next::CleanUp;
        }
        seat.cleaned_up = false;
        // There is one round of wake-ups before each pick: a task that falls asleep again at once must not starve
        // callbacks.
        if !std::mem::take(&mut seat.has_woken) && executor.sleeps.is_due(&executor.times, now) {
            seat.has_woken = true;
            return Next::Wake(now);
        }
        state.advance(executor, now);
        state.pick(now, seat.thread, &mut seat.run);
        state.watch_ros_time(executor);
        if seat.run.is_some() {
            seat.idle_since = None;
            Next::Run
        } else if seat.main_waits || state.has_leftovers() || state.has_changes_left {
            Next::Again
        } else {
            self.idle(state, seat, now)
        }
    }

    /// Gives the run of the seat, if there is one, back to the state, which ends or suspends its activation.
    #[inline]
    pub(crate) fn complete(&self, state: &mut State, seat: &mut Seat, now: Instant) {
        if let Some(run) = seat.run.take() {
            // A spin of what is ready also ends if sources turn out to be empty.
            seat.ran_one |= state.complete(self.executor, run, now) | (self.until == Until::Some);
        }
    }

    /// Completes the run of the seat and calls another thread for other work, since the awaited future is polled next
    /// and may take long.
    fn complete_before_poll(&self, access: &impl Access, seat: &mut Seat) {
        let wake_another = access.with(|state| {
            self.unpark_if_idle(state, seat);
            self.complete(state, seat, self.executor.now());
            self.others_are_needed(state)
        });
        if wake_another {
            self.executor.call_another();
        }
    }

    /// Returns true if another thread is needed for other work, or if the policy panics when it is asked. The seat has
    /// the panic then, and [`unwind_after_run`] unwinds: the thread first runs what it has picked, which would be lost
    /// otherwise.
    fn ask_for_others(&self, state: &State, seat: &mut Seat) -> bool {
        match catch_unwind(AssertUnwindSafe(|| self.others_are_needed(state))) {
            Ok(are_needed) => are_needed,
            Err(panic) => {
                seat.panic = Some(panic);
                true
            }
        }
    }

    /// Stops the spin if it is over. Returns true if it was stopped.
    fn is_over(&self, state: &State, seat: &mut Seat, now: Instant) -> bool {
        let halted = state.fatal.is_some() || self.executor.halt.load(Ordering::Acquire);
        let done = self.is_done(std::mem::take(&mut seat.ran_one));
        if halted || done {
            self.stop();
        } else if self.until != Until::Once && !seat.main_waits && self.is_late(now) && !self.stopped() {
            self.time_out();
        }
        self.stopped()
    }
}

/// If the policy has panicked after the pick, runs what was picked, and unwinds.
fn unwind_after_run(seat: &mut Seat) {
    if let Some(panic) = seat.panic.take() {
        if let Some(run) = &mut seat.run {
            run.run();
        }
        resume_unwind(panic);
    }
}
