//! Parking: no wake-up is lost. A thread that sleeps although there is work is a deadlock, which loom finds.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};

use super::lock_free::inbox::{Book, Flag, Inbox};
use super::lock_free::parker::{Deadline, Parker};

/// Runs the loop of an executor thread: parks until `done`.
pub(super) fn park_until(parker: &Parker, done: impl Fn() -> bool) {
    while !done() {
        let ticket = parker.prepare();
        if done() {
            return parker.cancel(ticket);
        }
        parker.park(ticket, Deadline::Never);
    }
}

/// Only the parker orders the published value.
///
/// Fails with: either fence dropped or weakened, no second look, the epoch read after it, an unpark that only wakes.
#[test]
fn one_thread_is_woken() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicBool::new(false)));
        let sleeper = thread::spawn({
            let shared = Arc::clone(&shared);
            move || park_until(&shared.0, || shared.1.load(Ordering::Relaxed))
        });
        shared.1.store(true, Ordering::Relaxed);
        shared.0.unpark_one();
        sleeper.join().unwrap();
        assert!(!shared.0.has_waiting());
    });
}

/// A middleware's thread notifies of a hundred messages while the thread that the first one woke waits for a core. Only
/// the first notification is a system call.
///
/// Fails with: a thread that counts as waiting until it runs.
#[test]
fn a_woken_thread_is_not_woken_again() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicBool::new(false)));
        let sleeper = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let ticket = shared.0.prepare();
                if shared.1.load(Ordering::Relaxed) {
                    shared.0.cancel(ticket);
                } else {
                    shared.0.park(ticket, Deadline::Never);
                }
            }
        });
        let is_asleep = shared.0.sleeping() == 1;
        shared.1.store(true, Ordering::Relaxed);
        shared.0.unpark_one();
        // A thread that was awake may still be on its way to find the new epoch.
        assert!(!is_asleep || !shared.0.has_waiting());
        sleeper.join().unwrap();
        assert!(!shared.0.has_waiting());
    });
}

/// Two wakers, each of which may find the thread anywhere between its two sleeps.
///
/// Fails with the same mistakes.
#[test]
fn one_thread_is_woken_twice() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), [AtomicBool::new(false), AtomicBool::new(false)]));
        let wakers = [0, 1].map(|waker| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1[waker].store(true, Ordering::Relaxed);
                shared.0.unpark_one();
            })
        });
        let sleeper = thread::spawn(move || {
            for flag in &shared.1 {
                park_until(&shared.0, || flag.load(Ordering::Relaxed));
            }
        });
        sleeper.join().unwrap();
        for waker in wakers {
            waker.join().unwrap();
        }
    });
}

/// Takes one of the pieces of work, if there is one.
fn take(work: &AtomicU32) -> bool {
    work.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
}

fn two_takers(shared: &Arc<(Parker, AtomicU32)>) -> [JoinHandle<()>; 2] {
    [(); 2].map(|()| {
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            let (parker, work) = &*shared;
            while !take(work) {
                let ticket = parker.prepare();
                if work.load(Ordering::Relaxed) > 0 {
                    parker.cancel(ticket);
                } else {
                    parker.park(ticket, Deadline::Never);
                }
            }
        })
    })
}

/// Two threads need one piece of work each, and each piece wakes one thread.
///
/// Fails with: the fences or the second look dropped, `waiting` not counted down, an unpark per epoch instead of per
/// call.
#[test]
fn each_piece_of_work_wakes_a_thread() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0)));
        let takers = two_takers(&shared);
        for _ in 0..2 {
            shared.1.fetch_add(1, Ordering::Relaxed);
            shared.0.unpark_one();
        }
        for taker in takers {
            taker.join().unwrap();
        }
    });
}

/// Two threads need one piece of work each, and both pieces come at once.
///
/// Fails with: `unpark_all` that wakes one.
#[test]
fn all_threads_are_woken() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicU32::new(0)));
        let takers = two_takers(&shared);
        shared.1.store(2, Ordering::Relaxed);
        shared.0.unpark_all();
        for taker in takers {
            taker.join().unwrap();
        }
        assert!(!shared.0.has_waiting());
    });
}

/// The inbox and the parker as the engine uses them, with two notifiers of one entity. One notifier may be stuck
/// anywhere, and the thread must wake for the other one. So a notifier unparks in any case.
///
/// Fails with: no unpark if the flag was up already, any step of `raise` left out if it was done already.
#[test]
fn a_notification_wakes_the_consumer() {
    // Flags that are raised without a mark, and with one.
    [1, 3].into_iter().for_each(a_notification_wakes_for);
}

fn a_notification_wakes_for(number: usize) {
    loom::model(move || {
        let shared = Arc::new((Parker::new(), Inbox::new(), AtomicBool::new(false)));
        let book = Book::new();
        let flag = Flag::new(Arc::clone(&book), number);
        let stuck = thread::spawn({
            let (shared, flag) = (Arc::clone(&shared), flag.clone());
            // This notifier is preempted before it unparks, for as long as the consumer sleeps.
            move || shared.1.raise_now(&flag, || 1)
        });
        let urgent = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.2.store(true, Ordering::Relaxed);
                shared.1.raise_now(&flag, || 2);
                shared.0.unpark_one();
            }
        });
        let consumer = thread::spawn(move || {
            let (parker, inbox, written) = &*shared;
            let books = [book];
            let mut noticed = false;
            loop {
                inbox.drain(&books, |_, _| noticed |= written.load(Ordering::Relaxed));
                if noticed {
                    return;
                }
                let ticket = parker.prepare();
                if inbox.is_empty() {
                    parker.park(ticket, Deadline::Never);
                } else {
                    parker.cancel(ticket);
                }
            }
        });
        consumer.join().unwrap();
        urgent.join().unwrap();
        stuck.join().unwrap();
    });
}
