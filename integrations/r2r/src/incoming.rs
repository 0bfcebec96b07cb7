//! Items that arrive for one subscription, service, action server or timer.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_core::Stream;
use rospin_engine::{Instant, LossCause, Mutex, Notifier, Pending, Source, TakeError};

/// The most items that are kept for a quality of service that keeps all, or leaves the number to the middleware.
pub(super) const DEPTH_MAX: usize = 1_000;

/// The items that arrived for a subscription, a service, an action server or a timer, oldest first.
///
/// It keeps as many as the quality of service says, and at most 1,000. When it is full, the oldest item makes room and
/// is [counted](Self::lost).
///
/// It is a stream, for tasks of any runtime, and a [source](Source), for an entity with a callback:
///
/// ```no_run
/// use r2r::QosProfile;
/// use rospin_r2r::{EntityKind, EntityOptions, Priority, R2rExecutor, R2rOptions, SpinOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let executor = R2rExecutor::new(R2rOptions::new());
/// let node = executor.create_node(r2r::Context::create()?, "counter", "")?;
/// let group = executor.create_group("count", 0);
/// let texts = node.subscribe::<r2r::std_msgs::msg::String>("/chatter", QosProfile::default())?;
/// let options = EntityOptions::new("count/chatter").priority(Priority(3));
/// let _subscription =
///     group.create_source(EntityKind::Subscription, options, texts, |count, _text| *count += 1)?;
/// executor.spin(SpinOptions::new())?;
/// # Ok(())
/// # }
/// ```
///
/// In a task of a [`Spawner`](crate::Spawner) it returns one item for each time that the task is polled. So what is
/// more urgent goes first between two items, as it does between two callbacks.
pub struct Incoming<T>(Arc<Slot<T>>);

/// The queue that a pump and an [`Incoming`] share.
struct Slot<T>(Mutex<State<T>>);

struct State<T> {
    items: VecDeque<(Option<Instant>, T)>,
    depth: usize,
    /// The task that waits for an item.
    waker: Option<Waker>,
    /// The executor of the entity, if this is a source.
    notifier: Option<Notifier>,
    lost: u64,
    /// True once the node has gone.
    is_over: bool,
    /// True once the user dropped it.
    is_dropped: bool,
}

thread_local! {
    /// True if the spawner's task that this thread polls may take an item. `None` if it polls no such task.
    static MAY_TAKE: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Polls a spawner's task, which gets one item at most.
pub(super) fn with_one_item<R>(poll: impl FnOnce() -> R) -> R {
    /// Restores what was there, also after a panic.
    struct Restore(Option<bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            MAY_TAKE.set(self.0);
        }
    }

    let _restore = Restore(MAY_TAKE.replace(Some(true)));
    poll()
}

/// The pump's end of an [`Incoming`]: a stream of R2R, and the queue that its items go to.
pub(super) struct Feed<S: Stream> {
    stream: S,
    slot: Arc<Slot<S::Item>>,
}

/// A feed of any type.
pub(super) trait Drain: Send {
    /// Moves what R2R has taken to its queue. Returns false if nobody wants it any more.
    fn drain(&mut self) -> bool;
}

/// Creates both ends of a queue of that depth.
pub(super) fn feed<S: Stream>(stream: S, depth: usize) -> (Feed<S>, Incoming<S::Item>) {
    let state = State {
        items: VecDeque::new(),
        depth: depth.clamp(1, DEPTH_MAX),
        waker: None,
        notifier: None,
        lost: 0,
        is_over: false,
        is_dropped: false,
    };
    let slot = Arc::new(Slot(Mutex::new(state)));
    (Feed { stream, slot: Arc::clone(&slot) }, Incoming(slot))
}

impl<S> Drain for Feed<S>
where
    S: Stream + Unpin + Send,
    S::Item: Send,
{
    fn drain(&mut self) -> bool {
        let mut cx = TaskContext::from_waker(Waker::noop());
        loop {
            match Pin::new(&mut self.stream).poll_next(&mut cx) {
                Poll::Ready(Some(item)) => {
                    if !self.slot.push(item) {
                        return false;
                    }
                }
                Poll::Ready(None) => return false,
                Poll::Pending => return !self.slot.0.lock().is_dropped,
            }
        }
    }
}

impl<S: Stream> Drop for Feed<S> {
    fn drop(&mut self) {
        let mut state = self.slot.0.lock();
        state.is_over = true;
        let (waker, notifier) = (state.waker.take(), state.notifier.clone());
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if let Some(notifier) = notifier {
            notifier.notify();
        }
    }
}

impl<T> Slot<T> {
    /// Appends an item, for which the oldest one makes room if it must. Returns false if nobody wants it any more.
    fn push(&self, item: T) -> bool {
        let mut state = self.0.lock();
        if state.is_dropped {
            return false;
        }
        let displaced = if state.items.len() >= state.depth { state.items.pop_front() } else { None };
        let notifier = state.notifier.clone();
        let arrival = notifier.as_ref().map(Notifier::now);
        state.items.push_back((arrival, item));
        state.lost += u64::from(displaced.is_some());
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if let (Some(notifier), Some(arrival)) = (notifier, arrival) {
            if displaced.is_some() {
                notifier.count_lost(LossCause::QueueFull, 1);
            }
            notifier.notify_at(arrival);
        }
        true
    }
}

impl<T> Incoming<T> {
    /// Sets the number of items that are kept, at least 1 and at most 1,000. Items above it are displaced when the next
    /// one arrives.
    #[must_use]
    pub fn keep_last(self, depth: usize) -> Self {
        self.0.0.lock().depth = depth.clamp(1, DEPTH_MAX);
        self
    }

    /// Returns the number of items that are kept at most.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.0.lock().depth
    }

    /// Returns the number of items that wait to be taken. Locks for a moment.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.0.lock().items.len()
    }

    /// Returns true if no item waits to be taken. Locks for a moment.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of items that made room for others. Locks for a moment.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.0.lock().lost
    }
}

impl<T> Drop for Incoming<T> {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.is_dropped = true;
        let items = std::mem::take(&mut state.items);
        let ends = (state.waker.take(), state.notifier.take());
        drop(state);
        // Wakers and items have code of their own, which must not run under the lock.
        drop((items, ends));
    }
}

impl<T> fmt::Debug for Incoming<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.0.lock();
        f.debug_struct("Incoming").field("items", &state.items.len()).field("lost", &state.lost).finish_non_exhaustive()
    }
}

impl<T> Stream for Incoming<T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<T>> {
        if MAY_TAKE.get() == Some(false) {
            // The task is polled again in its turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let mut state = self.0.0.lock();
        if let Some((_, item)) = state.items.pop_front() {
            if MAY_TAKE.get().is_some() {
                MAY_TAKE.set(Some(false));
            }
            return Poll::Ready(Some(item));
        }
        if state.is_over {
            return Poll::Ready(None);
        }
        let before = state.waker.replace(cx.waker().clone());
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl<T: Send + 'static> Source for Incoming<T> {
    type Item = T;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.0.lock().notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<T>, TakeError> {
        let mut state = self.0.0.lock();
        match state.items.pop_front() {
            Some((_, item)) => Ok(Some(item)),
            None if state.is_over => Err(TakeError::Closed),
            None => Ok(None),
        }
    }

    fn pending(&self) -> Pending {
        let state = self.0.0.lock();
        match state.items.front() {
            Some((Some(arrival), _)) => Pending::Since(*arrival),
            None if !state.is_over => Pending::Empty,
            _ => Pending::Unknown,
        }
    }
}
