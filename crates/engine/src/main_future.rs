//! The future that a spin waits for.

use crate::sync::atomic::{AtomicBool, Ordering};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::shared::Shared;

/// The future that `spin_until` waits for, as the first thread sees it: polled when woken, says when it is done.
pub(crate) struct MainFuture<'a> {
    future: Pin<&'a mut dyn Future<Output = ()>>,
    woken: Arc<MainWaker>,
    waker: Waker,
}

struct MainWaker {
    woken: AtomicBool,
    executor: Arc<Shared>,
}

impl Wake for MainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        // All, since only the first thread polls it.
        self.executor.bell.parker.unpark_all();
    }
}

impl<'a> MainFuture<'a> {
    pub(crate) fn new(executor: &Arc<Shared>, future: Pin<&'a mut dyn Future<Output = ()>>) -> Self {
        let woken = Arc::new(MainWaker { woken: AtomicBool::new(true), executor: Arc::clone(executor) });
        Self { future, waker: Arc::clone(&woken).into(), woken }
    }

    /// Polls it if it was woken; says whether it is done.
    pub(crate) fn poll_if_woken(&mut self) -> bool {
        self.woken.woken.swap(false, Ordering::AcqRel)
            && self.future.as_mut().poll(&mut Context::from_waker(&self.waker)) == Poll::Ready(())
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.woken.load(Ordering::Acquire)
    }
}
