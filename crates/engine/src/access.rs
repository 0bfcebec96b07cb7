//! Access to the executor's state for the threads of a spin: one thread has it to itself, several take turns.

use std::cell::RefCell;

use crate::state::{State, WrittenLines};
use crate::sync::brief::Brief;

/// Access to the state for the threads of one spin.
pub(crate) trait Access {
    /// Runs `f` on the state. No other thread has the state meanwhile. `f` must not call this again.
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R;

    /// Does what [`with`](Self::with) does, for a step between two callbacks. Another thread's step has probably
    /// written the lines.
    fn with_lines<R>(&self, lines: &mut WrittenLines, f: impl FnOnce(&mut State) -> R) -> R;
}

impl Access for RefCell<&mut State> {
    #[inline(always)]
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.borrow_mut())
    }

    #[inline(always)]
    fn with_lines<R>(&self, _: &mut WrittenLines, f: impl FnOnce(&mut State) -> R) -> R {
        // There is no other thread.
        self.with(f)
    }
}

/// The threads of one executor are equally urgent, so a lock without priority inheritance will do.
impl Access for Brief<&mut State> {
    fn with<R>(&self, f: impl FnOnce(&mut State) -> R) -> R {
        f(&mut self.lock())
    }

    #[inline(always)]
    fn with_lines<R>(&self, lines: &mut WrittenLines, f: impl FnOnce(&mut State) -> R) -> R {
        let mut state = lines.fetch_and_lock(self);
        let result = f(&mut state);
        lines.note(&state);
        result
    }
}
