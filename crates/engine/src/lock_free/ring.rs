//! A ring that keeps the last n messages. It has one producer at a time and any number of consumers, and no thread ever
//! waits.
//!
//! `head` and `tail` count messages from the beginning: those that were claimed, and those that were appended. Message
//! `t` is in slot `t % s`; the number of slots `s >= n` is a power of two. The thread that advances `head` from `t` to
//! `t + 1` has claimed message `t` and owns it: a consumer runs a callback on it, and the producer displaces it because
//! the ring is full.
//!
//! A consumer reads the slot before it claims the message. That is sound, because the producer overwrites slot `t % s`
//! (with message `t + s`) only after message `t` was claimed. If the consumer's claim succeeds, the pointer that it
//! read was that of message `t`. Otherwise it does not use the pointer.
//!
//! A consumer sees by the slot itself whether message `t` is there, so it reads one line that the producer has written,
//! and the producer has `tail` to itself. The slots are used again in laps; a bit of the stamp is set in every other
//! lap ([`lap_of`]). If the slot of the head has the bit of another lap, message `t` is not there yet, or was claimed
//! and overwritten since. In the latter case the head has moved, which the consumer then sees, because the producer saw
//! it before it overwrote the slot. After two laps the bit is the same again: then the claim fails, since the head has
//! moved, and a stamp that was only looked at is that of a later message.
//!
//! The producer remembers the last value of `head` that it saw, and reads it again only when the ring would be full by
//! that value. The counts only grow, so an old value is too small at worst.
//!
//! Producers acquire the head before they overwrite a slot, so that no message overtakes a consumer's read of that
//! slot. No model needs that, since loom lets no read see a later write. A claim acquires a head that was acquired
//! before.
//!
//! The counts have 64 bits on every machine, so that they never wrap. With 32 bits they would wrap within days, and a
//! consumer that was preempted for long could mistake one message for another.
//!
//! A message in the middle cannot be claimed, so the one that makes room is the oldest, also if a later one is of no
//! use any more.
//!
//! There is one producer at a time: publishers of a topic take turns under its lock. In a ring with many producers, a
//! consumer waits for a producer that was preempted in the middle, which under `SCHED_FIFO` can take for ever.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use super::depth::Depth;
use super::mute::Mute;
use super::owning::OwningPointer;
use super::prefetch::{prefetch, prefetch_at, prefetch_to_write_at};
use super::sync::{Arc, AtomicPtr, AtomicU64, Ordering};

struct Slot<T> {
    message: AtomicPtr<T>,
    /// The publication time of the message, and the bit of its lap. It is stored last. It is only a hint once the slot
    /// may be overwritten.
    stamp: AtomicU64,
}

/// The bit of a stamp that tells the laps of the ring apart. Stamps that would need it are cut down to the latest time
/// without it: nanoseconds reach it after 292 years.
const LAP: u64 = 1 << 63;

/// The fields that consumers write. They have two cache lines of their own, because processors fetch lines in pairs, so
/// that consumers do not slow down the producer.
#[repr(align(128))]
struct Head {
    /// The number of messages that were claimed.
    count: AtomicU64,
    /// The number of the message that a consumer looked for last before it was published.
    missed: AtomicU64,
}

struct Shared<P: OwningPointer> {
    depth: u64,
    kind: P::Kind,
    /// As many as a power of two.
    slots: Box<[Slot<P::Target>]>,
    /// The number of slots less one, which a ticket is cut down to.
    mask: usize,
    /// Mutes the producer. It shares its cache line with the fields that both ends read and hardly ever write.
    mute: Mute,
    head: Head,
    owns: PhantomData<P>,
}

// SAFETY: the slots own values of `P`, which is `Send`; each is handed to exactly one thread, which claimed it.
unsafe impl<P: OwningPointer + Send> Send for Shared<P> {}
// SAFETY: as for `Send`. No thread gets a reference to a value that is still in the ring.
unsafe impl<P: OwningPointer + Send> Sync for Shared<P> {}

impl<P: OwningPointer> Shared<P> {
    #[inline(always)]
    fn slot(&self, ticket: u64) -> &Slot<P::Target> {
        let number = ticket as usize & self.mask;
        debug_assert!(number < self.slots.len());
        // SAFETY: the mask is one less than the number of slots, so the number is at most the mask, and below the
        // number of slots.
        unsafe { self.slots.get_unchecked(number) }
    }

