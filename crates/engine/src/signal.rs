//! Signals: the way from a source or a waker to its executor.

use std::sync::{Arc, OnceLock};
use std::task::Wake;

use rospin_core::Instant;

use crate::lock_free::inbox::Flag;
use crate::loss::LossCounters;
use crate::shared::Shared;
use crate::topic::QueueView;

/// A flag in an executor's inbox. Raising it wakes the executor. What a publication needs of it is on one cache line.
#[repr(C, align(64))]
pub(crate) struct Signal {
    executor: Arc<Shared>,
    number: usize,
    flag: Flag,
    /// The entity's counters, for losses that only its source sees; `None` for the signal of a waker.
    losses: Option<Arc<LossCounters>>,
    /// The queue in which the executor looks up since when its oldest message waits, so that notifications need not
    /// say. It is settled when the entity is added: from then on `None` means that there will be no such queue.
    asked: OnceLock<Option<QueueView>>,
}

impl Signal {
    /// Creates a signal with a flag of its own. The executor does not know yet which entity the flag belongs to.
    pub(crate) fn new(executor: &Arc<Shared>, losses: Option<Arc<LossCounters>>) -> Arc<Self> {
        let (number, flag) = executor.signals.allocate();
        Arc::new(Self { executor: Arc::clone(executor), number, flag, losses, asked: OnceLock::new() })
    }

    /// Raises the flag, see [`Notifier::notify`](crate::Notifier::notify).
    pub(crate) fn notify(&self, arrival: Option<Instant>) {
        let executor = &self.executor;
        match arrival {
            Some(arrival) => self.raise_at(arrival),
            None => executor.bell.inbox.raise_now(&self.flag, || executor.now().as_nanos()),
        }
        executor.bell.parker.unpark_one();
    }

    /// Has the executor ask `queue` since when its messages wait, so that notifications of it need not say. Returns
    /// false if they must nevertheless. If several threads spin the executor, the queue's oldest message may be one
    /// that another thread is about to take; and only one queue can be asked, which was there before the entity was
    /// added.
    pub(crate) fn ask(&self, queue: QueueView) -> bool {
        !self.executor.has_threads && self.asked.set(Some(queue)).is_ok()
    }

    /// Returns the queue that the executor asks since when its messages wait. From now on no other one is.
    pub(crate) fn asked(&self) -> Option<&QueueView> {
        self.asked.get_or_init(|| None).as_ref()
    }

    /// Raises the flag for a message in the queue that the executor [asks](Self::ask). The executor must be unparked
    /// afterwards.
    #[inline]
    pub(crate) fn raise(&self) {
        self.executor.bell.inbox.raise(&self.flag);
    }

    /// Returns the address of what [`raise`](Self::raise) writes first, if the queue is asked, or else
    /// [`raise_at`](Self::raise_at), for a publisher that prefetches it.
    pub(crate) fn address(&self, is_asked: bool) -> usize {
        self.executor.bell.inbox.address_of(&self.flag, !is_asked)
    }

    /// Returns the bit by which the inbox raises the flag together with others, see [`Inbox::raise_bits`].
    ///
    /// [`Inbox::raise_bits`]: crate::lock_free::inbox::Inbox::raise_bits
    #[inline]
    pub(crate) fn bit(&self) -> Option<u64> {
        self.flag.bit()
    }

    /// Raises the flag for an item that arrived at that time. Otherwise as [`raise`](Self::raise).
    #[inline]
    pub(crate) fn raise_at(&self, arrival: Instant) {
        self.executor.bell.inbox.raise_at(&self.flag, arrival.as_nanos());
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
