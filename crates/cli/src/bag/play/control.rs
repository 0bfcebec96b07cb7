//! Pausing a bag that is played, from another thread.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

#[derive(Default)]
struct State {
    is_paused: bool,
    /// Number of changes so far.
    changes: u64,
    waker: Option<Waker>,
}

/// Switch of one player.
#[derive(Default)]
pub(crate) struct Control(Mutex<State>);

impl Control {
    pub(crate) fn new(is_paused: bool) -> Self {
        Self(Mutex::new(State { is_paused, ..State::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic under the lock leaves nothing half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pauses, or goes on. Returns true if it is paused now.
    pub(crate) fn toggle(&self) -> bool {
        let mut state = self.lock();
        state.is_paused = !state.is_paused;
        state.changes += 1;
        let (is_paused, waker) = (state.is_paused, state.waker.take());
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        is_paused
    }

    pub(super) fn is_paused(&self) -> bool {
        self.lock().is_paused
    }

    /// Returns a future that resolves with the next change after this call.
    pub(super) fn changed(&self) -> impl Future<Output = ()> {
        let seen = self.lock().changes;
        poll_fn(move |cx| {
            let mut state = self.lock();
            if state.changes != seen {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        })
    }
}
