//! The thread that writes a bag. It alone waits for the disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::queue::{Item, Message, Queue, TraceMessage};
use crate::bag::metadata::{Metadata, Topic};
use crate::bag::write::{BagWriter, Definition, Stamped};

/// Time after which messages are written even if their chunk is not full. So many seconds are lost if the process is
/// killed.
const FLUSH: Duration = Duration::from_secs(1);

/// Result of a writer.
pub(super) struct Written {
    /// The content of the bag, or the reason for which its end could not be written.
    pub(super) metadata: io::Result<Metadata>,
    /// Lost messages by topic: those for which the disk had no room.
    pub(super) lost: Vec<u64>,
    /// Lost events of a trace, likewise.
    pub(super) lost_of_trace: u64,
    pub(super) failure: Option<String>,
}

/// A topic as the writer knows it.
enum State {
    /// The definition of its messages is not known yet, so that its messages have to wait.
    Waiting(Topic, Vec<Message>),
    /// It is in the bag, at that place.
    Begun(usize),
}

/// Writer of what comes through a queue.
pub(super) struct Writer {
    queue: Arc<Queue>,
    bag: BagWriter,
    topics: Vec<State>,
    /// Places of a trace's channels in the bag, by their numbers in the trace.
    trace: BTreeMap<u16, usize>,
    /// Bytes of messages that wait for definitions.
    waiting: usize,
    has_failed: Arc<AtomicBool>,
    /// Writes messages before it takes further ones.
    is_at_once: bool,
}

impl Writer {
    pub(super) fn new(queue: Arc<Queue>, bag: BagWriter, has_failed: Arc<AtomicBool>, is_at_once: bool) -> Self {
        Self { queue, bag, topics: Vec::new(), trace: BTreeMap::new(), waiting: 0, has_failed, is_at_once }
    }

    /// Writes until the queue is closed.
    pub(super) fn run(mut self) -> Written {
        let mut flushed = Instant::now();
        while let Some(items) = self.queue.take(FLUSH) {
            for item in items {
                self.add(item);
            }
            if self.is_at_once || flushed.elapsed() >= FLUSH {
                self.bag.flush();
                flushed = Instant::now();
            }
            self.has_failed.store(self.bag.failure().is_some(), Ordering::Relaxed);
        }
        for number in 0..self.topics.len() {
            self.begin(number, None);
        }
        let metadata = self.bag.finish();
        let of_bag = self.bag.lost();
        let lost = self.topics.iter().map(|topic| match topic {
            State::Begun(place) => of_bag[*place],
            State::Waiting(..) => 0,
        });
        let lost_of_trace = self.trace.values().map(|place| of_bag[*place]).sum();
        Written { metadata, lost: lost.collect(), lost_of_trace, failure: self.bag.failure().map(str::to_owned) }
    }

    fn add(&mut self, item: Item) {
        match item {
            Item::Topic(topic) => self.topics.push(State::Waiting(topic, Vec::new())),
            Item::Defined(number, definition) => match &self.topics[number] {
                State::Waiting(..) => self.begin(number, definition),
                State::Begun(place) => {
                    if let Some(definition) = definition {
                        self.bag.set_definition(*place, definition);
                    }
                }
            },
            Item::Offered(number, offered) => match &mut self.topics[number] {
                State::Waiting(topic, _) => topic.offered = offered,
                State::Begun(place) => self.bag.set_offered(*place, offered),
            },
            Item::Message(message) => self.add_message(message),
            Item::TraceTopic(channel, topic, definition) => {
                let place = self.bag.add_topic(topic, Some(definition));
                self.trace.insert(channel, place);
            }
            Item::Trace(message) => {
                let TraceMessage { channel, number, log_time, publish_time, .. } = message;
                if let Some(place) = self.trace.get(&channel) {
                    self.bag.write(*place, Stamped { number, log_time, publish_time, payload: &message.payload });
                }
                self.queue.done(message.size());
            }
            Item::Metadata(fields) => self.bag.add_metadata(&fields),
        }
    }

    fn add_message(&mut self, message: Message) {
        let number = message.place;
        match &mut self.topics[number] {
            State::Begun(place) => {
                let place = *place;
                self.write(place, &message);
            }
            State::Waiting(_, messages) => {
                self.waiting += message.size();
                messages.push(message);
                // Without this, all of the memory might wait for one node that does not answer.
                if self.waiting > self.queue.bytes_max() / 2 {
                    self.begin(number, None);
                }
            }
        }
    }

    /// Puts a topic into the bag, with the messages that waited.
    fn begin(&mut self, number: usize, definition: Definition) {
        let State::Waiting(topic, messages) = &mut self.topics[number] else { return };
        let messages = std::mem::take(messages);
        let place = self.bag.add_topic(std::mem::take(topic), definition);
        self.topics[number] = State::Begun(place);
        for message in messages {
            self.waiting -= message.size();
            self.write(place, &message);
        }
    }

    fn write(&mut self, place: usize, message: &Message) {
        let Message { number, log_time, publish_time, .. } = *message;
        self.bag.write(place, Stamped { number, log_time, publish_time, payload: &message.payload });
        self.queue.done(message.size());
    }
}
