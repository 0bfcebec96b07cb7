//! A callback on its way from the state to a thread and back.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_core::{Activation, Instant};

use crate::body::{AnyPayload, Body, Ran, RunContext};
use crate::incident::{OnPanic, contain, panic_message};
use crate::loss::LossCounters;
use crate::source::Pending;

/// The names and counters of a callback, which are needed even after its entity and its group are gone.
pub(crate) struct Label {
    pub(crate) entity: Arc<str>,
    pub(crate) group: Arc<str>,
    pub(crate) on_panic: OnPanic,
    pub(crate) losses: Arc<LossCounters>,
}

/// A callback: its body, its label, and the data of its current run. It is kept in a box, since every activation moves
/// it from the state to a thread and back. The body is in the same box, so that a run begins with one look-up less.
pub(crate) struct Callback<B: ?Sized = dyn Body> {
    pub(crate) cx: RunContext,
    /// The payload of the group while the callback is lent to a thread; always `None` in a reentrant group.
    pub(crate) payload: Option<AnyPayload>,
    /// The outcome of the last run, or the message of its panic.
    pub(crate) result: Result<Ran, String>,
    /// Index of the callback's run slot.
    pub(crate) slot: usize,
    pub(crate) label: Arc<Label>,
    pub(crate) body: B,
}

impl<B: Body> Callback<B> {
    pub(crate) fn new(body: B, label: Arc<Label>, slot: usize) -> Box<Self> {
        Box::new(Self { cx: RunContext::new(), payload: None, result: Ok(Ran::Nothing), slot, label, body })
    }
}

/// An activation with its callback and payload. It is lent to a thread, which runs the callback and returns both.
pub(crate) struct Run {
    pub(crate) activation: Activation,
    pub(crate) callback: Box<Callback>,
}

impl Run {
    /// Takes an item and runs the callback, or polls a suspended one again. Notes the outcome, or the message of a
    /// panic, in the callback's `result`.
    #[inline(always)]
    pub(crate) fn run(&mut self) {
        self.callback.run(self.activation.release);
    }
}

impl Callback {
    /// Does what [`Run::run`] does, for an activation that was released at `release`.
    #[inline(always)]
    pub(crate) fn run(&mut self, release: Instant) {
        let Self { body, cx, payload, result, .. } = self;
        (cx.release, cx.pending) = (release, Pending::Empty);
        // Unwind safety: after a panic the body is only abandoned, and the group's options say if the payload is used
        // further.
        match catch_unwind(AssertUnwindSafe(|| body.run(cx, payload))) {
            Ok(ran) => *result = Ok(ran),
            Err(panic) => self.fail(panic),
        }
    }

    /// Notes that the body has panicked, and drops its activation.
    #[cold]
    pub(crate) fn fail(&mut self, panic: Box<dyn Any + Send>) {
        self.result = Err(panic_message(&*panic));
        // Dropping the callback's future or the panic's payload may panic once more. Only the first panic is reported.
        contain(|| self.body.abandon(&mut self.cx));
        contain(|| drop(panic));
    }
}
