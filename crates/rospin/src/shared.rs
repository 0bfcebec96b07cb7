//! What notifiers, handles and executor threads share of one executor.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use std::time::Duration;

use rospin_core::Instant;

use crate::clock::Clock;
use crate::incident::{Incident, Reporter};
use crate::lock_free::dial::Watch;
use crate::lock_free::inbox::Inbox;
use crate::lock_free::parker::Parker;
use crate::os::ThreadSetup;
use crate::signal::SignalBox;
use crate::state::State;

/// A change to an executor's state, made by an executor thread before its next pick, or at once if nothing spins.
pub(crate) type Command = Box<dyn FnOnce(&mut State) + Send>;

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
    report: Reporter,
    /// What it waits for on ROS time.
    pub(crate) ros_watch: Watch,
    /// Jumps of ROS time that its callbacks have yet to be told of.
    pub(crate) jumps_left: AtomicUsize,
    /// Whether it has, or had, callbacks for such jumps.
    pub(crate) has_jump_callbacks: AtomicBool,
    /// Something besides the inbox wants attention: a command, a moved clock.
    news: AtomicBool,
    /// A thread that has nothing to do is called.
    called: AtomicBool,
    /// `None` once the executor is closed.
    commands: Mutex<Option<Vec<Command>>>,
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
            ros_watch: Watch::new(),
            jumps_left: AtomicUsize::new(0),
            has_jump_callbacks: AtomicBool::new(false),
            news: AtomicBool::new(false),
            called: AtomicBool::new(false),
            commands: Mutex::new(Some(Vec::new())),
            halt: AtomicBool::new(false),
            spinning: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// Has `command` done as soon as possible: now if nothing spins, else before the next pick.
    ///
    /// Locks, but never waits for a callback. A closed executor forgets it.
    pub(crate) fn submit(&self, command: impl FnOnce(&mut State) + Send + 'static) {
        let command: Command = Box::new(command);
        match &mut *self.lock_commands() {
            Some(commands) => commands.push(command),
            None => return,
        }
        self.poke();
        self.settle();
    }

    /// Does what was submitted if nothing spins: whoever holds the state does it otherwise, or looks again afterwards.
    pub(crate) fn settle(&self) {
        loop {
            // Between the unlocking of the state and the look at the news, as the submitter has its locks in between: one
            // of the two sees the other.
            fence(Ordering::SeqCst);
            if !self.news.load(Ordering::Acquire) {
                return;
            }
            if self.with_idle_state(|_| ()).is_none() {
                return;
            }
        }
    }

    /// Runs `f` on the state if nothing spins, after what was submitted; never waits.
    pub(crate) fn with_idle_state<R>(&self, f: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        self.run_commands(&mut state);
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
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    /// Does what was submitted, in order.
    pub(crate) fn run_commands(&self, state: &mut State) {
        if !self.news.load(Ordering::Relaxed) || !self.news.swap(false, Ordering::AcqRel) {
            return;
        }
        let commands = self.lock_commands().as_mut().map(std::mem::take);
        for command in commands.unwrap_or_default() {
            command(state);
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
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock_commands().is_none()
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Ends the executor: drops all callbacks and payloads. Signals that are still around do nothing.
    pub(crate) fn close(&self) {
        let commands = self.lock_commands().take();
        let contents = self.lock_state().take_contents();
        contain(|| drop(contents));
        contain(|| drop(commands));
    }

    fn lock_commands(&self) -> MutexGuard<'_, Option<Vec<Command>>> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What came up while the state was borrowed, and is dealt with once it is not: user code runs in both.
#[derive(Default)]
#[must_use]
pub(crate) struct Leftovers {
    pub(crate) incidents: Vec<Incident>,
    /// Callbacks and payloads of what was removed.
    pub(crate) garbage: Vec<Box<dyn std::any::Any + Send>>,
}

impl Leftovers {
    pub(crate) fn is_empty(&self) -> bool {
        self.incidents.is_empty() && self.garbage.is_empty()
    }

    /// Tells the user of incidents, and drops the garbage. A panic in there is the user's, and ends there.
    pub(crate) fn deal_with(self, executor: &Shared) {
        for incident in &self.incidents {
            contain(|| (executor.report)(incident));
        }
        for garbage in self.garbage {
            contain(|| drop(garbage));
        }
    }
}

/// Runs user code that is no callback, and whose panic must not take the executor down. The panic hook has reported it.
pub(crate) fn contain<R>(user_code: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(user_code)).ok()
}
