//! The inbox: what notifiers raise flags in, and an executor thread empties before every pick.
//!
//! Every entity, and every activation that may be suspended, has a flag. A notifier raises it and marks the page that it is on.
//! The consumer takes the mark down before it looks at the page, and the flag before it looks at what is below.
//!
//! ```text
//!   notifier: 1. arrival time, unless an earlier one is noted   2. flag of the page   3. mark of the page
//!   consumer: 1. mark of the page   2. flag of the page   3. arrival time
//! ```
//!
//! There are as many marks as bits in a word. Executors with more pages than that have several books, and a mark says that a
//! page of that number in one of the books has a flag up: so a notification touches two or three cache lines, whatever the size.
//!
//! Every notifier does all of its steps, whatever others have done: so a notifier that is preempted between two of them
//! hides nothing of what others notify, not even of the same entity. Each step is one atomic instruction; nobody waits or
//! tries again. A flag that is seen twice is a spurious notification, which does no harm.
//!
//! That the consumer sees what happened before a notification follows from its read-modify-writes: each of them reads from
//! the notifier's of the same word, or from a later one in its release sequence.

use super::sync::{Arc, AtomicU64, Ordering};

/// Flags on a page, and pages in a book: the bits of a word. Model checkers get small books, and more than one of them.
const WORD: usize = if cfg!(rospin_loom) {
    2
} else if cfg!(rospin_shuttle) {
    4
} else {
    64
};

/// Flags in a book.
pub(crate) const BOOK: usize = WORD * WORD;

/// The flags of a small executor are on one cache line, with their times.
#[repr(C, align(64))]
struct Page {
    raised: AtomicU64,
    /// By flag: when the first notification since the last drain arrived, [`NONE`] if there was none.
    arrivals_ns: [AtomicU64; WORD],
}

/// In place of an arrival time, which is smaller.
const NONE: u64 = u64::MAX;

/// A block of flags. Inboxes grow by whole books, so that a notifier's flag never moves.
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
    /// The flag with that number, below [`BOOK`].
    pub(crate) fn new(book: Arc<Book>, number: usize) -> Self {
        Self { book, page: (number / WORD % WORD) as u8, bit: (number % WORD) as u8 }
    }
}

/// The marks of the pages.
pub(crate) struct Inbox {
    touched: AtomicU64,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { touched: AtomicU64::new(0) }
    }

    /// Raises the flag. Whoever drains it learns of the earliest arrival since the last drain, whichever notifier was faster.
    /// Without an `arrival_ns`, `now_ns` is asked for it, and only if none is noted: one that is noted is not later.
    ///
    /// What the caller wrote before is visible to whoever drains the flag. The consumer must be unparked afterwards.
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

    /// Whether a drain would find nothing at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.touched.load(Ordering::Relaxed) == 0
    }

    /// Takes all flags of the books down and gives `found` their numbers and arrival times. For one thread at a time.
    pub(crate) fn drain(&self, books: &[Arc<Book>], mut found: impl FnMut(usize, Option<u64>)) {
        for page_number in take_bits(&self.touched) {
            for (number, book) in books.iter().enumerate() {
                let page = &book.pages[page_number];
                for bit in take_bits(&page.raised) {
                    let arrival_ns = page.arrivals_ns[bit].swap(NONE, Ordering::Relaxed);
                    found(number * BOOK + page_number * WORD + bit, (arrival_ns != NONE).then_some(arrival_ns));
                }
            }
        }
    }
}

/// Clears the word, and returns the numbers of the bits that were set.
fn take_bits(word: &AtomicU64) -> impl Iterator<Item = usize> + use<> {
    let mut bits = if word.load(Ordering::Relaxed) == 0 { 0 } else { word.swap(0, Ordering::AcqRel) };
    std::iter::from_fn(move || {
        let lowest = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (lowest < WORD).then_some(lowest)
    })
}
