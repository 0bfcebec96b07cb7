//! Bells: what the middleware's threads ring when an entity has something to take.

use std::ffi::c_void;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use rospin_engine::{Mutex, Notifier};

/// Bells that no entity uses.
static UNUSED: Mutex<Vec<&'static Bell>> = Mutex::new(Vec::new());

/// The number of items that an entity may have to take, and the notifier of its source.
///
/// Bells are never freed but used again, because a message that the user borrowed keeps its subscription in rcl alive,
/// with its callback, after the entity has gone. The bell may have a new entity then, to which a late ring is a
/// spurious notification.
pub(super) struct Bell {
    notifier: Mutex<Option<Notifier>>,
    count: AtomicUsize,
    /// The most items that the middleware keeps.
    limit: AtomicUsize,
}

/// A bell that an entity uses.
pub(super) struct Lease(&'static Bell);

impl Lease {
    pub(super) fn new() -> Self {
        let unused = UNUSED.lock().pop();
        Self(unused.unwrap_or_else(|| {
            Box::leak(Box::new(Bell {
                notifier: Mutex::new(None),
                count: AtomicUsize::new(0),
                limit: AtomicUsize::new(usize::MAX),
            }))
        }))
    }

    /// Returns the bell, which is never freed.
    pub(super) const fn forever(&self) -> &'static Bell {
        self.0
    }
}

impl Deref for Lease {
    type Target = Bell;

    fn deref(&self) -> &Bell {
        self.0
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let notifier = self.0.notifier.lock().take();
        drop(notifier);
        self.0.count.store(0, Ordering::Relaxed);
        self.0.limit.store(usize::MAX, Ordering::Relaxed);
        UNUSED.lock().push(self.0);
    }
}

impl Bell {
    /// Returns the pointer that is given to rcl with [`on_event`].
    pub(super) fn as_data(&'static self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }

    /// Sets the most items that the middleware keeps, so that displaced ones are not looked for.
    pub(super) fn set_limit(&self, limit: usize) {
        self.limit.store(limit.max(1), Ordering::Relaxed);
    }

    pub(super) fn attach(&self, notifier: Notifier) {
        *self.notifier.lock() = Some(notifier);
    }

    /// Adds items, and notifies the executor if there were none: as long as there are some, it comes back for them.
    /// Neither allocates nor waits for a callback.
    pub(super) fn ring(&self, items: usize) {
        let limit = self.limit.load(Ordering::Relaxed);
        let add = |count: usize| Some(count.saturating_add(items).min(limit));
        if self.count.fetch_update(Ordering::AcqRel, Ordering::Relaxed, add) == Ok(0) {
            self.wake();
        }
    }

    /// Adds an item without notifying.
    pub(super) fn put_back(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Notifies the executor without an item.
    pub(super) fn wake(&self) {
        if let Some(notifier) = &*self.notifier.lock() {
            notifier.notify();
        }
    }

    /// Returns the number of items.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Removes up to that many items, and returns true if there was one.
    pub(super) fn remove(&self, items: usize) -> bool {
        let less = |count: usize| (count > 0).then(|| count.saturating_sub(items));
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }
}

/// The callback that rcl calls for new events, on a thread of the middleware.
pub(super) extern "C" fn on_event(data: *const c_void, count: usize) {
    // SAFETY: the pointer is from `Bell::as_data`, and bells are never freed.
    let bell: &'static Bell = unsafe { &*data.cast() };
    bell.ring(count);
}