    /// Returns the bit that the stamps of the message's lap have. It differs from that of a slot that was never used.
    fn lap_of(&self, ticket: u64) -> u64 {
        // The number of slots is a power of two, so that this bit of the ticket changes from lap to lap.
        if ticket & (self.mask as u64 + 1) == 0 { LAP } else { 0 }
    }

    /// Returns the stamp of message `head`; `None` if it is not there. The head was `head` a moment ago. If it is not
    /// any more, the result means nothing.
    #[inline]
    fn stamp_of(&self, head: u64) -> Option<u64> {
        let stamp = self.slot(head).stamp.load(Ordering::Acquire);
        (stamp & LAP == self.lap_of(head)).then_some(stamp & !LAP)
    }

    /// Returns the head if it is not `head` any more. Then what was seen in the slot of `head` means nothing.
    #[inline]
    fn moved_from(&self, head: u64) -> Option<u64> {
        let now = self.head.count.load(Ordering::Acquire);
        (now != head).then_some(now)
    }

    /// Does what [`Consumer::oldest_stamp`] says.
    #[inline]
    fn oldest_stamp(&self) -> Option<u64> {
        let mut head = self.head.count.load(Ordering::Acquire);
        loop {
            let stamp = self.stamp_of(head);
            if stamp.is_some() {
                return stamp;
            }
            head = self.moved_from(head)?;
        }
    }

    /// Claims and returns the oldest message with its number, if `is_wanted` returns true for its number (the head).
    #[inline]
    fn claim(&self, is_wanted: impl Fn(u64) -> bool) -> Option<(P, u64)> {
        let mut head = self.head.count.load(Ordering::Acquire);
        loop {
            if !is_wanted(head) {
                head = self.moved_from(head)?;
                continue;
            }
            let message = self.slot(head).message.load(Ordering::Relaxed);
            match self.head.count.compare_exchange_weak(head, head + 1, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: the claim gave this thread message `head`, and `message` points to it (see the module's
                // text). It is of the ring's kind, as `push` demands.
                Ok(_) => return Some((unsafe { P::from_raw(message, self.kind) }, head)),
                Err(current) => head = current,
            }
        }
    }

    /// Claims and returns the oldest message, if there is one.
    #[inline]
    fn claim_oldest(&self) -> Option<Popped<P>> {
        let stamp = Cell::new(0);
        let is_there = |head| match self.stamp_of(head) {
            Some(of_head) => {
                stamp.set(of_head);
                true
            }
            None => false,
        };
        let (message, number) = self.claim(is_there)?;
        // The claim succeeded, so the slot was not overwritten before: the stamp is that of the message.
        Some(Popped { message, number, stamp: stamp.get() })
    }
}

impl<P: OwningPointer> Drop for Shared<P> {
    fn drop(&mut self) {
        while self.claim_oldest().is_some() {}
    }
}

/// The producing end of a ring.
pub(crate) struct Producer<P: OwningPointer> {
    ring: Arc<Shared<P>>,
    /// The number of the next message.
    tail: u64,
    /// The head as this producer saw it last.
    head_seen: u64,
}

/// A message that made room for a new one.
pub(crate) struct Displaced<P> {
    pub(crate) message: P,
    /// Its publication time.
    pub(crate) stamp: u64,
    /// True if a consumer [looked](Consumer::pop_and_look) for this message before it was published, and has not looked
    /// for a later one since. May be false if it looked only nanoseconds ago.
    pub(crate) was_missed: bool,
}

/// A message that a consumer has taken.
pub(crate) struct Popped<P> {
    pub(crate) message: P,
    /// Its number, counted from 0.
    pub(crate) number: u64,
    /// Its publication time.
    pub(crate) stamp: u64,
}

/// A consuming end of a ring.
pub(crate) struct Consumer<P: OwningPointer> {
    ring: Arc<Shared<P>>,
}

impl<P: OwningPointer> Clone for Consumer<P> {
    fn clone(&self) -> Self {
        Self { ring: Arc::clone(&self.ring) }
    }
}

/// A view of a ring, apart from both of its ends.
pub(crate) struct View<P: OwningPointer>(Arc<Shared<P>>);

impl<P: OwningPointer> Clone for View<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: OwningPointer> View<P> {
    /// Returns true if notifications are not needed, see [`Mute::is_muted`].
    #[inline]
    pub(crate) fn is_muted(&self) -> bool {
        self.0.mute.is_muted()
    }

