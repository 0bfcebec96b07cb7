//! Executors that only a deployment file names. They spin on threads of their own while one of the program's executors
//! spins, so that a program whose groups are moved to them need not be changed.
//!
//! A leader is an executor of the program that spins. A round begins with the first leader and is over when the last
//! one has left. Each companion has a thread, which waits for a round, spins until it is over, and waits for the next
//! one: a program may spin once in a loop. The threads end with the program's last executor.
//!
//! A companion's own thread says that its spin has ended, under the lock. The thread that ends a round waits for that,
//! unless it runs a callback of a companion: that companion's spin can only end after the callback.

mod along;
mod round;

pub(crate) use along::Along;
use round::{Common, Companion, State, copy, tell};

use crate::sync::Mutex;
use std::panic::resume_unwind;
use std::sync::{Arc, Weak};

use crate::context::Context;
use crate::executor_core::ExecutorCore;
use crate::executor_handle::ExecutorHandle;
use crate::executor_options::{ExecutorOptions, SpinOptions};
use crate::os::ThreadId;
use crate::solo::Solo;
use crate::spin_end::SpinError;
use crate::sync::atomic::Ordering;

/// The program's executors, and the companions that they own.
#[derive(Debug, Default)]
pub(crate) struct Companions {
    common: Arc<Common>,
    /// The program's executors, with the number of their threads.
    program: Mutex<Vec<(Weak<ExecutorCore>, u16)>>,
}

impl Companions {
    // ---- executors ----

    /// Returns the executor that the deployment file puts the group on. That is one of the program's, or a companion,
    /// which is created if it does not exist yet. Returns `None` if the file names no executor for the group, or if it
    /// names a companion and all executors of the program were dropped.
    pub(crate) fn executor_for(context: &Context, node: &str, group: &str) -> Option<ExecutorHandle> {
        let deployed = context.deployed()?;
        let name = deployed.executor_of(node, group)?;
        let companions = context.shared::<Self>();
        let program = companions.programs_executors();
        if let Some((core, threads)) = program.iter().find(|(core, _)| core.shared.name == name) {
            return Some(ExecutorHandle { core: Arc::clone(core), context: context.clone(), threads: *threads });
        }
        if program.iter().all(|(core, _)| core.is_closed()) {
            // No executor of the program is left that could own a companion.
            return None;
        }
        Some(companions.get(&name, || Solo::new(deployed.adjust(ExecutorOptions::new(&name)), context)))
    }

    /// Adds an executor that the program has created.
    pub(crate) fn enter(&self, executor: &ExecutorHandle) {
        let mut program = self.program.lock();
        program.retain(|(core, _)| core.strong_count() > 0);
        program.push((Arc::downgrade(&executor.core), executor.threads));
    }

    /// Returns the names of the program's executors.
    pub(crate) fn names_of_programs_executors(&self) -> Vec<String> {
        self.programs_executors().iter().map(|(core, _)| core.shared.name.clone()).collect()
    }

    fn programs_executors(&self) -> Vec<(Arc<ExecutorCore>, u16)> {
        let program = self.program.lock();
        program.iter().filter_map(|(core, threads)| Some((core.upgrade()?, *threads))).collect()
    }

    /// Returns the companion called `name`. If there is none, `create` makes it.
    fn get(&self, name: &str, create: impl FnOnce() -> Solo) -> ExecutorHandle {
        let mut state = self.common.lock();
        if let Some(companion) = state.companions.iter().find(|companion| companion.is_called(name)) {
            return companion.executor.handle().clone();
        }
        let executor = Arc::new(create());
        let handle = executor.handle().clone();
        state.created += 1;
        let id = state.created;
        state.companions.push(Companion { id, executor, round: 0, is_spinning: false, thread: None });
        if !state.leaders.is_empty() {
            self.common.begin(&mut state);
        }
        handle
    }

    /// Removes and returns the companion called `name`, which the program owns from then on. Returns `None` if no
    /// companion has that name, or if it spins.
    pub(crate) fn adopt(&self, name: &str) -> Option<Solo> {
        let mut state = self.common.lock();
        let is_it = |companion: &Companion| companion.is_called(name) && !companion.is_spinning;
        let number = state.companions.iter().position(is_it)?;
        let Companion { executor, thread, .. } = state.companions.swap_remove(number);
        self.common.notify(&state);
        drop(state);
        // The thread only waits for a round. It finds that its companion was removed, and ends.
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        Arc::into_inner(executor)
    }

    // ---- rounds ----

    /// Adds a leader and has all companions spin along. The first leader begins a new round, and waits until the last
    /// one has ended.
    ///
    /// A leader that is spun by a callback of a companion does not wait: the last round cannot end before that
    /// callback.
    ///
    /// # Errors
    /// The failure of a companion in this round, for which the other leaders still have to stop. Or the failure of a
    /// companion in the last round, if that round ended in a companion's callback and no leader has returned the
    /// failure.
    fn join(&self, leader: &ExecutorHandle) -> Result<(), SpinError> {
        let mut state = self.common.lock();
        let is_last_round_over = |state: &State| !state.is_any_spinning() && state.leaving == 0;
        while state.leaders.is_empty() && !is_last_round_over(&state) && !state.is_here() {
            state = self.common.wait(state);
        }
        if state.leaders.is_empty() {
            if state.leaving == 0 {
                // The last round ended in a companion's callback, which did not wait for it.
                let failure = state.failure.take();
                let panic = state.panic.0.take();
                if failure.is_some() || panic.is_some() {
                    drop(state);
                    return Err(panic.map_or(failure.unwrap_or(SpinError::Halted), |panic| resume_unwind(panic)));
                }
            }
            state.round += 1;
            state.first = Some(ThreadId::current());
            state.cores = None;
        } else if let Some(failure) = &state.failure {
            return Err(copy(failure));
        }
        if leader.shared().threads.has_cores() {
            // This thread gets the executor's cores next, so those that it has now are read before.
            state.read_cores();
        }
        state.leaders.push(leader.clone());
        self.common.begin(&mut state);
        Ok(())
    }

