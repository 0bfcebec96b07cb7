//! News: a change that was submitted is made, whoever has the executor's state meanwhile.

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::brief::Brief;
use super::lock_free::news::News;
use super::lock_free::parker::{Deadline, Parker};

/// An executor whose state is the number of changes that were made, as in `executor_core.rs`. Loom's own locks cannot
/// be tried: a thread that tries one waits for it.
struct Executor {
    news: News,
    parker: Parker,
    /// The number of changes that are still to be made.
    changes: Mutex<u32>,
    state: Brief<u32>,
}

impl Executor {
    fn new() -> Arc<Self> {
        Arc::new(Self { news: News::new(), parker: Parker::new(), changes: Mutex::new(0), state: Brief::new(0) })
    }

    fn submit(&self) {
        *self.changes.lock().unwrap() += 1;
        self.news.tell();
        self.parker.unpark_one();
        self.settle();
    }

    fn settle(&self) {
        self.news.settle(4, || {
            let Some(mut state) = self.state.try_lock() else {
                return false;
            };
            self.make_changes(&mut state);
            true
        });
    }

    fn make_changes(&self, state: &mut u32) {
        if self.news.take() {
            *state += std::mem::take(&mut *self.changes.lock().unwrap());
        }
    }
}

/// Two threads submit a change each, while nothing spins. Each may find the state locked by the other one.
///
/// Fails with: no look at the news after the unlock, the fence dropped, news taken after the changes were looked at.
#[test]
fn changes_are_made_if_nothing_spins() {
    loom::model(|| {
        let executor = Executor::new();
        let other = thread::spawn({
            let executor = Arc::clone(&executor);
            move || executor.submit()
        });
        executor.submit();
        other.join().unwrap();
        assert_eq!(*executor.state.lock(), 2);
    });
}

/// A spin ends while two changes are submitted.
///
/// Fails with the same mistakes.
#[test]
fn changes_are_made_if_a_spin_ends() {
    loom::model(|| {
        let executor = Executor::new();
        let spin = thread::spawn({
            let executor = Arc::clone(&executor);
            move || {
                let mut state = executor.state.lock();
                executor.make_changes(&mut state);
                drop(state);
                executor.settle();
            }
        });
        executor.submit();
        executor.submit();
        spin.join().unwrap();
        assert_eq!(*executor.state.lock(), 2);
    });
}

/// A thread that spins makes the changes, also if it is about to park.
///
/// Fails with: no look at the news before it parks, news told after the unpark.
#[test]
fn changes_wake_the_thread_that_spins() {
    loom::model(|| {
        let executor = Executor::new();
        let spin = thread::spawn({
            let executor = Arc::clone(&executor);
            move || {
                let mut state = executor.state.lock();
                loop {
                    executor.make_changes(&mut state);
                    if *state == 2 {
                        return;
                    }
                    let ticket = executor.parker.prepare();
                    if executor.news.are_there() {
                        executor.parker.cancel(ticket);
                    } else {
                        executor.parker.park(ticket, Deadline::Never);
                    }
                }
            }
        });
        executor.submit();
        executor.submit();
        spin.join().unwrap();
        executor.settle();
        assert_eq!(*executor.state.lock(), 2);
    });
}

/// Whoever takes the news sees what was written before, without a lock.
///
/// Fails with: news that are told without release, or taken without acquire.
#[test]
fn news_show_what_they_tell_of() {
    loom::model(|| {
        let shared = Arc::new((News::new(), AtomicBool::new(false)));
        let teller = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                shared.1.store(true, Ordering::Relaxed);
                shared.0.tell();
            }
        });
        if shared.0.take() {
            assert!(shared.1.load(Ordering::Relaxed));
        }
        teller.join().unwrap();
    });
}
