//! Guard conditions of our own: they end a wait at once.

use std::any::Any;
use std::future::{Future, ready};
use std::pin::Pin;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rclrs::{
    Context, ExecutorChannel, ExecutorRuntime, ExecutorWorkerOptions, GuardCondition, InnerGuardConditionHandle,
    PayloadTask, RclPrimitive, RclPrimitiveHandle, RclPrimitiveKind, RclReturnCode, RclrsError, ReadyKind,
    SpinConditions, WaitSet, Waitable, WaitableLifecycle, WeakActivityListener, WorkerChannel,
};

/// A guard condition of which any number of waitables can be had.
pub(super) struct Guard {
    owned: Arc<GuardCondition>,
    /// The handle of rcl, which lives as long as `owned`.
    raw: *const (),
}

// SAFETY: the pointer is only passed to rcl's wait, and rcl's guard conditions may be waited for and triggered by any
// thread.
unsafe impl Send for Guard {}
// SAFETY: as above.
unsafe impl Sync for Guard {}

impl Guard {
    /// Creates a guard condition.
    ///
    /// # Errors
    /// If rcl cannot.
    pub(super) fn new(context: &Context) -> Result<Arc<Self>, RclrsError> {
        let maker = Maker::default();
        // rclrs creates guard conditions only for the workers of executors.
        drop(context.create_executor(maker.clone()));
        let made = maker.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((owned, Some(waitable))) = made else { return Err(failed()) };
        let mut set = WaitSet::new(context)?;
        set.add([waitable])?;
        owned.trigger()?;
        let mut raw: *const () = ptr::null();
        set.wait(Some(Duration::ZERO), |_, primitive| {
            if let RclPrimitiveHandle::GuardCondition(handle) = primitive.handle() {
                handle.use_handle(|handle| raw = ptr::from_ref(handle).cast());
            }
            Ok(())
        })?;
        if raw.is_null() { Err(failed()) } else { Ok(Arc::new(Self { owned, raw })) }
    }

    /// Ends the wait of the wait set that the guard condition is in, or the next one.
    pub(super) fn trigger(&self) {
        // Fails only for guard conditions that rcl owns.
        let _ = self.owned.trigger();
    }

    /// Returns a waitable for a wait set, which has it until the lifecycle is dropped.
    pub(super) fn waitable(self: &Arc<Self>) -> (Waitable, WaitableLifecycle) {
        let handle = InnerGuardConditionHandle::Unowned { handle: self.raw.cast(), owner: Box::new(()) };
        Waitable::new(Box::new(Probe { handle: Mutex::new(handle), _guard: Arc::clone(self) }), None)
    }
}

/// The primitive of a guard condition, which does nothing.
struct Probe {
    handle: Mutex<InnerGuardConditionHandle>,
    /// Keeps the handle valid.
    _guard: Arc<Guard>,
}

impl RclPrimitive for Probe {
    unsafe fn execute(&mut self, _: ReadyKind, _: &mut dyn Any) -> Result<(), RclrsError> {
        Ok(())
    }

    fn kind(&self) -> RclPrimitiveKind {
        RclPrimitiveKind::GuardCondition
    }

    fn handle(&self) -> RclPrimitiveHandle<'_> {
        RclPrimitiveHandle::GuardCondition(self.handle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The things that an executor is given for its first worker: a guard condition, and its waitable a moment later.
type Made = Option<(Arc<GuardCondition>, Option<Waitable>)>;

/// The runtime of an executor that is never spun, and that keeps the guard condition of its first worker.
#[derive(Clone, Default)]
struct Maker(Arc<Mutex<Made>>);

impl ExecutorRuntime for Maker {
    fn channel(&self) -> Arc<dyn ExecutorChannel> {
        Arc::new(self.clone())
    }

    fn spin(&mut self, _: SpinConditions) -> Vec<RclrsError> {
        Vec::new()
    }

    fn spin_async(
        self: Box<Self>,
        _: SpinConditions,
    ) -> Pin<Box<dyn Future<Output = (Box<dyn ExecutorRuntime>, Vec<RclrsError>)> + Send>> {
        Box::pin(ready((self as Box<dyn ExecutorRuntime>, Vec::new())))
    }
}

impl ExecutorChannel for Maker {
    fn create_worker(&self, options: ExecutorWorkerOptions) -> Arc<dyn WorkerChannel> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((options.guard_condition, None));
        Arc::new(self.clone())
    }

    fn wake_all_wait_sets(&self) {}
}

impl WorkerChannel for Maker {
    fn add_to_wait_set(&self, waitable: Waitable) {
        if let Some((_, slot)) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            *slot = Some(waitable);
        }
    }

    fn add_async_task(&self, _: Pin<Box<dyn Future<Output = ()> + Send>>) {}
    fn send_payload_task(&self, _: PayloadTask) {}
    fn add_activity_listener(&self, _: WeakActivityListener) {}
}

/// An error without a message: rclrs has no other that an executor may create.
pub(super) const fn failed() -> RclrsError {
    RclrsError::RclError { code: RclReturnCode::Error, msg: None }
}
