//! A subscription's queue with its executor: ring, mute and inbox together, as `topic/source.rs`, `topic/alarm.rs` and
//! the executor's loop use them.

use loom::sync::Arc;
use loom::thread;

use super::lock_free::inbox::{Book, Flag, Inbox};
use super::lock_free::parker::{Deadline, Parker};
use super::lock_free::ring::{Consumer, Producer, View, ring};
use super::ring::{Message, of_depth};

/// The executor's side of a queue.
struct Executor {
    inbox: Inbox,
    book: Arc<Book>,
    parker: Parker,
}

/// The publishers' side, which one of them has at a time.
struct Publisher {
    producer: Producer<Message>,
    queue: View<Message>,
    flag: Flag,
    executor: Arc<Executor>,
    /// The stamps of the messages that made room.
    displaced: Vec<u64>,
}

impl Publisher {
    /// Does what `AnyPublisher::publish` does with one queue: appends the message, tells the executor of one that it
    /// might not have seen, and then of this one.
    fn publish(&mut self, stamp: u64) {
        if let Some(oldest) = self.producer.push(Message::new(stamp), stamp) {
            if !self.queue.is_muted() || oldest.was_missed {
                self.executor.inbox.raise_at(&self.flag, oldest.stamp);
            }
            self.displaced.push(oldest.message.open());
        }
        if !self.queue.is_muted_for_published() {
            self.executor.inbox.raise(&self.flag);
            if self.executor.parker.needs_unpark_after_read_modify_write() {
                self.executor.parker.unpark_one();
            }
        }
    }
}

/// The subscription's side.
struct Subscription {
    consumer: Consumer<Message>,
    taken: Vec<u64>,
}

impl Subscription {
    /// Returns true if a message waits. Then publishers are muted. Does what `AnySource::pending` does.
    fn is_pending(&self) -> bool {
        let look = || {
            let is_there = self.consumer.oldest_stamp().is_some();
            if is_there {
                self.consumer.mute().mute();
            }
            is_there
        };
        look() || self.consumer.mute().unmute() && look()
    }

    /// Takes a message if there is one, and returns true if there is another one. Does what `AnySource::take_and_look`
    /// does, with the question after the callback.
    fn run(&mut self) -> bool {
        match self.consumer.pop_and_look() {
            Some((message, next)) => {
                self.taken.push(message.open());
                if next.is_some() {
                    self.consumer.mute().mute();
                    return true;
                }
                self.is_pending()
            }
            // The ring may look empty for a moment, while the producer displaces the oldest message.
            None => {
                let taken = if self.consumer.mute().unmute() { self.consumer.pop() } else { None };
                let Some(message) = taken else { return false };
                self.taken.push(message.open());
                self.is_pending()
            }
        }
    }
}

/// Publishes so many messages while an executor's thread runs the callback, and parks when there is nothing to run. The
/// thread must get the last message, and in order all that were not displaced.
fn every_message_is_run(depth: usize, before: u64, count: u64) {
    loom::model(move || {
        let (producer, consumer) = ring::<Message>(of_depth(depth), ());
        let executor = Arc::new(Executor { inbox: Inbox::new(), book: Book::new(), parker: Parker::new() });
        let flag = Flag::new(Arc::clone(&executor.book), 0);
        let queue = consumer.view();
        let mut publisher = Publisher { producer, queue, flag, executor: Arc::clone(&executor), displaced: Vec::new() };
        (1..=before).for_each(|stamp| publisher.publish(stamp));
        let thread = thread::spawn(move || {
            let mut subscription = Subscription { consumer, taken: Vec::new() };
            let books = [Arc::clone(&executor.book)];
            let mut is_ready = false;
            while subscription.taken.last() != Some(&count) {
                executor.inbox.drain(&books, |_, _| is_ready = true);
                if is_ready {
                    is_ready = subscription.run();
                    continue;
                }
                let ticket = executor.parker.prepare();
                if executor.inbox.is_empty() {
                    executor.parker.park(ticket, Deadline::Never);
                } else {
                    executor.parker.cancel(ticket);
                }
            }
            subscription.taken
        });
        (before + 1..=count).for_each(|stamp| publisher.publish(stamp));
        let taken = thread.join().unwrap();
        assert!(taken.is_sorted() && publisher.displaced.is_sorted());
        let mut all = [taken, publisher.displaced].concat();
        all.sort_unstable();
        assert_eq!(all, (1..=count).collect::<Vec<_>>());
    });
}

/// The callback takes the last message, and asks again only after it, while publishers are muted.
///
/// Fails with: either fence of `mute.rs` left out, no second look after unmuting, a take that gives up while a message
/// is displaced, publishers that are unmuted only when a message is taken.
#[test]
fn a_muted_queue_of_one_gets_its_last_message() {
    every_message_is_run(1, 1, 3);
}

/// Fails with the same mistakes.
#[test]
fn a_muted_queue_of_two_gets_its_last_message() {
    every_message_is_run(2, 2, 4);
}
