//! The place where threads of a middleware leave what arrived, and an executor's thread finds it: the only place where they meet.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin_engine::{Instant, LossCause, Mutex, MutexGuard, Notifier, Pending};

use crate::events::EndEvents;

/// The newest items of a [`Delivery`], for whoever takes them. An item that is there when this is dropped is lost with its entity.
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
    /// The next item, as of the last time when one was taken. Whoever adds one later notifies.
    next: Pending,
}

/// The other end of an [`Inbox`]: for threads that receive. Clones are the same end.
pub struct Delivery<T>(Arc<Shared<T>>);

struct Shared<T> {
    queue: Mutex<Queue<T>>,
    /// The number of items, which is read without the lock.
    count: AtomicUsize,
    depth: usize,
    /// Returns the time from its arrival on for which an item may be taken; `None` is no limit.
    lifespan: fn(&T) -> Option<Duration>,
    /// Empty until there is an entity.
    notifier: OnceLock<Notifier>,
    /// Record of the subscription, if that must be told of each arrival.
    told: OnceLock<EndEvents>,
}

struct Queue<T> {
    /// The items with the times of their arrival, which are `None` as long as there is no entity, whose clock tells them.
    items: VecDeque<(Option<Instant>, T)>,
    /// The number of items that were lost while there was no entity that counts them.
    lost: u64,
    /// True once there was an item with a lifespan, from when on full queues are searched for such items.
    has_lifespans: bool,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock()
    }

    /// Removes the oldest item whose lifespan is over at that time.
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

    /// Counts losses for the entity, or keeps them until there is one.
    fn count_lost(&self, count: u64) {
        match self.notifier.get() {
            _ if count == 0 => {}
            Some(notifier) => notifier.count_lost(LossCause::QueueFull, count),
            None => {
                let mut queue = self.lock();
                // An entity that has come meanwhile has taken over what was lost before.
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

    /// Creates an inbox as [`new`](Self::new) does, in which items whose lifespan is over make room before others do.
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

    /// Has `notifier` told of what arrives from now on, and of what was lost so far. Takes effect once.
    pub fn attach(&self, notifier: Notifier) {
        let now = notifier.now();
        let mut queue = self.shared.lock();
        queue.items.iter_mut().for_each(|(arrival, _)| *arrival = Some(now));
        let (lost, is_empty) = (std::mem::take(&mut queue.lost), queue.items.is_empty());
        // Under the lock: whoever adds an item finds either both or neither.
        let _ = self.shared.notifier.set(notifier);
        drop(queue);
        self.shared.count_lost(lost);
        // Messages that were kept for a late subscription arrive before it has an entity.
        if let Some(told) = self.shared.told.get().filter(|_| !is_empty) {
            told.message(now);
        }
    }

    /// Takes the oldest item.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_unless(|_| false).map(|(_, item)| item)
    }

    /// Takes the oldest item with the time of its arrival, unless something else arrived `before` it. There is a time once there is an
    /// entity.
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

    /// Returns what is left, as of the last time when an item was taken.
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

    /// Drops the oldest item whose lifespan is over at that time, and counts it. Returns true if there was such an item.
    pub(crate) fn drop_expired(&self, now: Instant) -> bool {
        let mut queue = self.shared.lock();
        let expired = self.shared.take_expired(&mut queue, now);
        self.shared.count.store(queue.items.len(), Ordering::Release);
        drop(queue);
        self.count_expired(expired.is_some().into());
        expired.is_some()
    }

    /// Counts items that were taken out too late.
    pub(crate) fn count_expired(&self, count: u64) {
        if let Some(notifier) = self.shared.notifier.get().filter(|_| count > 0) {
            notifier.count_lost(LossCause::Expired, count);
        }
    }

    /// Counts items that were taken out only to make room.
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
        // Without the lock: requests among them tell their clients, which may be of this process.
    }
}

impl<T> fmt::Debug for Inbox<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("count", &self.len()).finish_non_exhaustive()
    }
}

impl<T> Delivery<T> {
    /// Returns how many items are kept.
    pub(crate) fn depth(&self) -> usize {
        self.0.depth
    }

    /// Has the record told of each arrival from now on. Takes effect once.
    pub(crate) fn tell_arrivals(&self, events: &EndEvents) {
        let _ = self.0.told.set(events.clone());
    }

    /// Adds an item, on any thread. If the inbox is full the oldest item makes room, one whose lifespan is over before others, and is
    /// counted as lost, together with the `missing` ones: those that never arrived, as far as the caller can tell.
    ///
    /// An urgent thread waits for no longer than another one needs to move an item, with priority inheritance. May allocate.
    pub fn push(&self, item: T, missing: u64) {
        let shared = &*self.0;
        let notifier = shared.notifier.get();
        let arrival = notifier.map(Notifier::now);
        let mut queue = shared.lock();
        queue.has_lifespans |= (shared.lifespan)(&item).is_some();
        let is_full = queue.items.len() == shared.depth;
        let expired = arrival.filter(|_| is_full).and_then(|now| shared.take_expired(&mut queue, now));
        let displaced = if is_full && expired.is_none() { queue.items.pop_front() } else { None };
        // An entity that has come meanwhile has a clock, too.
        let arrival = arrival.or_else(|| shared.notifier.get().map(Notifier::now));
        queue.items.push_back((arrival, item));
        shared.count.store(queue.items.len(), Ordering::Release);
        // A thread that is woken by what follows needs the lock.
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
