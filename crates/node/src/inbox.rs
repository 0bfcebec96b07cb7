//! Queue between a middleware and an executor: the middleware's threads add items, and an executor's thread takes them.
//! These threads meet nowhere else.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin_engine::{Instant, LossCause, Mutex, MutexGuard, Notifier, Pending};

use crate::events::EndEvents;

/// Queue of the newest items that its [`Delivery`] added, and the end that takes them. Items that are left when it is
/// dropped are counted as lost with their entity.
///
/// ```
/// use rospin_node::Inbox;
///
/// let (mut inbox, delivery) = Inbox::new(2);
/// (1..=3).for_each(|item| delivery.push(item, 0));
/// assert_eq!([inbox.pop(), inbox.pop(), inbox.pop()], [Some(2), Some(3), None]);
/// ```
pub struct Inbox<T> {
    shared: Arc<Shared<T>>,
    /// The oldest item that was left when one was taken last. Later items notify by themselves.
    next: Pending,
}

/// The end of an [`Inbox`] that adds items, for threads that receive. Clones are the same end.
pub struct Delivery<T>(Arc<Shared<T>>);

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    /// The number of items, for readers without the lock.
    count: AtomicUsize,
    depth: usize,
    /// Function that returns how long after its arrival an item may be taken; `None` is no limit.
    lifespan: fn(&T) -> Option<Duration>,
    /// Notifier of the entity that takes the items. Empty until there is one.
    notifier: OnceLock<Notifier>,
    /// Record of the subscription's events, if it must be told of each arrival.
    told: OnceLock<EndEvents>,
}

struct Queue<T> {
    /// The items with the times of their arrival on the clock of the entity. A time is `None` until there is an entity.
    items: VecDeque<(Option<Instant>, T)>,
    /// The number of items that were lost before there was an entity to count them.
    lost: u64,
    /// True once there was an item with a lifespan. From then on a full queue is searched for expired items.
    has_lifespans: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock()
    }

    /// Removes and returns the oldest item whose lifespan is over at `now`.
    fn take_expired(&self, queue: &mut Queue<T>, now: Instant) -> Option<T> {
        if !queue.has_lifespans {
            return None;
        }
        let is_expired = |(arrival, item): &(Option<Instant>, T)| {
            let waited = arrival.map(|arrival| now.saturating_since(arrival));
            (self.lifespan)(item).is_some_and(|lifespan| waited.is_some_and(|waited| waited >= lifespan))
        };
        let at = queue.items.iter().position(is_expired)?;
        queue.items.remove(at).map(|(_, item)| item)
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

impl<T> Inbox<T> {
    /// Creates an inbox that keeps the newest `depth` items, at least one, and its other end.
    #[must_use]
    pub fn new(depth: usize) -> (Self, Delivery<T>) {
        Self::with_lifespans(depth, |_| None)
    }

    /// Creates an inbox as [`new`](Self::new) does. `lifespan` returns how long after its arrival an item may be taken;
    /// `None` is no limit. An item whose lifespan is over makes room before others do.
    pub(crate) fn with_lifespans(depth: usize, lifespan: fn(&T) -> Option<Duration>) -> (Self, Delivery<T>) {
        let queue = Mutex::new(Queue { items: VecDeque::new(), lost: 0, has_lifespans: false });
        let shared = Shared {
            queue,
            count: AtomicUsize::new(0),
            depth: depth.max(1),
            lifespan,
            notifier: OnceLock::new(),
            told: OnceLock::new(),
        };
        let shared = Arc::new(shared);
        (Self { shared: Arc::clone(&shared), next: Pending::Unknown }, Delivery(shared))
    }

    /// Sets the notifier that is told of items from now on, and tells it of the number of items that were lost so far.
    /// Only the first one is set.
    pub fn attach(&self, notifier: Notifier) {
        let now = notifier.now();
        let mut queue = self.shared.lock();
        queue.items.iter_mut().for_each(|(arrival, _)| *arrival = Some(now));
        let (lost, is_empty) = (std::mem::take(&mut queue.lost), queue.items.is_empty());
        // Set under the lock. Otherwise another thread could add an item without a time, or count a loss that nobody
        // takes over.
        let _ = self.shared.notifier.set(notifier);
        drop(queue);
        self.shared.count_lost(lost);
        // Messages that were kept for a late subscription arrive before it has an entity.
        if let Some(told) = self.shared.told.get().filter(|_| !is_empty) {
            told.message(now);
        }
    }

    /// Takes the oldest item. Returns `None` if there is none.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_unless(|_| false).map(|(_, item)| item)
    }

    /// Takes the oldest item, unless an item of another queue, which arrived at `before`, comes first. It also comes
    /// first if both arrived at the same time. `None` stands for an empty other queue. Returns the item with the time
    /// of its arrival, which is `None` without an entity.
    pub(crate) fn pop_before(&mut self, before: Option<Instant>) -> Option<(Option<Instant>, T)> {
        self.pop_unless(|arrival| before.is_some_and(|before| arrival.is_some_and(|arrival| before <= arrival)))
    }

    fn pop_unless(&mut self, is_later: impl Fn(Option<Instant>) -> bool) -> Option<(Option<Instant>, T)> {
        if self.shared.count.load(Ordering::Acquire) == 0 {
            self.next = Pending::Empty;
            return None;
        }
        let mut queue = self.shared.lock();
        let is_meant = queue.items.front().is_some_and(|(arrival, _)| !is_later(*arrival));
        let item = if is_meant { queue.items.pop_front() } else { None };
        self.shared.count.store(queue.items.len(), Ordering::Release);
        self.next = match queue.items.front() {
            None => Pending::Empty,
            Some((None, _)) => Pending::Unknown,
            Some((Some(arrival), _)) => Pending::Since(*arrival),
        };
        drop(queue);
        item
    }

    /// Returns if an item was left after the last take, and, if there is an entity, when the oldest one arrived.
    #[must_use]
    pub const fn pending(&self) -> Pending {
        self.next
    }

    /// Returns when the oldest item arrived, or `None` if there is none. Requires that a notifier is attached.
    pub(crate) fn oldest_arrival(&self) -> Option<Instant> {
        if self.len() == 0 {
            return None;
        }
        self.shared.lock().items.front().and_then(|(arrival, _)| *arrival)
    }

    /// Returns how many items there are.
    pub(crate) fn len(&self) -> usize {
        self.shared.count.load(Ordering::Acquire)
    }

    /// Drops the oldest item whose lifespan is over at `now`, and counts it as expired. Returns true if there was such
    /// an item.
    pub(crate) fn drop_expired(&self, now: Instant) -> bool {
        let mut queue = self.shared.lock();
        let expired = self.shared.take_expired(&mut queue, now);
        self.shared.count.store(queue.items.len(), Ordering::Release);
        drop(queue);
        self.count_expired(expired.is_some().into());
        expired.is_some()
    }

    /// Counts items as expired that the caller took after their lifespan.
    pub(crate) fn count_expired(&self, count: u64) {
        if let Some(notifier) = self.shared.notifier.get().filter(|_| count > 0) {
            notifier.count_lost(LossCause::Expired, count);
        }
    }

    /// Counts items as lost that the caller took only to make room.
    pub(crate) fn count_lost(&self, count: u64) {
        self.shared.count_lost(count);
    }
}

