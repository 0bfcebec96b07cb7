//! Executors that only a deployment file knows. They spin, on threads of their own, while one of the program's executors
//! does, so that a program whose groups are moved to them need not be changed.
//!
//! A program's executor that spins is a leader. A round begins with the first leader and is over when the last one has left.
//! Each companion has a thread, which waits for a round, spins until that is over, and waits for the next one: a program may
//! spin once in a loop. The threads end with the program's last executor.
//!
//! Whether companions have come to an end is told by their own threads, under the lock. Whoever ends a round waits until they
//! have, but for a callback of a companion's: its own spin can only end after it.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, PoisonError};

use rospin_core::Instant;

use crate::executor::{Executor, ExecutorHandle, SpinEnd, SpinError};
use crate::executor_options::SpinOptions;
use crate::os::{CoreSet, Process, ThreadOptions};
use crate::spin::Until;
use crate::sync::atomic::Ordering;
use crate::sync::thread::JoinHandle;
use crate::sync::{Condvar, PlainMutex, PlainMutexGuard, spawn, thread};

/// The companions of a program's executors, which own them.
#[derive(Debug, Default)]
pub(crate) struct Companions(Arc<Common>);

/// What companions' threads share with leaders.
#[derive(Debug, Default)]
struct Common {
    process: Process,
    state: PlainMutex<State>,
    /// A round has begun, a companion has come to its end, or the threads are to end.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    companions: Vec<Companion>,
    /// How many companions there have been.
    created: u64,
    /// The program's executors that spin.
    leaders: Vec<ExecutorHandle>,
    /// Counts rounds.
    round: u64,
    /// The cores of this round's first leader, before its spin began.
    cores: Option<CoreSet>,
    /// What companions do once they are halted, if the last leader's spin was a short one: what is ready.
    rest: Option<SpinOptions>,
    /// The last leader leaves, and waits for the companions' end: what they fail with is for it, and not for who comes next.
    is_leaving: bool,
    /// Why a companion ended before its leaders, until the last of them has left.
    failure: Option<SpinError>,
    /// A panic of the engine itself on a companion's thread, until the last leader has left.
    panic: Panic,
}

/// What a thread panicked with.
#[derive(Default)]
struct Panic(Option<Box<dyn Any + Send>>);

/// An executor of the deployment file.
#[derive(Debug)]
struct Companion {
    id: u64,
    executor: Arc<Executor>,
    /// The last round that it was to spin in.
    round: u64,
    /// Whether its thread has not come to the end of that yet.
    is_spinning: bool,
    /// Started in its first round; owns the executor only while that spins.
    thread: Option<JoinHandle<()>>,
}

impl Companions {
    /// The companion called `name`, which `create` makes if there is none.
    pub(crate) fn get(&self, name: &str, create: impl FnOnce() -> Executor) -> ExecutorHandle {
        let mut state = self.0.lock();
        if let Some(companion) = state.companions.iter().find(|companion| companion.is_called(name)) {
            return companion.executor.handle();
        }
        let executor = Arc::new(create());
        let handle = executor.handle();
        state.created += 1;
        let id = state.created;
        state.companions.push(Companion { id, executor, round: 0, is_spinning: false, thread: None });
        if !state.leaders.is_empty() {
            self.0.begin(&mut state);
        }
        handle
    }

    /// Gives up the companion called `name`, if it does not spin: the program has an executor of that name after all.
    pub(crate) fn adopt(&self, name: &str) -> Option<Executor> {
        let mut state = self.0.lock();
        let is_it = |companion: &Companion| companion.is_called(name) && !companion.is_spinning;
        let number = state.companions.iter().position(is_it)?;
        let Companion { executor, thread, .. } = state.companions.swap_remove(number);
        self.0.changed.notify_all();
        drop(state);
        // It only waits, and finds that its companion is none any more.
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        Arc::into_inner(executor)
    }

    /// Has all companions spin for as long as `leader` does. Waits for the end of their last spin, but not in a callback of
    /// theirs.
    ///
    /// # Errors
    /// Why a companion has failed that the other leaders still have to stop for, or that nobody was told of.
    pub(crate) fn spin_along(
        self: &Arc<Self>,
        leader: &ExecutorHandle,
        options: SpinOptions,
    ) -> Result<Along, SpinError> {
        let mut state = self.0.lock();
        let is_last_round_over = |state: &State| !state.is_any_spinning() && !state.is_leaving;
        while state.leaders.is_empty() && !is_last_round_over(&state) && !state.is_here() {
            state = self.0.wait(state);
        }
        if state.leaders.is_empty() {
            if !state.is_leaving {
                // Of a round that ended in a companion's callback, which did not wait for it.
                let (failure, panic) = (state.failure.take(), state.panic.0.take());
                if failure.is_some() || panic.is_some() {
                    drop(state);
                    return Err(panic.map_or(failure.unwrap_or(SpinError::Halted), |panic| resume_unwind(panic)));
                }
            }
            state.round += 1;
            state.cores = CoreSet::of_current_thread().ok();
        } else if let Some(failure) = &state.failure {
            return Err(copy(failure));
        }
        state.leaders.push(leader.clone());
        self.0.begin(&mut state);
        drop(state);
        let deadline = options.timeout.map(|timeout| leader.shared.now() + timeout);
        let rest = (options.until != Until::Halted).then_some(deadline);
        Ok(Along { companions: Arc::clone(self), leader: Some(leader.clone()), rest })
    }

