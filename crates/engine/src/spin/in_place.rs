//! The loop of an executor's only thread over callbacks that need not be lent: see [`State::run_first`].

use crate::sync::atomic::Ordering;

use super::{Seat, Spin};
use crate::executor_options::Until;
use crate::main_future::MainFuture;
use crate::source::Pending;
use crate::state::{InPlace, State};

impl Spin<'_> {
    /// Returns true if this is the only thread, and the run of the seat, if there is one, could have run in place, too.
    #[inline(always)]
    pub(super) fn may_run_in_place(&self, state: &State, seat: &Seat) -> bool {
        let may_be_given_back = |run| state.is_simple(run) && state.can_exchange(run);
        self.width() == 1 && seat.run.as_ref().is_none_or(may_be_given_back)
    }

    /// Runs callbacks in place, one after the other, as long as nothing happens but notifications, and nothing is due. Gives the
    /// run of the seat back before. The caller has made sure that it [may](Self::may_run_in_place). Returns true if it did anything.
    pub(super) fn runs_in_place(&self, state: &mut State, seat: &mut Seat, main: Option<&MainFuture<'_>>) -> bool {
        if !self.is_calm(state, main) {
            return false;
        }
        let mut has_run = false;
        if let Some(run) = &seat.run {
            let now = match run.callback.cx.pending {
                Pending::Unknown => self.executor.now(),
                _ => run.activation.release,
            };
            self.finish(state, seat, now);
            has_run = true;
        }
        loop {
            let inbox = &self.executor.bell.inbox;
            if !inbox.is_empty() {
                state.drain(inbox, || self.executor.now());
            }
            if self.is_anything_due(state, seat) {
                break;
            }
            match state.run_first(seat.thread, || self.executor.now()) {
                InPlace::Over => has_run = true,
                InPlace::Nothing => break,
                InPlace::Failed(run) => {
                    seat.run = Some(run);
                    break;
                }
            }
            if !self.is_calm(state, main) {
                break;
            }
        }
        if has_run {
            (seat.cleaned_up, seat.has_woken, seat.idle_since) = (false, false, None);
        }
        has_run
    }

    /// Returns true if nothing has happened but notifications, and nobody waits for another clock than the steady one.
    #[inline(always)]
    fn is_calm(&self, state: &State, main: Option<&MainFuture<'_>>) -> bool {
        let executor = self.executor;
        let is_disturbed =
            executor.news.load(Ordering::Acquire) || executor.halt.load(Ordering::Acquire) || self.stopped();
        let has_others = !executor.sleeps.is_empty() && executor.sleeps.has_others();
        !(is_disturbed
            || has_others
            || self.until == Until::Once
            || state.has_leftovers()
            || state.has_changes_left
            || state.has_other_timers()
            || main.is_some_and(MainFuture::is_woken))
    }

    /// Returns true if a timer or a sleeper is due, or the spin is over. Reads the clock only if one of them may be.
    #[inline(always)]
    fn is_anything_due(&self, state: &State, seat: &mut Seat) -> bool {
        let due = self.executor.sleeps.earlier(state.scheduler.next_due());
        let due = [due, self.deadline].into_iter().flatten().min();
        due.is_some_and(|due| seat.lookout.is_due(due, || self.executor.now()))
    }
}
