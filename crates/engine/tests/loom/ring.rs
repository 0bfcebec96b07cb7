//! The ring: each message gets exactly one owner, in order; no thread touches a message that it does not own; every
//! loss is known.

use std::sync::atomic::{AtomicBool, Ordering};

use loom::thread;

use super::Written;
use super::lock_free::depth::Depth;
use super::lock_free::owning::OwningPointer;
use super::lock_free::ring::{Consumer, Producer, ring};

/// Returns a depth that is not too large.
pub(super) fn of_depth(depth: usize) -> Depth {
    Depth::new(depth).expect("a depth")
}

/// The place of a message, which makes a second owner an error instead of a crash.
pub(super) struct Place {
    number: Written,
    stamp: u64,
    in_ring: AtomicBool,
}

/// A message. Its place is leaked, so that a use after its end is no crash either.
pub(super) struct Message(&'static Place);

impl Message {
    pub(super) fn new(stamp: u64) -> Self {
        let place = Place { number: Written::nothing(), stamp, in_ring: false.into() };
        place.number.write(stamp as u32);
        Self(Box::leak(Box::new(place)))
    }

    /// Takes the message, and returns its stamp, which was also written to the place.
    pub(super) fn open(self) -> u64 {
        assert_eq!(u64::from(self.0.number.read()), self.0.stamp);
        self.0.stamp
    }
}

// SAFETY: a reference is never null, and `from_raw` gives back what `into_raw` was given.
unsafe impl OwningPointer for Message {
    type Target = Place;
    type Kind = ();

    fn is_of(&self, (): ()) -> bool {
        true
    }

    fn into_raw(self) -> *mut Place {
        assert!(!self.0.in_ring.swap(true, Ordering::SeqCst));
        std::ptr::from_ref(self.0).cast_mut()
    }

    unsafe fn from_raw(raw: *mut Place, (): ()) -> Self {
        assert!(!raw.is_null(), "claimed a slot that was never written");
        // SAFETY: `raw` came from `into_raw`.
        let place = unsafe { &*raw };
        assert!(place.in_ring.swap(false, Ordering::SeqCst), "claimed twice");
        Self(place)
    }
}

/// Pushes messages with these stamps. Returns the stamps of displaced messages.
fn publish(producer: &mut Producer<Message>, stamps: impl Iterator<Item = u64>) -> Vec<u64> {
    stamps
        .filter_map(|stamp| producer.push(Message::new(stamp), stamp))
        .map(|displaced| displaced.message.open())
        .collect()
}

fn pop_times(consumer: &Consumer<Message>, times: usize) -> Vec<u64> {
    (0..times).filter_map(|_| consumer.pop()).map(Message::open).collect()
}

fn assert_sorted(stamps: &[u64]) {
    assert!(stamps.is_sorted(), "out of order: {stamps:?}");
}

/// Checks that each message from 1 to `count` was got once.
fn assert_complete(count: u64, parts: &[&[u64]]) {
    let mut all = parts.concat();
    all.sort_unstable();
    assert_eq!(all, (1..=count).collect::<Vec<_>>());
}

/// Runs a producer that displaces messages while consumers take. In the end nothing is left over.
fn displacing(depth: usize, count: u64, consumers: usize, pops: usize) {
    loom::model(move || {
        let (mut producer, consumer) = ring::<Message>(of_depth(depth), ());
        let threads: Vec<_> = (0..consumers)
            .map(|_| {
                let consumer = consumer.clone();
                thread::spawn(move || pop_times(&consumer, pops))
            })
            .collect();
        let displaced = publish(&mut producer, 1..=count);
        let taken: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let left = pop_times(&consumer, depth + 1);
        let mut parts: Vec<&[u64]> = taken.iter().map(Vec::as_slice).collect();
        parts.extend([&*displaced, &*left]);
        for part in &parts {
            assert_sorted(part);
        }
        assert!(left.len() <= depth);
        assert_complete(count, &parts);
    });
}

/// Fails with: `head` read relaxed, also after a failed claim, a claim that does not release, the stamp stored or read
/// relaxed, or stored before the message, laps that are mistaken for each other, a producer that displaces too late or
/// does not claim what it displaces.
///
/// Does not fail with a claim that does not acquire: `head` and the stamps order everything.
#[test]
fn one_consumer_of_one_slot() {
    displacing(1, 3, 1, 3);
}

/// Fails with the same mistakes, and with slots that do not follow from the count.
#[test]
fn one_consumer_of_two_slots() {
    displacing(2, 4, 1, 3);
}

/// Fails with the same mistakes.
#[test]
fn two_consumers_of_one_slot() {
    displacing(1, 2, 2, 2);
}

/// Fails with the same mistakes.
#[test]
fn two_consumers_of_two_slots() {
    displacing(2, 3, 2, 2);
}

/// A message that is pushed only if there is room displaces none, and is refused at worst while nothing was taken yet.
///
/// Fails with: a ring that takes more than its depth. Does not fail with a producer that reads `head` relaxed: no model
/// has stores that come before earlier loads.
#[test]
fn a_refused_message_displaces_nothing() {
    loom::model(|| {
        let (mut producer, consumer) = ring::<Message>(of_depth(1), ());
        let thread = thread::spawn(move || (pop_times(&consumer, 2), consumer));
        let refused = |stamp| producer.push_if_room(Message::new(stamp), stamp).err().map(Message::open);
        let refused: Vec<_> = (1..=3).filter_map(refused).collect();
        let (taken, consumer) = thread.join().unwrap();
        let left = pop_times(&consumer, 2);
        assert_sorted(&[&*taken, &*left].concat());
        assert!(left.len() <= 1 && !refused.contains(&1));
        assert_complete(3, &[&refused, &taken, &left]);
    });
}

/// The stamp is never that of a message that was taken before, nor one that was never written.
///
/// Fails with: the stamp stored or read relaxed, a claim that gives up when the producer has displaced what it looked
/// at.
#[test]
fn stamps_are_never_stale() {
    loom::model(|| {
        let (mut producer, consumer) = ring::<Message>(of_depth(2), ());
        let thread = thread::spawn(move || {
            let mut last = 0;
            for _ in 0..2 {
                let stamp = consumer.oldest_stamp();
                if let Some(stamp) = stamp {
                    assert!(stamp > last && stamp <= 4, "{stamp} after {last}");
                }
                match consumer.pop().map(Message::open) {
                    Some(taken) => last = taken,
                    None => assert_eq!(stamp, None, "one consumer: what is there stays or is replaced"),
                }
            }
        });
        publish(&mut producer, 1..=4);
        thread.join().unwrap();
    });
}

/// A ring that keeps two messages and has had one never looks empty before that one is taken, although the producer
/// displaces it.
///
/// Fails with: a look that gives up when the producer has displaced what it looked at.
#[test]
fn a_full_ring_never_looks_empty() {
    loom::model(|| {
        let (mut producer, consumer) = ring::<Message>(of_depth(2), ());
        publish(&mut producer, 1..=1);
        let thread = thread::spawn(move || assert!(consumer.oldest_stamp().is_some()));
        publish(&mut producer, 2..=4);
        thread.join().unwrap();
    });
}

/// The length of a full ring whose messages are displaced meanwhile is never less than it is while one message makes
/// room.
///
/// Fails with: a message that counts as not appended because a later one has its slot.
#[test]
fn a_full_ring_is_never_short() {
    loom::model(|| {
        let (mut producer, consumer) = ring::<Message>(of_depth(4), ());
        publish(&mut producer, 1..=4);
        let thread = thread::spawn(move || {
            let len = consumer.len();
            assert!((3..=4).contains(&len), "{len}");
        });
        publish(&mut producer, 5..=7);
        thread.join().unwrap();
    });
}

/// A ring that is dropped with messages in it drops the messages, whichever end goes last.
///
/// Fails with: no drop of messages, a drop that stops early, ends that do not share the ring.
#[test]
fn dropping_releases_the_messages() {
    use loom::sync::Arc;

    loom::model(|| {
        let message = Arc::new(Written::nothing());
        let (mut producer, consumer) = ring::<Box<Arc<Written>>>(of_depth(2), ());
        let thread = thread::spawn(move || {
            if let Some(taken) = consumer.pop() {
                assert_eq!(taken.read(), 1);
            }
        });
        message.write(1);
        for stamp in 0..3 {
            drop(producer.push(Box::new(Arc::clone(&message)), stamp));
        }
        drop(producer);
        drop(message);
        thread.join().unwrap();
    });
}
