//! Queue of a middleware's requests: the middleware's threads add them, and an executor's thread takes them. These
//! threads share nothing else. Messages do not come here: an [`Inlet`](crate::Inlet) appends them to a queue of the
//! engine. The engine's own inbox has no items, but the flags that notifiers raise.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};

use rospin_engine::{Instant, LossCause, Mutex, MutexGuard, Notifier, Pending};

use crate::sync::atomic::{AtomicUsize, Ordering};

/// Queue of the newest items that its [`RequestInlet`] added, and the end that takes them. Items that are left when it
/// is dropped are counted as lost with their entity.
///
/// ```
/// use rospin_node::RequestInbox;
///
/// let (mut inbox, delivery) = RequestInbox::new(2);
/// (1..=3).for_each(|item| delivery.push(item, 0));
/// assert_eq!([inbox.pop(), inbox.pop(), inbox.pop()], [Some(2), Some(3), None]);
/// ```
pub struct RequestInbox<T> {
    shared: Arc<Shared<T>>,
    /// The oldest item that was left when one was taken last. Later items notify by themselves.
    next: Pending,
}

/// The end of an [`RequestInbox`] that adds items, for threads that receive. Clones are the same end.
pub struct RequestInlet<T>(Arc<Shared<T>>);

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    /// The number of items, for readers without the lock.
    count: AtomicUsize,
    depth: usize,
    /// Notifier of the entity that takes the items. Empty until there is one.
    notifier: OnceLock<Notifier>,
}

struct Queue<T> {
    /// The items with the times of their arrival on the clock of the entity. A time is `None` until there is an entity.
    items: VecDeque<(Option<Instant>, T)>,
    /// The number of items that were lost before there was an entity to count them.
    lost: u64,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock()
    }

    /// Counts lost items for the entity, or in the queue until there is an entity.
    fn count_lost(&self, count: u64) {
        match self.notifier.get() {
            _ if count == 0 => {}
            Some(notifier) => notifier.count_lost(LossCause::QueueFull, count),
            None => {
                let mut queue = self.lock();
                // An entity that was attached since the first look has taken over `lost`, and does not look there
                // again.
                if let Some(notifier) = self.notifier.get() {
                    drop(queue);
                    notifier.count_lost(LossCause::QueueFull, count);
                } else {
                    queue.lost += count;
                }
            }
        }
    }
}

impl<T> RequestInbox<T> {
    /// Creates an inbox that keeps the newest `depth` items, at least one, and its other end.
    #[must_use]
    pub fn new(depth: usize) -> (Self, RequestInlet<T>) {
        let queue = Mutex::new(Queue { items: VecDeque::new(), lost: 0 });
        let shared = Shared { queue, count: AtomicUsize::new(0), depth: depth.max(1), notifier: OnceLock::new() };
        let shared = Arc::new(shared);
        (Self { shared: Arc::clone(&shared), next: Pending::Unknown }, RequestInlet(shared))
    }

    /// Sets the notifier that is told of items from now on, and tells it of the number of items that were lost so far.
    /// Only the first one is set.
    pub fn attach(&self, notifier: Notifier) {
        let now = notifier.now();
        let mut queue = self.shared.lock();
        queue.items.iter_mut().for_each(|(arrival, _)| *arrival = Some(now));
        let lost = std::mem::take(&mut queue.lost);
        // Set under the lock. Otherwise another thread could add an item without a time, or count a loss that nobody
        // takes over.
        let _ = self.shared.notifier.set(notifier);
        drop(queue);
        self.shared.count_lost(lost);
    }

    /// Takes the oldest item. Returns `None` if there is none.
    pub fn pop(&mut self) -> Option<T> {
        if self.shared.count.load(Ordering::Acquire) == 0 {
            self.next = Pending::Empty;
            return None;
        }
        let mut queue = self.shared.lock();
        let item = queue.items.pop_front();
        self.shared.count.store(queue.items.len(), Ordering::Release);
        self.next = match queue.items.front() {
            None => Pending::Empty,
            Some((None, _)) => Pending::Unknown,
            Some((Some(arrival), _)) => Pending::Since(*arrival),
        };
        drop(queue);
        item.map(|(_, item)| item)
    }

