//! A ring that keeps the last n messages: one producer at a time, any number of consumers, none of which ever waits.
//!
//! `head` and `tail` count messages from the beginning; message `t` is in slot `t % s` of the `s >= n` slots, a power of two.
//! Whoever advances `head` from `t` to `t + 1` owns message `t`: a consumer to run a callback on it, or the producer to
//! displace it because the ring is full. A consumer reads the slot before it claims it. That is sound, because the producer
//! overwrites slot `t % s` (with message `t + s`) only after somebody claimed `t`: if the consumer's claim succeeds, what it
//! read was message `t`, and if not, it forgets the pointer unused.
//!
//! Each end remembers what it last saw of the other's count, and looks again only when that is no longer enough: the counts
//! only grow, so what was seen is never too much. As long as the ring is neither full nor empty, neither end reads what the
//! other one writes all the time.
//!
//! The counts have 64 bits everywhere, so that they never wrap: 32 bits do within days, and then a consumer that was preempted
//! for long could mistake one message for another.

use std::marker::PhantomData;
use std::ptr;

use super::mute::Mute;
use super::sync::{Arc, AtomicPtr, AtomicU64, Ordering};

/// A pointer that owns what it points to, taken apart and put together again.
///
/// # Safety
/// `from_raw(into_raw(p))` must be `p`, and `into_raw` must never return null.
pub(crate) unsafe trait OwningPointer {
    type Target;
    fn into_raw(self) -> *mut Self::Target;
    /// # Safety
    /// `raw` must come from `into_raw`, and be given back only once.
    unsafe fn from_raw(raw: *mut Self::Target) -> Self;
}

// SAFETY: `Box::into_raw` and `Box::from_raw` are inverse and never null.
unsafe impl<T> OwningPointer for Box<T> {
    type Target = T;
    fn into_raw(self) -> *mut T {
        Box::into_raw(self)
    }
    unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Box::from_raw(raw) }
    }
}

// SAFETY: `Arc::into_raw` and `Arc::from_raw` are inverse and never null.
unsafe impl<T> OwningPointer for std::sync::Arc<T> {
    type Target = T;
    fn into_raw(self) -> *mut T {
        Self::into_raw(self).cast_mut()
    }
    unsafe fn from_raw(raw: *mut T) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(raw.cast_const()) }
    }
}

struct Slot<T> {
    message: AtomicPtr<T>,
    /// When the message was published; only a hint once the slot may be overwritten.
    stamp: AtomicU64,
}

/// On a cache line of its own: producer and consumer each write one, and need not wait for the other's.
#[repr(align(64))]
struct Count(AtomicU64);

struct Shared<P: OwningPointer> {
    depth: u64,
    slots: Box<[Slot<P::Target>]>,
    /// Of the producer. Here it costs no cache line: both ends look at this one for the slots, and hardly ever write to it.
    mute: Mute,
    head: Count,
    tail: Count,
    owns: PhantomData<P>,
}

// SAFETY: the slots own values of `P`, which is `Send`; each is handed to exactly one thread, which claimed it.
unsafe impl<P: OwningPointer + Send> Send for Shared<P> {}
// SAFETY: as above; nobody gets a reference to a value that is still in the ring.
unsafe impl<P: OwningPointer + Send> Sync for Shared<P> {}

impl<P: OwningPointer> Shared<P> {
    fn slot(&self, ticket: u64) -> &Slot<P::Target> {
        &self.slots[ticket as usize & (self.slots.len() - 1)]
    }

