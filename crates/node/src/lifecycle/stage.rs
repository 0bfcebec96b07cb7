//! The current state of a node, readable by every thread.

use super::machine::State;
use crate::sync::atomic::{AtomicU8, Ordering};

/// The current state of a node. Only callbacks of the group that has the node's payload change it, one at a time, so no
/// lock is needed.
pub(super) struct Stage(AtomicU8);

impl Stage {
    pub(super) const fn new(state: State) -> Self {
        Self(AtomicU8::new(state.id()))
    }

    pub(super) fn get(&self) -> State {
        // Acquire: a thread that sees a state also sees the effects of the callback that led to it.
        State::from_id(self.0.load(Ordering::Acquire)).unwrap_or(State::Unknown)
    }

    pub(super) fn set(&self, state: State) {
        self.0.store(state.id(), Ordering::Release);
    }
}
