//! Run: the thread takes an item and calls the callback, while no lock is held.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rospin_core::Activation;

use crate::incident::{contain, panic_message};
use crate::source::Pending;
use crate::work::Callback;

/// An activation with its callback and payload, which the state has lent to a thread.
pub(crate) struct Run {
    pub(crate) activation: Activation,
    pub(crate) callback: Box<Callback>,
}

impl Run {
    /// Takes an item and runs the callback, or polls a suspended one again. Notes the outcome, or the message of a
    /// panic, in the callback's `result`.
    #[inline(always)]
    pub(super) fn run(&mut self) {
        let Callback { body, cx, payload, result, .. } = &mut *self.callback;
        cx.release = self.activation.release;
        cx.pending = Pending::Empty;
        // Unwind safety: after a panic the body only drops its activation, and the group's options say if the payload
        // is used further.
        match catch_unwind(AssertUnwindSafe(|| body.run(cx, payload))) {
            Ok(ran) => *result = Ok(ran),
            Err(panic) => self.callback.fail(panic),
        }
    }
}

impl Callback {
    /// Notes that the body has panicked, and drops its activation.
    #[cold]
    pub(crate) fn fail(&mut self, panic: Box<dyn Any + Send>) {
        self.result = Err(panic_message(&*panic));
        // Dropping the callback's future or the panic's payload may panic once more. Only the first panic is reported.
        contain(|| self.body.drop_activation(&mut self.cx));
        contain(|| drop(panic));
    }
}
