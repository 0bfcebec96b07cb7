//! Matching: which messages of several inputs belong together. Pure: it reads no clock, and knows nothing of topics.

mod approximate;
mod exact;
#[cfg(test)]
mod tests;

pub(super) use approximate::{Approximate, Limits};
pub(super) use exact::Exact;

/// Messages that belong together, by input. A set is complete if it has one of each; otherwise its messages were matched with
/// nothing else, and never will be.
pub(super) type Set<T> = Vec<Option<T>>;

/// A matching of the messages of a fixed number of inputs.
pub(super) trait Matching<T>: Send {
    /// Adds a message, and appends the sets that this decides to `decided`, oldest first. Each message that was added is in
    /// exactly one set in the end, unless it is still [held](Self::held).
    fn add(&mut self, input: usize, stamp_ns: i64, message: T, decided: &mut Vec<Set<T>>);

    /// Drops all messages that wait for others, into incomplete sets.
    fn clear(&mut self, decided: &mut Vec<Set<T>>);

    /// Returns the number of messages that wait for others.
    fn held(&self) -> usize;
}

/// Returns the set of one message alone.
pub(super) fn alone<T>(inputs: usize, input: usize, message: T) -> Set<T> {
    let mut set: Set<T> = (0..inputs).map(|_| None).collect();
    set[input] = Some(message);
    set
}
