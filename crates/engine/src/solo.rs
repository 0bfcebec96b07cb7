//! An executor without the executors that a deployment file adds to it.

use std::sync::Arc;

use rospin_core::Scheduler;

use crate::context::Context;
use crate::executor_core::ExecutorCore;
use crate::executor_handle::ExecutorHandle;
use crate::executor_options::{ExecutorOptions, SpinOptions};
use crate::main_future::MainFuture;
use crate::os::ThreadSetup;
use crate::shared::Shared;
use crate::spin::{Spin, SpinEnd, SpinError};
use crate::state::State;
use crate::time_source::TimeListener;

/// An executor that spins alone. Its drop ends it, with all callbacks and payloads.
#[derive(Debug)]
pub(crate) struct Solo {
    handle: ExecutorHandle,
}

impl Solo {
    pub(crate) fn new(options: ExecutorOptions, context: &Context) -> Self {
        let ExecutorOptions { name, policy, threads, thread, busy_poll, trace } = options;
        let mut scheduler = Scheduler::new(policy);
        scheduler.set_trace(trace);
        let thread = ThreadSetup::new(thread);
        let shared = Arc::new(Shared::new(name, context.clock().clone(), context.reporter(), thread, busy_poll));
        let listener: Arc<dyn TimeListener> = Arc::<Shared>::clone(&shared);
        context.clock().add_listener(&Arc::downgrade(&listener));
        let core = Arc::new(ExecutorCore::new(shared, State::new(scheduler)));
        Self { handle: ExecutorHandle { core, context: context.clone(), threads } }
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

    fn prepare(&self, options: SpinOptions) -> Spin<'_> {
        let ExecutorHandle { core, context, threads } = &self.handle;
        let mut spin = Spin::new(core, context.runtime(), *threads);
        spin.until = options.until;
        spin.deadline = options.timeout.map(|timeout| core.shared.now() + timeout);
        spin
    }
}

impl Drop for Solo {
    fn drop(&mut self) {
        self.handle.core.close();
    }
}
