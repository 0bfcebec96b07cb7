//! What notifiers, handles and executor threads share of one executor.

use crate::changes::{Changes, Ticket};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::sync::{Mutex, MutexGuard};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use std::time::Duration;

use rospin_core::Instant;

use crate::clock::Clock;
use crate::incident::Reporter;
use crate::lock_free::inbox::Inbox;
use crate::lock_free::parker::Parker;
use crate::os::{Process, ThreadSetup};
use crate::signal::SignalBox;
use crate::sleep::{RosWatch, Sleeps};
use crate::state::State;

/// How many changes are made between two picks, at most: an urgent callback waits for no more than that.
pub(crate) const CHANGES_A_STEP: usize = 32;

/// How often whoever ends a spin looks for changes that others asked for just then.
const LOOKS_AT_THE_END: usize = 16;

/// What every notification writes: on one cache line, which nothing else is on.
#[repr(align(64))]
pub(crate) struct Bell {
    pub(crate) inbox: Inbox,
    pub(crate) parker: Parker,
}

/// The part of an executor that any thread may touch.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) clock: Clock,
    pub(crate) bell: Bell,
    pub(crate) signals: SignalBox,
    pub(crate) threads: ThreadSetup,
    /// How long idle threads look for work before they park.
    pub(crate) busy_poll: Duration,
    pub(crate) report: Reporter,
    process: Process,
    /// What it waits for on ROS time.
    pub(crate) ros_watch: RosWatch,
    /// Who sleeps on it.
    pub(crate) sleeps: Sleeps,
    /// Jumps of ROS time that its callbacks have yet to be told of.
    pub(crate) jumps_left: AtomicUsize,
    /// Whether it has, or had, callbacks for such jumps.
    pub(crate) has_jump_callbacks: AtomicBool,
    /// Something besides the inbox wants attention: a change, a moved clock.
    news: AtomicBool,
    /// A thread that has nothing to do is called.
    called: AtomicBool,
    changes: Changes,
    pub(crate) halt: AtomicBool,
    pub(crate) spinning: AtomicBool,
    /// Locked by `spin` from beginning to end; its threads share the guard among them.
    state: Mutex<State>,
}

