//! What discovery has to say, as sources: taking notes it, and there is nothing for a callback.

use std::convert::Infallible;
use std::task::{Context as TaskContext, Poll, Waker};

use rospin_engine::{Notifier, Pending, Source, TakeError};

/// Something of the middleware that is listened to.
pub(crate) trait Listen: Send + 'static {
    /// How much is dealt with before other callbacks have their turn.
    const A_TAKE: usize;

    /// Notes the next thing that is said, or has the waker called when there may be one.
    fn poll_listen(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<(), TakeError>>;
}

/// Listens whenever it is taken from.
pub(crate) struct Listener<L> {
    heard: L,
    waker: Waker,
}

impl<L: Listen> Listener<L> {
    pub(crate) fn new(heard: L) -> Self {
        Self { heard, waker: Waker::noop().clone() }
    }
}

impl<L: Listen> Source for Listener<L> {
    type Item = Infallible;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.waker = notifier.into();
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Infallible>, TakeError> {
        for _ in 0..L::A_TAKE {
            match self.heard.poll_listen(&mut TaskContext::from_waker(&self.waker)) {
                Poll::Ready(noted) => noted?,
                Poll::Pending => return Ok(None),
            }
        }
        // There may be more, after whatever is more urgent.
        self.waker.wake_by_ref();
        Ok(None)
    }

    fn pending(&self) -> Pending {
        Pending::Unknown
    }
}
