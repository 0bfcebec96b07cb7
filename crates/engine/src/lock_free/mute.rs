//! Muting: as long as the consumer knows that there is more to take, it needs no notification.
//!
//! A consumer that took something and sees more mutes the notifiers, which then cost a look at a word that hardly ever
//! changes. When it finds nothing more it unmutes them, and looks once more ([`unmute`](Mute::unmute)). Both sides have a
//! sequentially consistent fence between their write and their read, so at least one of them sees the other: either the
//! consumer finds what was published, or the notifier finds that it is not muted.
//!
//! Whoever mutes promises to take again without being notified.

use super::sync::{AtomicBool, Ordering, fence};

/// Whether a source's notifications are of no use.
pub(crate) struct Mute(AtomicBool);

impl Mute {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// The consumer: there is more, which it will take. For one thread at a time, as [`unmute`](Self::unmute).
    pub(crate) fn mute(&self) {
        if !self.0.load(Ordering::Relaxed) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The consumer: there was nothing. Says whether it must look once more before it waits for a notification.
    pub(crate) fn unmute(&self) -> bool {
        let was_muted = self.0.load(Ordering::Relaxed);
        if was_muted {
            self.0.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
        was_muted
    }

    /// A notifier, after [`published`]: whether to leave it at that.
    pub(crate) fn is_muted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// To be called between publishing something and the look at any [`Mute`].
pub(crate) fn published() {
    fence(Ordering::SeqCst);
}
