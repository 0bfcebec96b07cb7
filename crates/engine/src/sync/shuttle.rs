//! Shuttle's locks and threads, with the same interface as the operating system's.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) use shuttle::sync::atomic;
pub(crate) use shuttle::sync::{Condvar, Mutex as PlainMutex, MutexGuard as PlainMutexGuard};
pub(crate) use shuttle::thread;
pub(crate) use shuttle::thread_local;

/// A mutex that is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// The guard of a [`Mutex`].
pub type MutexGuard<'a, T> = shuttle::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// Creates a mutex.
    pub const fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    /// Waits for the mutex and locks it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the mutex if it is free.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Lets another thread go on.
pub(crate) fn back_off(_looks: u32) {
    thread::yield_now();
}

/// A measurement of real time, of which a microsecond passes with each look: so the program alone decides how long
/// something takes.
pub(crate) struct Stopwatch(Cell<u64>);

impl Stopwatch {
    pub(crate) const fn now() -> Self {
        Self(Cell::new(0))
    }

    pub(crate) fn elapsed(&self) -> Duration {
        let looks = self.0.get();
        self.0.set(looks + 1);
        Duration::from_micros(looks)
    }
}

/// Starts a thread within a scope.
///
/// In shuttle's scopes, the last thread to end unblocks the thread that opened the scope, even if that one waits for
/// something else; and a scope does not wait for its threads after a panic. So a thread here ends only when it is
/// joined, and is joined at the latest when its handle is dropped.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    _name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<Scoped<'scope, T>> {
    let end = Arc::<End>::default();
    let may_end = Arc::clone(&end);
    let handle = scope.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(body));
        shuttle::future::block_on(std::future::poll_fn(|cx| may_end.poll(cx)));
        result
    });
    Ok(Scoped { handle: Some(handle), end })
}

/// A thread of a scope.
pub(crate) struct Scoped<'scope, T> {
    /// Handle of the thread; `None` once the thread was joined.
    handle: Option<thread::ScopedJoinHandle<'scope, thread::Result<T>>>,
    end: Arc<End>,
}

impl<T> Scoped<'_, T> {
    pub(crate) fn join(mut self) -> thread::Result<T> {
        self.wait().unwrap_or_else(|| unreachable!("it is joined once"))
    }

    fn wait(&mut self) -> Option<thread::Result<T>> {
        let handle = self.handle.take()?;
        self.end.allow();
        Some(handle.join().and_then(|result| result))
    }
}

impl<T> Drop for Scoped<'_, T> {
    fn drop(&mut self) {
        drop(self.wait());
    }
}

/// Signal that tells a thread that it may end. The lock is the standard library's, so the model makes no step under it.
#[derive(Default)]
struct End(std::sync::Mutex<(bool, Option<Waker>)>);

impl End {
    fn allow(&self) {
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        end.0 = true;
        let waker = end.1.take();
        drop(end);
        waker.iter().for_each(Waker::wake_by_ref);
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut end = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if end.0 {
            return Poll::Ready(());
        }
        end.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// Starts a thread of that name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    thread::Builder::new().name(name.to_owned()).spawn(body)
}