    /// A leader does not spin any more; the last one ends the round.
    fn leave(&self, leader: &ExecutorHandle, rest: Option<SpinOptions>) -> Result<(), SpinError> {
        let mut state = self.0.lock();
        let is_leader = |other: &ExecutorHandle| Arc::ptr_eq(&other.shared, &leader.shared);
        if let Some(number) = state.leaders.iter().position(is_leader) {
            state.leaders.swap_remove(number);
        }
        if !state.leaders.is_empty() {
            let is_over = !state.leaders.iter().any(is_leader);
            if state.panic.0.is_some() && is_over {
                leader.shared.halt.store(false, Ordering::Release);
            }
            return state.failure.as_ref().map_or(Ok(()), |failure| Err(tell(failure, leader, is_over)));
        }
        let round = state.round;
        // Where a callback of theirs ends the last spin, nobody waits for them: then nothing more may run.
        state.rest = rest.filter(|_| !state.is_here());
        // Each of them takes it back under the lock, when it sees that the round is over.
        let spinning = state.companions.iter().filter(|companion| companion.is_spinning);
        spinning.for_each(|companion| companion.executor.halt());
        if !state.is_here() {
            state.is_leaving = true;
            while state.companions.iter().any(|companion| companion.is_spinning && companion.round <= round) {
                state = self.0.wait(state);
            }
            state.is_leaving = false;
            self.0.changed.notify_all();
        }
        // A callback of a companion's may have begun a round meanwhile, whose leaders stop for the same failure.
        let failure = if state.leaders.is_empty() { state.failure.take() } else { state.failure.as_ref().map(copy) };
        let panic = state.panic.0.take();
        drop(state);
        if panic.is_some() {
            leader.shared.halt.store(false, Ordering::Release);
        }
        // A panic of the engine itself: let it through, but no second one.
        if let Some(panic) = panic.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
        failure.map_or(Ok(()), |failure| Err(tell(&failure, leader, true)))
    }
}

impl Drop for Companions {
    /// Ends the threads.
    fn drop(&mut self) {
        if self.0.process.is_another() {
            // Of a process that was forked off there is this thread only. The others keep what they have, for nobody.
            std::mem::forget(Arc::clone(&self.0));
            return;
        }
        let mut state = self.0.lock();
        let is_here = state.is_here();
        let companions = std::mem::take(&mut state.companions);
        drop(state);
        self.0.changed.notify_all();
        for Companion { executor, thread, .. } in companions {
            // In a callback of a companion's, they end by themselves once that is over.
            if let Some(thread) = thread.filter(|_| !is_here) {
                let _ = thread.join();
            }
            drop(executor);
        }
    }
}

impl Common {
    /// Has all companions spin that have not in this round.
    fn begin(self: &Arc<Self>, state: &mut State) {
        let round = state.round;
        let mut failure = None;
        for companion in state.companions.iter_mut().filter(|companion| companion.round < round) {
            if companion.thread.is_none() {
                let (common, id) = (Arc::clone(self), companion.id);
                match spawn(&companion.executor.handle().shared.name, move || common.run(id)) {
                    Ok(thread) => companion.thread = Some(thread),
                    Err(error) => failure = Some(SpinError::Thread(error)),
                }
            }
            if companion.thread.is_some() && !companion.is_spinning {
                companion.is_spinning = true;
                companion.round = round;
            }
        }
        if let Some(error) = failure {
            state.fail(error);
        }
        self.changed.notify_all();
    }

    /// The thread of the companion with that number.
    fn run(&self, id: u64) {
        let mut has: Option<CoreSet> = None;
        let mut state = self.lock();
        loop {
            let Some(companion) = state.companion(id) else { return };
            if !companion.is_spinning {
                state = self.wait(state);
                continue;
            }
            let (round, executor) = (companion.round, Arc::clone(&companion.executor));
            // A callback that started the thread would leave it the cores of its own executor.
            if state.cores.is_some() && has != state.cores {
                has.clone_from(&state.cores);
                drop(state);
                let _ = ThreadOptions::new().cores(has.clone().unwrap_or_default()).apply();
                state = self.lock();
            }
            state = self.spin(state, &executor, round);
            if state.companion(id).is_none() {
                // This is the last owner, and dropping runs user code.
                drop(state);
                return;
            }
            drop(executor);
            state.end(id);
            self.changed.notify_all();
        }
    }

