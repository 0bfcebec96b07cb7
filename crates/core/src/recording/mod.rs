//! Recordings: what an engine records of its executors, as data. Engines write it, and `rospin-trace` stores and reads
//! it.
//!
//! An [`Event`] has a fixed size when it is [encoded](Event::encode), so that lock-free buffers can hold it. Events
//! name things by numbers. [`Definition`]s say which names, topics and settings these numbers stand for.

mod event;
mod sink;
#[cfg(test)]
mod tests;

pub use event::{Event, INCIDENTS, KINDS, LOSS_CAUSES, Step, VIOLATION_CAUSES, VIOLATIONS, Words};
pub use sink::{Definition, DefinitionKey, Rules, Sink};
