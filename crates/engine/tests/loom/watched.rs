//! Watched counts: a watcher hears of every count that it did not see by itself.

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use super::lock_free::watched::Watched;

/// A loss is counted while a watcher is added, which looks at the count by itself then, as in `loss.rs`.
///
/// Fails with: either fence left out, a flag that is set after the look, a count that is added after it.
#[test]
fn a_loss_is_seen_or_told() {
    loom::model(|| {
        let shared = Arc::new((Watched::new(), AtomicU32::new(0), Mutex::new(0_u32), AtomicU32::new(0)));
        let loses = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let (watched, count, watchers, told) = &*shared;
                count.fetch_add(1, Ordering::Relaxed);
                if watched.is_on() {
                    told.fetch_add(*watchers.lock().unwrap(), Ordering::Relaxed);
                }
            }
        });
        let (watched, count, watchers, told) = &*shared;
        let mut all = watchers.lock().unwrap();
        *all += 1;
        watched.set(true);
        drop(all);
        let seen = count.load(Ordering::Relaxed);
        loses.join().unwrap();
        assert!(seen == 1 || told.load(Ordering::Relaxed) == 1);
    });
}
