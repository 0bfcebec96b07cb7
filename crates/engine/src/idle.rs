//! A thread with nothing to run: it wakes sleepers, stops, polls, or parks until the next due time.

use rospin_core::Instant;

use crate::clock::STEP_NOTICED_AFTER;
use crate::executor_options::Until;
use crate::spin::{Next, Seat};
use crate::spin_call::Spin;
use crate::state::State;

impl Spin<'_> {
    /// Decides what to do when nothing is ready: wake sleepers, tell of what is held up, stop, poll or park.
    pub(crate) fn idle(&self, state: &mut State, seat: &mut Seat, now: Instant) -> Next {
        if self.executor.sleeps.is_due(&self.executor.times, now) {
            return Next::Wake(now);
        }
        if state.has_holders() {
            state.look_for_held_up(self.executor, now);
            if state.has_leftovers() {
                return Next::Again;
            }
        }
        if matches!(self.until, Until::Idle | Until::Some) {
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

    /// Notes that the thread of the seat is not parked any more, if it was.
    #[inline]
    pub(crate) fn unpark_if_idle(&self, state: &mut State, seat: &mut Seat) {
        if std::mem::take(&mut seat.was_idle) {
            state.parked -= 1;
            state.watch = state.watch.filter(|(watcher, _)| *watcher != seat.thread);
        }
    }

    /// Returns true if a thread is parked that could do other work.
    #[inline]
    pub(crate) const fn has_parked(&self, state: &State) -> bool {
        self.threads > 1 && state.parked > 0
    }

    /// Returns true if a parked thread should wake: there is more to run, a due time will come that no parked thread
    /// watches, or ROS time has come to one that the executor waits for.
    #[inline]
    pub(crate) fn others_are_needed(&self, state: &State) -> bool {
        let unwatched = |due| state.watch.is_none_or(|(_, until)| due < until);
        let is_ros_time_up = || self.executor.times.ros_watch.is_up_now(self.executor.times.dial());
        self.has_parked(state)
            && (state.scheduler.has_candidates()
                || state.next_due(self.executor).is_some_and(unwatched)
                || is_ros_time_up())
    }
}
