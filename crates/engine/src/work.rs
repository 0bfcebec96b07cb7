//! A callback on its way: lent out by the state, run, and given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_core::{Activation, Instant};

use crate::body::{Body, Ran, RunContext};
use crate::incident::{OnPanic, contain, panic_message};
use crate::loss::LossCounters;
use crate::source::Pending;

/// What is known of a callback even when its entity and its group are gone.
pub(crate) struct Label {
    pub(crate) entity: Arc<str>,
    pub(crate) group: Arc<str>,
    pub(crate) on_panic: OnPanic,
    pub(crate) losses: Arc<LossCounters>,
}

/// A body and its label, and what belongs to the run that is under way. In a box of its own: with every activation it goes from
/// the state to a thread and back.
pub(crate) struct Callback {
    pub(crate) body: Box<dyn Body>,
    pub(crate) label: Arc<Label>,
    /// The number of its run slot.
    pub(crate) slot: usize,
    pub(crate) cx: RunContext,
    /// What came of the last run, or the message of its panic.
    pub(crate) result: Result<Ran, String>,
}

impl Callback {
    pub(crate) fn new(body: Box<dyn Body>, label: Arc<Label>, slot: usize) -> Box<Self> {
        let cx = RunContext { release: Instant::ZERO, payload: None, pending: Pending::Empty };
        Box::new(Self { body, label, slot, cx, result: Ok(Ran::Nothing) })
    }
}

/// An activation with its callback and all that it needs: lent to a thread, which runs it and gives it back.
pub(crate) struct Run {
    pub(crate) activation: Activation,
    pub(crate) callback: Box<Callback>,
}

impl Run {
    /// Takes an item and runs the callback; a panic ends here.
    pub(crate) fn run(&mut self) {
        let Callback { body, cx, result, .. } = &mut *self.callback;
        cx.release = self.activation.release;
        cx.pending = Pending::Empty;
        // A body that panicked is left alone until it is abandoned, and the payload is the group's to judge.
        *result = catch_unwind(AssertUnwindSafe(|| body.run(cx))).map_err(|panic| {
            let message = panic_message(&*panic);
            // Dropping what the callback captured, or what it panicked with, may panic once more; the first panic counts.
            contain(|| body.abandon());
            contain(|| drop(panic));
            message
        });
    }
}
