//! Sources: the origins of an entity's items.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_core::Stream;
use rospin_core::Instant;

use crate::clock_point::ClockPoint;
use crate::error::GroupGone;
use crate::loss::{LossCause, LossCounters};
use crate::shared::Shared;
use crate::signal::Signal;
use crate::sleep::Sleep;

/// Handle with which a source tells an executor that it may have an item.
///
/// May be called from any thread, under the locks of other libraries, and more often than needed. It takes nothing,
/// runs nothing, neither blocks nor allocates, and never touches the source. Cheap to clone.
#[derive(Clone)]
pub struct Notifier(pub(crate) Arc<Signal>);

impl Notifier {
    /// Notifies that there may be something to take.
    ///
    /// The activation's release is the moment of this call, for which the clock is read.
    pub fn notify(&self) {
        self.0.notify(None);
    }

    /// Returns the time on the steady clock, by which releases are measured, for [`notify_at`](Self::notify_at).
    #[must_use]
    pub fn now(&self) -> Instant {
        self.0.executor().times.clock.now()
    }

    /// Returns a sleep until `due`, for a source whose items come with time. The entity's executor wakes it. Poll it
    /// whenever the source is taken from, with this notifier as the [waker](Waker).
    ///
    /// See [`Sleep`] for the costs.
    pub fn sleep_until(&self, due: impl ClockPoint) -> Sleep {
        Sleep::until_point(self.executor(), due)
    }

    pub(crate) fn executor(&self) -> &Arc<Shared> {
        self.0.executor()
    }

    /// Counts items that the source itself lost, for example from its queue. They show in
    /// [`Entity::lost`](crate::Entity::lost) and [`Context::losses`](crate::Context::losses). Does not allocate. Locks
    /// for a moment while a [`LossWatch`](crate::LossWatch) watches the entity's losses.
    pub fn count_lost(&self, cause: LossCause, count: u64) {
        if let Some(losses) = self.0.losses() {
            losses.add(cause, count);
        }
    }

    /// Returns the entity's loss counters, for sources of rospin's own.
    pub(crate) fn losses(&self) -> Option<&Arc<LossCounters>> {
        self.0.losses()
    }

    /// Notifies that there may be an item to take, which arrived at `arrival` (steady clock). That time is the
    /// activation's release.
    ///
    /// If several threads spin the executor and one of them takes another item of the source just now, the release may
    /// be later: the moment at which the executor finds this notification.
    pub fn notify_at(&self, arrival: Instant) {
        self.0.notify(Some(arrival));
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl From<Notifier> for Waker {
    fn from(notifier: Notifier) -> Self {
        Self::from(notifier.0)
    }
}

/// The contents of a source after a take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Pending {
    /// No item is left. The source will notify when there is one.
    Empty,
    /// An item is left that arrived at this time (steady clock).
    Since(Instant),
    /// An item may be left. The executor tries to take it.
    Unknown,
    /// No item is left, but the source need not notify before it is asked once more, by [`Source::pending`]. For
    /// [`Source::take_and_look`] only; elsewhere it counts as [`Unknown`](Self::Unknown).
    ///
    /// The executor asks after the callback if that is synchronous and its group mutually exclusive: the entity cannot
    /// run again before, so a notification meanwhile would be of no use. Otherwise it asks before the callback.
    AskAgain,
}

impl Pending {
    /// Returns true if only the next take will tell whether an item is left.
    #[inline(always)]
    pub(crate) const fn is_unknown(self) -> bool {
        matches!(self, Self::Unknown | Self::AskAgain)
    }

    /// Returns the time at which the next item arrived; `None` if no item is left. If it is not known whether one is,
    /// only the next take will tell. Until then, it counts as one that arrives now, for which `now` reads the clock.
    #[inline(always)]
    pub(crate) fn since(self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        match self {
            Self::Empty => None,
            Self::Since(arrival) => Some(arrival),
            Self::Unknown | Self::AskAgain => Some(now()),
        }
    }
}

/// Errors of taking an item.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TakeError {
    /// The source has ended. It is not called again, and its entity is removed.
    #[error("the source has ended")]
    Closed,
    /// This item could not be taken and is lost; for example, it could not be decoded. Later items may be taken.
    #[error("an item could not be taken: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Errors of creating the entity of a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The source cannot notify.
    #[error("the source cannot be attached: {0}")]
    Attach(TakeError),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    GroupGone(#[from] GroupGone),
}

impl From<TakeError> for SourceError {
    fn from(error: TakeError) -> Self {
        Self::Attach(error)
    }
}

/// Anything that can notify and be taken from: a middleware's reader, a socket, a queue.
///
/// Every [`Stream`] is a source, see [`CallbackGroup::create_stream`](crate::CallbackGroup::create_stream).
///
/// ```
/// use std::sync::mpsc;
/// use rospin_engine::{Context, ContextOptions, EntityKind, EntityOptions, ExecutorOptions, Notifier, Source, SpinOptions, TakeError};
///
/// /// A source over a channel of the standard library, whose sender notifies by hand.
/// struct Channel(mpsc::Receiver<u32>, Option<Notifier>);
///
/// impl Source for Channel {
///     type Item = u32;
///     type Attachment = ();
///     fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
///         self.1 = Some(notifier);
///         Ok(())
///     }
///     fn try_take(&mut self) -> Result<Option<u32>, TakeError> {
///         Ok(self.0.try_recv().ok())
///     }
/// }
///
/// let context = Context::new(ContextOptions::new());
/// let executor = context.create_executor(ExecutorOptions::new("main"));
/// let group = executor.create_group("sum", 0);
/// let (sender, receiver) = mpsc::channel();
/// sender.send(42).unwrap();
/// let _entity = group
///     .create_source(EntityKind::Waitable, EntityOptions::new("numbers"), Channel(receiver, None), |sum, n| *sum += n)
///     .unwrap();
/// executor.spin(SpinOptions::spin_all()).unwrap();
/// assert_eq!(group.into_payload().unwrap(), 42);
/// ```
pub trait Source: Send + 'static {
    /// Type of the items.
    type Item: Send + 'static;
    /// Type of the guard that keeps the notifier attached until it is dropped.
    type Attachment: Send + 'static;

