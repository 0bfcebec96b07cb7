//! The runtime that rclrs spins: an executor of the engine.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_channel::oneshot;
use rclrs::{
    Context, Executor, ExecutorChannel, ExecutorRuntime, RclReturnCode, RclrsError, SpinConditions, log_fatal,
};
use rospin_engine::{Mutex, SpinError};

use super::guard::failed;
use super::options::RospinOptions;
use super::registry::Registry;
use super::shared::Shared;
use super::worker::Channel;

/// Creates executors for rclrs nodes: the line of a program that changes.
pub trait CreateRospinExecutor {
    /// Creates an executor that runs callbacks on a rospin executor, in the order of their priorities.
    ///
    /// ```no_run
    /// use rclrs::*;
    /// use rospin_rclrs::{CreateRospinExecutor, RospinOptions};
    ///
    /// fn main() -> Result<(), RclrsError> {
    ///     let mut executor = Context::default_from_env()?.create_rospin_executor(RospinOptions::new());
    ///     let node = executor.create_node("listener")?;
    ///     executor.spin(SpinOptions::default()).first_error()
    /// }
    /// ```
    ///
    /// # Panics
    /// If rcl can create no wait set, for which rclrs's own executor panics, too: the context was shut down.
    fn create_rospin_executor(&self, options: RospinOptions) -> Executor;
}

impl CreateRospinExecutor for Context {
    fn create_rospin_executor(&self, options: RospinOptions) -> Executor {
        self.create_executor(RospinRuntime::new(self, options))
    }
}

/// The runtime behind an executor for rclrs nodes, for [`Context::create_executor`].
pub struct RospinRuntime {
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    executor: rospin_engine::Executor,
}

impl RospinRuntime {
    /// Creates a runtime for executors of that context.
    ///
    /// # Panics
    /// If rcl can create no wait set, for which rclrs's own executor panics, too: the context was shut down.
    #[must_use]
    pub fn new(context: &Context, options: RospinOptions) -> Self {
        let RospinOptions { context: engine, executor } = options;
        let executor = rospin_engine::Context::new(engine).create_executor(executor);
        let shared = Shared::new(context.clone(), executor.handle());
        let shared = shared.unwrap_or_else(|error| panic!("rcl cannot create a wait set: {error}"));
        Self { shared: Arc::new(shared), registry: Arc::default(), executor }
    }
}

impl ExecutorRuntime for RospinRuntime {
    fn channel(&self) -> Arc<dyn ExecutorChannel> {
        Arc::new(Channel {
            shared: Arc::clone(&self.shared),
            registry: Arc::downgrade(&self.registry),
            has_nodes: Mutex::new(false),
        })
    }

    fn spin(&mut self, conditions: SpinConditions) -> Vec<RclrsError> {
        let SpinConditions { mut options, halt_spinning, context, .. } = conditions;
        let (stop, only_next) = (&self.shared.stop, options.only_next_available_work);
        stop.begin(halt_spinning);
        let mut until = options.until_promise_resolved.take();
        let end = poll_fn(|cx| {
            stop.set_waker(cx.waker());
            let is_resolved = until.as_mut().is_some_and(|promise| Pin::new(promise).poll(cx).is_ready());
            if is_resolved || stop.is_reached(only_next) || !context.ok() { Poll::Ready(()) } else { Poll::Pending }
        });
        let mut spin =
            if only_next { rospin_engine::SpinOptions::spin_once() } else { rospin_engine::SpinOptions::new() };
        if let Some(timeout) = options.timeout {
            spin = spin.timeout(timeout.min(LONGEST));
        }
        let spun = self.executor.spin_until(end, spin);
        let mut errors = stop.end();
        match spun {
            // A spin for one callback ends before the future resolves.
            Ok(()) | Err(SpinError::Halted) => {}
            Err(SpinError::Timeout) => errors.push(RclrsError::RclError { code: RclReturnCode::Timeout, msg: None }),
            Err(error) => {
                log_fatal!("rospin", "the executor cannot spin: {error}");
                errors.push(failed());
            }
        }
        errors
    }

    fn spin_async(
        mut self: Box<Self>,
        conditions: SpinConditions,
    ) -> Pin<Box<dyn Future<Output = (Box<dyn ExecutorRuntime>, Vec<RclrsError>)> + Send>> {
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || {
            let errors = self.spin(conditions);
            // Nobody waits for the end of the spin if this fails.
            let _ = sender.send((self as Box<dyn ExecutorRuntime>, errors));
        });
        Box::pin(async move {
            match receiver.await {
                Ok(spun) => spun,
                Err(oneshot::Canceled) => panic!("the thread that spins panicked, and its executor is lost"),
            }
        })
    }
}

impl Drop for RospinRuntime {
    fn drop(&mut self) {
        self.registry.clear();
        self.shared.clear_queues();
    }
}

/// A timeout that can be added to the present time.
const LONGEST: Duration = Duration::from_secs(1 << 32);
