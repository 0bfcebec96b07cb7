//! Time for the last responses of servers that have gone.
//!
//! Zenoh sends tokens ahead of data, so the end of a server may become known before its last responses arrive. A call
//! whose servers have all gone therefore ends a second later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between the end of the last server and the end of the calls that wait for it: longer than a response is on its
/// way on a busy machine.
pub(crate) const GRACE: Duration = Duration::from_secs(1);

type Act = Box<dyn FnOnce() + Send>;

/// Actions that run after [`GRACE`], on a thread that exists while there are any.
#[derive(Default)]
pub(crate) struct Grace(Mutex<State>);

#[derive(Default)]
struct State {
    /// Actions, in the order in which they are due.
    acts: VecDeque<(Instant, Act)>,
    has_thread: bool,
}

impl Grace {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change under the lock is complete before anything can panic, so its poison is ignored.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `act` when the grace is over, or at once if no thread can be started for it. `act` must neither block nor
    /// panic.
    pub(crate) fn then(self: &Arc<Self>, act: impl FnOnce() + Send + 'static) {
        let mut state = self.lock();
        state.acts.push_back((Instant::now() + GRACE, Box::new(act)));
        if std::mem::replace(&mut state.has_thread, true) {
            return;
        }
        drop(state);
        let grace = Arc::clone(self);
        let thread = thread::Builder::new().name("zenoh-grace".to_owned()).spawn(move || grace.run());
        if thread.is_err() {
            // The thread cannot be started, so the calls end now rather than never.
            self.run_now();
        }
    }

    /// Runs the actions when they are due, until none is left.
    fn run(&self) {
        loop {
            let mut state = self.lock();
            let Some((due, act)) = state.acts.pop_front() else {
                state.has_thread = false;
                return;
            };
            drop(state);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            act();
        }
    }

    /// Runs all actions at once.
    fn run_now(&self) {
        let mut state = self.lock();
        state.has_thread = false;
        let acts = std::mem::take(&mut state.acts);
        drop(state);
        for (_, act) in acts {
            act();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn acts_are_done_in_their_order_and_by_a_new_thread_later() {
        let grace = Arc::<Grace>::default();
        let (sender, receiver) = mpsc::channel();
        let begin = Instant::now();
        for round in 0..2 {
            for n in 0..3 {
                let sender = sender.clone();
                grace.then(move || sender.send((round, n)).unwrap());
            }
            assert_eq!([(); 3].map(|()| receiver.recv().unwrap()), [0, 1, 2].map(|n| (round, n)));
            while grace.lock().has_thread {
                thread::yield_now();
            }
        }
        assert!(begin.elapsed() >= GRACE * 2);
    }
}
