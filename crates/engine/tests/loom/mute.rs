//! Muting: the consumer finds what was published, or the notifier is not muted.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;

use super::lock_free::mute::{Mute, published};

/// A queue that is only a count, and the number of notifications of its publishers.
struct Model {
    mute: Mute,
    queued: AtomicU32,
    notified: AtomicBool,
}

impl Model {
    fn new(queued: u32) -> Arc<Self> {
        Arc::new(Self { mute: Mute::new(), queued: AtomicU32::new(queued), notified: AtomicBool::new(false) })
    }

    /// Publishes a message. Every other publisher takes the way of one that has several queues.
    fn publish(&self, publisher: usize) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let is_muted = if publisher.is_multiple_of(2) {
            self.mute.is_muted_for_published()
        } else {
            published();
            self.mute.is_muted()
        };
        if !is_muted {
            self.notified.store(true, Ordering::Relaxed);
        }
    }

    /// Takes a message, if there is one. Returns true if there is more, which must then be taken.
    fn take(&self) -> bool {
        let queued = || self.queued.load(Ordering::Relaxed);
        if queued() > 0 {
            self.queued.fetch_sub(1, Ordering::Relaxed);
        }
        let is_more = queued() > 0 || (self.mute.unmute() && queued() > 0);
        if is_more {
            self.mute.mute();
        }
        is_more
    }
}

/// The consumer takes until nothing is left. Then all messages are taken, or it was notified of later ones.
///
/// Fails with: either fence left out, `unmute` without the second look.
fn nothing_is_left_in_silence(publishers: usize, queued: u32) {
    loom::model(move || {
        let model = Model::new(queued);
        let publishers: Vec<_> = (0..publishers)
            .map(|publisher| {
                let model = Arc::clone(&model);
                thread::spawn(move || model.publish(publisher))
            })
            .collect();
        let consumer = thread::spawn({
            let model = Arc::clone(&model);
            move || while model.take() {}
        });
        for publisher in publishers {
            publisher.join().unwrap();
        }
        consumer.join().unwrap();
        assert!(model.queued.load(Ordering::Relaxed) == 0 || model.notified.load(Ordering::Relaxed));
    });
}

#[test]
fn one_publisher_and_a_consumer_that_mutes() {
    nothing_is_left_in_silence(1, 2);
}

#[test]
fn two_publishers_and_a_consumer_that_mutes() {
    nothing_is_left_in_silence(2, 2);
}
