//! A callback on its way: lent out by the state, run, and given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_core::Activation;

use crate::body::{AnyPayload, Body, Ran, RunContext};
use crate::incident::{OnPanic, panic_message};
use crate::loss::LossCounters;
use crate::shared::contain;
use crate::source::Pending;

/// What is known of a callback even when its entity and its group are gone.
pub(crate) struct Label {
    pub(crate) entity: Arc<str>,
    pub(crate) group: Arc<str>,
    pub(crate) on_panic: OnPanic,
    pub(crate) losses: Arc<LossCounters>,
}

/// A body and its label.
pub(crate) struct Callback {
    pub(crate) body: Box<dyn Body>,
    pub(crate) label: Arc<Label>,
}

/// A callback to run, with all that it needs.
pub(crate) struct Work {
    activation: Activation,
    slot: usize,
    callback: Callback,
    payload: Option<AnyPayload>,
}

/// A callback that ran.
pub(crate) struct Finished {
    pub(crate) activation: Activation,
    pub(crate) slot: usize,
    pub(crate) callback: Callback,
    pub(crate) payload: Option<AnyPayload>,
    pub(crate) pending: Pending,
    /// What came of it, or the message of its panic.
    pub(crate) result: Result<Ran, String>,
}

impl Work {
    pub(crate) fn new(activation: Activation, slot: usize, callback: Callback, payload: Option<AnyPayload>) -> Self {
        Self { activation, slot, callback, payload }
    }

    /// Takes and runs; a panic ends here.
    pub(crate) fn run(self) -> Finished {
        let Self { activation, slot, mut callback, payload } = self;
        let body = &mut callback.body;
        let mut cx = RunContext { activation, payload, pending: Pending::Empty };
        // A body that panicked is left alone until it is abandoned, and the payload is the group's to judge.
        let result = catch_unwind(AssertUnwindSafe(|| body.run(&mut cx))).map_err(|panic| {
            let message = panic_message(&*panic);
            // Dropping what the callback captured, or what it panicked with, may panic once more; the first panic counts.
            contain(|| body.abandon());
            contain(|| drop(panic));
            message
        });
        Finished { activation, slot, callback, payload: cx.payload, pending: cx.pending, result }
    }
}
