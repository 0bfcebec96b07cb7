//! Callbacks as the engine sees them: a body takes an item, runs the callback, and reports the outcome.

mod asynchronous;
mod sync;

pub use asynchronous::Payload;
pub(crate) use asynchronous::{AsyncBody, Direct, Locked};
pub(crate) use sync::{ExclusiveBody, SharedBody};

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use rospin_core::{ClockKind, Instant};

use crate::clock::Clock;
use crate::panics::contain;
use crate::source::{Notifier, Pending, Source, TakeError};
use crate::work::{Callback, Label};

/// The payload of a mutually exclusive group. The thread that owns it, or has the state that owns it, runs the group's
/// callback, so no other thread can.
pub(crate) type AnyPayload = Box<dyn Any + Send>;

/// The input of one run, and what the run leaves behind.
#[derive(Clone, Copy)]
pub(crate) struct RunContext {
    /// Release time of the activation.
    pub(crate) release: Instant,
    /// The contents of the source after the take. It is set as soon as the item is taken, so that a panic of the
    /// callback does not lose it.
    pub(crate) pending: Pending,
    /// For a timer that is not on the steady clock: the due time for which it fired, on its own clock.
    pub(crate) due: Option<Instant>,
}

impl RunContext {
    pub(crate) const fn new() -> Self {
        Self { release: Instant::ZERO, pending: Pending::Empty, due: None }
    }
}

/// The outcome of a run.
pub(crate) enum Ran {
    /// The callback ran to its end.
    Done,
    /// There was no item: the notification was spurious.
    Nothing,
    /// The callback waits. Its waker will be called.
    Suspended,
    /// The source has ended, or its item could not be taken.
    Failed(TakeError),
}

/// A callback with its source. A body runs one activation at a time.
pub(crate) trait Body: Any + Send {
    /// Starts an activation, or continues the one that this body suspended. `payload` is that of the group; it is
    /// `None` in a reentrant group.
    fn run(&mut self, cx: &mut RunContext, payload: &mut Option<AnyPayload>) -> Ran;

    /// Returns the contents of the source before the first take.
    fn pending(&self) -> Pending;

    /// Creates another body of the same callback, for a concurrent activation, with its label and the index of its run
    /// slot; `None` if the callback allows none.
    fn fork(&self, _label: Arc<Label>, _slot: usize) -> Option<Box<Callback>> {
        None
    }

    /// Returns true if activations may suspend, so that they need a waker.
    fn suspends(&self) -> bool {
        false
    }

    /// Sets the waker for activations that suspend.
    fn set_waker(&mut self, _waker: Waker) {}

    /// Prefetches what the next run needs, see [`Source::prefetch`].
    fn prefetch(&self, _distance: usize) {}

    /// Drops the activation after a panic, and notes in `cx` what the source has left, if that is not known yet.
    fn drop_activation(&mut self, _cx: &mut RunContext) {}
}

/// The origin of a body's items: a [`Source`], or the passing of time.
pub(crate) trait Take: Send + 'static {
    type Item: Send + 'static;

    /// Takes an item for the activation of `cx`, and returns it with what the source has left. Returns `None` if there
    /// is no item: the notification was spurious.
    fn take(&mut self, cx: &RunContext) -> Result<Option<(Self::Item, Pending)>, TakeError>;

    /// Returns the contents of the source before the first take.
    fn pending(&self) -> Pending;

    /// Returns the contents of the source after a take that left [`Pending::AskAgain`].
    fn ask_again(&mut self) -> Pending {
        self.pending()
    }

    /// Prefetches what the next take needs, see [`Source::prefetch`].
    fn prefetch(&self, _distance: usize) {}
}

/// A source that is attached for as long as its body lives.
///
/// A source that has said that it ended, or that panicked, is not called again.
pub(crate) struct Attached<S: Source> {
    pub(crate) source: S,
    is_over: bool,
    // The last field, so that it is dropped, and the notifier detached, after the source is dropped.
    _attachment: S::Attachment,
}

impl<S: Source> Attached<S> {
    pub(crate) const fn new(source: S, attachment: S::Attachment) -> Self {
        Self { source, is_over: false, _attachment: attachment }
    }
}

