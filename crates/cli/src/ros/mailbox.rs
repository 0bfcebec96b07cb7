//! A mailbox: callbacks put items into it, and the command waits for them.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The most items that wait. When there are more, the oldest is dropped and counted.
const ITEMS_MAX: usize = 1000;

/// Queue from callbacks to the command. Clones are the same queue.
pub(crate) struct Mailbox<T>(Arc<Mutex<State<T>>>);

struct State<T> {
    items: VecDeque<T>,
    lost: u64,
    waker: Option<Waker>,
}

impl<T> Mailbox<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { items: VecDeque::new(), lost: 0, waker: None })))
    }

    /// Puts an item behind those that wait.
    pub(crate) fn post(&self, item: T) {
        let mut state = self.lock();
        if state.items.len() >= ITEMS_MAX {
            state.items.pop_front();
            state.lost += 1;
        }
        state.items.push_back(item);
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Returns the next item. Waits until there is one.
    pub(crate) async fn next(&self) -> T {
        poll_fn(|context| {
            let mut state = self.lock();
            match state.items.pop_front() {
                Some(item) => Poll::Ready(item),
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Returns the number of items that were dropped since the last call.
    pub(crate) fn take_lost(&self) -> u64 {
        std::mem::take(&mut self.lock().lost)
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A panic under the lock leaves nothing half changed: only moves of values happen there.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Mailbox<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;

    use super::*;

    #[test]
    fn the_oldest_items_make_room() {
        let mailbox = Mailbox::new();
        for item in 0..=ITEMS_MAX {
            mailbox.post(item);
        }
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(mailbox.next()).poll(&mut context), Poll::Ready(1));
        assert_eq!((mailbox.take_lost(), mailbox.take_lost()), (1, 0));
    }
}
