//! The companions of one round, and the threads that they spin on.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use crate::executor_handle::ExecutorHandle;
use crate::executor_options::SpinOptions;
use crate::os::{CoreSet, Process, ThreadId, ThreadOptions};
use crate::solo::Solo;
use crate::spin_end::{SpinEnd, SpinError};
use crate::sync::atomic::Ordering;
use crate::sync::thread::JoinHandle;
use crate::sync::{Condvar, PlainMutex, PlainMutexGuard, spawn, thread};

#[cfg(test)]
std::thread_local! {
    /// Number of times that the calling thread has woken those that wait for a change.
    pub(super) static NOTIFICATIONS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The state that companions' threads share with leaders.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) process: Process,
    state: PlainMutex<State>,
    /// Notified when a round has begun, when a companion's spin has ended, and when the threads must end.
    changed: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) companions: Vec<Companion>,
    /// Number of companions that have been created so far.
    pub(super) created: u64,
    /// Executors of the program that spin.
    pub(super) leaders: Vec<ExecutorHandle>,
    /// Number of rounds that have begun so far, which is the number of the present round.
    pub(super) round: u64,
    /// The thread of this round's first leader.
    pub(super) first: Option<ThreadId>,
    /// The cores of that thread before its spin began, once they were read: when the first companion begins, or before
    /// a leader's thread gets other ones. A program that spins once in a loop begins very many rounds, mostly without
    /// companions.
    pub(super) cores: Option<CoreSet>,
    /// The spin in which companions run everything that is ready after they were halted, if the last leader's spin was
    /// a short one.
    pub(super) rest: Option<SpinOptions>,
    /// The number of threads that wait for a change.
    waiting: usize,
    /// The number of threads on which the last leader of a round waits for the end of the companions. Their failures
    /// are for these, not for the next leader. There may be several: a companion's callback can begin and end another
    /// round meanwhile.
    pub(super) leaving: usize,
    /// The failure of the first companion that ended before its leaders, until the last leader has left.
    pub(super) failure: Option<SpinError>,
    /// A panic of the engine itself on a companion's thread, until the last leader has left.
    pub(super) panic: Panic,
}

/// The payload of a panic.
#[derive(Default)]
pub(super) struct Panic(pub(super) Option<Box<dyn Any + Send>>);

/// Executor that only the deployment file names.
#[derive(Debug)]
pub(super) struct Companion {
    pub(super) id: u64,
    pub(super) executor: Arc<Solo>,
    /// Last round in which the companion should spin.
    pub(super) round: u64,
    /// True from the beginning of that round until the companion's thread has come to its end.
    pub(super) is_spinning: bool,
    /// The thread, started in the companion's first round. It owns the executor only while that spins.
    pub(super) thread: Option<JoinHandle<()>>,
}

impl Common {
    /// Has all companions spin that do not spin in this round yet. If the thread of one cannot be started, the leaders'
    /// spins end with that error.
    pub(super) fn begin(self: &Arc<Self>, state: &mut State) {
        let round = state.round;
        let mut is_any_new = false;
        let mut failure = None;
        for companion in state.companions.iter_mut().filter(|companion| companion.round < round) {
            if companion.thread.is_none() {
                let common = Arc::clone(self);
                let id = companion.id;
                match spawn(companion.executor.handle().name(), move || common.run(id)) {
                    Ok(thread) => companion.thread = Some(thread),
                    Err(error) => failure = Some(SpinError::Thread(error)),
                }
            }
            if companion.thread.is_some() && !companion.is_spinning {
                companion.is_spinning = true;
                companion.round = round;
                is_any_new = true;
            }
        }
        if is_any_new {
            state.read_cores();
        }
        if let Some(error) = failure {
            state.fail(error);
        }
        self.notify(state);
    }

    /// Runs the thread of the companion with the number `id`, until the companion is removed.
    fn run(&self, id: u64) {
        let mut has: Option<CoreSet> = None;
        let mut state = self.lock();
        loop {
            let Some(companion) = state.companion(id) else { return };
            if !companion.is_spinning {
                state = self.wait(state);
                continue;
            }
            let round = companion.round;
            let executor = Arc::clone(&companion.executor);
            // The thread inherited the cores of the thread that started it, which may be those of a callback's
            // executor.
            if state.cores.is_some() && has != state.cores {
                has.clone_from(&state.cores);
                drop(state);
                let _ = ThreadOptions::new().cores(has.clone().unwrap_or_default()).apply();
                state = self.lock();
            }
            state = self.spin(state, &executor, round);
            if state.companion(id).is_none() {
                // `executor` is the last owner, and its drop runs user code.
                drop(state);
                return;
            }
            drop(executor);
            state.end(id);
            self.notify(&state);
        }
    }

