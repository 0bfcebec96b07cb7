//! A ring that keeps the last n messages: one producer at a time, any number of consumers, none of which ever waits.
//!
//! `head` and `tail` count messages from the beginning; message `t` is in slot `t % n`. Whoever advances `head` from `t`
//! to `t + 1` owns message `t`: a consumer to run a callback on it, or the producer to displace it because the ring is
//! full. A consumer reads the slot before it claims it. That is sound, because the producer overwrites slot `t % n` (with
//! message `t + n`) only after somebody claimed `t`: if the consumer's claim succeeds, what it read was message `t`, and
//! if not, it forgets the pointer unused.
//!
//! The counts have 64 bits everywhere, so that they never wrap: 32 bits do within days, and then `t % n` jumps unless n is
//! a power of two, and a consumer that was preempted for long could mistake one message for another.

use std::marker::PhantomData;
use std::ptr;

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
    slots: Box<[Slot<P::Target>]>,
    head: Count,
    tail: Count,
    owns: PhantomData<P>,
}

// SAFETY: the slots own values of `P`, which is `Send`; each is handed to exactly one thread, which claimed it.
unsafe impl<P: OwningPointer + Send> Send for Shared<P> {}
// SAFETY: as above; nobody gets a reference to a value that is still in the ring.
unsafe impl<P: OwningPointer + Send> Sync for Shared<P> {}

impl<P: OwningPointer> Shared<P> {
    fn depth(&self) -> u64 {
        self.slots.len() as u64
    }

    fn slot(&self, ticket: u64) -> &Slot<P::Target> {
        &self.slots[(ticket % self.depth()) as usize]
    }

    /// Takes the oldest message, if `worth_it` of head and tail.
    fn claim(&self, worth_it: impl Fn(u64, u64) -> bool) -> Option<P> {
        let mut head = self.head.0.load(Ordering::Acquire);
        loop {
            let tail = self.tail.0.load(Ordering::Acquire);
            if !worth_it(head, tail) {
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
        while self.claim(|head, tail| head != tail).is_some() {}
    }
}

/// The producing end.
pub(crate) struct Producer<P: OwningPointer>(Arc<Shared<P>>);

/// A consuming end.
pub(crate) struct Consumer<P: OwningPointer>(Arc<Shared<P>>);

impl<P: OwningPointer> Clone for Consumer<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// A ring that keeps the last `depth` messages (at least one).
pub(crate) fn ring<P: OwningPointer>(depth: usize) -> (Producer<P>, Consumer<P>) {
    let slot = |_| Slot { message: AtomicPtr::new(ptr::null_mut()), stamp: AtomicU64::new(0) };
    let shared = Arc::new(Shared {
        slots: (0..depth.max(1)).map(slot).collect(),
        head: Count(AtomicU64::new(0)),
        tail: Count(AtomicU64::new(0)),
        owns: PhantomData,
    });
    (Producer(Arc::clone(&shared)), Consumer(shared))
}

impl<P: OwningPointer> Producer<P> {
    /// Appends a message; if the ring was full, returns the oldest one, which had to go.
    pub(crate) fn push(&mut self, message: P, stamp: u64) -> Option<P> {
        let ring = &*self.0;
        // Only this producer writes `tail`.
        let tail = ring.tail.0.load(Ordering::Relaxed);
        let displaced = ring.claim(|head, _| tail - head >= ring.depth());
        let slot = ring.slot(tail);
        slot.stamp.store(stamp, Ordering::Relaxed);
        slot.message.store(message.into_raw(), Ordering::Release);
        ring.tail.0.store(tail + 1, Ordering::Release);
        displaced
    }
}

impl<P: OwningPointer> Consumer<P> {
    /// Takes the oldest message.
    pub(crate) fn pop(&self) -> Option<P> {
        self.0.claim(|head, tail| head != tail)
    }

    /// When the oldest message was published; `None` if there is none.
    ///
    /// May be the stamp of a later message if the producer displaces this one at the same time.
    pub(crate) fn oldest_stamp(&self) -> Option<u64> {
        let head = self.0.head.0.load(Ordering::Acquire);
        let tail = self.0.tail.0.load(Ordering::Acquire);
        (head != tail).then(|| self.0.slot(head).stamp.load(Ordering::Relaxed))
    }
}
