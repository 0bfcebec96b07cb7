//! Signals: how a source or a waker reaches its executor.

use crate::sync::{Mutex, MutexGuard};
use std::sync::Arc;

use rospin_core::Instant;

use crate::lock_free::inbox::{BOOK, Book, Flag};
use crate::loss::LossCounters;
use crate::shared::Shared;

/// Raises a flag in an executor's inbox, and wakes the executor.
pub(crate) struct Signal {
    executor: Arc<Shared>,
    number: usize,
    flag: Flag,
    /// Of the entity, for losses that only its source sees.
    losses: Option<Arc<LossCounters>>,
}

/// The flags of one executor: which are in use, and the books that they are in.
#[derive(Default)]
pub(crate) struct SignalBox(Mutex<Flags>);

#[derive(Default)]
struct Flags {
    books: Vec<Arc<Book>>,
    used: usize,
    free: Vec<usize>,
}

impl SignalBox {
    /// All books, for a drain.
    pub(crate) fn books(&self) -> Vec<Arc<Book>> {
        self.lock().books.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Flags> {
        self.0.lock()
    }
}

impl Flags {
    fn allocate(&mut self) -> (usize, Flag) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        while self.books.len() <= number / BOOK {
            self.books.push(Book::new());
        }
        (number, Flag::new(Arc::clone(&self.books[number / BOOK]), number % BOOK))
    }
}

impl Signal {
    /// A signal with a flag of its own, that the executor does not know the meaning of yet.
    pub(crate) fn new(executor: &Arc<Shared>, losses: Option<Arc<LossCounters>>) -> Arc<Self> {
        let (number, flag) = executor.signals.lock().allocate();
        Arc::new(Self { executor: Arc::clone(executor), number, flag, losses })
    }

    /// See [`Notifier::notify`](crate::Notifier::notify).
    pub(crate) fn notify(&self, arrival: Option<Instant>) {
        let executor = &self.executor;
        executor.bell.inbox.raise(&self.flag, arrival.map(Instant::as_nanos), || executor.now().as_nanos());
        executor.bell.parker.unpark_one();
    }

    /// The number of its flag, as a drain reports it.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn executor(&self) -> &Arc<Shared> {
        &self.executor
    }

    pub(crate) fn losses(&self) -> Option<&Arc<LossCounters>> {
        self.losses.as_ref()
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if self.executor.is_copy() {
            return;
        }
        // Whoever gets the flag next may find it raised: a spurious notification.
        self.executor.signals.lock().free.push(self.number);
    }
}
