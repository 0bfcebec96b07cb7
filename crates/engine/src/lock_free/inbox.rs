//! The inbox: notifiers raise flags in it, and an executor thread drains it before every pick.
//!
//! Every entity, and every activation that may be suspended, has a flag. A notifier raises the flag and marks the page
//! that the flag is on. The consumer clears a mark before it looks at the page, and a flag before it takes from the
//! source.
//!
//! ```text
//!   notifier: 1. arrival time, unless an earlier one is noted   2. flag of the page   3. mark of the page
//!   consumer: 1. mark of the page   2. flag of the page   3. arrival time
//! ```
//!
//! The flags of the first page, the only one of a small executor, are in the inbox itself, beside the marks: the
//! consumer looks at both at once, so they need no mark. The first step is left out by a notifier whose source knows
//! since when its item waits ([`raise`](Inbox::raise)). Then a notification writes one word.
//!
//! There are as many marks as bits in a word. An executor with more pages has several books, and a mark says that the
//! page of that number has a raised flag in at least one of the books. So a notification touches one to three cache
//! lines, however many entities there are.
//!
//! Every notifier does all of its steps, whatever other notifiers have done. So a notifier that is preempted between
//! two steps hides no notification of others, not even of the same entity. Each step is one atomic instruction; nobody
//! waits or tries again. A flag that is seen twice is a spurious notification, which does no harm.
//!
//! A notifier leaves a mark alone that is there already. The consumer has not cleared that mark yet, or the notifier
//! would know: both have changed the page's word before, one after the other. If the notifier was first, the consumer
//! sees the flag. Otherwise the notifier sees what the consumer has done before, so also that the mark was cleared. A
//! consumer that does not know of the page's book yet has not changed the page's word. It has a fence before it looks
//! at a new source by itself, as the notifier has one before it looks at the mark.
//!
//! The consumer sees everything that happened before a notification: each of its read-modify-writes reads from the
//! notifier's write of the same word, or from a later one in its release sequence.
//!
//! Some orderings are stronger than any model needs. The fence in [`raise`](Inbox::raise) acquires what the flag's
//! word was read from, and releases what the mark tells of; the fences at the mark of noted times do the same. A
//! notifier of the first page reads nothing afterwards. A drain without books takes nothing. Bits that are put back
//! belong to the release sequences of their notifiers. The instructions are the same on x86-64, and elsewhere cheaper
//! than the fences.
//!
//! These are flags and not a queue, because a notification carries nothing but a time of arrival, and raising a flag
//! takes a few atomic instructions in the middle of which nobody can get stuck.

use super::sync::{Arc, AtomicBool, AtomicU64, Ordering, fence, fence_after_read_modify_write};

/// The number of flags on a page, and of pages in a book: the bits of a word. Model checkers get small books, so that a
/// test needs more than one of them.
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
    /// True if the flag is on the first page of the first book.
    is_first: bool,
}

impl Flag {
    /// Returns the flag with that number, which is in the book of the number `number / BOOK`.
    pub(crate) fn new(book: Arc<Book>, number: usize) -> Self {
        Self { book, page: (number / WORD % WORD) as u8, bit: (number % WORD) as u8, is_first: number < WORD }
    }

    /// Returns the flag's bit among those of the first page; `None` if the flag is on another page.
    #[inline]
    pub(crate) fn bit(&self) -> Option<u64> {
        self.is_first.then_some(1 << self.bit)
    }

    fn page(&self) -> &Page {
        &self.book.pages[usize::from(self.page)]
    }

    fn arrival_ns(&self) -> &AtomicU64 {
        &self.page().arrivals_ns[usize::from(self.bit)]
    }
}

/// Inbox of an executor: the flags of the first page, and the marks of the pages that have raised flags. All other
/// flags are in [`Book`]s.
pub(crate) struct Inbox {
    first: AtomicU64,
    touched: AtomicU64,
    noted: Noted,
}

