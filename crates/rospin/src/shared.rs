//! What notifiers, handles and executor threads share of one executor.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use rospin_core::{EntityId, Instant};

use crate::clock::Clock;
use crate::incident::Incident;
use crate::lock_free::inbox::{Inbox, Link};
use crate::lock_free::parker::Parker;
use crate::state::State;

/// A link of the inbox: what a notifier or a waker pushes.
pub(crate) type Signal = Link<SignalData>;

/// What a signal tells its executor.
pub(crate) struct SignalData {
    executor: Arc<Shared>,
    pub(crate) target: Target,
    /// Arrival of the first item since the last drain, 0 if unknown.
    arrival_ns: AtomicU64,
}

/// Whom a signal is for.
pub(crate) enum Target {
    /// An entity's source may have something. Set once the executor has added the entity.
    Entity(OnceLock<EntityId>),
    /// The waker of the entity's run slot with that number was called.
    Segment(EntityId, usize),
}

impl Signal {
    pub(crate) fn to(executor: &Arc<Shared>, target: Target) -> Arc<Self> {
        Arc::new(Link::new(SignalData { executor: Arc::clone(executor), target, arrival_ns: AtomicU64::new(0) }))
    }

    pub(crate) fn executor(&self) -> &Arc<Shared> {
        &self.data.executor
    }

    /// The entity, once the executor has added it.
    pub(crate) fn entity(&self) -> Option<EntityId> {
        match &self.data.target {
            Target::Entity(id) => id.get().copied(),
            Target::Segment(id, _) => Some(*id),
        }
    }

    /// See [`Notifier::notify`](crate::Notifier::notify).
    pub(crate) fn notify(self: &Arc<Self>, arrival: Option<Instant>) {
        if let Some(arrival) = arrival {
            let _ = self.data.arrival_ns.compare_exchange(0, arrival.as_nanos(), Ordering::Relaxed, Ordering::Relaxed);
        }
        let executor = &self.data.executor;
        if executor.inbox.push(self) {
            executor.parker.unpark_one();
        }
    }

    /// Arrival of the first item since this was asked last.
    pub(crate) fn take_arrival(&self) -> Option<Instant> {
        match self.data.arrival_ns.swap(0, Ordering::Relaxed) {
            0 => None,
            nanos => Some(Instant::from_nanos(nanos)),
        }
    }
}

/// A change to an executor's state, made by an executor thread before its next pick, or at once if nothing spins.
pub(crate) type Command = Box<dyn FnOnce(&mut State) + Send>;

/// The part of an executor that any thread may touch.
pub(crate) struct Shared {
    pub(crate) name: String,
    pub(crate) clock: Clock,
    pub(crate) inbox: Inbox<SignalData>,
    pub(crate) parker: Parker,
    pub(crate) report: crate::incident::Reporter,
    /// Something besides the inbox wants attention: a command, a moved clock.
    news: AtomicBool,
    commands: Mutex<Vec<Command>>,
    pub(crate) halt: AtomicBool,
    pub(crate) spinning: AtomicBool,
    closed: AtomicBool,
    /// Locked by `spin` from beginning to end; its threads share the guard among them.
    state: Mutex<State>,
}

impl Shared {
    pub(crate) fn new(name: String, clock: Clock, report: crate::incident::Reporter, state: State) -> Self {
        Self {
            name,
            clock,
            inbox: Inbox::new(),
            parker: Parker::new(),
            report,
            news: AtomicBool::new(false),
            commands: Mutex::new(Vec::new()),
            halt: AtomicBool::new(false),
            spinning: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// Has `command` done as soon as possible: now if nothing spins, else before the next pick.
    ///
    /// Locks, but never waits for a callback.
    pub(crate) fn submit(&self, command: impl FnOnce(&mut State) + Send + 'static) {
        if self.is_closed() {
            return;
        }
        self.lock_commands().push(Box::new(command));
        self.poke();
        // If it spins, the next step of one of its threads does it.
        let _ = self.with_idle_state(|state| self.run_commands(state));
    }

    /// Runs `f` on the state if nothing spins; never waits.
    pub(crate) fn with_idle_state<R>(&self, f: impl FnOnce(&mut State) -> R) -> Option<R> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let result = f(&mut state);
        let mut leftovers = state.take_leftovers();
        drop(state);
        leftovers.report(self);
        Some(result)
    }

    /// Does what was submitted, in order.
    pub(crate) fn run_commands(&self, state: &mut State) {
        if !self.news.swap(false, Ordering::AcqRel) {
            return;
        }
        let commands = std::mem::take(&mut *self.lock_commands());
        for command in commands {
            command(state);
        }
    }

    /// Has all threads of the executor look around.
    pub(crate) fn poke(&self) {
        self.news.store(true, Ordering::Release);
        self.parker.unpark_all();
    }

    /// Ends the spin that is going on, or else the next one.
    pub(crate) fn halt(&self) {
        self.halt.store(true, Ordering::Release);
        self.parker.unpark_all();
    }

    /// Whether a thread that is about to park should look around once more.
    pub(crate) fn wants_attention(&self) -> bool {
        !self.inbox.is_empty() || self.news.load(Ordering::Acquire) || self.halt.load(Ordering::Acquire)
    }

    /// The state, for `spin`, which is the only one to hold it for long.
    pub(crate) fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends the executor: drops all callbacks and payloads. Signals that are still around do nothing.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        drop(std::mem::take(&mut *self.lock_commands()));
        let contents = self.lock_state().take_contents();
        drop(contents);
        drop(self.inbox.drain());
    }

    fn lock_commands(&self) -> MutexGuard<'_, Vec<Command>> {
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
    /// Tells the user of incidents, and drops the garbage.
    pub(crate) fn report(&mut self, executor: &Shared) {
        for incident in self.incidents.drain(..) {
            (executor.report)(&incident);
        }
        self.garbage.clear();
    }
}
