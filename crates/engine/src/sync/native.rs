//! The operating system's locks and threads.

use std::io;

pub(crate) use std::sync::atomic;
pub(crate) use std::sync::{Condvar, Mutex as PlainMutex, MutexGuard as PlainMutexGuard};
pub(crate) use std::thread;
pub(crate) use std::thread_local;

use super::inheriting::Inheriting;

/// A mutex with priority inheritance: whoever holds it runs, on Linux, at least as urgently as the most urgent thread that
/// waits for it. So an urgent thread waits for what is done under the lock, and for nothing that runs between the two.
///
/// A panic under the lock does not poison it: no user code runs under locks here, and what they protect is whole between any
/// two statements.
pub type Mutex<T> = lock_api::Mutex<Inheriting, T>;
/// What [`Mutex::lock`](lock_api::Mutex::lock) returns: the lock is given back when it is dropped.
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

/// For a thread of that name, as far as a thread can have it.
fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.replace('\0', ""))
}
