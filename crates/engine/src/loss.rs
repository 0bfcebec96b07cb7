//! Counts of lost items, by entity and cause, and of missed deadlines. Nothing is dropped without being counted here.

use rospin_core::recording::Event;

use crate::lock_free::watched::Watched;
use crate::os::Process;
use crate::recorder::{Scribe, fresh_number};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Weak};
use std::task::Waker;

/// Causes of a loss.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum LossCause {
    /// The queue was full, so the oldest item made room.
    QueueFull,
    /// The entity was dropped with items in its queue.
    EntityDropped,
    /// The source could not hand the item over.
    TakeFailed,
    /// An asynchronous callback was still waiting when its entity was removed.
    Cancelled,
    /// A timer was late, and its overrun policy skipped due times.
    TimerOverrun,
    /// The item was in no match of a source that matches items, such as a synchronizer.
    Unmatched,
    /// The item's lifespan was over before its callback could take it.
    Expired,
}

impl LossCause {
    /// All causes.
    pub const ALL: [Self; 7] = [
        Self::QueueFull,
        Self::EntityDropped,
        Self::TakeFailed,
        Self::Cancelled,
        Self::TimerOverrun,
        Self::Unmatched,
        Self::Expired,
    ];

    const fn index(self) -> usize {
        match self {
            Self::QueueFull => 0,
            Self::EntityDropped => 1,
            Self::TakeFailed => 2,
            Self::Cancelled => 3,
            Self::TimerOverrun => 4,
            Self::Unmatched => 5,
            Self::Expired => 6,
        }
    }
}

impl fmt::Display for LossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::QueueFull => "queue full",
            Self::EntityDropped => "entity dropped",
            Self::TakeFailed => "take failed",
            Self::Cancelled => "cancelled",
            Self::TimerOverrun => "timer overrun",
            Self::Unmatched => "unmatched",
            Self::Expired => "expired",
        })
    }
}

/// The losses of an entity for one cause.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// The entity's name.
    pub entity: String,
    /// The cause of the losses.
    pub cause: LossCause,
    /// The number of items that were lost.
    pub count: u64,
}

/// The deadlines that an entity missed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Misses {
    /// The entity's name.
    pub entity: String,
    /// The number of activations that ended after their deadlines.
    pub count: u64,
}

type Counts = [AtomicU64; LossCause::ALL.len()];

/// The counters of one entity.
#[derive(Debug)]
pub(crate) struct LossCounters {
    entity: String,
    /// The name under which the entity's losses are kept after the entity is gone.
    retire_as: String,
    /// The number of these counters, which is unique in the process.
    pub(crate) number: u64,
    scribe: Scribe,
    counts: Counts,
    misses: AtomicU64,
    /// True while there are `watchers`, for threads that count without their lock.
    watched: Watched,
    watchers: Mutex<Vec<Watcher>>,
    ledger: Weak<Ledger>,
}

/// Waker of one who watches the losses, with the number by which it is removed.
#[derive(Debug)]
struct Watcher {
    number: u64,
    waker: Waker,
}

impl LossCounters {
    /// Counts losses, and wakes the watchers. If there are none, it neither blocks nor locks.
    ///
    /// Out of line, so that publishing without a loss costs nothing for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn add(&self, cause: LossCause, count: u64) {
        if count > 0 {
            self.scribe.note(|| Event::Lost { account: self.number, cause: cause.index() as u8, count });
        }
        self.count(cause, count);
    }

    fn count(&self, cause: LossCause, count: u64) {
        self.counts[cause.index()].fetch_add(count, Ordering::Relaxed);
        self.wake_watchers();
    }

    fn wake_watchers(&self) {
        if self.watched.is_on() {
            for watcher in self.watchers.lock().iter() {
                watcher.waker.wake_by_ref();
            }
        }
    }

    /// Has `waker` woken with each loss of any cause from now on, under the locks of the thread that counts the loss.
    /// Returns the number for [`unwatch`](Self::unwatch).
    pub(crate) fn watch(&self, waker: Waker) -> u64 {
        let mut watchers = self.watchers.lock();
        let number = watchers.last().map_or(0, |last| last.number + 1);
        watchers.push(Watcher { number, waker });
        self.watched.set(true);
        number
    }

    pub(crate) fn unwatch(&self, number: u64) {
        let mut watchers = self.watchers.lock();
        let at = watchers.iter().position(|watcher| watcher.number == number);
        let gone = at.map(|at| watchers.remove(at));
        self.watched.set(!watchers.is_empty());
        drop(watchers);
        drop(gone);
    }

    /// Sets the total of a cause that is counted elsewhere, by one thread at a time. If it has grown, wakes the
    /// watchers as [`add`](Self::add) does.
    #[inline]
    pub(crate) fn set(&self, cause: LossCause, count: u64) {
        let total = &self.counts[cause.index()];
        if total.load(Ordering::Relaxed) != count {
            // A read-modify-write, as `Watched` wants it.
            total.swap(count, Ordering::Relaxed);
            self.wake_watchers();
        }
    }

    /// Moves all counts to other counters.
    pub(crate) fn move_to(&self, other: &Self) {
        for cause in LossCause::ALL {
            other.count(cause, self.counts[cause.index()].swap(0, Ordering::Relaxed));
        }
    }

    /// Counts a missed deadline, and returns the number of them so far. Neither blocks nor locks.
    pub(crate) fn add_miss(&self) -> u64 {
        self.misses.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn misses(&self) -> u64 {
        self.misses.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, cause: LossCause) -> u64 {
        self.counts[cause.index()].load(Ordering::Relaxed)
    }
}

