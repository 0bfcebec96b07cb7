//! The inbox: notifiers raise flags in it, and an executor thread drains it before every pick.
//!
//! Every entity, and every activation that may be suspended, has a flag. A notifier raises the flag and marks the page that the
//! flag is on. The consumer clears a mark before it looks at the page, and a flag before it takes from the source.
//!
//! ```text
//!   notifier: 1. arrival time, unless an earlier one is noted   2. flag of the page   3. mark of the page
//!   consumer: 1. mark of the page   2. flag of the page   3. arrival time
//! ```
//!
//! There are as many marks as bits in a word. An executor with more pages has several books, and a mark says that the page of
//! that number has a raised flag in at least one of the books. So a notification touches two or three cache lines, however many
//! entities there are.
//!
//! Every notifier does all of its steps, whatever other notifiers have done. So a notifier that is preempted between two steps
//! hides no notification of others, not even of the same entity. Each step is one atomic instruction; nobody waits or tries
//! again. A flag that is seen twice is a spurious notification, which does no harm.
//!
//! The consumer sees everything that happened before a notification: each of its read-modify-writes reads from the notifier's
//! write of the same word, or from a later one in its release sequence.

use super::sync::{Arc, AtomicU64, Ordering};

/// The number of flags on a page, and of pages in a book: the bits of a word. Model checkers get small books, so that a test
/// needs more than one of them.
const WORD: usize = if cfg!(rospin_loom) {
    2
} else if cfg!(rospin_shuttle) {
    4
} else {
    64
};

/// The number of flags in a book.
pub(crate) const BOOK: usize = WORD * WORD;

/// A page of flags with their arrival times. A small executor needs only one.
#[repr(C, align(64))]
struct Page {
    raised: AtomicU64,
    /// For each flag the earliest arrival since the last drain, or [`NONE`].
    arrivals_ns: [AtomicU64; WORD],
}

/// Value in place of an arrival time while none was noted since the last drain. It is later than any arrival.
const NONE: u64 = u64::MAX;

/// A block of flags. An inbox grows by whole books, so that a notifier's flag never moves.
pub(crate) struct Book {
    pages: [Page; WORD],
}

impl Book {
    pub(crate) fn new() -> Arc<Self> {
        let page = |_| Page { raised: AtomicU64::new(0), arrivals_ns: std::array::from_fn(|_| AtomicU64::new(NONE)) };
        Arc::new(Self { pages: std::array::from_fn(page) })
    }
}

/// A flag in a book.
#[derive(Clone)]
pub(crate) struct Flag {
    book: Arc<Book>,
    page: u8,
    bit: u8,
}

impl Flag {
    /// Returns the flag with that number, which is below [`BOOK`].
    pub(crate) fn new(book: Arc<Book>, number: usize) -> Self {
        Self { book, page: (number / WORD % WORD) as u8, bit: (number % WORD) as u8 }
    }
}

/// Inbox of an executor: the marks of the pages that have raised flags. The flags themselves are in [`Book`]s.
pub(crate) struct Inbox {
    touched: AtomicU64,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { touched: AtomicU64::new(0) }
    }

    /// Raises the flag. The consumer gets the earliest arrival since the last drain, whichever notifier was faster.
    ///
    /// Without an `arrival_ns` this reads the clock by `now_ns`, but only if no arrival is noted yet: a noted one is earlier.
    ///
    /// Writes of the caller before this are visible to the thread that drains the flag. The caller must unpark the consumer
    /// afterwards.
    pub(crate) fn raise(&self, flag: &Flag, arrival_ns: Option<u64>, now_ns: impl FnOnce() -> u64) {
        let page = &flag.book.pages[usize::from(flag.page)];
        let noted = &page.arrivals_ns[usize::from(flag.bit)];
        let noted_ns = noted.load(Ordering::Relaxed);
        if arrival_ns.is_some() || noted_ns == NONE {
            let arrival_ns = arrival_ns.unwrap_or_else(now_ns).min(NONE - 1);
            if arrival_ns < noted_ns {
                noted.fetch_min(arrival_ns, Ordering::Relaxed);
            }
        }
        page.raised.fetch_or(1 << flag.bit, Ordering::AcqRel);
        self.touched.fetch_or(1 << flag.page, Ordering::AcqRel);
    }

    /// Returns true if a drain would find nothing at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.load(Ordering::Relaxed) == 0
    }

    /// Clears all flags of the books and passes the numbers and arrival times of those that were raised to `found`. The time is
    /// `None` if an earlier drain took it, between two steps of the notifier. For one thread at a time.
    ///
    /// If `found` panics, the flags that it was not told of stay raised.
    pub(crate) fn drain(&self, books: &[Arc<Book>], mut found: impl FnMut(usize, Option<u64>)) {
        let mut pages = Taken::from(&self.touched);
        // A page counts as drained only when all of its flags were.
        while let Some(page_number) = pages.lowest() {
            for (number, book) in books.iter().enumerate() {
                let page = &book.pages[page_number];
                let mut flags = Taken::from(&page.raised);
                while let Some(bit) = flags.lowest() {
                    flags.clear_lowest();
                    let arrival_ns = page.arrivals_ns[bit].swap(NONE, Ordering::Relaxed);
                    found(number * BOOK + page_number * WORD + bit, (arrival_ns != NONE).then_some(arrival_ns));
                }
            }
            pages.clear_lowest();
        }
    }
}

/// The bits that were set in a word, which has none now. Those that are left when it is dropped go back into the word.
struct Taken<'a> {
    word: &'a AtomicU64,
    bits: u64,
}

impl<'a> Taken<'a> {
    #[inline]
    fn from(word: &'a AtomicU64) -> Self {
        let bits = if word.load(Ordering::Relaxed) == 0 { 0 } else { word.swap(0, Ordering::AcqRel) };
        Self { word, bits }
    }

    /// Returns the number of the lowest bit that is set; `None` if none is.
    #[inline]
    fn lowest(&self) -> Option<usize> {
        // The bits of a word are fewer under model checkers, so the remainder changes nothing. It saves the check of an index.
        (self.bits != 0).then_some(self.bits.trailing_zeros() as usize % WORD)
    }

    #[inline]
    fn clear_lowest(&mut self) {
        self.bits &= self.bits.wrapping_sub(1);
    }
}

impl Drop for Taken<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.bits != 0 {
            self.word.fetch_or(self.bits, Ordering::AcqRel);
        }
    }
}
