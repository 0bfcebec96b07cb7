//! A callback on its way: lent out by the state, run, and given back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rospin_core::Activation;

use crate::body::{AnyPayload, Body, Ran, RunContext};
use crate::incident::panic_message;
use crate::source::Pending;

/// A callback to run, with all that it needs.
pub(crate) struct Work {
    activation: Activation,
    slot: usize,
    body: Box<dyn Body>,
    payload: Option<AnyPayload>,
}

/// A callback that ran.
pub(crate) struct Finished {
    pub(crate) activation: Activation,
    pub(crate) slot: usize,
    pub(crate) body: Box<dyn Body>,
    pub(crate) payload: Option<AnyPayload>,
    pub(crate) pending: Pending,
    /// What came of it, or the message of its panic.
    pub(crate) result: Result<Ran, String>,
}

impl Work {
    pub(crate) fn new(activation: Activation, slot: usize, body: Box<dyn Body>, payload: Option<AnyPayload>) -> Self {
        Self { activation, slot, body, payload }
    }

    /// Takes and runs; a panic ends here.
    pub(crate) fn run(self) -> Finished {
        let Self { activation, slot, mut body, payload } = self;
        let mut cx = RunContext { activation, payload, pending: Pending::Empty };
        // A body that panicked is left alone until it is abandoned, and the payload is the group's to judge.
        let result = catch_unwind(AssertUnwindSafe(|| body.run(&mut cx))).map_err(|panic| {
            // Dropping what the callback captured may panic once more; the first panic is the one to report.
            let _ = catch_unwind(AssertUnwindSafe(|| body.abandon()));
            panic_message(&*panic)
        });
        Finished { activation, slot, body, payload: cx.payload, pending: cx.pending, result }
    }
}
