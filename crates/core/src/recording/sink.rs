//! Sinks, which receive recorded events, and the names that these need.

use std::time::Duration;

use super::Words;
use crate::entity::EntityKind;

/// Properties of an entity that the order of its activations depends on, besides those that people want to read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rules {
    /// The bits of its group, which is unique within the executor.
    pub group: u64,
    /// Its place in the order of registration.
    pub registration: u64,
    /// The number of its activations that may be in flight at once.
    pub max_in_flight: u32,
    /// True if a suspended activation frees its group.
    pub frees_group: bool,
    /// True if it runs before everything that the policy picks from.
    pub precedes_all: bool,
}

/// The meaning of numbers in events.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Definition {
    /// An executor.
    Executor {
        /// Its number in events.
        executor: u16,
        /// Its name.
        name: String,
        /// The name of its policy.
        policy: String,
        /// The number of its threads.
        threads: u16,
    },
    /// A thread that recorded events.
    Thread {
        /// Its number in the recording.
        thread: u32,
        /// Its number in the kernel.
        kernel_id: u32,
        /// Its name in the kernel.
        name: String,
    },
    /// An entity.
    Entity {
        /// The number of its executor.
        executor: u16,
        /// Its bits within the executor, as [`Step`](crate::recording::Step) has them.
        entity: u64,
        /// Its account: the number under which [`Event::Lost`](crate::recording::Event::Lost) has its losses.
        account: u64,
        /// Its name.
        name: String,
        /// The name of its group.
        group: String,
        /// True if the group runs one of its callbacks at a time.
        excludes: bool,
        /// Its kind.
        kind: EntityKind,
        /// Its priority.
        priority: u32,
        /// The time from its release until it should have completed; `None` if none was set. A periodic timer then has
        /// its period.
        deadline: Option<Duration>,
        /// The period of a periodic timer; `None` for any other entity.
        period: Option<Duration>,
        /// Further properties that the order depends on, if they are known.
        rules: Option<Rules>,
    },
    /// The queue of a subscription.
    Queue {
        /// Its number in events.
        queue: u64,
        /// The account of the entity that takes from it. If user code takes from it, no entity has that account.
        account: u64,
        /// The topic's name.
        topic: String,
        /// The number of messages that it holds at most.
        depth: u64,
    },
    /// A chain whose latency a monitor watches.
    Chain {
        /// Its number in events, from 1.
        chain: u32,
        /// Its name.
        name: String,
    },
    /// A publisher of a node.
    Publisher {
        /// Its id, which is the same in every process.
        publisher: [u8; 16],
        /// The topic's name.
        topic: String,
    },
}

/// The number that a [`Definition`] defines. A later definition with the same key replaces an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DefinitionKey {
    /// The number of an executor.
    Executor(u16),
    /// The number of a thread.
    Thread(u32),
    /// The number of an executor, and the bits of an entity.
    Entity(u16, u64),
    /// The number of a queue.
    Queue(u64),
    /// The id of a publisher.
    Publisher([u8; 16]),
    /// The number of a chain.
    Chain(u32),
}

impl Definition {
    /// Returns the number that is defined.
    #[must_use]
    pub const fn key(&self) -> DefinitionKey {
        match self {
            Self::Executor { executor, .. } => DefinitionKey::Executor(*executor),
            Self::Thread { thread, .. } => DefinitionKey::Thread(*thread),
            Self::Entity { executor, entity, .. } => DefinitionKey::Entity(*executor, *entity),
            Self::Queue { queue, .. } => DefinitionKey::Queue(*queue),
            Self::Chain { chain, .. } => DefinitionKey::Chain(*chain),
            Self::Publisher { publisher, .. } => DefinitionKey::Publisher(*publisher),
        }
    }
}

/// The receiver of a recording: a file, or a memory of the last seconds. One ordinary thread calls it, which may block.
pub trait Sink: Send {
    /// Takes note of a definition. It precedes the events that use it, except at the start of a recording, when both
    /// come at once. A later definition of the same number replaces an earlier one.
    fn define(&mut self, definition: &Definition);

    /// Takes note that what the key defines is gone: no event that comes later names it. Its definition is needed only
    /// for events that are there already.
    fn forget(&mut self, _key: DefinitionKey) {}

    /// Stores events of one thread, in the order in which it recorded them.
    fn record(&mut self, thread: u32, events: &[Words]);

    /// Makes all that came before the last round readable by others. Recording may go on after it. A sink that keeps
    /// events for a round writes the rest when it is dropped.
    fn flush(&mut self);

    /// Ends a round: no events come for some milliseconds.
    fn end_round(&mut self) {}

    /// Returns how long events may wait for a round, if there is room for them. Rounds come as often as the most
    /// hurried sink wants, and disturb the program less if they are few.
    fn patience(&self) -> Duration {
        Duration::ZERO
    }

    /// Writes the last seconds, for this reason, if the sink keeps them in memory. Others ignore it.
    fn trigger(&mut self, _reason: &str) {}
}

impl Sink for Box<dyn Sink> {
    fn define(&mut self, definition: &Definition) {
        (**self).define(definition);
    }

    fn forget(&mut self, key: DefinitionKey) {
        (**self).forget(key);
    }

    fn record(&mut self, thread: u32, events: &[Words]) {
        (**self).record(thread, events);
    }

    fn flush(&mut self) {
        (**self).flush();
    }

    fn end_round(&mut self) {
        (**self).end_round();
    }

    fn patience(&self) -> Duration {
        (**self).patience()
    }

    fn trigger(&mut self, reason: &str) {
        (**self).trigger(reason);
    }
}