impl Drop for LossCounters {
    fn drop(&mut self) {
        if let Some(ledger) = self.ledger.upgrade().filter(|ledger| !ledger.process.is_another()) {
            let mut book = ledger.lock();
            for cause in LossCause::ALL {
                let count = self.get(cause);
                if count > 0 {
                    *book.retired.entry((self.retire_as.clone(), cause)).or_default() += count;
                }
            }
            let misses = self.misses();
            if misses > 0 {
                *book.retired_misses.entry(self.retire_as.clone()).or_default() += misses;
            }
            let live = book.live.remove(&self.number);
            drop(book);
            drop(live);
        }
    }
}

/// The counters of all entities of a context. The losses of an entity are kept after it is gone: under its own name, or
/// under its group's name if it was given none.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    book: Mutex<Entries>,
    process: Process,
}

#[derive(Debug, Default)]
struct Entries {
    /// The counters of entities that are not gone, by number, so that they are removed without a search.
    live: HashMap<u64, Weak<LossCounters>>,
    retired: BTreeMap<(String, LossCause), u64>,
    retired_misses: BTreeMap<String, u64>,
}

impl Ledger {
    /// Opens counters for an entity. After it is gone, its losses are kept under `retire_as`. Entities without a name
    /// of their own share one there, so that the ledger does not grow with every entity that comes and goes.
    pub(crate) fn open(self: &Arc<Self>, entity: &str, retire_as: &str, scribe: &Scribe) -> Arc<LossCounters> {
        let number = fresh_number();
        let counters = Arc::new(LossCounters {
            entity: entity.to_owned(),
            retire_as: retire_as.to_owned(),
            number,
            scribe: scribe.clone(),
            counts: Counts::default(),
            misses: AtomicU64::new(0),
            watched: Watched::new(),
            watchers: Mutex::default(),
            ledger: Arc::downgrade(self),
        });
        self.lock().live.insert(number, Arc::downgrade(&counters));
        counters
    }

    /// Returns all losses so far, by entity name and cause, without the zeros.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let book = self.lock();
        let live: Vec<_> = book.live.values().filter_map(Weak::upgrade).collect();
        let mut totals = book.retired.clone();
        // Unlocks before `live` is dropped, because dropping the last reference to counters takes the lock.
        drop(book);
        for counters in &live {
            for cause in LossCause::ALL {
                *totals.entry((counters.entity.clone(), cause)).or_default() += counters.get(cause);
            }
        }
        let lost = totals.into_iter().filter(|(_, count)| *count > 0);
        lost.map(|((entity, cause), count)| Loss { entity, cause, count }).collect()
    }

    /// Returns the missed deadlines so far, by entity name, without the zeros.
    pub(crate) fn misses(&self) -> Vec<Misses> {
        let book = self.lock();
        let live: Vec<_> = book.live.values().filter_map(Weak::upgrade).collect();
        let mut totals = book.retired_misses.clone();
        // As in `losses`: dropping the last reference to counters takes the lock.
        drop(book);
        for counters in &live {
            *totals.entry(counters.entity.clone()).or_default() += counters.misses();
        }
        let missed = totals.into_iter().filter(|(_, count)| *count > 0);
        missed.map(|(entity, count)| Misses { entity, count }).collect()
    }

    fn lock(&self) -> crate::sync::MutexGuard<'_, Entries> {
        self.book.lock()
    }
}
