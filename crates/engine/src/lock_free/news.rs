//! News for an executor: other threads leave something for it to look at, such as a change of its state.
//!
//! Whoever leaves something writes it, then [tells](News::tell) of it, then has it looked at: by unparking a thread of
//! the executor, and by [settling](News::settle) if nobody spins. The thread that has the executor's state
//! [takes](News::take) the news before it looks at what was left, so that news that come later stay.
//!
//! A thread that unlocks the state settles, too. It writes the lock, then reads the news; a thread that tells writes
//! the news, then tries the lock. Both have a sequentially consistent fence in between, so at least one of them sees
//! the other: either the former finds the news, or the latter gets the lock.

use super::sync::{AtomicBool, Ordering, fence};

/// True if an executor has to look at what others have left.
pub(crate) struct News(AtomicBool);

impl News {
    pub(crate) fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Tells of what the caller has written before. A fence must follow before the caller looks if anybody sees it: an
    /// unpark and [`settle`](Self::settle) have one.
    ///
    /// This is a read-modify-write, so that it hides no other news: whoever takes them sees what all those tell of that
    /// came before.
    #[inline]
    pub(crate) fn tell(&self) {
        self.0.swap(true, Ordering::Release);
    }

    /// Returns true if there are news.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns true if there were news, and takes them. Then the caller sees what they tell of.
    #[inline]
    pub(crate) fn take(&self) -> bool {
        self.are_there() && self.0.swap(false, Ordering::Acquire)
    }

    /// Has the news looked at by `look`, which tries to take them under a lock, and returns false if that is locked.
    /// Then the thread that has the lock calls this after its unlock. Looks at most `looks` times: others may tell all
    /// the time.
    pub(crate) fn settle(&self, looks: u32, mut look: impl FnMut() -> bool) {
        for _ in 0..looks {
            fence(Ordering::SeqCst);
            if !self.are_there() || !look() {
                return;
            }
        }
    }
}
