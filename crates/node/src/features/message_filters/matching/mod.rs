//! Matching: which messages of several inputs belong together. Pure: it reads no clock, and knows nothing of topics.

mod approximate;
mod exact;
#[cfg(test)]
mod tests;

pub(super) use approximate::{Approximate, Limits};
pub(super) use exact::Exact;

/// Messages that belong together, by input; `None` for an input without one. A set is complete if it has a message of
/// each input. An incomplete set gets no further messages.
pub(super) type Set<T> = Vec<Option<T>>;

/// A matching of the messages of a fixed number of inputs.
pub(super) trait Matching<T>: Send {
    /// Adds a message, and appends the sets that this decides to `decided`, the complete ones in the order of their
    /// stamps. Each message that was added is in exactly one set in the end, unless it is still [held](Self::held).
    fn add(&mut self, input: usize, stamp_ns: i64, message: T, decided: &mut Vec<Set<T>>);

    /// Moves all messages that wait for others to incomplete sets, which it appends to `decided`.
    fn clear(&mut self, decided: &mut Vec<Set<T>>);

    /// Returns the number of messages that wait for others.
    fn held(&self) -> usize;
}

/// Returns the incomplete set of one message of the input number `input`, of `inputs` inputs.
pub(super) fn alone<T>(inputs: usize, input: usize, message: T) -> Set<T> {
    let mut set: Set<T> = (0..inputs).map(|_| None).collect();
    set[input] = Some(message);
    set
}
