//! Clients: what callbacks of a chain have of an accelerator.

use std::sync::Arc;

use crate::accelerator::Shared;
use crate::backend::Backend;
use crate::completion::Completion;
use crate::request::{Request, SubmitError};
use crate::state::{Actions, ClientId};
use crate::statistics::Statistics;

/// Handle of a client, which sends requests to an [`Accelerator`](crate::Accelerator). Its requests run one after the
/// other.
///
/// Dropping it ends the requests that wait. A segment that runs goes on to its end.
pub struct Client<B: Backend> {
    shared: Arc<Shared<B>>,
    id: ClientId,
}

impl<B: Backend> Client<B> {
    pub(crate) const fn new(shared: Arc<Shared<B>>, id: ClientId) -> Self {
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
