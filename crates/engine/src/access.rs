//! Access to the executor's state for the threads of a spin: one thread has it to itself, several take turns.

use std::cell::RefCell;
use std::sync::PoisonError;

use crate::state::State;
use crate::sync::PlainMutex;

/// Access to the state for the threads of one spin.
pub(crate) trait Access {
    /// Runs `f` on the state. No other thread has the state meanwhile. `f` must not call this again.
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R;
}

impl Access for RefCell<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.borrow_mut())
    }
}

/// The threads of one executor are equally urgent, so a lock without priority inheritance will do.
impl Access for PlainMutex<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
