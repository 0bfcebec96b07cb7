//! The future that [`Executor::spin_until`](crate::Executor::spin_until) waits for.

use crate::sync::atomic::{AtomicBool, Ordering};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::shared::Shared;

/// The future, with a flag that says that it was woken. The first thread of the spin polls it.
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
        // Wakes all threads, since only the first thread polls the future.
        self.executor.bell.parker.unpark_all();
    }
}

impl<'a> MainFuture<'a> {
    pub(crate) fn new(executor: &Arc<Shared>, future: Pin<&'a mut dyn Future<Output = ()>>) -> Self {
        let woken = Arc::new(MainWaker { woken: AtomicBool::new(true), executor: Arc::clone(executor) });
        Self { future, waker: Arc::clone(&woken).into(), woken }
    }

    /// Polls the future if it was woken. Returns true if it is done.
    pub(crate) fn poll_if_woken(&mut self) -> bool {
        self.woken.woken.swap(false, Ordering::AcqRel)
            && self.future.as_mut().poll(&mut Context::from_waker(&self.waker)) == Poll::Ready(())
    }

    pub(crate) fn is_woken(&self) -> bool {
        self.woken.woken.load(Ordering::Acquire)
    }
}
