//! Muting: a consumer that knows of more to take needs no notification.
//!
//! A consumer that took something and sees more mutes the notifiers. A muted notifier only reads a word that hardly
//! ever changes. When the consumer finds nothing more, it unmutes the notifiers and looks once more
//! ([`unmute`](Mute::unmute)). Both sides have a sequentially consistent fence between their write and their read, so
//! at least one of them sees the other: either the consumer finds the item, or the notifier finds that it is not muted.
//!
//! A consumer that mutes promises to take again without being notified.
//!
//! While a queue is known not to be empty, its executor and its publishers share no cache line but the ring's. A take
//! that leaves the queue empty does not unmute: a synchronous callback of a mutually exclusive group runs first, and
//! the source is asked after it (`Pending::AskAgain`). A notification meanwhile would be of no use, since the callback
//! does not run again before it has returned. So a callback that publishes to its own topic raises no flag.

use super::sync::{AtomicBool, Ordering, fence};

/// A switch that is on while notifications of a source are not needed.
pub(crate) struct Mute(AtomicBool);

impl Mute {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Mutes the notifiers. The consumer calls it when it has seen more to take. Like [`unmute`](Self::unmute), it is
    /// for one thread at a time.
    #[inline]
    pub(crate) fn mute(&self) {
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// Unmutes the notifiers. The consumer calls it when it has found nothing. If it returns true, the consumer must
    /// look once more before it waits for a notification.
    #[inline]
    pub(crate) fn unmute(&self) -> bool {
        let was_muted = self.0.load(Ordering::Relaxed);
        if was_muted {
            self.0.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        was_muted
    }

    /// Returns true if a notification is not needed. A notifier calls it after [`published`].
    #[inline]
    pub(crate) fn is_muted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns true if the item that was just published needs no notification. The notifier need not call [`published`]
    /// before, whose fence takes long: it is needed only for the answer that no notification is needed.
    #[inline]
    pub(crate) fn is_muted_for_published(&self) -> bool {
        self.is_muted() && {
            published();
            self.is_muted()
        }
    }
}

/// Orders the publication of an item before the look at a [`Mute`]. Call it in between.
#[inline]
pub(crate) fn published() {
    fence(Ordering::SeqCst);
}