    /// Returns if an item was left after the last take, and, if there is an entity, when the oldest one arrived.
    #[must_use]
    pub const fn pending(&self) -> Pending {
        self.next
    }

    /// Returns how many items there are.
    pub(crate) fn len(&self) -> usize {
        self.shared.count.load(Ordering::Acquire)
    }
}

impl<T> Drop for RequestInbox<T> {
    fn drop(&mut self) {
        let left = std::mem::take(&mut self.shared.lock().items);
        self.shared.count.store(0, Ordering::Release);
        if let Some(notifier) = self.shared.notifier.get().filter(|_| !left.is_empty()) {
            notifier.count_lost(LossCause::EntityDropped, left.len() as u64);
        }
        // The items are dropped here, without the lock: a dropped request tells its client, which may be of this
        // process.
    }
}

impl<T> fmt::Debug for RequestInbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestInbox").field("count", &self.len()).finish_non_exhaustive()
    }
}

impl<T> RequestInlet<T> {
    /// Adds an item, on any thread. In a full inbox the oldest item makes room, and is counted as lost. So are the
    /// `missing` items: those that never arrived, as far as the caller can tell.
    ///
    /// Locks, with priority inheritance, while it moves the item. May allocate.
    pub fn push(&self, item: T, missing: u64) {
        let shared = &*self.0;
        let notifier = shared.notifier.get();
        let arrival = notifier.map(Notifier::now);
        let mut queue = shared.lock();
        let displaced = if queue.items.len() == shared.depth { queue.items.pop_front() } else { None };
        // An entity that was attached since the first look has a clock, too.
        let arrival = arrival.or_else(|| shared.notifier.get().map(Notifier::now));
        queue.items.push_back((arrival, item));
        shared.count.store(queue.items.len(), Ordering::Release);
        // Unlocked first: the thread that is notified below takes the lock at once.
        drop(queue);
        shared.count_lost(missing.saturating_add(displaced.is_some().into()));
        if let (Some(notifier), Some(arrival)) = (shared.notifier.get(), arrival) {
            notifier.notify_at(arrival);
        }
    }
}

impl<T> Clone for RequestInlet<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for RequestInlet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestInlet").field("depth", &self.0.depth).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rospin_engine::{Context, ContextOptions, EntityKind, ExecutorOptions, Source, TakeError};

    use super::*;

    impl Source for RequestInbox<u32> {
        type Item = u32;
        type Attachment = ();

        fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
            Self::attach(self, notifier);
            Ok(())
        }

        fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
            Ok(self.pop())
        }
    }

    #[test]
    fn what_was_lost_before_there_was_an_entity_counts_as_its_loss() {
        let (inbox, delivery) = RequestInbox::new(2);
        (0..5).for_each(|item| delivery.push(item, 1));
        let executor = Context::new(ContextOptions::new()).create_executor(ExecutorOptions::new("main"));
        let group = executor.create_group("group", ());
        let entity = group.create_source(EntityKind::Service, "requests", inbox, |(), _| ()).unwrap();
        assert_eq!(entity.lost(LossCause::QueueFull), 5 + 3);
        delivery.push(5, 0);
        assert_eq!(entity.lost(LossCause::QueueFull), 9);
    }

    #[test]
    fn the_newest_are_kept_and_the_rest_is_counted() {
        let (mut inbox, delivery) = RequestInbox::new(3);
        assert_eq!(inbox.pending(), Pending::Unknown, "nobody has looked yet");
        (0..5).for_each(|item| delivery.push(item, 1));
        assert_eq!([inbox.pop(), inbox.pop()], [Some(2), Some(3)]);
        assert_eq!((inbox.len(), inbox.pop(), inbox.pending()), (1, Some(4), Pending::Empty));
        assert_eq!((inbox.pop(), inbox.shared.lock().lost), (None, 7));
    }
}
