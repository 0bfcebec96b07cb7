//! Callbacks as the engine sees them: take an item, run, and say what came of it.

mod asynchronous;
mod sync;

pub use asynchronous::Payload;
pub(crate) use asynchronous::{AsyncBody, Direct, Locked};
pub(crate) use sync::{ExclusiveBody, SharedBody};

use std::any::Any;
use std::cell::Cell;
use std::task::Waker;

use rospin_core::Instant;

use crate::source::{Notifier, Pending, Source, TakeError};

/// The payload of a mutually exclusive group. Whoever has it runs the group's callback: ownership is the exclusion.
pub(crate) type AnyPayload = Box<dyn Any + Send>;

/// What a body is given for one run, and what it leaves behind.
pub(crate) struct RunContext {
    /// Of the activation.
    pub(crate) release: Instant,
    /// `None` in a reentrant group.
    pub(crate) payload: Option<AnyPayload>,
    /// What is left in the source. Known as soon as the item is taken, so that a panic does not lose it.
    pub(crate) pending: Pending,
}

/// What came of a run.
pub(crate) enum Ran {
    /// The callback ran to its end.
    Done,
    /// There was no item: the notification was spurious.
    Nothing,
    /// The callback waits; its waker will be called.
    Suspended,
    /// There was no item, or it could not be taken.
    Failed(TakeError),
}

/// A callback with its source. One body runs one activation at a time.
pub(crate) trait Body: Any + Send {
    /// Starts an activation, or goes on with the one that this body suspended.
    fn run(&mut self, cx: &mut RunContext) -> Ran;

    /// What is in the source before any take.
    fn pending(&self) -> Pending;

    /// Another body of the same callback, for an activation beside this one's; `None` if it allows no other.
    fn fork(&self) -> Option<Box<dyn Body>> {
        None
    }

    /// Whether its activations may suspend, and need a waker.
    fn suspends(&self) -> bool {
        false
    }

    /// The waker for activations that suspend.
    fn set_waker(&mut self, _waker: Waker) {}

    /// Forgets the activation, after a panic.
    fn abandon(&mut self) {}
}

/// Where a body gets its items: a [`Source`], or the passing of time.
pub(crate) trait Take: Send + 'static {
    type Item: Send + 'static;

    /// Takes an item for an activation that was released at `release`.
    fn take(&mut self, release: Instant) -> Result<Option<Self::Item>, TakeError>;

    /// What is left. To be asked before the first take, and after every one that had an item.
    fn pending(&self) -> Pending;
}

/// A source that is attached for as long as its body lives.
///
/// It is asked no more once it has ended: when it said so, or when it panicked.
pub(crate) struct Attached<S: Source> {
    pub(crate) source: S,
    is_over: Cell<bool>,
    // Dropped after the source: detaching is the last thing that happens to it.
    _attachment: S::Attachment,
}

impl<S: Source> Attached<S> {
    pub(crate) const fn new(source: S, attachment: S::Attachment) -> Self {
        Self { source, is_over: Cell::new(false), _attachment: attachment }
    }
}

impl<S: Source> Take for Attached<S> {
    type Item = S::Item;

    fn take(&mut self, _: Instant) -> Result<Option<S::Item>, TakeError> {
        // It is over until it returns: a panic ends it.
        if self.is_over.replace(true) {
            return Err(TakeError::Closed);
        }
        match self.source.try_take() {
            // It is asked what is left, which may panic, too.
            Ok(Some(item)) => Ok(Some(item)),
            Err(TakeError::Closed) => Err(TakeError::Closed),
            other => {
                self.is_over.set(false);
                other
            }
        }
    }

    fn pending(&self) -> Pending {
        let pending = self.source.pending();
        self.is_over.set(false);
        pending
    }
}

/// One firing of a timer, as its callback sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tick {
    /// When the timer was due, on the steady clock; the callback may start later.
    pub due: Instant,
}

/// The scheduler itself says when a timer is due: there is nothing to take.
pub(crate) struct Due;

impl Take for Due {
    type Item = Tick;

    fn take(&mut self, release: Instant) -> Result<Option<Tick>, TakeError> {
        Ok(Some(Tick { due: release }))
    }

    fn pending(&self) -> Pending {
        Pending::Empty
    }
}

/// Takes an item and notes in `cx` what is left, or says why there is none.
fn take_into<T: Take>(take: &mut T, cx: &mut RunContext) -> Result<T::Item, Ran> {
    // As long as the source does not say more. If it panics, the next take finds that it has ended.
    cx.pending = Pending::Unknown;
    match take.take(cx.release) {
        Ok(Some(item)) => {
            cx.pending = take.pending();
            Ok(item)
        }
        Ok(None) => {
            // A source that was empty notifies of what comes.
            cx.pending = Pending::Empty;
            Err(Ran::Nothing)
        }
        Err(error) => {
            if matches!(error, TakeError::Closed) {
                cx.pending = Pending::Empty;
            }
            Err(Ran::Failed(error))
        }
    }
}

/// Tells the executor what is left before the callback runs: where several activations may be under way, another one may
/// start on it.
fn pass_on(more: Option<&Notifier>, cx: &mut RunContext) {
    if let Some(more) = more {
        match std::mem::replace(&mut cx.pending, Pending::Empty) {
            Pending::Empty => {}
            Pending::Since(arrival) => more.notify_at(arrival),
            Pending::Unknown => more.notify(),
        }
    }
}
