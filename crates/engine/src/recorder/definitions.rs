//! Calls by which the rest of the process tells a recorder the names of queues and publishers, and events that no
//! executor records: those of middlewares and sinks.

use rospin_core::Instant;
use rospin_core::recording::{Definition, DefinitionKey, Event};

use super::{Recorder, fresh_number};

impl Recorder {
    /// Passes on a definition of an executor that is tapped. Its events may still be in the logs when the recorder was
    /// just turned off, so that the definition is passed on in any case.
    pub(crate) fn define(&self, definition: Definition) {
        if let Some(observer) = self.observer() {
            observer.define(&definition);
        }
        self.lock().definitions.push(definition);
    }

    /// Forgets an entity of an executor, or an executor, whose last event is in a log.
    pub(crate) fn forget(&self, key: DefinitionKey) {
        if self.is_on() {
            self.lock().gone.push(key);
        }
    }

    /// Defines a queue or a publisher now and in later recordings, until it is [removed](Self::remove) by the same
    /// `key`.
    fn stand(&self, key: (bool, u64), definition: Definition) {
        if let Some(observer) = self.observer() {
            observer.define(&definition);
        }
        let mut registry = self.lock();
        if self.is_on() {
            registry.definitions.push(definition.clone());
        }
        registry.standing.insert(key, definition);
    }

    /// Defines the queue with the number `queue`, until it is removed. `account` is the number of the loss counters of
    /// the entity that takes from it.
    pub(crate) fn add_queue(&self, queue: u64, account: u64, topic: &str, depth: usize) {
        let definition = Definition::Queue { queue, account, topic: topic.to_owned(), depth: depth as u64 };
        self.stand((false, queue), definition);
    }

    /// Notes that another entity takes from the queue: the one whose loss counters have the number `to`.
    pub(crate) fn move_queue(&self, queue: u64, to: u64) {
        let mut registry = self.lock();
        if let Some(Definition::Queue { account, .. }) = registry.standing.get_mut(&(false, queue)) {
            *account = to;
        }
        if let Some(definition) = registry.standing.get(&(false, queue)).filter(|_| self.is_on()).cloned() {
            registry.definitions.push(definition.clone());
            drop(registry);
            if let Some(observer) = self.observer() {
                observer.define(&definition);
            }
        }
    }

    /// Forgets a queue.
    pub(crate) fn remove_queue(&self, queue: u64) {
        if let Some(observer) = self.observer() {
            observer.forget_queue(queue);
        }
        self.remove((false, queue));
    }

    /// Defines a publisher of a node: the id that events have, and its topic. Returns a number by which it is
    /// [removed](Self::remove_publisher).
    pub fn add_publisher(&self, publisher: [u8; 16], topic: &str) -> u64 {
        let number = fresh_number();
        self.stand((true, number), Definition::Publisher { publisher, topic: topic.to_owned() });
        number
    }

    /// Adds a definition of a sink's own, such as the names of chains that a monitor watches, to this recording and
    /// later ones.
    pub fn add_definition(&self, definition: Definition) {
        self.stand((true, fresh_number()), definition);
    }

    /// Forgets a publisher of a node.
    pub fn remove_publisher(&self, number: u64) {
        self.remove((true, number));
    }

    fn remove(&self, key: (bool, u64)) {
        let mut registry = self.lock();
        let removed = registry.standing.remove(&key);
        if self.is_on() {
            registry.gone.extend(removed.as_ref().map(Definition::key));
        }
    }

    /// Records an event of a sink's own, such as a [violation](Event::Violation), which happened at `at`. The sink may
    /// call it on the recording thread, also while it is flushed.
    pub fn record_event(&self, at: Instant, event: &Event) {
        self.write(&event.encode(at));
    }

    /// Records that a publisher of a node publishes its message with that number at `at`, if the recorder is on.
    #[inline]
    pub fn sent(&self, at: impl FnOnce() -> Instant, publisher: [u8; 16], number: u64) {
        if self.is_on() {
            self.note(at(), &Event::Sent { publisher, number });
        }
    }

    /// Records that the calling thread takes that message, which came encoded, for a subscription of a node at `at`, if
    /// the recorder is on. The number is 0 if the middleware does not tell it.
    #[inline]
    pub fn received(&self, at: impl FnOnce() -> Instant, publisher: [u8; 16], number: u64) {
        if self.is_on() {
            self.note(at(), &Event::Received { publisher, number });
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&self, at: Instant, event: &Event) {
        self.write_event(at, event);
    }
}
