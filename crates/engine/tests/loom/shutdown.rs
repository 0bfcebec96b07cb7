//! The end of a spin and of an executor, with the pieces used as in `shared.rs` and `spin.rs`.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use super::Written;
use super::lock_free::inbox::{Book, Flag, Inbox};
use super::lock_free::parker::{Deadline, Parker};
use super::parking::park_until;

/// A halt reaches every thread, wherever it is on its way to sleep, even if a notification wakes a thread at the same
/// time.
///
/// Fails with: the fences dropped, the flag not looked at again, `unpark_all` that wakes one.
#[test]
fn a_halt_ends_every_thread() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicBool::new(false)));
        let threads = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || park_until(&shared.0, || shared.1.load(Ordering::Acquire)))
        });
        // A notification may use up a wake-up that no thread needs.
        shared.0.unpark_one();
        shared.1.store(true, Ordering::Release);
        shared.0.unpark_all();
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!shared.0.has_waiting());
    });
}

/// The first thread that sees the halt stops the others, which see its earlier writes.
///
/// Fails with: a stop that is not announced by `unpark_all`, or set after it.
#[test]
fn a_thread_stops_the_others() {
    loom::model(|| {
        let shared = Arc::new((Parker::new(), AtomicBool::new(false), Written::nothing()));
        let others = [(); 2].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                park_until(&shared.0, || shared.1.load(Ordering::Acquire));
                assert_eq!(shared.2.read(), 1);
            })
        });
        shared.2.write(1);
        if !shared.1.swap(true, Ordering::AcqRel) {
            shared.0.unpark_all();
        }
        for other in others {
            other.join().unwrap();
        }
    });
}

/// A notifier goes on after its executor was dropped. The memory that it uses still exists, and in the end nothing is
/// leaked.
///
/// Fails with: an inbox that has references to the values that its notifiers keep alive.
#[test]
fn a_notifier_may_outlive_its_executor() {
    loom::model(|| {
        let executor = Arc::new((Parker::new(), Inbox::new()));
        let book = Book::new();
        let notifiers = [0, 1].map(|number| {
            let (executor, flag) = (Arc::clone(&executor), Flag::new(Arc::clone(&book), number));
            thread::spawn(move || {
                executor.1.raise_now(&flag, || 1);
                executor.0.unpark_one();
            })
        });
        let last_spin = thread::spawn(move || {
            let (parker, inbox) = &*executor;
            let ticket = parker.prepare();
            if inbox.is_empty() {
                parker.park(ticket, Deadline::Never);
            } else {
                parker.cancel(ticket);
            }
            let mut found = 0;
            inbox.drain(&[book], |_, _| found += 1);
            assert!(found > 0);
        });
        last_spin.join().unwrap();
        for notifier in notifiers {
            notifier.join().unwrap();
        }
    });
}
