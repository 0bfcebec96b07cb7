//! Accelerators: the state behind its lock, and the calls to the device and to wakers, which are made without the lock.
//!
//! A server thread would cost two changes of threads for each segment, as in the GPU servers of Kim et al. (2018) and
//! of Choi et al. (2022). So the thread that brings news decides, under a lock with priority inheritance that is held
//! for a bounded time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use rospin_core::Instant;
use rospin_engine::{Mutex, Recorded, Recorder};

use crate::backend::{Backend, Ended, Listener, SegmentFailure};
use crate::client::Client;
use crate::options::{AcceleratorOptions, ClientError, ClientOptions};
use crate::state::{Actions, State};
use crate::statistics::Statistics;

/// A device that is shared by chains of several priorities: an executor whose threads are the device's lanes.
///
/// Cheap to clone. The device is released when accelerator, clients and completions are all dropped.
pub struct Accelerator<B: Backend> {
    shared: Arc<Shared<B>>,
}

impl<B: Backend> Accelerator<B> {
    /// Creates an accelerator that owns the device. A device belongs to one accelerator.
    #[must_use]
    pub fn new(backend: Arc<B>, options: AcceleratorOptions) -> Self {
        let state = Mutex::new(State::new(options, backend.lanes()));
        let shared = Arc::new(Shared { backend, state, is_ahead: options.is_ahead() });
        let listener: Weak<dyn Listener> = Arc::downgrade(&(Arc::clone(&shared) as Arc<dyn Listener>));
        shared.backend.connect(listener);
        Self { shared }
    }

    /// Creates a client. Allocates.
    ///
    /// # Errors
    /// If depth, budget or period are zero.
    pub fn create_client(&self, options: ClientOptions) -> Result<Client<B>, ClientError> {
        if options.depth == 0 {
            return Err(ClientError::NoDepth { client: options.name });
        }
        if options.budget.is_some_and(|budget| budget.capacity.is_zero() || budget.period.is_zero()) {
            return Err(ClientError::EmptyBudget { client: options.name });
        }
        let id = self.shared.state.lock().add_client(options, self.shared.backend.now());
        Ok(Client::new(Arc::clone(&self.shared), id))
    }

    /// Has the recorder record the device as an executor of this name: its clients are the callbacks, its lanes the
    /// threads, and each segment is an activation, from its pick to its end. An urgent lane is an executor of its own.
    /// A segment that is picked [ahead](AcceleratorOptions::ahead) begins while the one before it has its lane.
    ///
    /// The device's clock must be the steady clock, as that of every device is which runs in real time. Locks, and
    /// allocates.
    pub fn record(&self, recorder: &Recorder, name: &str) {
        let driver: Weak<dyn Recorded> = Arc::downgrade(&(Arc::clone(&self.shared) as Arc<dyn Recorded>));
        let mut state = self.shared.state.lock();
        state.record(name, self.shared.backend.now(), |name, threads| {
            recorder.add_scheduler(name, threads, Weak::clone(&driver))
        });
    }

    /// Returns the counts of all clients' requests, also of clients that were dropped.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.state.lock().statistics()
    }

    /// Returns the reason for which the device is lost; `None` if it is not.
    #[must_use]
    pub fn lost(&self) -> Option<String> {
        self.shared.state.lock().lost().map(str::to_owned)
    }

    /// Returns the number of requests in memory: those that have not ended, and those with a result that nobody has
    /// read.
    #[must_use]
    pub fn requests_in_memory(&self) -> usize {
        self.shared.state.lock().requests_in_memory()
    }
}

impl<B: Backend> Clone for Accelerator<B> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

/// State that an accelerator shares with its clients, their completions and the device.
pub(crate) struct Shared<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) state: Mutex<State<B::Work>>,
    /// True if segments are picked ahead of the end of the running one.
    is_ahead: bool,
}

impl<B: Backend> Shared<B> {
    /// Makes the calls that a change of the state asks for: starts segments, sets the alarm, wakes tasks, and drops the
    /// work of segments that will not run. The caller must not hold the lock.
    pub(crate) fn perform(&self, mut actions: Actions<B::Work>) {
        // Each turn after the first one ends a request whose segment could not be started, or starts a segment behind
        // one of the turn before.
        loop {
            for launch in std::mem::take(&mut actions.launches) {
                let lane = launch.lane;
                let ticket = launch.ticket;
                let submitted = catch_unwind(AssertUnwindSafe(|| self.backend.submit(launch)));
                let failure = match submitted {
                    Ok(Ok(())) => {
                        if self.is_ahead {
                            let mut state = self.state.lock();
                            state.launched(self.backend.now(), lane, ticket, &mut actions);
                        }
                        continue;
                    }
                    Ok(Err(failure)) => failure,
                    Err(_) => SegmentFailure("the start of the segment panicked".to_owned()),
                };
                let busy = std::time::Duration::ZERO;
                let mut state = self.state.lock();
                let now = self.backend.now();
                let ended = Ended { lane, ticket, at: now, busy, result: Err(failure) };
                state.ended(&ended, now, &mut actions);
            }
            if let Some(at) = actions.alarm.take() {
                self.backend.set_alarm(at);
            }
            for waker in actions.wakers.drain(..) {
                waker.wake();
            }
            for segment in actions.dropped.drain(..).flatten() {
                // A segment's work is the program's own code. One that panics must not keep the rest from being
                // dropped.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(segment)));
            }
            if actions.launches.is_empty() {
                return;
            }
        }
    }
}

impl<B: Backend> Recorded for Shared<B> {
    fn recorder_switched(&self) {
        let mut state = self.state.lock();
        let now = self.backend.now();
        state.follow_recorder(now);
    }
}

impl<B: Backend> Listener for Shared<B> {
    fn ended(&self, ended: Ended) {
        let mut actions = Actions::new();
        {
            let mut state = self.state.lock();
            let now = self.backend.now();
            state.ended(&ended, now, &mut actions);
        }
        self.perform(actions);
    }

    fn alarm(&self, now: Instant) {
        let mut actions = Actions::new();
        {
            let mut state = self.state.lock();
            // Other threads may have had the lock since the back end looked at the time.
            state.alarm(self.backend.now().max(now), &mut actions);
        }
        self.perform(actions);
    }

    fn lost(&self, reason: &str) {
        let mut actions = Actions::new();
        {
            let mut state = self.state.lock();
            state.lose(reason, self.backend.now(), &mut actions);
        }
        self.perform(actions);
    }
}
