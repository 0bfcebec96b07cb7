//! Queues between Cyclone DDS's threads, which leave there what arrived, and an executor's thread, which takes it: the only place
//! where they meet.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rospin_engine::{LossCause, Notifier, Pending};
use rospin_node::Qos;

use crate::cyclone::{Handle, Sample};
use crate::gaps::Gaps;

/// The most items that are kept where the quality of service has no limit: nothing grows without bound.
pub(crate) const KEEP_ALL: usize = 8192;

/// A queue of the newest items, for whoever takes them. What is there when it is dropped is lost with its entity.
pub(crate) struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// True if something was left when an item was taken last. If not, the next item that is added notifies.
    is_left: bool,
}

/// The other end of an [`Inbox`].
pub(crate) struct Delivery<T> {
    shared: Arc<Shared<T>>,
    gaps: Mutex<Gaps>,
}

struct Shared<T> {
    items: Mutex<VecDeque<T>>,
    depth: usize,
    /// There is none until the entity is there.
    notifier: OnceLock<Notifier>,
    /// The number of items that were lost before there was a notifier to count them.
    untold: AtomicU64,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        // Code under this lock leaves nothing half done, so a panic there does no harm.
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_lost(&self, count: u64) {
        self.untold.fetch_add(count, Ordering::AcqRel);
        self.tell();
    }

    fn tell(&self) {
        if let Some(notifier) = self.notifier.get() {
            let untold = self.untold.swap(0, Ordering::AcqRel);
            if untold > 0 {
                notifier.count_lost(LossCause::QueueFull, untold);
            }
        }
    }
}

impl<T> Inbox<T> {
    /// A queue as deep as the quality of service says, and its other end.
    pub(crate) fn new(qos: &Qos) -> (Self, Delivery<T>) {
        let depth = qos.depth().unwrap_or(KEEP_ALL).max(1);
        let (items, notifier, untold) = (Mutex::default(), OnceLock::new(), AtomicU64::new(0));
        let shared = Arc::new(Shared { items, depth, notifier, untold });
        (Self { shared: Arc::clone(&shared), is_left: true }, Delivery { shared, gaps: Mutex::default() })
    }

    /// From now on the notifier is told of what arrives, and of what was lost so far. Once.
    pub(crate) fn attach(&self, notifier: Notifier) {
        let _ = self.shared.notifier.set(notifier);
        self.shared.tell();
    }

    /// Takes the oldest item.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let mut items = self.shared.lock();
        let item = items.pop_front();
        self.is_left = !items.is_empty();
        item
    }

    pub(crate) fn pending(&self) -> Pending {
        if self.is_left { Pending::Unknown } else { Pending::Empty }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        let left = std::mem::take(&mut *self.shared.lock());
        if let Some(notifier) = self.shared.notifier.get().filter(|_| !left.is_empty()) {
            notifier.count_lost(LossCause::EntityDropped, left.len() as u64);
        }
    }
}

impl<T> Delivery<T> {
    /// Adds an item, on any thread. The oldest one makes room for it, and is counted.
    pub(crate) fn push(&self, item: T) {
        let mut items = self.shared.lock();
        let displaced = if items.len() == self.shared.depth { items.pop_front() } else { None };
        items.push_back(item);
        // The thread that is woken below needs the lock.
        drop(items);
        if displaced.is_some() {
            self.shared.count_lost(1);
        }
        if let Some(notifier) = self.shared.notifier.get() {
            notifier.notify();
        }
    }

    /// Counts what is missing before that sample, if anything is.
    pub(crate) fn note(&self, sample: &Sample, writer: Handle) {
        if let Some(number) = sample.number() {
            let missing = self.gaps.lock().unwrap_or_else(PoisonError::into_inner).arrived(writer, number);
            if missing > 0 {
                self.shared.count_lost(missing);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept() {
        let (mut inbox, delivery) = Inbox::new(&Qos::keep_last(3));
        (0..5).for_each(|item| delivery.push(item));
        assert_eq!(inbox.pending(), Pending::Unknown);
        assert_eq!([inbox.pop(), inbox.pop()], [Some(2), Some(3)]);
        assert_eq!((inbox.pending(), inbox.pop()), (Pending::Unknown, Some(4)));
        assert_eq!((inbox.pending(), inbox.pop()), (Pending::Empty, None));
        assert_eq!(inbox.shared.untold.load(Ordering::Relaxed), 2);
    }
}
