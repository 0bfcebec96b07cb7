//! The executors of a container and their threads. Components may bring executors while the container runs.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rospin_engine::{Context, Executor, ExecutorHandle, ExecutorOptions, SpinOptions};

use crate::ending::{Ended, Ending};
use crate::error::RunError;

/// The executors of a container.
pub(crate) struct Executors {
    context: Context,
    ending: Arc<Ending>,
    /// The executors; the first one is the container's own.
    all: Mutex<Vec<Spun>>,
}

/// An executor, and who uses it.
struct Spun {
    executor: Arc<Executor>,
    /// Number of components on the executor; the container counts as one on its own.
    users: usize,
    has_thread: bool,
    is_released: Arc<AtomicBool>,
}

impl Spun {
    fn name(&self) -> String {
        self.executor.handle().name().to_owned()
    }
}

impl Executors {
    /// Returns the executors of a container with only its own, which has that name.
    pub(crate) fn new(context: &Context, own: &str, ending: &Arc<Ending>) -> Self {
        let executors = Self { context: context.clone(), ending: Arc::clone(ending), all: Mutex::default() };
        executors.take(own);
        executors
    }

    /// Returns the container's own executor.
    pub(crate) fn own(&self) -> ExecutorHandle {
        self.lock()[0].executor.handle()
    }

    /// Returns the executor of that name for one more component, and creates it on first use. If the container runs,
    /// the executor gets its thread soon.
    pub(crate) fn take(&self, name: &str) -> ExecutorHandle {
        let mut all = self.lock();
        if let Some(known) = all.iter_mut().find(|spun| spun.executor.handle().name() == name) {
            known.users += 1;
            return known.executor.handle();
        }
        let executor = Arc::new(self.context.create_executor(ExecutorOptions::new(name)));
        let handle = executor.handle();
        all.push(Spun { executor, users: 1, has_thread: false, is_released: Arc::default() });
        drop(all);
        self.ending.tell();
        handle
    }

    /// Takes note that a component no longer uses the executor. One that nobody uses ends, and is dropped on its
    /// thread.
    pub(crate) fn release(&self, name: &str) {
        let mut all = self.lock();
        let Some(place) = all.iter().position(|spun| spun.executor.handle().name() == name) else { return };
        all[place].users -= 1;
        if all[place].users > 0 {
            return;
        }
        let spun = all.remove(place);
        drop(all);
        spun.is_released.store(true, Ordering::Release);
        spun.executor.halt();
    }

    /// Returns the names of all executors.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().iter().map(Spun::name).collect()
    }

    /// Spins each executor on a thread of its own until the container must end. The threads inherit the scheduling of
    /// the calling thread, also those of executors that come later, and not that of the callback that brings these.
    pub(crate) fn run(&self) -> Result<Ended, RunError> {
        thread::scope(|scope| {
            loop {
                for (name, spin) in self.without_threads() {
                    let thread = thread::Builder::new().name(name.replace('\0', ""));
                    if let Err(reason) = thread.spawn_scoped(scope, spin) {
                        self.ending.set(Err(RunError::Thread { executor: name, reason }));
                        break;
                    }
                }
                if let Some(ended) = self.ending.wait() {
                    for spun in self.lock().iter() {
                        spun.executor.halt();
                    }
                    return ended;
                }
            }
        })
    }

    /// Returns the names of the executors that have no thread yet, each with the body of its thread.
    fn without_threads(&self) -> Vec<(String, impl FnOnce() + Send + use<>)> {
        let mut bodies = Vec::new();
        for spun in self.lock().iter_mut().filter(|spun| !spun.has_thread) {
            spun.has_thread = true;
            let executor = Arc::clone(&spun.executor);
            let ending = Arc::clone(&self.ending);
            let name = spun.name();
            let is_released = Arc::clone(&spun.is_released);
            bodies.push((spun.name(), move || spin(&executor, name, &ending, &is_released)));
        }
        bodies
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spun>> {
        // The list is changed at once, so a panic leaves nothing half changed.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Spins the executor, and ends the container when that ends, unless the executor was released.
fn spin(executor: &Executor, name: String, ending: &Ending, is_released: &AtomicBool) {
    match catch_unwind(AssertUnwindSafe(|| executor.spin(SpinOptions::new()))) {
        Ok(Ok(_)) if is_released.load(Ordering::Acquire) => {}
        Ok(Ok(_)) => ending.set(Ok(Ended::Halted { executor: name })),
        Ok(Err(reason)) => ending.set(Err(RunError::Spin { executor: name, reason: Box::new(reason) })),
        // A panic outside of callbacks is a bug of the engine. End the container, so that no thread waits for this one,
        // and pass the panic on.
        Err(panic) => {
            ending.set(Ok(Ended::Halted { executor: name }));
            resume_unwind(panic)
        }
    }
}