    /// Attaches the notifier: from now on the source calls it whenever something may have arrived.
    ///
    /// Called once, by the thread that creates the entity. Items that arrived before need no notification.
    ///
    /// # Errors
    /// If the source cannot notify. The entity is not created then.
    fn attach(&mut self, notifier: Notifier) -> Result<Self::Attachment, TakeError>;

    /// Takes one item without blocking.
    ///
    /// Called on executor threads only. Returns `None` if there is no item, which is no error: notifications may be
    /// spurious.
    ///
    /// # Errors
    /// If the source has ended, or if an item was there and could not be taken. The source must have dropped the item
    /// then.
    ///
    /// # Panics
    /// A panic is reported and dealt with as the group [says](crate::OnPanic). It also ends the source, as
    /// [`TakeError::Closed`] does. A panic of the callback does not end the source.
    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError>;

    /// Returns the contents of the source. Called once when the entity is added, after a
    /// [`take_and_look`](Self::take_and_look) that returned [`Pending::AskAgain`], and, unless the source has a
    /// `take_and_look` of its own, after every take that returned an item. A source that knows its contents saves a
    /// futile take. After a take without an item, the engine waits for the next notification.
    ///
    /// # Panics
    /// A panic ends the source, see [`try_take`](Self::try_take), and loses the item that was just taken. After
    /// [`Pending::AskAgain`], the callback may have handled that item; the panic counts as the callback's nevertheless.
    fn pending(&self) -> Pending {
        Pending::Unknown
    }

    /// Takes one item without blocking, and returns it with what the source has left then: does what
    /// [`try_take`](Self::try_take) and [`pending`](Self::pending) do one after the other, as by default, or in one
    /// step where that is shorter. The engine takes items by this method alone.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take).
    ///
    /// # Panics
    /// As [`try_take`](Self::try_take) and [`pending`](Self::pending).
    fn take_and_look(&mut self) -> Result<Option<(Self::Item, Pending)>, TakeError> {
        Ok(self.try_take()?.map(|item| (item, self.pending())))
    }

    /// Prefetches what the next take needs, without waiting for it. `distance` is the number of callbacks after which
    /// that take probably comes: 6 in a first call, which may fetch what the source has of its items, 4 in a second
    /// one, which may fetch where the next item is, and 2 in a third one, which may fetch the item. Each looks only at
    /// what the one before has fetched. Any of them may be left out: the first one is in executors with few entities,
    /// and all are on several threads. Does nothing by default.
    ///
    /// # Panics
    /// A panic is contained, and has no effect. Not called once the source has ended.
    fn prefetch(&self, _distance: usize) {}

    /// Returns a function that ends the source at once when its entity's handle is dropped. Called once, after
    /// [`attach`](Self::attach).
    ///
    /// The source itself is dropped later, by the executor, since its callback may be running. The function is called
    /// on the thread that drops the handle, and must neither block nor wait for the source. A panic is an incident.
    fn closer(&self) -> Option<Closer> {
        None
    }
}

/// A function that ends the input of an entity, see [`Source::closer`].
pub type Closer = Box<dyn Fn() + Send + Sync>;

/// A [`Stream`] as a source: its waker is the notifier.
pub(crate) struct StreamSource<S> {
    stream: Pin<Box<S>>,
    waker: Waker,
    /// True if the last poll found no item.
    empty: bool,
}

impl<S> StreamSource<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream: Box::pin(stream), waker: Waker::noop().clone(), empty: false }
    }
}

impl<S> Source for StreamSource<S>
where
    S: Stream + Send + 'static,
    S::Item: Send + 'static,
{
    type Item = S::Item;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.waker = notifier.into();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<S::Item>, TakeError> {
        let polled = self.stream.as_mut().poll_next(&mut TaskContext::from_waker(&self.waker));
        self.empty = polled.is_pending();
        match polled {
            Poll::Ready(Some(item)) => Ok(Some(item)),
            Poll::Ready(None) => Err(TakeError::Closed),
            Poll::Pending => Ok(None),
        }
    }

    fn pending(&self) -> Pending {
        // A stream has registered the waker only if it returned `Pending`.
        if self.empty { Pending::Empty } else { Pending::Unknown }
    }
}
