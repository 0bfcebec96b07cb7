//! The loop of an executor's only thread over callbacks that need not be lent ([`row`] says which): see
//! [`State::run_first`].
//!
//! A callback that is known to come next needs no look at what has happened. Under Fifo, and among the most urgent
//! callbacks, everything that is released later comes behind the next callback. If that one was released before the
//! last drain began, and before a message that it found, then neither a message that was published since nor a timer
//! that falls due later can come before it. Then the loop looks neither at the inbox, whose line belongs to the
//! publishers, nor at the clock (`Row::precedes_all_from`). A notifier that notes a time of arrival, which may be an
//! early one, has the inbox looked at (`Inbox::has_noted`).

mod row;

use crate::sync::atomic::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::executor_options::Until;
use crate::main_future::MainFuture;
use crate::shared::Shared;
use crate::spin::Seat;
use crate::spin_call::Spin;
use crate::state::State;
use row::{InPlace, Row};

impl Spin<'_> {
    /// Returns true if this is the only thread, and the run of the seat, if there is one, could have run in place, too.
    #[inline(always)]
    pub(crate) fn may_run_in_place(&self, state: &State, seat: &Seat) -> bool {
        let may_be_given_back = |run| state.is_simple(run) && state.has_ended(run);
        self.width() == 1 && seat.run.as_ref().is_none_or(may_be_given_back)
    }

    /// Runs callbacks in place, one after the other, as long as nothing happens but notifications, and nothing is due.
    /// Gives the run of the seat back before. The caller has made sure that it [may](Self::may_run_in_place). Returns
    /// true if it did anything.
    pub(crate) fn runs_in_place(&self, state: &mut State, seat: &mut Seat, main: Option<&MainFuture<'_>>) -> bool {
        let sleeps = &self.executor.sleeps;
        if !self.is_calm(state) || self.is_disturbed(main) || !sleeps.is_empty() && sleeps.has_others() {
            return false;
        }
        let mut has_run = false;
        if let Some(run) = &seat.run {
            let is_unknown = run.callback.cx.pending.is_unknown();
            let now = if is_unknown { self.executor.now() } else { run.activation.release };
            self.complete(state, seat, now);
            has_run = true;
        }
        if !state.has_leftovers() {
            // A panic of a callback ends the loop, which would otherwise have to prepare for one before each callback.
            let mut row = state.begin_row(&self.executor.bell.inbox);
            let looped = catch_unwind(AssertUnwindSafe(|| {
                self.run_all(state, seat, main, &mut row, || has_run = true);
            }));
            if let Err(panic) = looped {
                if !row.is_inside {
                    resume_unwind(panic);
                }
                has_run = true;
                seat.run = state.fail_inside(seat.thread, &row, panic);
            }
        }
        if has_run {
            (seat.cleaned_up, seat.has_woken, seat.idle_since) = (false, false, None);
        }
        has_run
    }

    /// Runs the callbacks of the row until something happens. Calls `ran` after each of them.
    #[inline(always)]
    fn run_all(
        &self,
        state: &mut State,
        seat: &mut Seat,
        main: Option<&MainFuture<'_>>,
        row: &mut Row,
        mut ran: impl FnMut(),
    ) {
        let executor: &Shared = self.executor;
        let inbox = &executor.bell.inbox;
        let thread = seat.thread;
        // No timer changes meanwhile: those are neither callbacks that run in place, nor do these get at the state.
        let timer = state.scheduler.next_due();
        let either = state.or_look([timer, self.deadline].into_iter().flatten().min());
        loop {
            // A callback that comes before all that may have happened meanwhile needs no look at what has.
            let is_known_first = row.precedes_all_from(row.drained_until) && !inbox.has_noted();
            if !is_known_first && !inbox.is_empty() {
                state.drain_into(row, inbox, || executor.now());
            }
            let is_before_timers = timer.is_some_and(|due| row.precedes_all_from(due));
            let due = if is_before_timers { self.deadline } else { either };
            let due = if executor.sleeps.is_empty() {
                due
            } else if executor.sleeps.has_others() {
                // Somebody waits for another clock than the steady one.
                return;
            } else {
                executor.sleeps.earlier(due)
            };
            if due.is_some_and(|due| seat.lookout.is_due(due, || executor.now())) {
                return;
            }
            match state.run_first(thread, row, || executor.now()) {
                InPlace::Over => ran(),
                InPlace::Nothing => return,
                InPlace::Failed(run) => {
                    ran();
                    seat.run = Some(run);
                    return;
                }
            }
            if self.is_disturbed(main) {
                return;
            }
        }
    }

    /// Returns true if nothing is to be done in between that the state knows of. Callbacks that run in place do not
    /// change that.
    #[inline(always)]
    fn is_calm(&self, state: &State) -> bool {
        !(self.stopped()
            || matches!(self.until, Until::Once | Until::Some)
            || state.has_leftovers()
            || state.has_drained()
            || state.has_changes_left
            || state.has_other_timers())
    }

    /// Returns true if something has happened besides notifications.
    #[inline(always)]
    fn is_disturbed(&self, main: Option<&MainFuture<'_>>) -> bool {
        let executor: &Shared = self.executor;
        executor.news.are_there() || executor.halt.load(Ordering::Acquire) || main.is_some_and(MainFuture::is_woken)
    }
}