    /// Returns true if a message that was just appended needs no notification, see [`Mute::is_muted_for_published`].
    #[inline]
    pub(crate) fn is_muted_for_published(&self) -> bool {
        self.0.mute.is_muted_for_published()
    }

    /// Returns the publication time of the oldest message, see [`Consumer::oldest_stamp`].
    #[inline]
    pub(crate) fn oldest_stamp(&self) -> Option<u64> {
        self.0.oldest_stamp()
    }
}

/// Creates a ring that keeps the last `depth` messages of that kind. Allocates the slots for all of them.
pub(crate) fn ring<P: OwningPointer>(depth: Depth, kind: P::Kind) -> (Producer<P>, Consumer<P>) {
    let slot = |_| Slot { message: AtomicPtr::new(ptr::null_mut()), stamp: AtomicU64::new(0) };
    let depth = depth.get();
    let slots: Box<[_]> = (0..depth.next_power_of_two()).map(slot).collect();
    let ring = Arc::new(Shared {
        depth: depth as u64,
        kind,
        mask: slots.len() - 1,
        slots,
        mute: Mute::new(),
        head: Head { count: AtomicU64::new(0), missed: AtomicU64::new(0) },
        owns: PhantomData,
    });
    (Producer { ring: Arc::clone(&ring), tail: 0, head_seen: 0 }, Consumer { ring })
}

impl<P: OwningPointer> Producer<P> {
    /// Appends a message, which must be of the ring's kind. If the ring was full, returns the oldest message, which was
    /// displaced.
    #[inline]
    pub(crate) fn push(&mut self, message: P, stamp: u64) -> Option<Displaced<P>> {
        debug_assert!(message.is_of(self.ring.kind), "the messages of a ring are of its kind");
        let displaced = self.make_room();
        self.append(message, stamp);
        displaced
    }

    /// Appends a message, which must be of the ring's kind, unless the ring is full. Then it returns the message.
    #[inline(always)]
    pub(crate) fn push_if_room(&mut self, message: P, stamp: u64) -> Result<(), P> {
        debug_assert!(message.is_of(self.ring.kind), "the messages of a ring are of its kind");
        if self.tail - self.head_seen >= self.ring.depth {
            self.head_seen = self.ring.head.count.load(Ordering::Acquire);
        }
        if self.tail - self.head_seen >= self.ring.depth {
            return Err(message);
        }
        self.append(message, stamp);
        Ok(())
    }

    /// Prefetches what the next message will be written to.
    #[inline(always)]
    pub(crate) fn prefetch_slot(&self) {
        prefetch_to_write_at(ptr::from_ref(self.ring.slot(self.tail)).addr());
    }

    /// Returns true if notifications are not needed, see [`Mute::is_muted`].
    #[inline]
    pub(crate) fn is_muted(&self) -> bool {
        self.ring.mute.is_muted()
    }

    /// Stores the next message, for which there is room.
    #[inline(always)]
    fn append(&mut self, message: P, stamp: u64) {
        let slot = self.ring.slot(self.tail);
        // A consumer that sees the stamp of this message sees the message, too.
        slot.message.store(message.into_raw(), Ordering::Relaxed);
        slot.stamp.store(stamp.min(LAP - 1) | self.ring.lap_of(self.tail), Ordering::Release);
        self.tail += 1;
    }

    /// Returns how many messages were appended so far, which is the number of the next one.
    pub(crate) const fn pushed(&self) -> u64 {
        self.tail
    }

    /// Returns the number of messages that the ring keeps.
    pub(crate) fn depth(&self) -> usize {
        self.ring.depth as usize
    }

    /// Returns true if the next message displaces one, unless the consumer takes one first.
    pub(crate) fn is_full(&self) -> bool {
        let is_full = |head| self.tail - head >= self.ring.depth;
        is_full(self.head_seen) && is_full(self.ring.head.count.load(Ordering::Relaxed))
    }

    /// Returns how many messages can be appended before one is displaced, if the consumer takes none meanwhile.
    pub(crate) fn free(&self) -> usize {
        let kept = self.tail - self.ring.head.count.load(Ordering::Relaxed);
        self.ring.depth.saturating_sub(kept) as usize
    }

