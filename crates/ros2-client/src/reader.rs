//! The middleware's readers as rospin's sources.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};

use futures_core::Stream;
use ros2_client::{MessageInfo, ReadError};
use rospin_engine::{LossCause, Notifier, Pending, Source, TakeError};
use serde::de::DeserializeSeed;

/// Something of the middleware that is read without blocking.
pub(crate) trait Read: Send + 'static {
    type Item: Send + 'static;

    /// Takes an item, or has the waker called when there may be one. `None` for an item that is for somebody else.
    ///
    /// The middleware calls the waker on its event loop, under a lock of the reader's: it must not do more than notify.
    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>>;

    /// Forgets what it read so far: it is counted from the next item on.
    fn forget(&mut self) {}

    /// How many items never came out of the middleware, as far as was seen since it was asked last.
    fn missed(&mut self) -> u64 {
        0
    }
}

/// Takes a sample of a subscription, or has the waker called when there may be one.
pub(crate) fn poll_sample<T, S>(
    subscription: &ros2_client::Subscription<T>,
    seed: S,
    cx: &mut TaskContext<'_>,
) -> Poll<Result<(T, MessageInfo), ReadError>>
where
    T: 'static,
    S: for<'de> DeserializeSeed<'de, Value = T> + Clone,
{
    // The stream has no state of its own.
    let stream = pin!(subscription.async_stream_seed(seed));
    stream.poll_next(cx).map(|sample| sample.unwrap_or(Err(ReadError::Closed)))
}

/// How many items beyond the depth are looked at in one take: what is more urgent waits for no more than that.
const SURPLUS_A_TAKE: usize = 16;

/// How many items are looked at in search of the end of what is old: more than the middleware ever keeps of a topic, and an
/// end where they come faster than they can be looked at.
const OLD_MAX: usize = 10_000;

/// A [`Read`] as a source. Items are taken and decoded on the executor's thread.
pub(crate) struct Reader<R: Read> {
    read: R,
    waker: Waker,
    notifier: Option<Notifier>,
    /// Only a read that found nothing has left the waker with the middleware.
    empty: bool,
    newest: Option<Newest<R::Item>>,
}

/// The newest items. RustDDS tidies its queue only now and then, so that it may hold many times the depth it was given.
struct Newest<T> {
    items: VecDeque<T>,
    depth: usize,
}

impl<R: Read> Reader<R> {
    /// Takes the newest `depth` items and counts what they displaced; without it, whatever the middleware has kept.
    pub(crate) fn new(read: R, depth: Option<usize>) -> Self {
        let newest = depth.map(|depth| Newest { items: VecDeque::new(), depth: depth.max(1) });
        Self { read, waker: Waker::noop().clone(), notifier: None, empty: false, newest }
    }

    /// Skips what is there already. RustDDS keeps the messages of a topic once for all readers of a participant, and shows a new
    /// reader those that another one had. Nobody sent them to it.
    pub(crate) fn skip_old(mut self) -> Self {
        for _ in 0..OLD_MAX {
            match self.read.poll_read(&mut TaskContext::from_waker(Waker::noop())) {
                Poll::Pending | Poll::Ready(Err(ReadError::Closed)) => break,
                // Whatever it is; an item that cannot be decoded is gone, too.
                Poll::Ready(_) => {}
            }
        }
        // What is missing among them is missed by nobody.
        self.read.forget();
        self
    }

    fn count_missed(&self, count: u64) {
        if let Some(notifier) = self.notifier.as_ref().filter(|_| count > 0) {
            notifier.count_lost(LossCause::QueueFull, count);
        }
    }

    fn read(&mut self) -> Result<Option<R::Item>, TakeError> {
        self.empty = false;
        let polled = self.read.poll_read(&mut TaskContext::from_waker(&self.waker));
        let missed = self.read.missed();
        self.count_missed(missed);
        match polled {
            Poll::Pending => {
                self.empty = true;
                Ok(None)
            }
            Poll::Ready(Ok(None)) => {
                // The next one may be ours; whatever is more urgent comes first.
                self.waker.wake_by_ref();
                Ok(None)
            }
            Poll::Ready(Ok(item)) => Ok(item),
            Poll::Ready(Err(ReadError::Closed)) => Err(TakeError::Closed),
            Poll::Ready(Err(error)) => Err(TakeError::Failed(Box::new(error))),
        }
    }
}

impl<R: Read> Source for Reader<R> {
    type Item = R::Item;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.notifier = Some(notifier.clone());
        self.waker = notifier.into();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(depth) = self.newest.as_ref().map(|newest| newest.depth) else {
            return self.read();
        };
        for _ in 0..depth.saturating_add(SURPLUS_A_TAKE) {
            let item = self.read()?;
            let (Some(item), Some(newest)) = (item, &mut self.newest) else {
                break;
            };
            let oldest = if newest.items.len() == depth { newest.items.pop_front() } else { None };
            newest.items.push_back(item);
            self.count_missed(oldest.is_some().into());
        }
        Ok(self.newest.as_mut().and_then(|newest| newest.items.pop_front()))
    }

    fn pending(&self) -> Pending {
        let kept = self.newest.as_ref().is_some_and(|newest| !newest.items.is_empty());
        if self.empty && !kept { Pending::Empty } else { Pending::Unknown }
    }
}

impl<R: Read> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
