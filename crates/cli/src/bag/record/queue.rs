//! The queue between the executor that receives messages and the thread that writes them. Its messages take a bounded
//! number of bytes: a message that has no room is lost, and its subscription counts it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use crate::bag::metadata::Topic;
use crate::bag::qos::Offered;
use crate::bag::write::Definition;

/// Bytes that a message takes beside its payload.
const OVERHEAD: usize = 128;

/// A message of the topic at that place.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) place: usize,
    pub(super) number: u32,
    pub(super) log_time: u64,
    pub(super) publish_time: u64,
    pub(super) payload: Bytes,
}

impl Message {
    /// Returns the bytes that it takes.
    pub(super) fn size(&self) -> usize {
        self.payload.len() + OVERHEAD
    }
}

/// An event, or a name, of a trace.
#[derive(Debug)]
pub(super) struct TraceMessage {
    /// Number of the channel in the program's recording.
    pub(super) channel: u16,
    pub(super) number: u32,
    pub(super) log_time: u64,
    pub(super) publish_time: u64,
    pub(super) payload: Vec<u8>,
}

impl TraceMessage {
    /// Returns the bytes that it takes.
    pub(super) fn size(&self) -> usize {
        self.payload.len() + OVERHEAD
    }
}

/// A message, or news of a topic, on its way to the writer.
#[derive(Debug)]
pub(super) enum Item {
    /// There is a further topic; its place is the next one.
    Topic(Topic),
    /// Somebody, or nobody, could tell the definition of the topic at that place.
    Defined(usize, Definition),
    /// The publishers of the topic at that place have changed.
    Offered(usize, Vec<Offered>),
    Message(Message),
    /// A channel of a trace, with its definition. Its messages follow.
    TraceTopic(u16, Topic, String),
    Trace(TraceMessage),
    /// Fields of a record in which a trace says what it is.
    Metadata(Vec<u8>),
}

#[derive(Default)]
struct State {
    items: Vec<Item>,
    /// Bytes of messages that are not written yet.
    bytes: usize,
    is_closed: bool,
}

/// The queue.
pub(super) struct Queue {
    state: Mutex<State>,
    came: Condvar,
    bytes_max: usize,
}

impl Queue {
    /// Returns a queue whose messages take at most that many bytes. One message has room whatever its size.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { state: Mutex::default(), came: Condvar::new(), bytes_max }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bytes that messages may take.
    pub(super) const fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Adds a message. Returns false if there is no room for it.
    pub(super) fn push_message(&self, message: Message) -> bool {
        let size = message.size();
        self.push_sized(size, Item::Message(message))
    }

    /// Adds an event of a trace. Returns false if there is no room for it.
    pub(super) fn push_trace(&self, message: TraceMessage) -> bool {
        let size = message.size();
        self.push_sized(size, Item::Trace(message))
    }

    fn push_sized(&self, size: usize, item: Item) -> bool {
        let mut state = self.lock();
        if state.is_closed || (state.bytes > 0 && state.bytes + size > self.bytes_max) {
            return false;
        }
        state.bytes += size;
        state.items.push(item);
        drop(state);
        self.came.notify_one();
        true
    }

    /// Adds what is no message, which always has room.
    pub(super) fn push(&self, item: Item) {
        self.lock().items.push(item);
        self.came.notify_one();
    }

    /// Lets nothing more in.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.came.notify_one();
    }

    /// Returns all items; none if none came within that time. `None` once the queue is closed and empty.
    pub(super) fn take(&self, longest: Duration) -> Option<Vec<Item>> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.is_closed {
            state = self.came.wait_timeout(state, longest).unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.items.is_empty() && state.is_closed {
            return None;
        }
        Some(std::mem::take(&mut state.items))
    }

    /// Notes that messages of so many bytes are written, or lost.
    pub(super) fn done(&self, bytes: usize) {
        let mut state = self.lock();
        state.bytes = state.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Message {
        Message { place: 0, number: 0, log_time: 0, publish_time: 0, payload: vec![0; length].into() }
    }

    #[test]
    fn message_without_room_is_refused_until_others_are_written() {
        let queue = Queue::new(1_000);
        assert!(queue.push_message(message(300)) && queue.push_message(message(300)));
        assert!(!queue.push_message(message(300)));
        let taken = queue.take(Duration::ZERO).unwrap();
        // Taken messages are in memory until they are written.
        assert!(taken.len() == 2 && !queue.push_message(message(300)));
        queue.done(428);
        assert!(queue.push_message(message(300)));
    }

    #[test]
    fn message_that_is_larger_than_the_queue_has_room_if_it_is_alone() {
        let queue = Queue::new(10);
        assert!(queue.push_message(message(5_000)) && !queue.push_message(message(1)));
        queue.take(Duration::ZERO);
        queue.done(5_128);
        assert!(queue.push_message(message(1)));
    }

    #[test]
    fn closed_queue_is_emptied_first() {
        let queue = Queue::new(1_000);
        assert!(queue.push_message(message(1)));
        queue.close();
        assert!(!queue.push_message(message(1)));
        assert_eq!(queue.take(Duration::ZERO).map(|items| items.len()), Some(1));
        assert!(queue.take(Duration::ZERO).is_none());
    }
}