impl<T> Drop for Inbox<T> {
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

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("count", &self.len()).finish_non_exhaustive()
    }
}

impl<T> Delivery<T> {
    /// Returns how many items the inbox keeps at most.
    pub(crate) fn depth(&self) -> usize {
        self.0.depth
    }

    /// Has `events` told of each arrival from now on. Only the first record is told.
    pub(crate) fn tell_arrivals(&self, events: &EndEvents) {
        let _ = self.0.told.set(events.clone());
    }

    /// Adds an item, on any thread. In a full inbox the oldest item whose lifespan is over makes room, or else the
    /// oldest of all, and is counted as lost. So are the `missing` items: those that never arrived, as far as the
    /// caller can tell.
    ///
    /// Locks, with priority inheritance, while it moves the item, and while it searches a full inbox for an item whose
    /// lifespan is over. May allocate.
    pub fn push(&self, item: T, missing: u64) {
        let shared = &*self.0;
        let notifier = shared.notifier.get();
        let arrival = notifier.map(Notifier::now);
        let mut queue = shared.lock();
        queue.has_lifespans |= (shared.lifespan)(&item).is_some();
        let is_full = queue.items.len() == shared.depth;
        let expired = arrival.filter(|_| is_full).and_then(|now| shared.take_expired(&mut queue, now));
        let displaced = if is_full && expired.is_none() { queue.items.pop_front() } else { None };
        // An entity that was attached since the first look has a clock, too.
        let arrival = arrival.or_else(|| shared.notifier.get().map(Notifier::now));
        queue.items.push_back((arrival, item));
        shared.count.store(queue.items.len(), Ordering::Release);
        // Unlocked first: the thread that is notified below takes the lock at once.
        drop(queue);
        shared.count_lost(missing.saturating_add(displaced.is_some().into()));
        if let Some(notifier) = notifier.filter(|_| expired.is_some()) {
            notifier.count_lost(LossCause::Expired, 1);
        }
        if let (Some(notifier), Some(arrival)) = (shared.notifier.get(), arrival) {
            if let Some(told) = shared.told.get() {
                told.message(arrival);
            }
            notifier.notify_at(arrival);
        }
    }
}

impl<T> Clone for Delivery<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Delivery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("depth", &self.0.depth).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_rest_is_counted() {
        let (mut inbox, delivery) = Inbox::new(3);
        assert_eq!(inbox.pending(), Pending::Unknown, "nobody has looked yet");
        (0..5).for_each(|item| delivery.push(item, 1));
        assert_eq!([inbox.pop(), inbox.pop()], [Some(2), Some(3)]);
        assert_eq!((inbox.len(), inbox.pop(), inbox.pending()), (1, Some(4), Pending::Empty));
        assert_eq!((inbox.pop(), inbox.shared.lock().lost), (None, 7));
    }
}