    /// Removes a leader. The last one ends the round. If its spin was a short one, `rest` is the spin in which each
    /// companion then runs what is ready.
    ///
    /// # Errors
    /// The failure of a companion in this round.
    fn leave(&self, leader: &ExecutorHandle, rest: Option<SpinOptions>) -> Result<(), SpinError> {
        let mut state = self.common.lock();
        let is_leader = |other: &ExecutorHandle| Arc::ptr_eq(&other.core, &leader.core);
        if let Some(number) = state.leaders.iter().position(is_leader) {
            state.leaders.swap_remove(number);
        }
        if !state.leaders.is_empty() {
            let is_over = !state.leaders.iter().any(is_leader);
            if state.panic.0.is_some() && is_over {
                leader.shared().halt.store(false, Ordering::Release);
            }
            return state.failure.as_ref().map_or(Ok(()), |failure| Err(tell(failure, leader, is_over)));
        }
        let round = state.round;
        // In a companion's callback, this thread does not wait for the companions. So they must not run anything more:
        // it would run after the leader's spin has returned. Nor after a halt, which may have come since the leader's
        // spin has ended.
        let is_halted = leader.shared().halt.load(Ordering::Acquire);
        state.rest = rest.filter(|_| !is_halted && !state.is_here());
        // Each companion takes its halt back under the lock, when it sees that the round is over.
        let spinning = state.companions.iter().filter(|companion| companion.is_spinning);
        for companion in spinning {
            companion.executor.handle().halt();
        }
        if !state.is_here() {
            state.leaving += 1;
            while state.companions.iter().any(|companion| companion.is_spinning && companion.round <= round) {
                state = self.common.wait(state);
            }
            state.leaving -= 1;
            self.common.notify(&state);
        }
        // A companion's callback may have begun another round meanwhile. Its leaders stop for the same failure, so the
        // last one of all takes it.
        let is_last = state.leaders.is_empty() && state.leaving == 0;
        let failure = if is_last { state.failure.take() } else { state.failure.as_ref().map(copy) };
        let panic = state.panic.0.take();
        drop(state);
        if panic.is_some() {
            leader.shared().halt.store(false, Ordering::Release);
        }
        // The engine itself panicked in a companion. The panic is passed on, unless this thread is panicking already.
        if let Some(panic) = panic.filter(|_| !std::thread::panicking()) {
            resume_unwind(panic);
        }
        failure.map_or(Ok(()), |failure| Err(tell(&failure, leader, true)))
    }

    /// Ends what companions run after a short round, which may go on for ever. The program's executors were halted
    /// before.
    pub(crate) fn halt_rest(&self) {
        let mut state = self.common.lock();
        if !state.leaders.is_empty() {
            // The last leader halts the companions when it leaves, and finds that it was halted itself.
            return;
        }
        state.rest = None;
        // As in `leave`, each companion takes its halt back under the lock.
        let spinning = state.companions.iter().filter(|companion| companion.is_spinning);
        for companion in spinning {
            companion.executor.handle().halt();
        }
    }
}

impl Drop for Companions {
    /// Ends the companions' threads.
    fn drop(&mut self) {
        if self.common.process.is_another() {
            // In a process that was forked off, the companions' threads do not exist. What they own is leaked.
            std::mem::forget(Arc::clone(&self.common));
            return;
        }
        let mut state = self.common.lock();
        let is_here = state.is_here();
        let companions = std::mem::take(&mut state.companions);
        self.common.notify(&state);
        drop(state);
        for Companion { executor, thread, .. } in companions {
            // In a companion's callback, the threads end by themselves once that callback is over.
            if let Some(thread) = thread.filter(|_| !is_here) {
                let _ = thread.join();
            }
            drop(executor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ContextOptions;
    use crate::os::CORE_READS;
    use rospin_scenario::Deployment;
    use round::NOTIFICATIONS;

    /// Returns how often this thread asked the kernel for cores and woke others while a program with that deployment
    /// spun a hundred times.
    fn calls_of_short_spins(deployment: &str) -> (u64, u64) {
        let deployment = Deployment::parse(deployment).unwrap();
        let context = Context::new(ContextOptions::new().deployment(deployment));
        let executors = ["main", "control"].map(|name| context.create_executor(ExecutorOptions::new(name)));
        let _group = executors[0].create_group("moved", ());
        let counts = || (CORE_READS.with(std::cell::Cell::get), NOTIFICATIONS.with(std::cell::Cell::get));
        let before = counts();
        for number in 0..100 {
            let _ = executors[number % 2].spin(SpinOptions::spin_all());
        }
        let after = counts();
        (after.0 - before.0, after.1 - before.1)
    }

    #[test]
    fn short_spins_of_a_program_without_companions_read_no_cores_and_wake_nobody() {
        let own = "executor = [{ name = 'main', policy = 'fixed-priority' }, { name = 'control' }]
                   group = [{ name = 'moved', executor = 'control' }]";
        assert_eq!(calls_of_short_spins(own), (0, 0));
        // A companion has the cores of the thread that spins.
        let moved = "executor = [{ name = 'other' }]\ngroup = [{ name = 'moved', executor = 'other' }]";
        assert_eq!(calls_of_short_spins(moved).0, 100);
    }
}