/// True if a time of arrival was noted since the consumer [forgot](Inbox::forget_noted) that. It is on a line of its
/// own, which hardly anybody writes where queues know the times.
#[repr(align(128))]
struct Noted(AtomicBool);

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { first: AtomicU64::new(0), touched: AtomicU64::new(0), noted: Noted(AtomicBool::new(false)) }
    }

    /// Raises the flag, without a time of arrival.
    ///
    /// Writes of the caller before this are visible to the thread that drains the flag. The caller must unpark the
    /// consumer afterwards.
    #[inline]
    pub(crate) fn raise(&self, flag: &Flag) {
        match flag.bit() {
            Some(bit) => self.raise_bits(bit),
            None => {
                flag.page().raised.fetch_or(1 << flag.bit, Ordering::AcqRel);
                fence_after_read_modify_write();
                let mark = 1 << flag.page;
                if self.touched.load(Ordering::Relaxed) & mark == 0 {
                    self.touched.fetch_or(mark, Ordering::AcqRel);
                }
            }
        }
    }

    /// Returns the address of the word that a notifier writes first: that of the time of arrival if it notes one, or
    /// else the one with the flag. It stays the same.
    pub(crate) fn address_of(&self, flag: &Flag, notes_arrival: bool) -> usize {
        let word = match (notes_arrival, flag.is_first) {
            (true, _) => flag.arrival_ns(),
            (false, true) => &self.first,
            (false, false) => &flag.page().raised,
        };
        std::ptr::from_ref(word).addr()
    }

    /// Raises the flags of the first page with these [bits](Flag::bit), in one step. Otherwise as
    /// [`raise`](Self::raise).
    #[inline]
    pub(crate) fn raise_bits(&self, bits: u64) {
        if bits != 0 {
            self.first.fetch_or(bits, Ordering::AcqRel);
        }
    }

    /// Raises the flag for an item that arrived at that time. The consumer gets the earliest arrival since the last
    /// drain, whichever notifier was faster. Otherwise as [`raise`](Self::raise).
    pub(crate) fn raise_at(&self, flag: &Flag, arrival_ns: u64) {
        let arrival_ns = arrival_ns.min(NONE - 1);
        if arrival_ns < flag.arrival_ns().load(Ordering::Relaxed) {
            flag.arrival_ns().fetch_min(arrival_ns, Ordering::Relaxed);
        }
        self.raise(flag);
        fence_after_read_modify_write();
        if !self.noted.0.load(Ordering::Relaxed) {
            self.noted.0.store(true, Ordering::Release);
        }
    }

    /// Raises the flag for an item that arrives now. Reads the clock by `now_ns` only if no arrival is noted yet: a
    /// noted one is earlier. Otherwise as [`raise_at`](Self::raise_at).
    pub(crate) fn raise_now(&self, flag: &Flag, now_ns: impl FnOnce() -> u64) {
        if flag.arrival_ns().load(Ordering::Relaxed) == NONE {
            self.raise_at(flag, now_ns());
        } else {
            self.raise(flag);
        }
    }

    /// Returns true if a time of arrival was noted since it was last [forgotten](Self::forget_noted), which may be an
    /// early one. May return false for a moment after.
    #[inline]
    pub(crate) fn has_noted(&self) -> bool {
        self.noted.0.load(Ordering::Acquire)
    }

    /// Forgets that times were noted, before a drain which finds them.
    ///
    /// The notifier raises the flag, then looks at this mark. Both sides have a fence in between, so either the drain
    /// finds the flag, or the notifier finds that the mark is gone and sets it again.
    #[inline]
    pub(crate) fn forget_noted(&self) {
        if self.has_noted() {
            self.noted.0.store(false, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Returns true if a drain would find nothing at this moment.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.load(Ordering::Relaxed) | self.touched.load(Ordering::Relaxed) == 0
    }

    /// Clears all flags of the books and passes the numbers and arrival times of those that were raised to `found`. The
    /// time is `None` if the notifier noted none, or if an earlier drain took it, between two steps of the notifier.
    /// For one thread at a time.
    ///
    /// If `found` panics, the flags that it was not told of stay raised.
    #[inline]
    pub(crate) fn drain(&self, books: &[Arc<Book>], mut found: impl FnMut(usize, Option<u64>)) {
        match books.first() {
            Some(book) => book.pages[0].drain(&self.first, 0, &mut found),
            // The consumer knows nothing of the flags yet, and will look by itself at what it gets to know.
            None => drop(self.first.swap(0, Ordering::AcqRel)),
        }
        if self.touched.load(Ordering::Relaxed) != 0 {
            self.drain_touched(books, &mut found);
        }
    }

    fn drain_touched(&self, books: &[Arc<Book>], found: &mut impl FnMut(usize, Option<u64>)) {
        let mut pages = Taken::from(&self.touched);
        // A page counts as drained only when all of its flags were.
        while let Some(page_number) = pages.lowest() {
            for (number, book) in books.iter().enumerate() {
                let page = &book.pages[page_number];
                page.drain(&page.raised, number * BOOK + page_number * WORD, found);
            }
            pages.clear_lowest();
        }
    }
}

impl Page {
    /// Clears the flags of the page, which are in the word `raised`. `first` is the number of the first one.
    #[inline]
    fn drain(&self, raised: &AtomicU64, first: usize, found: &mut impl FnMut(usize, Option<u64>)) {
        let mut flags = Taken::from(raised);
        while let Some(bit) = flags.lowest() {
            flags.clear_lowest();
            let noted = &self.arrivals_ns[bit];
            // If none is noted yet, the word is not written: it stays in the caches of all who look at it.
            let arrival_ns = match noted.load(Ordering::Relaxed) {
                NONE => NONE,
                _ => noted.swap(NONE, Ordering::Relaxed),
            };
            found(first + bit, (arrival_ns != NONE).then_some(arrival_ns));
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
        // The word is not looked at before: its line would come twice, the second time to be written.
        let bits = word.swap(0, Ordering::AcqRel);
        Self { word, bits }
    }

    /// Returns the number of the lowest bit that is set; `None` if none is.
    #[inline]
    fn lowest(&self) -> Option<usize> {
        // The bits of a word are fewer under model checkers, so the remainder changes nothing. It saves the check of an
        // index.
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
