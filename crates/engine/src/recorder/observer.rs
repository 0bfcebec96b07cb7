//! Observers: what is told of events at once, on the threads in which they happen.
//!
//! An observer is no sink: LTTng notes time and thread itself, so a tracepoint must be called when and where something
//! happens, which costs the executor what the call costs. Everything else may come later, from the recording thread.
//! The recorder is off unless somebody asks for it, so executors look for nothing more.

use std::fmt;
use std::sync::Arc;

use rospin_core::Instant;
use rospin_core::recording::{Definition, Event, Sink, Words};
use rospin_core::trace::TraceEvent;

use super::{RecordError, Recorder};

/// A node, or an entity that a node has created, with the details that the entity's [`Definition`] lacks, such as its
/// node.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Declaration {
    /// A node.
    Node {
        /// Its name with its namespace.
        node: String,
        /// Its name alone.
        name: String,
        /// Its namespace.
        namespace: String,
    },
    /// A publisher.
    Publisher {
        /// The name of its node, with the namespace.
        node: String,
        /// Its id, as events have it.
        publisher: [u8; 16],
        /// The resolved name of its topic.
        topic: String,
        /// The number of messages that it keeps at most.
        depth: usize,
    },
    /// A subscription.
    Subscription {
        /// The name of its node, with the namespace.
        node: String,
        /// The account of its entity.
        account: u64,
        /// The resolved name of its topic.
        topic: String,
        /// The number of messages that wait at most.
        depth: usize,
    },
    /// A service.
    Service {
        /// The name of its node, with the namespace.
        node: String,
        /// The account of its entity.
        account: u64,
        /// The resolved name of the service.
        service: String,
    },
    /// A client.
    Client {
        /// The name of its node, with the namespace.
        node: String,
        /// The resolved name of the service.
        service: String,
    },
    /// A timer of a node.
    Timer {
        /// The name of its node, with the namespace.
        node: String,
        /// The account of its entity.
        account: u64,
    },
}

/// An observer of what executors do. Unlike a [`Sink`], it is called at once, on the thread in which an event happens,
/// so that tracers which note time and thread themselves see the right ones.
///
/// It is called on the dispatch path, for scheduling under the lock of the executor. So it must neither block nor
/// panic, nor call the engine.
pub trait Observer: Send + Sync {
    /// Takes note of a definition. The same one may come several times.
    fn define(&self, definition: &Definition);

    /// Takes note of what a node has created, on the thread that creates it.
    fn declare(&self, declaration: &Declaration);

    /// Forgets the queue with that number, which is gone.
    fn forget_queue(&self, queue: u64);

    /// Takes note of an event of that executor's scheduler. Callbacks run between their dispatch and their completion
    /// or suspension, on the same thread.
    fn scheduled(&self, executor: u16, event: &TraceEvent);

    /// Takes note of an event that has no part in scheduling, such as a publication.
    fn happened(&self, event: &Event);

    /// Takes note that the calling thread takes an encoded message for the subscription whose callback it dispatched
    /// last. `published` is the time of the publication on the system clock of the publisher's machine, if it is known.
    fn took_encoded(&self, published: Option<std::time::SystemTime>);
}

/// The only observer of a recorder.
#[derive(Default)]
pub(super) struct ObserverSlot(std::sync::OnceLock<Arc<dyn Observer>>);

impl ObserverSlot {
    /// Returns the observer, if there is one.
    #[inline]
    pub(super) fn get(&self) -> Option<&dyn Observer> {
        self.0.get().map(|observer| &**observer)
    }
}

impl fmt::Debug for ObserverSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObserverSlot").field(&self.get().is_some()).finish()
    }
}

/// Sink that keeps the recorder on, for the observer.
struct Nothing;

impl Sink for Nothing {
    fn define(&mut self, _: &Definition) {}

    fn record(&mut self, _: u32, _: &[Words]) {}

    fn flush(&mut self) {}
}

impl Recorder {
    /// Has `observer` told of everything from now on, and turns the recorder on. Call it before the first node is
    /// created: nodes and what they have created are declared to it once. A recorder has one observer, for as long as
    /// there is the recorder; it is told of nothing while the recorder is [stopped](Self::stop).
    ///
    /// Locks, allocates, and starts an ordinary thread. May be called from any thread.
    ///
    /// # Errors
    /// If there is an observer already, and those of [`start`](Self::start).
    pub fn observe(&self, observer: impl Observer + 'static) -> Result<(), RecordError> {
        let observer: Arc<dyn Observer> = Arc::new(observer);
        self.0.observer.0.set(Arc::clone(&observer)).map_err(|_| RecordError::Observed)?;
        let standing: Vec<Definition> = self.lock().standing.values().cloned().collect();
        for definition in &standing {
            observer.define(definition);
        }
        self.start(Nothing).map(drop)
    }

    /// Tells the observer what a node has created, if the recorder is on and there is an observer. `declare` is not
    /// called otherwise.
    #[inline]
    pub fn declare(&self, declare: impl FnOnce() -> Declaration) {
        if self.is_on()
            && let Some(observer) = self.0.observer.get()
        {
            observer.declare(&declare());
        }
    }

    /// Tells the observer that the calling thread takes an encoded message for the subscription whose callback it
    /// dispatched last. `published` is the time of the publication on the system clock, if it is known.
    pub fn took_encoded(&self, published: Option<std::time::SystemTime>) {
        if let Some(observer) = self.observer() {
            observer.took_encoded(published);
        }
    }

    /// Returns the observer if the recorder is on and there is one.
    pub(super) fn observer(&self) -> Option<&dyn Observer> {
        if self.is_on() { self.0.observer.get() } else { None }
    }

    /// Writes an event, and tells the observer of it. The caller knows that the recorder is on.
    pub(super) fn write_event(&self, at: Instant, event: &Event) {
        self.write(&event.encode(at));
        if let Some(observer) = self.0.observer.get() {
            observer.happened(event);
        }
    }
}
