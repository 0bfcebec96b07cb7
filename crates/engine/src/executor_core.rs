//! An executor's state behind its lock, and the changes to it that are still to be made.

use crate::sync::{Mutex, MutexGuard};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use rospin_core::trace::Trace;

use crate::changes::{CHANGES_A_STEP, Changes, Ticket};
use crate::panics::contain;
use crate::recorder::Recorded;
use crate::shared::Shared;
use crate::state::State;

/// The most times that a thread which ends a spin looks for changes that others asked for just then.
const LOOKS_AT_THE_END: u32 = 16;

/// The inside of an executor, which its handles share. Threads change its state by [`submit`](Self::submit): at once if
/// nothing spins, else between two callbacks. Any thread may touch the part `shared` without the lock.
pub(crate) struct ExecutorCore {
    pub(crate) shared: Arc<Shared>,
    threads: u16,
    changes: Changes<State>,
    /// Locked by `spin` from beginning to end; its threads share the guard among them.
    state: Mutex<State>,
}

impl ExecutorCore {
    pub(crate) fn new(shared: Arc<Shared>, state: State, threads: u16) -> Self {
        Self { shared, threads, changes: Changes::new(), state: Mutex::new(state) }
    }

    /// Has `change` made as soon as possible: now if nothing spins, else between two callbacks.
    ///
    /// Locks, but never waits for a callback. A closed executor drops the change and returns no ticket.
    pub(crate) fn submit(&self, change: impl FnOnce(&mut State) + Send + 'static) -> Option<Ticket> {
        if self.shared.is_copy() {
            // The lock may be held by a thread that a fork has not copied.
            std::mem::forget(change);
            return None;
        }
        let ticket = match self.changes.ask(Box::new(change)) {
            Ok(ticket) => ticket,
            Err(change) => {
                contain(|| drop(change));
                return None;
            }
        };
        self.shared.poke();
        self.settle();
        Some(ticket)
    }

    /// Sets the user's trace, which gets the scheduler's events from then on; `None` for no trace.
    pub(crate) fn set_trace(&self, trace: Option<Box<dyn Trace>>) {
        let shared = Arc::clone(&self.shared);
        let threads = self.threads;
        self.submit(move |state| state.set_users_trace(&shared, threads, trace));
    }

    /// Takes back and drops a change that was submitted. Returns true if that was in time, so that the change is never
    /// made.
    pub(crate) fn withdraw(&self, ticket: Ticket) -> bool {
        if self.shared.is_copy() {
            return true;
        }
        let change = self.changes.withdraw(ticket);
        let is_in_time = change.is_some();
        // The change may own a callback, whose drop runs user code.
        contain(|| drop(change));
        is_in_time
    }

    /// Makes the changes that were submitted, if nothing spins. Otherwise the thread that holds the state makes them.
    ///
    /// Other threads may submit changes all the time, and find the state held by the caller each time. Then some are
    /// left for the next thread that touches the state, at the latest for the next spin.
    pub(crate) fn settle(&self) {
        self.shared.news.settle(LOOKS_AT_THE_END, || self.with_idle_state(|_| ()).is_some());
    }

    /// Makes the changes that were submitted, then runs `f` on the state. Returns `None` at once if the state is
    /// locked: by a spin, or by another thread for a moment.
    pub(crate) fn with_idle_state<R>(&self, f: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut state = self.state.try_lock()?;
        // Other threads may go on submitting.
        self.make_all_changes(&mut state);
        let result = f(&mut state);
        let leftovers = state.take_leftovers();
        drop(state);
        leftovers.deal_with(&self.shared);
        Some(result)
    }

    /// Makes the changes that were submitted, then runs `f` on the state. Waits for a thread that has the state for a
    /// moment, but returns `None` if the executor spins.
    pub(crate) fn wait_for_idle_state<R>(&self, mut f: impl FnMut(&mut State) -> R) -> Option<R> {
        loop {
            let result = self.with_idle_state(&mut f);
            if result.is_some() || self.shared.spinning.is_there() {
                self.settle();
                return result;
            }
            // Sleeps rather than spins: the thread that has the state may be less urgent and need this core.
            crate::sync::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Makes the changes that were submitted before this call, in order.
    pub(crate) fn make_all_changes(&self, state: &mut State) {
        self.make_changes(state, self.changes.count());
    }

    /// Makes at most [`CHANGES_A_STEP`] of the changes that were submitted, in order.
    #[inline]
    pub(crate) fn make_some_changes(&self, state: &mut State) {
        if self.shared.news.are_there() {
            self.make_changes(state, CHANGES_A_STEP);
        }
    }

    fn make_changes(&self, state: &mut State, most: usize) {
        let shared = &self.shared;
        if !shared.news.take() {
            return;
        }
        if !shared.times.clock.passes() {
            // The news may be that the clock was moved. A thread that read the clock before that and is about to park
            // without a deadline must look again, too. It counted itself as waiting while it had the state, so this
            // unparks it.
            shared.bell.parker.unpark_all();
        }
        state.has_changes_left = true;
        let mut made = Ok(());
        for _ in 0..most {
            let Some(change) = self.changes.next() else {
                state.has_changes_left = false;
                return;
            };
            made = catch_unwind(AssertUnwindSafe(|| change(state)));
            if made.is_err() {
                break;
            }
        }
        // Exactly `most` changes may have existed. Then nobody has to look again.
        state.has_changes_left = self.changes.count() > 0;
        if state.has_changes_left {
            shared.news.tell();
        }
        // If a policy or a trace has panicked, the next step makes the later changes.
        if let Err(panic) = made {
            resume_unwind(panic);
        }
    }

    /// Locks the state for `spin`, which alone holds it for long.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.changes.is_closed()
    }

    /// Ends the executor: drops all callbacks and payloads. Signals that sources and wakers still have do nothing from
    /// then on.
    pub(crate) fn close(&self) {
        if self.shared.is_copy() {
            return;
        }
        for change in self.changes.close() {
            contain(|| drop(change));
        }
        // Wakes sleepers outside the executor. The sleeps of its own callbacks are dropped with the callbacks.
        self.shared.sleeps.close();
        let mut state = self.lock_state();
        state.forget_all(&self.shared);
        let contents = state.take_contents();
        drop(state);
        contents.deal_with(&self.shared);
    }
}

impl Recorded for ExecutorCore {
    fn recorder_switched(&self) {
        let shared = Arc::clone(&self.shared);
        let threads = self.threads;
        self.submit(move |state| state.follow_recorder(&shared, threads));
    }
}

impl fmt::Debug for ExecutorCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