    /// Takes the oldest message, if it is `worth_it` with that head.
    fn claim(&self, worth_it: impl Fn(u64) -> bool) -> Option<P> {
        let mut head = self.head.0.load(Ordering::Acquire);
        loop {
            if !worth_it(head) {
                return None;
            }
            let message = self.slot(head).message.load(Ordering::Acquire);
            match self.head.0.compare_exchange_weak(head, head + 1, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: by the claim this thread owns message `head`, and `message` is it (see the module's text).
                Ok(_) => return Some(unsafe { P::from_raw(message) }),
                Err(current) => head = current,
            }
        }
    }
}

impl<P: OwningPointer> Drop for Shared<P> {
    fn drop(&mut self) {
        let tail = self.tail.0.load(Ordering::Acquire);
        while self.claim(|head| head != tail).is_some() {}
    }
}

/// The producing end.
pub(crate) struct Producer<P: OwningPointer> {
    ring: Arc<Shared<P>>,
    head_seen: u64,
}

/// A consuming end.
pub(crate) struct Consumer<P: OwningPointer> {
    ring: Arc<Shared<P>>,
    tail_seen: AtomicU64,
}

impl<P: OwningPointer> Clone for Consumer<P> {
    fn clone(&self) -> Self {
        Self { ring: Arc::clone(&self.ring), tail_seen: AtomicU64::new(0) }
    }
}

/// Tells whether a ring's producer is muted, apart from both of its ends.
pub(crate) struct MuteOf<P: OwningPointer>(Arc<Shared<P>>);

impl<P: OwningPointer> Clone for MuteOf<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<P: OwningPointer> MuteOf<P> {
    /// See [`Mute::is_muted`].
    pub(crate) fn is_muted(&self) -> bool {
        self.0.mute.is_muted()
    }
}

/// A ring that keeps the last `depth` messages (at least one).
pub(crate) fn ring<P: OwningPointer>(depth: usize) -> (Producer<P>, Consumer<P>) {
    let slot = |_| Slot { message: AtomicPtr::new(ptr::null_mut()), stamp: AtomicU64::new(0) };
    let depth = depth.max(1);
    let ring = Arc::new(Shared {
        depth: depth as u64,
        slots: (0..depth.next_power_of_two()).map(slot).collect(),
        mute: Mute::new(),
        head: Count(AtomicU64::new(0)),
        tail: Count(AtomicU64::new(0)),
        owns: PhantomData,
    });
    (Producer { ring: Arc::clone(&ring), head_seen: 0 }, Consumer { ring, tail_seen: AtomicU64::new(0) })
}

impl<P: OwningPointer> Producer<P> {
    /// Appends a message; if the ring was full, returns the oldest one, which had to go.
    pub(crate) fn push(&mut self, message: P, stamp: u64) -> Option<P> {
        // Only this producer writes `tail`.
        let tail = self.ring.tail.0.load(Ordering::Relaxed);
        let displaced = self.make_room(tail);
        let slot = self.ring.slot(tail);
        slot.stamp.store(stamp, Ordering::Relaxed);
        slot.message.store(message.into_raw(), Ordering::Release);
        self.ring.tail.0.store(tail + 1, Ordering::Release);
        displaced
    }

    /// Whether the next message displaces one, unless the consumer takes it first.
    pub(crate) fn is_full(&self) -> bool {
        let tail = self.ring.tail.0.load(Ordering::Relaxed);
        tail - self.ring.head.0.load(Ordering::Relaxed) >= self.ring.depth
    }

    fn make_room(&mut self, tail: u64) -> Option<P> {
        let Shared { depth, head, .. } = &*self.ring;
        if tail - self.head_seen < *depth {
            return None;
        }
        let displaced = self.ring.claim(|head| tail - head >= *depth);
        self.head_seen = head.0.load(Ordering::Acquire);
        displaced
    }
}

impl<P: OwningPointer> Consumer<P> {
    /// Of the producer, while it is known that the ring is not empty: whoever asked has it taken from.
    pub(crate) fn mute(&self) -> &Mute {
        &self.ring.mute
    }

    /// For whoever notifies of messages.
    pub(crate) fn mute_of(&self) -> MuteOf<P> {
        MuteOf(Arc::clone(&self.ring))
    }

    /// Takes the oldest message.
    pub(crate) fn pop(&self) -> Option<P> {
        self.ring.claim(|head| self.has(head))
    }

    /// When the oldest message was published; `None` if there is none.
    ///
    /// May be the stamp of a later message if the producer displaces this one at the same time.
    pub(crate) fn oldest_stamp(&self) -> Option<u64> {
        let head = self.ring.head.0.load(Ordering::Acquire);
        self.has(head).then(|| self.ring.slot(head).stamp.load(Ordering::Relaxed))
    }

    /// Returns how many messages there are, or were a moment ago.
    pub(crate) fn len(&self) -> usize {
        let head = self.ring.head.0.load(Ordering::Acquire);
        let tail = self.ring.tail.0.load(Ordering::Acquire);
        // The producer keeps no more than the depth, but a consumer may have taken some since the head was read.
        tail.saturating_sub(head).min(self.ring.depth) as usize
    }

    /// Whether there is a message, if that is the head, or was a moment ago.
    fn has(&self, head: u64) -> bool {
        // Whichever thread saw it: it saw the messages, too.
        if head < self.tail_seen.load(Ordering::Acquire) {
            return true;
        }
        let tail = self.ring.tail.0.load(Ordering::Acquire);
        self.tail_seen.store(tail, Ordering::Release);
        head < tail
    }
}
