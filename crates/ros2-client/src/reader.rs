//! The middleware's readers as rospin's sources.

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

/// A [`Read`] as a source. Items are taken and decoded on the executor's thread.
pub(crate) struct Reader<R> {
    read: R,
    waker: Waker,
    /// Only a read that found nothing has left the waker with the middleware.
    empty: bool,
}

impl<R> Reader<R> {
    pub(crate) fn new(read: R) -> Self {
        Self { read, waker: Waker::noop().clone(), empty: false }
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

    fn pending(&self) -> Pending {
        if self.empty { Pending::Empty } else { Pending::Unknown }
    }
}