impl<S: Source> Take for Attached<S> {
    type Item = S::Item;

    #[inline(always)]
    fn take(&mut self, _: &RunContext) -> Result<Option<(S::Item, Pending)>, TakeError> {
        // The flag stays set if the source panics, because a panic ends the source.
        if std::mem::replace(&mut self.is_over, true) {
            return Err(TakeError::Closed);
        }
        let taken = self.source.take_and_look();
        self.is_over = matches!(taken, Err(TakeError::Closed));
        taken
    }

    fn pending(&self) -> Pending {
        self.source.pending()
    }

    #[inline(always)]
    fn ask_again(&mut self) -> Pending {
        // As in `take`, a panic ends the source.
        let was_over = std::mem::replace(&mut self.is_over, true);
        let pending = self.source.pending();
        self.is_over = was_over;
        pending
    }

    fn prefetch(&self, distance: usize) {
        if !self.is_over {
            contain(|| self.source.prefetch(distance));
        }
    }
}

/// One firing of a timer, as its callback sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tick {
    /// The due time of the timer, on its own clock. The callback may start later.
    pub due: Instant,
    /// The release of the activation: the due time on the steady clock. For a timer on another clock it is calculated.
    pub release: Instant,
}

/// The items of a timer. The scheduler itself knows the due times, so there is nothing to take.
pub(crate) struct Due {
    /// The clocks, for a timer on ROS time: while nobody drives that, the timer is on the steady clock.
    ros: Option<Clock>,
}

impl Due {
    pub(crate) fn new(kind: ClockKind, clock: &Clock) -> Self {
        Self { ros: (kind == ClockKind::Ros).then(|| clock.clone()) }
    }
}

impl Take for Due {
    type Item = Tick;

    #[inline(always)]
    fn take(&mut self, cx: &RunContext) -> Result<Option<(Tick, Pending)>, TakeError> {
        let release = cx.release;
        let due = match (cx.due, &self.ros) {
            (Some(due), _) => due,
            (None, Some(clock)) => clock.system() - clock.now().saturating_since(release),
            (None, None) => release,
        };
        Ok(Some((Tick { due, release }, Pending::Empty)))
    }

    fn pending(&self) -> Pending {
        Pending::Empty
    }
}

/// Takes an item and notes in `cx` what the source has left, or returns the outcome of a run without an item. Asks the
/// source again at once if it wants to be asked.
fn take_and_ask<T: Take>(take: &mut T, cx: &mut RunContext) -> Result<T::Item, Ran> {
    let item = take_into(take, cx)?;
    ask_again(take, cx);
    Ok(item)
}

/// Notes in `cx` what the source has left now, if it wants to be asked again.
#[inline(always)]
fn ask_again<T: Take>(take: &mut T, cx: &mut RunContext) {
    if cx.pending == Pending::AskAgain {
        // If the source panics, this value remains, as in `take_into`.
        cx.pending = Pending::Unknown;
        cx.pending = take.ask_again();
    }
}

/// Takes an item and notes in `cx` what the source has left, or returns the outcome of a run without an item.
#[inline(always)]
fn take_into<T: Take>(take: &mut T, cx: &mut RunContext) -> Result<T::Item, Ran> {
    // If the source panics, this value remains, and the next take finds that the source has ended.
    cx.pending = Pending::Unknown;
    match take.take(cx) {
        Ok(Some((item, pending))) => {
            cx.pending = pending;
            Ok(item)
        }
        Ok(None) => {
            // A source that was empty will notify of its next item.
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

/// Notifies the executor by `more` of further items in the source before the callback runs. If an entity may have
/// several activations at once, another one can start on such an item. With `None`, does nothing: the executor looks at
/// the source's contents after the callback.
fn notify_of_rest(more: Option<&Notifier>, cx: &mut RunContext) {
    if let Some(more) = more {
        match std::mem::replace(&mut cx.pending, Pending::Empty) {
            Pending::Empty => {}
            Pending::Since(arrival) => more.notify_at(arrival),
            Pending::Unknown | Pending::AskAgain => more.notify(),
        }
    }
}
