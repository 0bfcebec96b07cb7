//! One executor, without the [companions](crate::companions) that a deployment file may add to it; and the halt of all
//! executors of a context.

use std::fmt;
use std::sync::{Arc, Weak};

use rospin_core::{Instant, Scheduler};

use crate::companions::Companions;
use crate::context::Context;
use crate::executor_core::ExecutorCore;
use crate::executor_handle::ExecutorHandle;
use crate::executor_options::{ExecutorOptions, SpinOptions};
use crate::main_future::MainFuture;
use crate::os::ThreadSetup;
use crate::recorder::Recorded;
use crate::shared::Shared;
use crate::spin_call::Spin;
use crate::spin_end::{SpinEnd, SpinError};
use crate::state::State;
use crate::sync::Mutex;
use crate::time_source::TimeListener;

/// An executor that spins alone. Dropping it ends the executor, with all callbacks and payloads.
pub(crate) struct Solo {
    handle: ExecutorHandle,
    /// Keeps the list of the program's executors alive, if it has this executor.
    all: Option<Arc<All>>,
}

/// All executors that the program has created in a context, to be halted together. Companions are not among them: they
/// end with those, and take back a halt of their own only in a round.
#[derive(Default)]
struct All(Mutex<Vec<Weak<Shared>>>);

impl Context {
    /// Halts all executors of the context, as [`ExecutorHandle::halt`] does; those that only a deployment file names
    /// end their spins with them. A program calls it when it should end.
    ///
    /// May be called from any thread and from callbacks. Locks for a moment, and allocates.
    pub fn halt_all(&self) {
        let all = self.shared::<All>();
        let executors: Vec<_> = all.0.lock().iter().filter_map(Weak::upgrade).collect();
        for executor in &executors {
            executor.halt();
        }
        if self.deployed().is_some() {
            // After the program's executors: one that leaves the companions looks if it was halted.
            self.shared::<Companions>().halt_rest();
        }
    }
}

impl Solo {
    pub(crate) fn new(options: ExecutorOptions, context: &Context) -> Self {
        let ExecutorOptions { name, policy, threads, thread, busy_poll, trace } = options;
        let mut scheduler = Scheduler::new(policy);
        scheduler.set_trace(trace);
        let thread = (ThreadSetup::new(thread), threads > 1);
        let time = (context.clock().clone(), context.scribe().clone());
        let shared = Arc::new(Shared::new(name, time, context.reporters(), thread, busy_poll));
        let listener: Arc<dyn TimeListener> = Arc::<Shared>::clone(&shared);
        context.clock().add_listener(&Arc::downgrade(&listener));
        let core = Arc::new(ExecutorCore::new(shared, State::new(scheduler), threads));
        let recorded: Arc<dyn Recorded> = Arc::<ExecutorCore>::clone(&core);
        let recorder = context.recorder();
        recorder.enter(Arc::downgrade(&recorded));
        if recorder.is_on() {
            recorded.recorder_switched();
        }
        Self { handle: ExecutorHandle { core, context: context.clone(), threads }, all: None }
    }

    /// Makes it one of the executors that [`Context::halt_all`] halts.
    pub(crate) fn enter_all(&mut self) {
        let all = self.handle.context.shared::<All>();
        let mut executors = all.0.lock();
        executors.retain(|executor| executor.strong_count() > 0);
        executors.push(Arc::downgrade(&self.handle.core.shared));
        drop(executors);
        self.all = Some(all);
    }

    pub(crate) const fn handle(&self) -> &ExecutorHandle {
        &self.handle
    }

    /// Spins until the options say to stop, see [`Executor::spin`](crate::Executor::spin).
    pub(crate) fn spin(&self, options: SpinOptions) -> Result<SpinEnd, SpinError> {
        self.prepare(options).run(None)
    }

    /// Spins until `main` is done, see [`Executor::spin_until`](crate::Executor::spin_until).
    pub(crate) fn spin_with(&self, options: SpinOptions, main: MainFuture<'_>) -> Result<SpinEnd, SpinError> {
        self.prepare(options).run(Some(main))
    }

    /// Returns the next due time of timers and sleepers, see [`Executor::next_due`](crate::Executor::next_due).
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let core = &self.handle.core;
        core.lock_state().next_due(&core.shared)
    }

    fn prepare(&self, options: SpinOptions) -> Spin<'_> {
        let ExecutorHandle { core, context, threads } = &self.handle;
        let mut spin = Spin::new(core, context.runtime(), *threads);
        spin.until = options.until;
        spin.deadline = options.timeout.map(|timeout| core.shared.now() + timeout);
        spin
    }
}

impl fmt::Debug for Solo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solo").field("handle", &self.handle).finish_non_exhaustive()
    }
}

impl Drop for Solo {
    fn drop(&mut self) {
        self.handle.core.close();
    }
}
