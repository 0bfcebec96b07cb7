//! The lock-free pieces between real threads, for the sanitizers. `tests/loom.rs` checks all interleavings.
//!
//! These tests use no locks: ThreadSanitizer does not see the locks of a standard library that is not instrumented.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use super::depth::Depth;
use super::inbox::{BOOK, Book, Flag, Inbox};
use super::parker::{Deadline, Parker};
use super::ring::{Consumer, Popped, Producer, ring};

/// Desk on which a notifier leaves a letter for the consumer. Only the notification orders the accesses to the letter.
struct Desk {
    number: usize,
    letter: UnsafeCell<usize>,
    /// Number of letters that the consumer has read.
    read: AtomicUsize,
}

// SAFETY: the notifier writes the letter, notifies, and waits until it was read; the consumer reads it when notified.
unsafe impl Sync for Desk {}

/// Writes `count` letters, and after each waits until it was read.
fn notify(office: &(Parker, Inbox), books: &[Arc<Book>], desk: &Desk, count: usize) {
    let (parker, inbox) = office;
    let flag = Flag::new(Arc::clone(&books[desk.number / BOOK]), desk.number);
    for letter in 1..=count {
        // SAFETY: the consumer has read the last letter and looks again only after a notification. None is spurious
        // here, since each flag has one notifier.
        unsafe { *desk.letter.get() = letter };
        inbox.raise_at(&flag, 1);
        parker.unpark_one();
        while desk.read.load(Ordering::Acquire) < letter {
            thread::yield_now();
        }
    }
}

/// Reads all letters, and sleeps while there is none.
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

/// A lost wake-up would hang this test.
#[test]
fn letters_are_delivered() {
    const COUNT: usize = 2_000;
    let office = (Parker::new(), Inbox::new());
    let books = [Book::new(), Book::new()];
    // Two flags are on the first page, two are on others, and one is in another book.
    let desks = [0, 1, 100, BOOK - 1, BOOK + 7].map(|number| Desk {
        number,
        letter: UnsafeCell::new(0),
        read: AtomicUsize::new(0),
    });
    thread::scope(|scope| {
        let notifiers = desks.each_ref().map(|desk| {
            let office = &office;
            let books = &books;
            scope.spawn(move || notify(office, books, desk, COUNT))
        });
        serve(&office, &books, &desks, COUNT);
        // ThreadSanitizer understands a join, but not the end of a scope.
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
    assert!(office.1.is_empty());
    assert!(!office.0.has_waiting());
}

/// Takes messages until the ring is empty and all `count` messages were `pushed`. Returns the numbers of those that it
/// took.
fn take_all(consumer: &Consumer<Box<[usize; 2]>>, count: usize, pushed: &AtomicUsize) -> Vec<usize> {
    let mut taken = Vec::new();
    loop {
        // The flag is read before the pop, so that the pop finds all messages that are left.
        let over = pushed.load(Ordering::Acquire) == count;
        match consumer.pop_with_stamp() {
            Some(Popped { message, stamp, .. }) => {
                assert_eq!(message[0], message[1]);
                assert_eq!(stamp, message[0] as u64, "the stamp of another message");
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
fn the_length_is_the_number_of_messages() {
    for depth in [1, 2, 3, 8, 100] {
        let (mut producer, consumer) = ring(Depth::new(depth).unwrap(), ());
        let mut expected = 0;
        // Counts that end in other places of the ring each time, and at times more than it keeps.
        for round in 0..50 {
            for number in 0..round * 7 % (depth + 3) {
                expected += usize::from(producer.push(Box::new([number; 2]), number as u64).is_none());
                assert_eq!((consumer.len(), producer.is_full()), (expected, expected == depth));
            }
            for _ in 0..round * 5 % (depth + 3) {
                expected -= usize::from(consumer.pop().is_some());
                assert_eq!(consumer.len(), expected);
            }
        }
    }
}

#[test]
fn a_full_ring_is_never_short() {
    for depth in [1, 4, 64] {
        let (mut producer, consumer) = ring(Depth::new(depth).unwrap(), ());
        let push = |producer: &mut Producer<Box<usize>>, number| drop(producer.push(Box::new(number), number as u64));
        for number in 0..depth {
            push(&mut producer, number);
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let looker = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // While one message is displaced, and the next one is not there yet, there is one less.
                    let len = consumer.len();
                    assert!((depth - 1..=depth).contains(&len), "{len} of {depth}");
                }
            });
            for number in depth..depth + 20_000 {
                push(&mut producer, number);
            }
            is_over.store(true, Ordering::Relaxed);
            looker.join().unwrap();
        });
    }
}

#[test]
fn each_message_has_one_owner() {
    const COUNT: usize = 20_000;
    for depth in [1, 2, 7] {
        let (mut producer, consumer) = ring(Depth::new(depth).unwrap(), ());
        let pushed = AtomicUsize::new(0);
        let mut all = Vec::new();
        thread::scope(|scope| {
            let consumers = [consumer.clone(), consumer].map(|consumer| {
                let pushed = &pushed;
                scope.spawn(move || take_all(&consumer, COUNT, pushed))
            });
            for number in 0..COUNT {
                all.extend(producer.push(Box::new([number; 2]), number as u64).map(|displaced| displaced.message[0]));
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
