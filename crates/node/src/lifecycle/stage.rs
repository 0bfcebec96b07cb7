//! The state that a node is in, for everybody to read.

use std::sync::atomic::{AtomicU8, Ordering};

use super::machine::State;

/// The state that a node is in. Only callbacks of its own group change it, one at a time, so nobody needs a lock.
pub(super) struct Stage(AtomicU8);

impl Stage {
    pub(super) const fn new(state: State) -> Self {
        Self(AtomicU8::new(state.id()))
    }

    pub(super) fn get(&self) -> State {
        // Acquire: who sees a state also sees what the callback did that led to it.
        State::from_id(self.0.load(Ordering::Acquire)).unwrap_or(State::Unknown)
    }

    pub(super) fn set(&self, state: State) {
        self.0.store(state.id(), Ordering::Release);
    }
}