    /// Spins `executor` until the round with the number `round` is over. After a short round, spins on as the last
    /// leader did: until what is ready has run, or until nothing is ready.
    fn spin<'a>(
        &'a self,
        mut state: PlainMutexGuard<'a, State>,
        executor: &Solo,
        round: u64,
    ) -> PlainMutexGuard<'a, State> {
        let spin = |options| catch_unwind(AssertUnwindSafe(|| executor.spin(options)));
        let mut is_well = true;
        // The leaders may have left the round already.
        if !state.leaders.is_empty() {
            drop(state);
            let spun = spin(SpinOptions::new());
            state = self.lock();
            is_well = state.note(spun);
        }
        if state.leaders.is_empty() || state.round != round {
            // The last leader halted the spin, which may have ended by itself before it saw that.
            executor.handle().shared().halt.store(false, Ordering::Release);
        }
        // If the leaders only spin for a moment, the companion could otherwise never run anything.
        if let Some(rest) = state.rest.filter(|_| is_well && state.leaders.is_empty()) {
            drop(state);
            let spun = spin(rest);
            state = self.lock();
            state.note(spun);
            // A halt of all executors may have ended it.
            executor.handle().shared().halt.store(false, Ordering::Release);
        }
        state
    }

    pub(super) fn lock(&self) -> PlainMutexGuard<'_, State> {
        // A panic leaves the lists consistent, so a poisoned lock is used like any other.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of the state.
    pub(super) fn wait<'a>(&self, mut state: PlainMutexGuard<'a, State>) -> PlainMutexGuard<'a, State> {
        state.waiting += 1;
        state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Wakes the threads that wait for a change of the state, which is locked. Without any it makes no system call,
    /// which short spins in a loop would notice.
    pub(super) fn notify(&self, state: &State) {
        if state.waiting > 0 {
            #[cfg(test)]
            NOTIFICATIONS.with(|count| count.set(count.get() + 1));
            self.changed.notify_all();
        }
    }
}

impl State {
    fn companion(&mut self, id: u64) -> Option<&mut Companion> {
        self.companions.iter_mut().find(|companion| companion.id == id)
    }

    /// Reads the cores of the round's first leader, unless they were read already. If its thread has ended, those of
    /// the calling one.
    pub(super) fn read_cores(&mut self) {
        if self.cores.is_none() {
            let of_first = self.first.and_then(|thread| CoreSet::of_thread(thread).ok());
            self.cores = of_first.or_else(|| CoreSet::of_current_thread().ok());
        }
    }

    pub(super) fn is_any_spinning(&self) -> bool {
        self.companions.iter().any(|companion| companion.is_spinning)
    }

    /// Returns true if the calling thread runs a callback of a companion, which cannot end before the call returns.
    pub(super) fn is_here(&self) -> bool {
        self.companions.iter().any(|companion| companion.executor.handle().shared().threads.is_here())
    }

    /// Notes that the companion's spin has ended. It spins again if a round has begun meanwhile.
    fn end(&mut self, id: u64) {
        let round = self.round;
        if let Some(companion) = self.companion(id) {
            companion.is_spinning = companion.round != round;
            companion.round = round;
        }
    }

    /// Keeps the failure of a companion's spin; returns true if it did not fail.
    fn note(&mut self, spun: thread::Result<Result<SpinEnd, SpinError>>) -> bool {
        match spun {
            // The timeout of the leader's spin passed.
            Ok(Ok(_) | Err(SpinError::Timeout)) => return true,
            Ok(Err(error)) => self.fail(error),
            Err(panic) => {
                self.panic.0.get_or_insert(panic);
                self.leaders.iter().for_each(ExecutorHandle::halt);
            }
        }
        false
    }

    /// Ends the leaders' spins after a companion failed. They return the error.
    fn fail(&mut self, error: SpinError) {
        self.failure.get_or_insert(error);
        self.leaders.iter().for_each(ExecutorHandle::halt);
    }
}

impl Companion {
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.executor.handle().name() == name
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panic").field(&self.0.is_some()).finish()
    }
}

/// Returns a copy of the failure, for a leader whose spin ended. If the leader has left the round altogether
/// (`is_over`), takes back the halt that ended its spin, so that its next spin does not end for the same failure.
pub(super) fn tell(failure: &SpinError, leader: &ExecutorHandle, is_over: bool) -> SpinError {
    if is_over {
        leader.shared().halt.store(false, Ordering::Release);
    }
    copy(failure)
}

/// Copies the error, for every leader to return.
pub(super) fn copy(error: &SpinError) -> SpinError {
    let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
    match error {
        SpinError::AlreadySpinning { executor } => SpinError::AlreadySpinning { executor: executor.clone() },
        SpinError::Panicked(incident) => SpinError::Panicked(incident.clone()),
        SpinError::Shortfall(report) => SpinError::Shortfall(report.clone()),
        SpinError::Thread(error) => SpinError::Thread(copy(error)),
        SpinError::Runtime(error) => SpinError::Runtime(copy(error)),
        // A companion's spin has no end of its own and no deployment, so it does not fail with these.
        SpinError::Halted | SpinError::Timeout | SpinError::Deployment(_) => SpinError::Halted,
    }
}
