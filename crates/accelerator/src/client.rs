//! Clients: what callbacks of a chain have of an accelerator.

use std::collections::VecDeque;
use std::sync::Arc;

use rospin_core::{EntityId, Instant};

use crate::accelerator::Shared;
use crate::backend::Backend;
use crate::budget::Account;
use crate::completion::Completion;
use crate::options::ClientOptions;
use crate::request::{Request, SubmitError};
use crate::state::Actions;
use crate::statistics::Statistics;

/// Handle of a client, which sends requests to an [`Accelerator`](crate::Accelerator). Its requests run one after the
/// other.
///
/// Dropping it ends the requests that wait. A segment that runs goes on to its end.
pub struct Client<B: Backend> {
    shared: Arc<Shared<B>>,
    id: EntityId,
}

impl<B: Backend> Client<B> {
    pub(crate) const fn new(shared: Arc<Shared<B>>, id: EntityId) -> Self {
        Self { shared, id }
    }

    /// Sends a request. Starts its first segment at once if a lane is idle. Returns the future of the result; its drop
    /// cancels the request.
    ///
    /// Callbacks may call it: it takes a lock with priority inheritance for a bounded time, and does not wait for the
    /// device. It allocates only while the number of requests grows beyond what it ever was.
    ///
    /// # Errors
    /// If the request is empty or its segments are too long, if the client has as many requests as its depth allows or
    /// was expelled, or if the device is lost.
    pub fn request(&self, request: Request<B::Work>) -> Result<Completion<B>, SubmitError> {
        let mut actions = Actions::new();
        let submitted = {
            let mut state = self.shared.state.lock();
            // Read under the lock, so that requests of several threads have the order of their times.
            let now = self.shared.backend.now();
            state.submit(now, self.id, request, &mut actions)
        };
        self.shared.perform(actions);
        submitted.map(|place| Completion::new(Arc::clone(&self.shared), place))
    }

    /// Returns the counts of this client's requests.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.state.lock().statistics_of(self.id)
    }
}

impl<B: Backend> Drop for Client<B> {
    fn drop(&mut self) {
        let mut actions = Actions::new();
        self.shared.state.lock().remove_client(self.id, &mut actions);
        self.shared.perform(actions);
    }
}

/// State of a client, which the accelerator keeps.
pub(crate) struct ClientState {
    pub(crate) id: EntityId,
    pub(crate) options: ClientOptions,
    /// The slots of requests that wait or run, in order. The first one may have a segment on a lane. It then stays here
    /// until that segment ends, even if it was cancelled or has ended as an overrun.
    pub(crate) queue: VecDeque<u32>,
    /// True if a segment of the first request is on a lane.
    pub(crate) is_running: bool,
    /// The number of requests in memory: those of the queue, and those with a result that nobody has read.
    pub(crate) held: usize,
    pub(crate) account: Option<Account>,
    /// True while the client waits for device time, because its budget is used up.
    pub(crate) is_throttled: bool,
    /// True if an overrun expelled the client, whose requests are refused.
    pub(crate) is_expelled: bool,
    pub(crate) statistics: Statistics,
}

impl ClientState {
    pub(crate) fn new(id: EntityId, options: ClientOptions, now: Instant) -> Self {
        Self {
            id,
            account: options.budget.map(|budget| Account::new(budget, now)),
            options,
            queue: VecDeque::new(),
            is_running: false,
            held: 0,
            is_throttled: false,
            is_expelled: false,
            statistics: Statistics::default(),
        }
    }
}
