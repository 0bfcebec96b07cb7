//! A callback on its way: lent out by the state, run, and given back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rospin_core::{Activation, EntityKind, Instant};

use crate::body::{Body, Ran, RunContext};
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

/// A body and its label, and what belongs to the run that is under way. In a box of its own: with every activation it goes from
/// the state to a thread and back.
pub(crate) struct Callback {
    pub(crate) body: Box<dyn Body>,
    pub(crate) label: Arc<Label>,
    /// The number of its run slot.
    pub(crate) slot: usize,
    pub(crate) cx: RunContext,
    /// Whether nothing else was ready when it was picked.
    pub(crate) is_alone: bool,
    /// What came of the last run, or the message of its panic.
    pub(crate) result: Result<Ran, String>,
}

impl Callback {
    pub(crate) fn new(body: Box<dyn Body>, label: Arc<Label>, slot: usize) -> Box<Self> {
        let cx = RunContext { release: Instant::ZERO, payload: None, pending: Pending::Empty, arms_later: false };
        Box::new(Self { body, label, slot, cx, is_alone: false, result: Ok(Ran::Nothing) })
    }
}

/// An activation with its callback and all that it needs: lent to a thread, which runs it and gives it back.
pub(crate) struct Run {
    pub(crate) activation: Activation,
    pub(crate) callback: Box<Callback>,
}

impl Run {
    /// Takes and runs; a panic ends here. If it `arms_later`, [`arm`](Self::arm) must be called before it is given back.
    pub(crate) fn run(&mut self, arms_later: bool) {
        let Callback { body, cx, result, .. } = &mut *self.callback;
        cx.release = self.activation.release;
        cx.pending = Pending::Empty;
        cx.arms_later = arms_later;
        // A body that panicked is left alone until it is abandoned, and the payload is the group's to judge.
        *result = catch_unwind(AssertUnwindSafe(|| body.run(cx))).map_err(|panic| {
            let message = panic_message(&*panic);
            // Dropping what the callback captured, or what it panicked with, may panic once more; the first panic counts.
            contain(|| body.abandon());
            contain(|| drop(panic));
            message
        });
    }

    /// Whether it took something from somewhere.
    pub(crate) fn has_source(&self) -> bool {
        self.activation.kind != EntityKind::Timer
    }

    /// What it left in its source, as far as it is known without arming that.
    pub(crate) fn left(&self) -> Pending {
        self.callback.cx.pending
    }

    /// Arms the source, if nothing was left and that was left for later.
    #[inline]
    pub(crate) fn arm(&mut self) {
        if self.callback.cx.arms_later {
            self.arm_now();
        }
    }

    fn arm_now(&mut self) {
        let Callback { body, cx, .. } = &mut *self.callback;
        cx.arms_later = false;
        if cx.pending == Pending::Empty {
            cx.pending = body.arm();
        }
    }
}
