//! The lock with priority inheritance: one thread at a time has it, sees what the others did under it, and none that
//! waits is forgotten.

use loom::sync::Arc;
use loom::thread;

use super::Written;
use super::inheriting::Inheriting;
use super::kernel::{Word, be_number};

/// Adds one to a value under the lock, as thread `number`.
fn add((lock, value): &(Inheriting, Written), number: u32, by_trying: bool) {
    be_number(number);
    if !(by_trying && lock.try_lock()) {
        lock.lock();
    }
    value.write(value.read() + 1);
    lock.unlock();
}

/// Has two threads lock the lock `first` and `second` times beside the main one, which locks it once.
fn threads_take_turns(first: u32, second: u32) {
    loom::model(move || {
        let shared = Arc::new((Inheriting(Word::new()), Written::nothing()));
        let others: Vec<_> = [first, second]
            .into_iter()
            .zip(1..)
            .filter(|(times, _)| *times > 0)
            .map(|(times, number)| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || (0..times).for_each(|_| add(&shared, number, number == 1)))
            })
            .collect();
        add(&shared, 3, false);
        for other in others {
            other.join().unwrap();
        }
        be_number(3);
        assert!(shared.0.try_lock(), "it is free");
        assert_eq!(shared.1.read(), first + second + 1);
    });
}

/// Fails with: the ordering of `try_lock` or that of `unlock` relaxed, a lock that is freed although somebody sleeps.
#[test]
fn two_threads_inherit() {
    threads_take_turns(2, 0);
}

/// Fails with the same mistakes.
#[test]
fn three_threads_inherit() {
    threads_take_turns(1, 1);
}
