//! The operating system's locks and threads.

use std::io;

pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Condvar, Mutex as PlainMutex, MutexGuard as PlainMutexGuard};
pub(crate) use std::thread;
pub(crate) use std::thread_local;

use super::inheriting::Inheriting;

/// A mutex with priority inheritance: on Linux, the thread that holds it runs at least at the priority of the most urgent thread
/// that waits for it. So an urgent thread waits for the critical section, and not for threads of a priority in between.
///
/// A panic under the lock does not poison it. No user code runs under these locks, and the protected data is consistent between
/// any two statements.
pub type Mutex<T> = lock_api::Mutex<Inheriting, T>;
/// The guard of a [`Mutex`], which unlocks it when it is dropped.
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, Inheriting, T>;

/// Starts a thread of that name within a scope.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<thread::ScopedJoinHandle<'scope, T>> {
    named(name).spawn_scoped(scope, body)
}

/// Starts a thread of that name.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> io::Result<thread::JoinHandle<T>> {
    named(name).spawn(body)
}

/// Returns a builder of a thread of that name. A thread's name cannot contain zero bytes.
fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.replace('\0', ""))
}