    /// Takes out the oldest message if the ring is full, so that the next one displaces none.
    #[inline]
    pub(crate) fn make_room(&mut self) -> Option<Displaced<P>> {
        if self.tail - self.head_seen < self.ring.depth { None } else { self.displace() }
    }

    #[inline(never)]
    fn displace(&mut self) -> Option<Displaced<P>> {
        let Shared { depth, head, .. } = &*self.ring;
        let displaced = self.ring.claim(|head| self.tail - head >= *depth);
        self.head_seen = head.count.load(Ordering::Acquire);
        let (message, number) = displaced?;
        // Only producers write stamps.
        let stamp = self.ring.slot(number).stamp.load(Ordering::Relaxed) & !LAP;
        let was_missed = head.missed.load(Ordering::Relaxed) == number;
        Some(Displaced { message, stamp, was_missed })
    }
}

impl<P: OwningPointer> Consumer<P> {
    /// Returns the producer's mute. A consumer that mutes while it knows of a message takes that without being
    /// notified.
    pub(crate) fn mute(&self) -> &Mute {
        &self.ring.mute
    }

    /// Returns a view of the ring.
    pub(crate) fn view(&self) -> View<P> {
        View(Arc::clone(&self.ring))
    }

    /// Prefetches what tells where the oldest message is.
    pub(crate) fn prefetch_ring(&self) {
        prefetch(&self.ring.head);
        prefetch(&self.ring.mask);
    }

    /// Prefetches what the next [`pop_and_look`](Self::pop_and_look) looks at. The ring should have been
    /// [fetched](Self::prefetch_ring) before.
    pub(crate) fn prefetch_slot(&self) {
        let head = self.ring.head.count.load(Ordering::Relaxed);
        prefetch(self.ring.slot(head));
        prefetch(self.ring.slot(head + 1));
    }

    /// Prefetches the oldest message, if there is one, and its counts of owners, which are `before` bytes before it and
    /// will be written. Its slot should have been [fetched](Self::prefetch_slot) before.
    pub(crate) fn prefetch_message(&self, before: usize) {
        let head = self.ring.head.count.load(Ordering::Relaxed);
        if self.ring.stamp_of(head).is_some() {
            let message = self.ring.slot(head).message.load(Ordering::Relaxed);
            prefetch_to_write_at(message.addr().wrapping_sub(before));
            prefetch_at(message.cast());
        }
    }

    /// Takes the oldest message.
    pub(crate) fn pop(&self) -> Option<P> {
        self.pop_with_stamp().map(|popped| popped.message)
    }

    /// Takes the oldest message. Returns it, and the publication time of the next one, if there is a next one.
    #[inline]
    pub(crate) fn pop_and_look(&self) -> Option<(P, Option<u64>)> {
        let Popped { message, number, .. } = self.pop_with_stamp()?;
        let next = self.ring.stamp_of(number + 1);
        // Without a stamp, the producer may have displaced the next message, and others may wait.
        let next = if next.is_none() { self.ring.oldest_stamp() } else { next };
        if next.is_none() {
            self.ring.head.missed.store(number + 1, Ordering::Relaxed);
        }
        Some((message, next))
    }

    /// Takes the oldest message, and returns it with its number and its publication time.
    pub(crate) fn pop_with_stamp(&self) -> Option<Popped<P>> {
        self.ring.claim_oldest()
    }

    /// Returns the publication time of the oldest message; `None` if there is none.
    ///
    /// It may be the time of a later message if the producer displaces this one at the same time.
    pub(crate) fn oldest_stamp(&self) -> Option<u64> {
        self.ring.oldest_stamp()
    }

    /// Returns how many messages there are, or were a moment ago. Takes logarithmic time.
    pub(crate) fn len(&self) -> usize {
        let head = self.ring.head.count.load(Ordering::Acquire);
        // A slot that has another lap than the message had its message overwritten, or gets it yet. In the former case
        // the head has passed the message.
        let was_appended = |number| {
            self.ring.stamp_of(number).is_some() || self.ring.moved_from(head).is_some_and(|head| number < head)
        };
        let mut len = 0;
        let mut beyond = self.ring.depth + 1;
        while len + 1 < beyond {
            let middle = u64::midpoint(len, beyond);
            if was_appended(head + middle - 1) { len = middle } else { beyond = middle }
        }
        len as usize
    }
}
