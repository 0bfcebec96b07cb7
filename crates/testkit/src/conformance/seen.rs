//! Records of callbacks that a test can wait for, inside and outside of executors.

use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// A log that can be awaited. Cheap to clone; clones are the same log.
pub struct Seen<T>(Arc<Mutex<Log<T>>>);

struct Log<T> {
    entries: Vec<T>,
    /// Wakers of the futures that wait for entries.
    waiting: Vec<Waker>,
}

impl<T> Seen<T> {
    /// Returns an empty log.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(Log { entries: Vec::new(), waiting: Vec::new() })))
    }

    /// Adds an entry, and wakes those who wait.
    pub fn push(&self, entry: T) {
        let mut log = self.lock();
        log.entries.push(entry);
        let waiting = std::mem::take(&mut log.waiting);
        drop(log);
        for waker in waiting {
            waker.wake();
        }
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().entries.len()
    }

    /// Returns a future that resolves when `enough` accepts the entries.
    pub fn until(&self, enough: impl Fn(&[T]) -> bool + Send + 'static) -> Until<T> {
        Until { seen: self.clone(), enough: Box::new(enough) }
    }

    /// Returns a future that resolves when there are at least `count` entries.
    pub fn until_count(&self, count: usize) -> Until<T> {
        self.until(move |entries| entries.len() >= count)
    }

    fn lock(&self) -> MutexGuard<'_, Log<T>> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Seen<T> {
    /// Returns all entries so far.
    #[must_use]
    pub fn all(&self) -> Vec<T> {
        self.lock().entries.clone()
    }
}

impl<T: PartialEq + Send + 'static> Seen<T> {
    /// Returns a future that resolves when the log has that entry.
    pub fn until_has(&self, entry: T) -> Until<T> {
        self.until(move |entries| entries.contains(&entry))
    }
}

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self::new()
    }
}

type Enough<T> = dyn Fn(&[T]) -> bool + Send;

/// Future that resolves when the entries are enough.
#[must_use = "it waits only while it is awaited"]
pub struct Until<T> {
    seen: Seen<T>,
    enough: Box<Enough<T>>,
}

impl<T> Future for Until<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut log = self.seen.lock();
        if (self.enough)(&log.entries) {
            return Poll::Ready(());
        }
        log.waiting.push(cx.waker().clone());
        Poll::Pending
    }
}

/// A gate that blocks callbacks on their threads until it is opened. Cheap to clone; clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    inner: Arc<(Mutex<bool>, Condvar)>,
    patience: Duration,
}

impl Gate {
    /// Returns a closed gate. A thread that waits for longer than `patience` panics.
    #[must_use]
    pub fn new(patience: Duration) -> Self {
        Self { inner: Arc::default(), patience }
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        let (open, changed) = &*self.inner;
        *open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Blocks until the gate is open.
    ///
    /// # Panics
    /// If the gate is not opened within its patience.
    pub fn pass(&self) {
        let (open, changed) = &*self.inner;
        let open = open.lock().unwrap_or_else(PoisonError::into_inner);
        let (open, _) =
            changed.wait_timeout_while(open, self.patience, |open| !*open).unwrap_or_else(PoisonError::into_inner);
        assert!(*open, "nobody opened the gate");
    }
}
