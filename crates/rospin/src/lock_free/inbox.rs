//! The inbox: what notifiers push entities into, and an executor thread empties before every pick.
//!
//! A stack of links that each carry a `queued` mark, so that a link is in it at most once, however often it is pushed.
//! The consumer takes the whole stack with one swap and reverses it, so links come out in the order of their first push.
//!
//! States of a link, and who moves it:
//!
//! ```text
//!             push: mark was clear (1)
//!    idle  ---------------------------->  queued
//!     ^    <----------------------------    |  ^
//!     |      drain: clears the mark (2)     |  |  push: mark was set (3)
//!     |                                     +--+
//! ```
//!
//! 1. The pusher that set the mark, and only it, links the node. It owns `next` until its compare-and-swap succeeds.
//! 2. The consumer reads `next` before it clears the mark: from then on a pusher may overwrite it.
//! 3. Nothing to do: the consumer has yet to clear the mark, and looks at the source after that. The pusher's swap
//!    releases what it wrote before, the consumer's swap acquires it.
//!
//! A push retries only when another link was pushed in between, so it takes at most as many steps as there are links.
//! There is no state in which a preempted pusher hides what others pushed, as in queues that link after they publish.

use std::ptr;

use super::sync::{Arc, AtomicBool, AtomicPtr, Ordering};

/// A member of an inbox, with what the consumer needs to know in `data`.
pub(crate) struct Link<T> {
    next: AtomicPtr<Link<T>>,
    queued: AtomicBool,
    pub(crate) data: T,
}

impl<T> Link<T> {
    pub(crate) fn new(data: T) -> Self {
        Self { next: AtomicPtr::new(ptr::null_mut()), queued: AtomicBool::new(false), data }
    }
}

/// Links that were pushed since the last drain.
pub(crate) struct Inbox<T> {
    /// Each link in the list holds one strong reference to itself, from `Arc::into_raw`.
    head: AtomicPtr<Link<T>>,
}

// SAFETY: the raw pointers are strong references of `Arc<Link<T>>`, which move between threads with the list; `Link`
// itself has only atomics besides `data`.
unsafe impl<T: Send + Sync> Send for Inbox<T> {}
// SAFETY: as above; `push` and `drain` take `&self` and synchronise through `head` and `queued`.
unsafe impl<T: Send + Sync> Sync for Inbox<T> {}

impl<T> Inbox<T> {
    pub(crate) fn new() -> Self {
        Self { head: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Puts `link` in, unless it is in already; says whether it was not.
    ///
    /// Neither blocks nor allocates. What the caller wrote before is visible to whoever drains the link.
    pub(crate) fn push(&self, link: &Arc<Link<T>>) -> bool {
        if link.queued.swap(true, Ordering::AcqRel) {
            return false;
        }
        let node = Arc::into_raw(Arc::clone(link)).cast_mut();
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            link.next.store(head, Ordering::Relaxed);
            match self.head.compare_exchange_weak(head, node, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(current) => head = current,
            }
        }
    }

    /// Whether a drain would find nothing at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// Takes all links out, in the order in which they were pushed.
    pub(crate) fn drain(&self) -> Drain<T> {
        if self.is_empty() {
            return Drain { next: ptr::null_mut() };
        }
        let mut newest_first = self.head.swap(ptr::null_mut(), Ordering::Acquire);
        let mut oldest_first = ptr::null_mut();
        while !newest_first.is_null() {
            let node = newest_first;
            // SAFETY: `node` came out of the list, whose strong reference keeps it alive; while its mark is set, only
            // the one who took it out of the list touches `next`.
            let next = unsafe { &(*node).next };
            newest_first = next.load(Ordering::Relaxed);
            next.store(oldest_first, Ordering::Relaxed);
            oldest_first = node;
        }
        Drain { next: oldest_first }
    }
}

impl<T> Drop for Inbox<T> {
    fn drop(&mut self) {
        drop(self.drain());
    }
}

/// The links of one drain. Dropping it early forgets the rest.
pub(crate) struct Drain<T> {
    next: *mut Link<T>,
}

impl<T> Iterator for Drain<T> {
    type Item = Arc<Link<T>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next.is_null() {
            return None;
        }
        // SAFETY: the pointer came from `Arc::into_raw` in `push`, and its one strong reference is taken back here once.
        let link = unsafe { Arc::from_raw(self.next.cast_const()) };
        // Before the mark is cleared: afterwards a pusher may write it.
        self.next = link.next.load(Ordering::Relaxed);
        link.queued.swap(false, Ordering::AcqRel);
        Some(link)
    }
}

impl<T> Drop for Drain<T> {
    fn drop(&mut self) {
        for link in self {
            drop(link);
        }
    }
}
