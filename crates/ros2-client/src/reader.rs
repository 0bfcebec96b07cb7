//! The middleware's readers as rospin's sources.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, Waker};

use ros2_client::ReadError;
use rospin::{Notifier, Pending, Source, TakeError};

/// Something of the middleware that is read without blocking.
pub(crate) trait Read: Send + 'static {
    type Item: Send + 'static;

    /// Takes an item, or has the waker called when there may be one. `None` for an item that is for somebody else.
    ///
    /// The middleware calls the waker on its event loop, under a lock of the reader's: it must not do more than notify.
    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<Self::Item>, ReadError>>;
}

/// How many items beyond the depth are looked at in one take: what is more urgent waits for no more than that.
const SURPLUS_A_TAKE: usize = 16;

/// A [`Read`] as a source. Items are taken and decoded on the executor's thread.
pub(crate) struct Reader<R: Read> {
    read: R,
    waker: Waker,
    /// Only a read that found nothing has left the waker with the middleware.
    empty: bool,
    newest: Option<Newest<R::Item>>,
}

/// The newest items. RustDDS tidies its queue only now and then, so that it may hold many times the depth it was given.
struct Newest<T> {
    items: VecDeque<T>,
    depth: usize,
    displaced: Arc<AtomicU64>,
}

impl<T> Newest<T> {
    /// Adds the next item; the oldest one makes room for it.
    fn push(&mut self, item: T) {
        if self.items.len() == self.depth {
            drop(self.items.pop_front());
            self.displaced.fetch_add(1, Ordering::Relaxed);
        }
        self.items.push_back(item);
    }
}

impl<R: Read> Reader<R> {
    /// Takes whatever the middleware has kept.
    pub(crate) fn new(read: R) -> Self {
        Self { read, waker: Waker::noop().clone(), empty: false, newest: None }
    }

    /// Takes the newest `depth` items and counts what they displaced.
    pub(crate) fn keep_last(read: R, depth: usize, displaced: Arc<AtomicU64>) -> Self {
        let depth = depth.max(1);
        Self { newest: Some(Newest { items: VecDeque::new(), depth, displaced }), ..Self::new(read) }
    }

    fn read(&mut self) -> Result<Option<R::Item>, TakeError> {
        self.empty = false;
        match self.read.poll_read(&mut TaskContext::from_waker(&self.waker)) {
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
        self.waker = notifier.into();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<R::Item>, TakeError> {
        let Some(newest) = &self.newest else {
            return self.read();
        };
        for _ in 0..newest.depth.saturating_add(SURPLUS_A_TAKE) {
            let item = self.read()?;
            match (item, &mut self.newest) {
                (Some(item), Some(newest)) => newest.push(item),
                _ => break,
            }
        }
        Ok(self.newest.as_mut().and_then(|newest| newest.items.pop_front()))
    }

    fn pending(&self) -> Pending {
        let kept = self.newest.as_ref().is_some_and(|newest| !newest.items.is_empty());
        if self.empty && !kept { Pending::Empty } else { Pending::Unknown }
    }
}
