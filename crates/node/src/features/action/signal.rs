//! A signal that is given once, and that any number of futures can await.

use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};

use rospin_engine::ForeignWaker;

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};

/// Signal that stays given once it was given.
#[derive(Default)]
pub(crate) struct Signal {
    is_given: AtomicBool,
    waiting: Mutex<Waiting>,
}

/// Wakers of the futures that wait. Each has a number, so that a future that is dropped removes its own.
#[derive(Default)]
struct Waiting {
    wakers: Vec<(u64, ForeignWaker)>,
    next: u64,
}

impl Signal {
    /// Returns true if the signal was given. Neither locks nor waits.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Acquire)
    }

    /// Gives the signal, which wakes all futures that wait for it.
    pub(crate) fn give(&self) {
        self.is_given.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut self.lock().wakers);
        for (_, waker) in wakers {
            waker.wake();
        }
    }

    /// Returns a future that resolves once the signal was given.
    pub(crate) fn wait(self: &Arc<Self>) -> Given {
        Given { signal: Arc::clone(self), number: None }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Only moves of values happen under the lock, and they do not panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Future that resolves when the signal is given.
pub(crate) struct Given {
    signal: Arc<Signal>,
    /// Number of the future's waker; `None` before the first poll.
    number: Option<u64>,
}

impl Future for Given {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = ForeignWaker::from(cx.waker().clone());
        let mut waiting = self.signal.lock();
        // The flag is checked under the lock, so that a signal given later finds the waker.
        if self.signal.is_given() {
            return Poll::Ready(());
        }
        let number = self.number.unwrap_or(waiting.next);
        let former = match waiting.wakers.iter_mut().find(|(other, _)| *other == number) {
            Some((_, former)) => Some(std::mem::replace(former, waker)),
            None => {
                waiting.next += 1;
                waiting.wakers.push((number, waker));
                None
            }
        };
        drop(waiting);
        drop(former);
        self.number = Some(number);
        Poll::Pending
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let mut waiting = self.signal.lock();
        let place = waiting.wakers.iter().position(|(other, _)| *other == number);
        let waker = place.map(|place| waiting.wakers.swap_remove(place));
        drop(waiting);
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn waiting_futures_are_woken_and_a_dropped_one_leaves_nothing() {
        let signal = Arc::new(Signal::default());
        let mut cx = Context::from_waker(Waker::noop());
        let mut one = signal.wait();
        let mut other = signal.wait();
        for _ in 0..3 {
            assert!(Pin::new(&mut one).poll(&mut cx).is_pending());
            assert!(Pin::new(&mut other).poll(&mut cx).is_pending());
        }
        assert_eq!(signal.lock().wakers.len(), 2);
        drop(other);
        assert_eq!(signal.lock().wakers.len(), 1);
        signal.give();
        signal.give();
        assert!(Pin::new(&mut one).poll(&mut cx).is_ready());
        assert!(Pin::new(&mut signal.wait()).poll(&mut cx).is_ready());
        assert!(signal.lock().wakers.is_empty());
    }

    struct Bad;

    impl std::task::Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a waker panics");
        }
    }

    #[test]
    fn a_waker_that_panics_harms_neither_the_others_nor_whoever_gives_the_signal() {
        let signal = Arc::new(Signal::default());
        let woken = Waker::noop().clone();
        let mut one = signal.wait();
        let mut other = signal.wait();
        assert!(Pin::new(&mut one).poll(&mut Context::from_waker(&Waker::from(Arc::new(Bad)))).is_pending());
        assert!(Pin::new(&mut other).poll(&mut Context::from_waker(&woken)).is_pending());
        signal.give();
        assert!(Pin::new(&mut other).poll(&mut Context::from_waker(&woken)).is_ready());
    }
}
