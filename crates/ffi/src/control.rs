//! The part of an executor that callbacks need: they can end its spin, and have its condition checked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use rospin_engine::ExecutorHandle;

/// Part of an executor that its groups and their callbacks share. It does not keep the executor.
pub(crate) struct Control {
    pub(crate) handle: ExecutorHandle,
    /// The status with which a callback ends the spin.
    stop: Mutex<Option<i32>>,
    /// The waker of the spin's condition, while a spin has one.
    waker: Mutex<Option<Waker>>,
    has_waker: AtomicBool,
}

impl Control {
    pub(crate) fn new(handle: ExecutorHandle) -> Self {
        Self { handle, stop: Mutex::default(), waker: Mutex::default(), has_waker: AtomicBool::new(false) }
    }

    pub(crate) fn name(&self) -> &str {
        self.handle.name()
    }

    /// Deals with the status that a callback has returned: another one than zero ends the spin. If several callbacks
    /// end it, the first status counts.
    pub(crate) fn ran(&self, status: i32) {
        if status != 0 {
            lock(&self.stop).get_or_insert(status);
            self.handle.halt();
        }
        // The condition was set before this thread got to run callbacks, or this callback is not one of its spin.
        if self.has_waker.load(Ordering::Relaxed) {
            self.check();
        }
    }

    /// Takes the status with which a callback has ended the spin.
    pub(crate) fn take_stop(&self) -> Option<i32> {
        lock(&self.stop).take()
    }

    /// Has the spin's condition checked soon, if there is one.
    pub(crate) fn check(&self) {
        if let Some(waker) = lock(&self.waker).as_ref() {
            waker.wake_by_ref();
        }
    }

    /// Sets the waker of the spin's condition.
    pub(crate) fn watch(&self, waker: Option<Waker>) {
        self.has_waker.store(waker.is_some(), Ordering::Relaxed);
        *lock(&self.waker) = waker;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