    /// Spins until the round is over, and after a short one until nothing is ready.
    fn spin<'a>(
        &'a self,
        mut state: PlainMutexGuard<'a, State>,
        executor: &Executor,
        round: u64,
    ) -> PlainMutexGuard<'a, State> {
        let spin = |options| catch_unwind(AssertUnwindSafe(|| executor.spin_alone(options)));
        let mut is_well = true;
        // They may have left already.
        if !state.leaders.is_empty() {
            drop(state);
            let spun = spin(SpinOptions::new());
            state = self.lock();
            is_well = state.note(spun);
        }
        if state.leaders.is_empty() || state.round != round {
            // Asked for by the last leader, and perhaps not seen: the spin had ended by itself.
            executor.handle().shared.halt.store(false, Ordering::Release);
        }
        // Beside short spins it might never get to anything.
        if let Some(rest) = state.rest.filter(|_| is_well && state.leaders.is_empty()) {
            drop(state);
            let spun = spin(rest);
            state = self.lock();
            state.note(spun);
        }
        state
    }

    fn lock(&self) -> PlainMutexGuard<'_, State> {
        // Lists are whole between any two operations.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: PlainMutexGuard<'a, State>) -> PlainMutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn companion(&mut self, id: u64) -> Option<&mut Companion> {
        self.companions.iter_mut().find(|companion| companion.id == id)
    }

    fn is_any_spinning(&self) -> bool {
        self.companions.iter().any(|companion| companion.is_spinning)
    }

    /// Whether the calling thread is one of a companion's, in a callback, so that companion cannot end before this returns.
    fn is_here(&self) -> bool {
        self.companions.iter().any(|companion| companion.executor.handle().shared.threads.is_here())
    }

    /// The companion has come to the end of its spin, and goes on if a round has begun meanwhile.
    fn end(&mut self, id: u64) {
        let round = self.round;
        if let Some(companion) = self.companion(id) {
            companion.is_spinning = companion.round != round;
            companion.round = round;
        }
    }

    /// Keeps what a companion's spin failed with; says whether it did not.
    fn note(&mut self, spun: thread::Result<Result<SpinEnd, SpinError>>) -> bool {
        match spun {
            // The leader's time is over.
            Ok(Ok(_) | Err(SpinError::Timeout)) => return true,
            Ok(Err(error)) => self.fail(error),
            Err(panic) => {
                self.panic.0.get_or_insert(panic);
                self.leaders.iter().for_each(ExecutorHandle::halt);
            }
        }
        false
    }

    /// A failed companion ends its leaders' spins, which return the error.
    fn fail(&mut self, error: SpinError) {
        self.failure.get_or_insert(error);
        self.leaders.iter().for_each(ExecutorHandle::halt);
    }
}

impl Companion {
    fn is_called(&self, name: &str) -> bool {
        self.executor.handle().name() == name
    }
}

impl fmt::Debug for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Panic").field(&self.0.is_some()).finish()
    }
}

/// For a leader whose spin ended; its next one must not end for the same reason.
fn tell(failure: &SpinError, leader: &ExecutorHandle, is_over: bool) -> SpinError {
    if is_over {
        leader.shared.halt.store(false, Ordering::Release);
    }
    copy(failure)
}

/// Every leader returns the error.
fn copy(error: &SpinError) -> SpinError {
    let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
    match error {
        SpinError::AlreadySpinning { executor } => SpinError::AlreadySpinning { executor: executor.clone() },
        SpinError::Panicked(incident) => SpinError::Panicked(incident.clone()),
        SpinError::Shortfall(report) => SpinError::Shortfall(report.clone()),
        SpinError::Thread(error) => SpinError::Thread(copy(error)),
        SpinError::Runtime(error) => SpinError::Runtime(copy(error)),
        // Not of a spin without end, of an executor of its own.
        SpinError::Halted | SpinError::Timeout | SpinError::Deployment(_) => SpinError::Halted,
    }
}

/// A leader spins, and its companions with it, until this is dropped.
#[derive(Debug)]
pub(crate) struct Along {
    companions: Arc<Companions>,
    /// Until it has left.
    leader: Option<ExecutorHandle>,
    /// For a short spin: until when, if it is limited.
    rest: Option<Option<Instant>>,
}

impl Along {
    /// Ends the companions' spins if this is the last leader.
    ///
    /// # Errors
    /// Why one of them ended before.
    pub(crate) fn end(mut self) -> Result<(), SpinError> {
        self.leave()
    }

    fn leave(&mut self) -> Result<(), SpinError> {
        let Some(leader) = self.leader.take() else {
            return Ok(());
        };
        let rest = self.rest.map(|deadline| match deadline {
            Some(deadline) => SpinOptions::spin_all().timeout(deadline.saturating_since(leader.shared.now())),
            None => SpinOptions::spin_all(),
        });
        self.companions.leave(&leader, rest)
    }
}

impl Drop for Along {
    fn drop(&mut self) {
        // Unwinding: whatever went wrong here comes second.
        let _ = self.leave();
    }
}
