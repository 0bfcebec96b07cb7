//! Executors that only a deployment file knows. They spin, on threads of their own, while one of the program's executors
//! does, so that a program whose groups are moved to them need not be changed.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use crate::executor::{Executor, ExecutorHandle, SpinError, SpinOptions};

/// The companions of a program's executors, which own them.
#[derive(Debug, Default)]
pub(crate) struct Companions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    executors: Vec<Arc<Executor>>,
    /// The program's executors that spin.
    leaders: Vec<ExecutorHandle>,
    threads: Vec<JoinHandle<()>>,
    /// Why a companion ended before its leaders.
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

    /// Has all companions spin for as long as `leader` does.
    pub(crate) fn spin_along(self: &Arc<Self>, leader: &ExecutorHandle) -> Along {
        let mut state = self.lock();
        state.leaders.push(leader.clone());
        if state.leaders.len() == 1 {
            for executor in state.executors.clone() {
                self.start(&mut state, &executor);
            }
        }
        Along { companions: Arc::clone(self), leader: Some(leader.clone()) }
    }

    fn start(self: &Arc<Self>, state: &mut State, executor: &Arc<Executor>) {
        let name = executor.handle().name().to_owned();
        let (companions, executor) = (Arc::clone(self), Arc::clone(executor));
        let spin = move || {
            if let Err(error) = executor.spin_alone(SpinOptions::new()) {
                companions.fail(error);
            }
        };
        match Builder::new().name(name).spawn(spin) {
            Ok(thread) => state.threads.push(thread),
            Err(error) => fail(state, SpinError::Thread(error)),
        }
    }

    fn fail(&self, error: SpinError) {
        fail(&mut self.lock(), error);
    }

    /// A leader does not spin any more; the last one ends them all.
    fn leave(&self, leader: &ExecutorHandle) -> Result<(), SpinError> {
        let (executors, threads) = {
            let mut state = self.lock();
            let number = state.leaders.iter().position(|other| Arc::ptr_eq(&other.shared, &leader.shared));
            if let Some(number) = number {
                state.leaders.swap_remove(number);
            }
            if !state.leaders.is_empty() {
                return Ok(());
            }
            (state.executors.clone(), std::mem::take(&mut state.threads))
        };
        executors.iter().for_each(|executor| executor.halt());
        for thread in threads {
            // A panic of the engine itself: let it through, but no second one.
            if let Err(panic) = thread.join()
                && !std::thread::panicking()
            {
                std::panic::resume_unwind(panic);
            }
        }
        for executor in executors {
            // One that had ended by itself has not seen it.
            executor.handle().shared.halt.store(false, Ordering::Release);
        }
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Lists are whole between any two operations.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A failed companion ends its leaders' spins, which return the error.
fn fail(state: &mut State, error: SpinError) {
    state.failure.get_or_insert(error);
    state.leaders.iter().for_each(ExecutorHandle::halt);
}

/// A leader spins, and its companions with it, until this is dropped.
#[derive(Debug)]
pub(crate) struct Along {
    companions: Arc<Companions>,
    /// Until it has left.
    leader: Option<ExecutorHandle>,
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
        self.leader.take().map_or(Ok(()), |leader| self.companions.leave(&leader))
    }
}

impl Drop for Along {
    fn drop(&mut self) {
        // Unwinding: whatever went wrong here comes second.
        let _ = self.leave();
    }
}
