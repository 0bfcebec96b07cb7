//! The pieces between real threads, for the sanitizers: `tests/loom.rs` has the proof.
//!
//! No locks in here: ThreadSanitizer does not see those of an uninstrumented standard library.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::inbox::{BOOK, Book, Flag, Inbox};
use super::parker::{Deadline, Parker};
use super::ring::{Consumer, ring};

/// What a notifier leaves for the consumer: nothing but the notification orders the accesses.
struct Desk {
    number: usize,
    letter: UnsafeCell<usize>,
    /// How many letters the consumer has read.
    read: AtomicUsize,
}

// SAFETY: the notifier writes the letter, notifies, and waits until it was read; the consumer reads it when notified.
unsafe impl Sync for Desk {}

/// A notifier's life: `count` letters, each of which must be read before the next one.
fn notify(office: &(Parker, Inbox), books: &[Arc<Book>], desk: &Desk, count: usize) {
    let (parker, inbox) = office;
    let flag = Flag::new(Arc::clone(&books[desk.number / BOOK]), desk.number % BOOK);
    for letter in 1..=count {
        // SAFETY: see `Desk`: the consumer has read the last one and does not look before it is notified again, but for
        // spurious notifications, of which there are none after a letter is read: each flag has one notifier.
        unsafe { *desk.letter.get() = letter };
        inbox.raise(&flag, Some(1), || 1);
        parker.unpark_one();
        while desk.read.load(Ordering::Acquire) < letter {
            thread::yield_now();
        }
    }
}

/// Reads all letters, and sleeps in between.
fn serve(office: &(Parker, Inbox), books: &[Arc<Book>], desks: &[Desk], count: usize) {
    let (parker, inbox) = office;
    let mut left = desks.len() * count;
    loop {
        inbox.drain(books, |number, _| {
            let desk = desks.iter().find(|desk| desk.number == number).expect("a flag that was raised");
            // SAFETY: see `Desk`.
            let letter = unsafe { *desk.letter.get() };
            assert_eq!(letter, desk.read.load(Ordering::Relaxed) + 1);
            desk.read.store(letter, Ordering::Release);
            left -= 1;
        });
        if left == 0 {
            return;
        }
        let ticket = parker.prepare();
        if inbox.is_empty() {
            parker.park(ticket, Deadline::Never);
        } else {
            parker.cancel(ticket);
        }
    }
}

/// Also finds lost wake-ups: the test would hang.
#[test]
fn letters_are_delivered() {
    const COUNT: usize = 2_000;
    let office = (Parker::new(), Inbox::new());
    let books = [Book::new(), Book::new()];
    // On one page, on another one, in another book.
    let desks =
        [0, 1, BOOK - 1, BOOK + 7].map(|number| Desk { number, letter: UnsafeCell::new(0), read: AtomicUsize::new(0) });
    thread::scope(|scope| {
        let notifiers = desks.each_ref().map(|desk| {
            let (office, books) = (&office, &books);
            scope.spawn(move || notify(office, books, desk, COUNT))
        });
        serve(&office, &books, &desks, COUNT);
        // ThreadSanitizer sees a join, but not how a scope waits.
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
    assert!(office.1.is_empty());
    assert!(!office.0.has_waiting());
}

/// Takes until it has seen the last message, or the producer is gone.
fn take_all(consumer: &Consumer<Box<[usize; 2]>>, count: usize, pushed: &AtomicUsize) -> Vec<usize> {
    let mut taken = Vec::new();
    loop {
        // Before the pop, which then finds whatever is left.
        let over = pushed.load(Ordering::Acquire) == count;
        match consumer.pop() {
            Some(message) => {
                assert_eq!(message[0], message[1]);
                taken.push(message[0]);
            }
            None if over => return taken,
            None => thread::yield_now(),
        }
        if let Some(stamp) = consumer.oldest_stamp() {
            assert!(stamp < count as u64);
        }
    }
}

#[test]
fn each_message_has_one_owner() {
    const COUNT: usize = 20_000;
    for depth in [1, 2, 7] {
        let (mut producer, consumer) = ring(depth);
        let pushed = AtomicUsize::new(0);
        let mut all = Vec::new();
        thread::scope(|scope| {
            let consumers = [consumer.clone(), consumer].map(|consumer| {
                let pushed = &pushed;
                scope.spawn(move || take_all(&consumer, COUNT, pushed))
            });
            for number in 0..COUNT {
                all.extend(producer.push(Box::new([number; 2]), number as u64).map(|displaced| displaced[0]));
                pushed.store(number + 1, Ordering::Release);
            }
            for consumer in consumers {
                let taken = consumer.join().unwrap();
                assert!(taken.is_sorted());
                all.extend(taken);
            }
        });
        all.sort_unstable();
        assert_eq!(all, (0..COUNT).collect::<Vec<_>>());
    }
}
