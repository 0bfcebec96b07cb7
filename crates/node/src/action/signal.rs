//! A signal that is given once, and can be awaited by any number.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Given once, for ever.
#[derive(Default)]
pub(crate) struct Signal {
    is_given: AtomicBool,
    waiting: Mutex<Waiting>,
}

/// Those who wait, each under a number of its own, so that one that gives up leaves nothing behind.
#[derive(Default)]
struct Waiting {
    wakers: Vec<(u64, Waker)>,
    next: u64,
}

impl Signal {
    /// Neither locks nor waits.
    pub(crate) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::Acquire)
    }

    pub(crate) fn give(&self) {
        self.is_given.store(true, Ordering::Release);
        let wakers = std::mem::take(&mut self.lock().wakers);
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }

    pub(crate) fn wait(self: &Arc<Self>) -> Given {
        Given { signal: Arc::clone(self), number: None }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Held for plain moves, during which nothing panics.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves when the signal is given.
pub(crate) struct Given {
    signal: Arc<Signal>,
    /// Under which its waker is kept.
    number: Option<u64>,
}

impl Future for Given {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut waiting = self.signal.lock();
        // Under the lock: who gives the signal afterwards finds the waker.
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
    use super::*;

    #[test]
    fn whoever_waits_is_woken_and_whoever_gives_up_leaves_nothing() {
        let signal = Arc::new(Signal::default());
        let mut cx = Context::from_waker(Waker::noop());
        let (mut one, mut other) = (signal.wait(), signal.wait());
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
}
