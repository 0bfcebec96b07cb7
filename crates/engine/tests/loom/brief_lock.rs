//! The brief lock: one thread at a time has the value, and sees what the others did to it.

use loom::sync::Arc;
use loom::thread;

use super::Written;
use super::brief::Brief;

/// Adds one to the value under the lock. Loom fails if two threads are there at once, or if one does not see what the
/// other did.
fn add(value: &Brief<Written>, by_trying: bool) {
    let guard = if by_trying { value.try_lock().unwrap_or_else(|| value.wait()) } else { value.lock() };
    guard.write(guard.read() + 1);
}

/// Fails with: the ordering of `try_lock` or that of `drop` relaxed, a guard that is made and dropped although the lock
/// was not free.
#[test]
fn two_threads_take_turns() {
    loom::model(|| {
        let value = Arc::new(Brief::new(Written::nothing()));
        let other = thread::spawn({
            let value = Arc::clone(&value);
            move || (0..2).for_each(|_| add(&value, true))
        });
        (0..2).for_each(|_| add(&value, false));
        other.join().unwrap();
        assert_eq!(value.lock().read(), 4);
    });
}
