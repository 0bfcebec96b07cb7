//! A callback, which the state lends to a thread for each run.

use std::any::Any;
use std::sync::Arc;

use rospin_core::Activation;

use crate::body::{AnyPayload, Body, Ran, RunContext};
use crate::incident::OnPanic;
use crate::loss::LossCounters;
use crate::panics::{contain, panic_message};

/// The names and counters of a callback, which are needed even after its entity and its group are gone.
pub(crate) struct Label {
    pub(crate) entity: Arc<str>,
    pub(crate) group: Arc<str>,
    pub(crate) on_panic: OnPanic,
    pub(crate) losses: Arc<LossCounters>,
}

/// A callback: its body, its label, and the data of its current run. It is kept in a box, since the state
/// lends it to a thread for each run. The body is in the same box, so that a run begins with one look-up less.
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

/// An activation with its callback and payload, which the state has lent to a thread.
pub(crate) struct Run {
    pub(crate) activation: Activation,
    pub(crate) callback: Box<Callback>,
}
