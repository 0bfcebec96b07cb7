//! Signals: the way from a source or a waker to its executor.

use std::sync::Arc;
use std::task::Wake;

use rospin_core::Instant;

use crate::lock_free::inbox::Flag;
use crate::loss::LossCounters;
use crate::shared::Shared;

/// A flag in an executor's inbox. Raising it wakes the executor.
pub(crate) struct Signal {
    executor: Arc<Shared>,
    number: usize,
    flag: Flag,
    /// The entity's counters, for losses that only its source sees; `None` for the signal of a waker.
    losses: Option<Arc<LossCounters>>,
}

impl Signal {
    /// Creates a signal with a flag of its own. The executor does not know yet which entity the flag belongs to.
    pub(crate) fn new(executor: &Arc<Shared>, losses: Option<Arc<LossCounters>>) -> Arc<Self> {
        let (number, flag) = executor.signals.allocate();
        Arc::new(Self { executor: Arc::clone(executor), number, flag, losses })
    }

    /// Raises the flag, see [`Notifier::notify`](crate::Notifier::notify).
    pub(crate) fn notify(&self, arrival: Option<Instant>) {
        let executor = &self.executor;
        executor.bell.inbox.raise(&self.flag, arrival.map(Instant::as_nanos), || executor.now().as_nanos());
        executor.bell.parker.unpark_one();
    }

    /// Returns the number of the flag, as a drain of the inbox reports it.
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

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.notify(None);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify(None);
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        if !self.executor.is_copy() {
            self.executor.signals.free(self.number);
        }
    }
}
