//! The flags of one executor's inbox: which of them are in use.

use crate::sync::Mutex;
use std::sync::Arc;

use crate::lock_free::inbox::{BOOK, Book, Flag};

/// Allocator of the flags of one executor's inbox, by number.
#[derive(Default)]
pub(crate) struct SignalBox(Mutex<Flags>);

#[derive(Default)]
struct Flags {
    books: Vec<Arc<Book>>,
    used: usize,
    free: Vec<usize>,
}

impl SignalBox {
    /// Returns the books that have the executor's flags; a drain of the inbox looks through them.
    pub(crate) fn books(&self) -> Vec<Arc<Book>> {
        self.0.lock().books.clone()
    }

    /// Returns a flag that is not in use, and its number as a drain reports it.
    pub(crate) fn allocate(&self) -> (usize, Flag) {
        let Flags { books, used, free } = &mut *self.0.lock();
        let number = free.pop().unwrap_or_else(|| {
            *used += 1;
            *used - 1
        });
        while books.len() <= number / BOOK {
            books.push(Book::new());
        }
        (number, Flag::new(Arc::clone(&books[number / BOOK]), number))
    }

    /// Takes the flag back. It may still be raised: its next owner then sees a spurious notification.
    pub(crate) fn free(&self, number: usize) {
        self.0.lock().free.push(number);
    }
}
