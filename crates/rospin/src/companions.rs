//! Executors that only a deployment file knows. They spin, on threads of their own, while one of the program's executors
//! does, so that a program whose groups are moved to them need not be changed.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rospin_core::Instant;

use crate::executor::{Executor, ExecutorHandle, SpinError};
use crate::executor_options::SpinOptions;
use crate::os::{CoreSet, ThreadOptions, named};
use crate::ros_time::RunsCallbacks;
use crate::spin::Until;

/// The companions of a program's executors, which own them.
#[derive(Debug, Default)]
pub(crate) struct Companions {
    state: Mutex<State>,
    /// The companions that the last leader ended have ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    executors: Vec<Arc<Executor>>,
    /// The program's executors that spin.
    leaders: Vec<ExecutorHandle>,
    threads: Vec<JoinHandle<()>>,
    /// Those of the first leader, before its spin began.
    cores: Option<CoreSet>,
    /// What companions do once they are halted, if the last leader's spin was a short one: what is ready.
    rest: Option<SpinOptions>,
    /// Between the leaving of the last leader and the end of the companions' spins.
    is_ending: bool,
    /// Why a companion ended before its leaders, until the last of them has left.
    failure: Option<SpinError>,
}

impl Companions {
    /// The companion called `name`, which `create` makes if there is none.
    pub(crate) fn get(self: &Arc<Self>, name: &str, create: impl FnOnce() -> Executor) -> ExecutorHandle {
        let mut state = self.lock();
        if let Some(executor) = state.executors.iter().find(|executor| executor.handle().name() == name) {
            return executor.handle();
        }
        let executor = Arc::new(create());
        state.executors.push(Arc::clone(&executor));
        if !state.leaders.is_empty() {
            self.start(&mut state, &executor);
        }
        executor.handle()
    }

    /// Gives up the companion called `name`, if it does not spin: the program has an executor of that name after all.
    pub(crate) fn adopt(&self, name: &str) -> Option<Executor> {
        let mut state = self.lock();
        let number = state.executors.iter().position(|executor| executor.handle().name() == name)?;
        let executor = state.executors.swap_remove(number);
        match Arc::try_unwrap(executor) {
            Ok(executor) => Some(executor),
            Err(spinning) => {
                state.executors.push(spinning);
                None
            }
        }
    }

    /// Has all companions spin for as long as `leader` does. Waits for the end of their last spin.
    ///
    /// # Errors
    /// Why a companion has failed that the other leaders still have to stop for; or that it spins still and this is a
    /// callback, for which that spin may be waiting.
    pub(crate) fn spin_along(
        self: &Arc<Self>,
        leader: &ExecutorHandle,
        options: SpinOptions,
    ) -> Result<Along, SpinError> {
        let mut state = self.lock();
        while state.is_ending {
            if RunsCallbacks::is_here() {
                let executor =
                    state.executors.first().map(|executor| executor.handle().name().to_owned()).unwrap_or_default();
                return Err(SpinError::AlreadySpinning { executor });
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(failure) = &state.failure {
            return Err(copy(failure));
        }
        state.leaders.push(leader.clone());
        if state.leaders.len() == 1 {
            state.cores = CoreSet::of_current_thread().ok();
            for executor in state.executors.clone() {
                self.start(&mut state, &executor);
            }
        }
        let deadline = options.timeout.map(|timeout| leader.shared.now() + timeout);
        let rest = (options.until != Until::Halted).then_some(deadline);
        Ok(Along { companions: Arc::clone(self), leader: Some(leader.clone()), rest })
    }

    fn start(self: &Arc<Self>, state: &mut State, executor: &Arc<Executor>) {
        let name = executor.handle().name().to_owned();
        let (companions, executor) = (Arc::clone(self), Arc::clone(executor));
        let cores = state.cores.clone();
        let spin = move || {
            // A callback that starts it would leave it the cores of its own executor.
            if let Some(cores) = cores {
                let _ = ThreadOptions::new().cores(cores).apply();
            }
            let spun = executor.spin_alone(SpinOptions::new());
            let rest = companions.lock().rest;
            let spun = match (spun, rest) {
                // Beside short spins it might never get to anything.
                (Ok(_), Some(options)) => executor.spin_alone(options),
                (spun, _) => spun,
            };
            match spun {
                // The leader's time is over.
                Ok(_) | Err(SpinError::Timeout) => {}
                Err(error) => companions.fail(error),
            }
        };
        match named(&name).spawn(spin) {
            Ok(thread) => state.threads.push(thread),
            Err(error) => fail(state, SpinError::Thread(error)),
        }
    }

    fn fail(&self, error: SpinError) {
        fail(&mut self.lock(), error);
    }

    /// A leader does not spin any more; the last one ends them all.
    fn leave(&self, leader: &ExecutorHandle, rest: Option<SpinOptions>) -> Result<(), SpinError> {
        let (executors, threads) = {
            let mut state = self.lock();
            let is_leader = |other: &ExecutorHandle| Arc::ptr_eq(&other.shared, &leader.shared);
            if let Some(number) = state.leaders.iter().position(is_leader) {
                state.leaders.swap_remove(number);
            }
            if !state.leaders.is_empty() {
                let is_over = !state.leaders.iter().any(is_leader);
                return state.failure.as_ref().map_or(Ok(()), |failure| Err(tell(failure, leader, is_over)));
            }
            state.is_ending = true;
            state.rest = rest;
            (state.executors.clone(), std::mem::take(&mut state.threads))
        };
        executors.iter().for_each(|executor| executor.halt());
        // All of them, whatever became of one.
        let panics: Vec<_> = threads.into_iter().filter_map(|thread| thread.join().err()).collect();
        for executor in executors {
            // One that had ended by itself has not seen it.
            executor.handle().shared.halt.store(false, Ordering::Release);
        }
        let failure = {
            let mut state = self.lock();
            state.is_ending = false;
            self.ended.notify_all();
            state.failure.take()
        };
        // A panic of the engine itself: let it through, but no second one.
        if let Some(panic) = panics.into_iter().next()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
        failure.map_or(Ok(()), |failure| Err(tell(&failure, leader, true)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Lists are whole between any two operations.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed companion ends its leaders' spins, which return the error.
fn fail(state: &mut State, error: SpinError) {
    state.failure.get_or_insert(error);
    state.leaders.iter().for_each(ExecutorHandle::halt);
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
