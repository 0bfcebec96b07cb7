//! The steps of a thread between two callbacks: drain, give back, wake sleepers, pick, or prepare to park.

use crate::sync::atomic::Ordering;

use rospin_core::Instant;

use super::{Next, Seat, Spin};
use crate::clock::STEP_NOTICED_AFTER;
use crate::executor_options::Until;
use crate::state::State;

impl Spin<'_> {
    /// Does everything between two callbacks, and returns the next action.
    #[inline]
    pub(super) fn step(&self, state: &mut State, seat: &mut Seat) -> Next {
        let executor = self.executor;
        self.core.make_some_changes(state);
        executor.answer_call();
        // The clock is read after the changes, since a moved clock counts as one of them.
        let now = executor.now();
        if !executor.bell.inbox.is_empty() || state.has_drained() {
            state.drain(&executor.bell.inbox, || now);
        }
        self.finish(state, seat, now);
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
        state.start(now, seat.thread, &mut seat.run);
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

    /// Gives the run of the seat, if there is one, back to the state, which completes or suspends its activation.
    #[inline]
    pub(super) fn finish(&self, state: &mut State, seat: &mut Seat, now: Instant) {
        if let Some(finished) = seat.run.take() {
            seat.ran_one |= state.finish(self.executor, finished, now);
        }
    }

    fn is_over(&self, state: &State, seat: &mut Seat, now: Instant) -> bool {
        let halted = state.fatal.is_some() || self.executor.halt.load(Ordering::Acquire);
        let done = std::mem::take(&mut seat.ran_one) && self.until == Until::Once;
        if halted || done {
            self.stop();
        } else if self.until != Until::Once && !seat.main_waits && self.is_late(now) && !self.stopped() {
            self.time_out();
        }
        self.stopped()
    }

    #[inline]
    fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }

    fn time_out(&self) {
        self.timed_out.store(true, Ordering::Release);
        self.stop();
    }

    /// Decides what to do when nothing is ready: wake sleepers, tell of what is held up, stop, poll or park.
    fn idle(&self, state: &mut State, seat: &mut Seat, now: Instant) -> Next {
        if self.executor.sleeps.is_due(&self.executor.times, now) {
            return Next::Wake(now);
        }
        if state.has_holders() {
            state.look_for_held_up(self.executor, now);
            if state.has_leftovers() {
                return Next::Again;
            }
        }
        if self.until == Until::Idle {
            self.stop();
            return Next::Stop;
        }
        if self.is_late(now) {
            self.time_out();
            return Next::Stop;
        }
        let clock = &self.executor.times.clock;
        let steady = self.executor.sleeps.earlier(state.scheduler.next_due());
        let steady = [steady, state.held_up_due()].into_iter().flatten().min();
        let system = state.next_due_by_system_clock(self.executor);
        // One parked thread watches the timers. The others need not wake for them.
        let due = state.next_due(self.executor);
        let watches = state.watch.is_none_or(|(_, until)| due.is_some_and(|due| due < until));
        let deadline = if watches {
            state.watch = due.map(|due| (seat.thread, due));
            clock.deadline([steady, self.deadline].into_iter().flatten().min(), system)
        } else {
            clock.deadline(self.deadline, None)
        };
        // Counted while this thread has the state: the next thread that gets it sees this one as parked.
        state.parked += 1;
        seat.was_idle = true;
        let poll_until = *seat.idle_since.get_or_insert(now) + self.executor.busy_poll;
        if now < poll_until && clock.passes() {
            let ends = [due.filter(|_| watches), self.deadline, Some(now + STEP_NOTICED_AFTER)];
            return Next::Poll(ends.into_iter().flatten().fold(poll_until, Instant::min));
        }
        Next::Park(self.executor.bell.parker.prepare(), deadline)
    }

    /// Returns true if a parked thread should wake: there is more to run, a due time will come that no parked thread
    /// watches, or ROS time has come to one that the executor waits for.
    #[inline]
    pub(super) fn others_are_needed(&self, state: &State) -> bool {
        let unwatched = |due| state.watch.is_none_or(|(_, until)| due < until);
        let is_ros_time_up = || self.executor.times.ros_watch.is_up_now(self.executor.times.dial());
        self.threads > 1
            && state.parked > 0
            && (state.scheduler.has_candidates()
                || state.next_due(self.executor).is_some_and(unwatched)
                || is_ros_time_up())
    }
}