impl Shared {
    pub(crate) fn new(
        name: String,
        clock: Clock,
        report: Reporter,
        threads: ThreadSetup,
        busy_poll: Duration,
        state: State,
    ) -> Self {
        Self {
            name,
            clock,
            bell: Bell { inbox: Inbox::new(), parker: Parker::new() },
            signals: SignalBox::default(),
            threads,
            busy_poll,
            report,
            process: Process::this(),
            ros_watch: RosWatch::new(),
            sleeps: Sleeps::new(),
            jumps_left: AtomicUsize::new(0),
            has_jump_callbacks: AtomicBool::new(false),
            news: AtomicBool::new(false),
            called: AtomicBool::new(false),
            changes: Changes::new(),
            halt: AtomicBool::new(false),
            spinning: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// Has `change` made as soon as possible: now if nothing spins, else between two callbacks.
    ///
    /// Locks, but never waits for a callback. A closed executor forgets it, and returns no ticket.
    pub(crate) fn submit(&self, change: impl FnOnce(&mut State) + Send + 'static) -> Option<Ticket> {
        if self.is_copy() {
            // Locked, perhaps, by a thread that a fork has not copied.
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
        self.poke();
        self.settle();
        Some(ticket)
    }

    /// Takes back what was submitted; says whether that was in time.
    pub(crate) fn take_back(&self, ticket: Ticket) -> bool {
        if self.is_copy() {
            return true;
        }
        let change = self.changes.take_back(ticket);
        let is_in_time = change.is_some();
        // It may own a callback.
        contain(|| drop(change));
        is_in_time
    }

    /// Makes the changes that were submitted, if nothing spins: whoever holds the state makes them otherwise, or looks again
    /// afterwards.
    ///
    /// Others may submit changes all the time, and find the state held by the caller each time: then some are left for
    /// whoever touches the state next, at the latest the next spin.
    pub(crate) fn settle(&self) {
        for _ in 0..LOOKS_AT_THE_END {
            // Between the unlocking of the state and the look at the news, as the submitter has its locks in between: one
            // of the two sees the other.
            fence(Ordering::SeqCst);
            if !self.news.load(Ordering::Acquire) || self.with_idle_state(|_| ()).is_none() {
                return;
            }
        }
    }

    /// Runs `f` on the state if nothing spins, after what was submitted; never waits.
    pub(crate) fn with_idle_state<R>(&self, f: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut state = self.state.try_lock()?;
        // As many as there are now, though others may go on submitting.
        self.make_changes(&mut state, self.changes.count());
        let result = f(&mut state);
        let leftovers = state.take_leftovers();
        drop(state);
        leftovers.deal_with(self);
        Some(result)
    }

    /// As [`with_idle_state`](Self::with_idle_state), but waits for others that have the idle state for a moment.
    pub(crate) fn wait_for_idle_state<R>(&self, mut f: impl FnMut(&mut State) -> R) -> Option<R> {
        loop {
            let result = self.with_idle_state(&mut f);
            if result.is_some() || self.spinning.load(Ordering::Acquire) {
                self.settle();
                return result;
            }
            // Not a spin: whoever has it may be of a lower priority and need the core.
            crate::sync::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Makes some of the changes that were submitted, in order.
    pub(crate) fn make_some_changes(&self, state: &mut State) {
        if self.news.load(Ordering::Relaxed) {
            self.make_changes(state, CHANGES_A_STEP);
        }
    }

    fn make_changes(&self, state: &mut State, most: usize) {
        if !self.news.swap(false, Ordering::AcqRel) {
            return;
        }
        if !self.clock.passes() {
            // The news may be that the clock was moved. A thread that read it before, and is about to park, has counted itself
            // as waiting while it had the state: it parks without a deadline, so it must look again, too.
            self.bell.parker.unpark_all();
        }
        state.has_changes_left = true;
        for _ in 0..most {
            let Some(change) = self.changes.next() else {
                state.has_changes_left = false;
                return;
            };
            change(state);
        }
        // As many as there were, perhaps: then nobody need look again.
        state.has_changes_left = self.changes.count() > 0;
        if state.has_changes_left {
            self.news.store(true, Ordering::Release);
        }
    }

    /// Has a thread of the executor look around.
    pub(crate) fn poke(&self) {
        self.news.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        self.bell.parker.unpark_one();
    }

    /// Has another thread of the executor look around, which has nothing to do.
    pub(crate) fn call_another(&self) {
        if self.busy_poll.is_zero() {
            self.bell.parker.unpark_one();
        } else {
            // Those that look for work are not in the parker.
            self.called.store(true, Ordering::Release);
            self.bell.parker.unpark_one();
        }
    }

    /// A thread has come, and takes a whole step: if it finds more than it can run, it calls in its turn.
    pub(crate) fn answer_call(&self) {
        if self.called.load(Ordering::Relaxed) {
            self.called.store(false, Ordering::Relaxed);
        }
    }

    /// Ends the spin that is going on, or else the next one.
    pub(crate) fn halt(&self) {
        self.halt.store(true, Ordering::Release);
        self.bell.parker.unpark_all();
    }

    /// Whether a thread that is about to park should look around once more.
    pub(crate) fn wants_attention(&self) -> bool {
        !self.bell.inbox.is_empty()
            || self.news.load(Ordering::Acquire)
            || self.called.load(Ordering::Relaxed)
            || self.halt.load(Ordering::Acquire)
            || self.ros_watch.is_up(&self.clock.driver().dial)
    }

    /// The spin is over: nobody waits for its jump callbacks any more.
    pub(crate) fn stop_spinning(&self) {
        self.spinning.store(false, Ordering::SeqCst);
        // With the one before jump callbacks are given something to do: one of the two sees the other.
        fence(Ordering::SeqCst);
        if self.has_jump_callbacks.load(Ordering::SeqCst) {
            self.clock.driver().leave(self);
        }
    }

    /// The state, for `spin`, which is the only one to hold it for long.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.changes.is_closed()
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// True in a process that was forked off: locks may be held by threads that are not there.
    pub(crate) fn is_copy(&self) -> bool {
        self.process.is_another()
    }

    /// Ends the executor: drops all callbacks and payloads. Signals that are still around do nothing.
    pub(crate) fn close(&self) {
        if self.is_copy() {
            return;
        }
        for change in self.changes.close() {
            contain(|| drop(change));
        }
        // Those who sleep elsewhere; the callbacks' own sleeps are dropped with them.
        self.sleeps.close();
        let contents = self.lock_state().take_contents();
        contents.deal_with(self);
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Runs user code that is no callback, and whose panic must not take the executor down. The panic hook has reported it.
pub(crate) fn contain<R>(user_code: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(user_code)) {
        Ok(result) => Some(result),
        Err(panic) => {
            // What it panicked with may panic in its turn, and so on: it is given up then.
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(another);
            }
            None
        }
    }
}
