//! A log of events of a few words each, with one writer and one reader. Neither ever waits for the other.
//!
//! `head` and `tail` count events from the beginning. Event `t` is in slot `t % s`. The writer fills the slot and then
//! advances `tail`; the reader copies the slot and then advances `head`. If the log is full, the new event is dropped
//! and counted, so that what is in the log is without gaps up to that point.
//!
//! `head` is released and acquired so that no word of the writer overtakes the reader's copy of the slot. No model
//! needs that, since loom lets no read see a later write. The number of dropped events is ordered by `tail`.
//!
//! The slots are atomics, which cost nothing more than plain words here, so there is no unsafe code.

#[cfg(rospin_shuttle)]
use std::sync::Arc;
#[cfg(rospin_shuttle)]
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

// The recording thread is no thread of shuttle's, so that neither end of a log may be a step of the model.
#[cfg(not(rospin_shuttle))]
use super::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// A count on a cache line of its own, so that writer and reader do not slow down each other.
#[repr(align(64))]
struct Count(AtomicU64);

struct Shared<const WORDS: usize> {
    slots: Box<[[AtomicU64; WORDS]]>,
    head: Count,
    tail: Count,
    dropped: AtomicU64,
    /// True once the writer is gone.
    is_closed: AtomicBool,
}

/// The writing end of a log.
pub(crate) struct Writer<const WORDS: usize> {
    log: Arc<Shared<WORDS>>,
    tail: u64,
    /// The reader's `head` when the writer last looked at it.
    head_seen: u64,
    dropped: u64,
}

/// The reading end of a log.
pub(crate) struct Reader<const WORDS: usize> {
    log: Arc<Shared<WORDS>>,
    head: u64,
}

/// Creates a log of at least `capacity` events. Its memory is touched here, so that writing causes no page faults.
pub(crate) fn log<const WORDS: usize>(capacity: usize) -> (Writer<WORDS>, Reader<WORDS>) {
    let slots = capacity.max(1).next_power_of_two();
    let log = Arc::new(Shared {
        slots: (0..slots).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect(),
        head: Count(AtomicU64::new(0)),
        tail: Count(AtomicU64::new(0)),
        dropped: AtomicU64::new(0),
        is_closed: AtomicBool::new(false),
    });
    (Writer { log: Arc::clone(&log), tail: 0, head_seen: 0, dropped: 0 }, Reader { log, head: 0 })
}

impl<const WORDS: usize> Shared<WORDS> {
    fn slot(&self, number: u64) -> &[AtomicU64; WORDS] {
        &self.slots[number as usize & (self.slots.len() - 1)]
    }
}

impl<const WORDS: usize> Writer<WORDS> {
    /// Appends an event, or counts it as dropped if the log is full. Neither blocks, nor locks, nor allocates.
    pub(crate) fn push(&mut self, words: &[u64; WORDS]) {
        let room = self.log.slots.len() as u64;
        if self.tail - self.head_seen >= room {
            self.head_seen = self.log.head.0.load(Ordering::Acquire);
            if self.tail - self.head_seen >= room {
                self.dropped += 1;
                self.log.dropped.store(self.dropped, Ordering::Relaxed);
                return;
            }
        }
        for (slot, word) in self.log.slot(self.tail).iter().zip(words) {
            slot.store(*word, Ordering::Relaxed);
        }
        self.tail += 1;
        self.log.tail.0.store(self.tail, Ordering::Release);
    }
}

impl<const WORDS: usize> Writer<WORDS> {
    /// Returns true if the reader is gone.
    pub(crate) fn is_orphaned(&self) -> bool {
        Arc::strong_count(&self.log) == 1
    }
}

impl<const WORDS: usize> Drop for Writer<WORDS> {
    fn drop(&mut self) {
        self.log.is_closed.store(true, Ordering::Release);
    }
}

impl<const WORDS: usize> Reader<WORDS> {
    /// Moves the events that are in the log into `events`.
    pub(crate) fn drain(&mut self, events: &mut Vec<[u64; WORDS]>) {
        let tail = self.log.tail.0.load(Ordering::Acquire);
        while self.head < tail {
            let slot = self.log.slot(self.head);
            events.push(std::array::from_fn(|word| slot[word].load(Ordering::Relaxed)));
            self.head += 1;
        }
        self.log.head.0.store(self.head, Ordering::Release);
    }

    /// Returns how many events the log holds.
    pub(crate) fn capacity(&self) -> usize {
        self.log.slots.len()
    }

    /// Returns how many events were dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        self.log.dropped.load(Ordering::Relaxed)
    }

    /// Returns true once the writer is gone. A drain after that finds all events.
    pub(crate) fn is_closed(&self) -> bool {
        self.log.is_closed.load(Ordering::Acquire)
    }
}
