//! Clients: what callbacks of a chain have of an accelerator.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rospin_core::{EntityId, Instant};
use smallvec::SmallVec;

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

/// Identity of a client: its pool, and its entity there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClientId {
    /// The index of the pool of lanes that the client uses.
    pub(crate) pool: usize,
    pub(crate) entity: EntityId,
}

/// The number of segments of a request whose lengths are remembered one by one. Later ones share the last place.
const REMEMBERED: usize = 16;

/// State of a client, which the accelerator keeps.
pub(crate) struct ClientState {
    pub(crate) id: EntityId,
    pub(crate) options: ClientOptions,
    /// The slots of requests that wait or run, in order. The first one may have segments on a lane. It then stays here
    /// until they end, even if it was cancelled or has ended as an overrun.
    pub(crate) queue: VecDeque<u32>,
    /// The number of its segments on the device: 2 if one was started ahead of the end of another one.
    pub(crate) in_flight: usize,
    /// The lane that has its segments, if there are any.
    pub(crate) lane: usize,
    /// The number of requests in memory: those of the queue, and those with a result that nobody has read.
    pub(crate) held: usize,
    pub(crate) account: Option<Account>,
    /// True while the client waits for device time, because its budget is used up.
    pub(crate) is_throttled: bool,
    /// True if an overrun expelled the client, whose requests are refused.
    pub(crate) is_expelled: bool,
    pub(crate) statistics: Statistics,
    /// The lengths that are expected of a request's segments, by their places in it.
    expected: SmallVec<[Duration; 2]>,
}

impl ClientState {
    pub(crate) fn new(id: EntityId, options: ClientOptions, now: Instant) -> Self {
        Self {
            id,
            account: options.budget.map(|budget| Account::new(budget, now)),
            options,
            queue: VecDeque::new(),
            in_flight: 0,
            lane: 0,
            held: 0,
            is_throttled: false,
            is_expelled: false,
            statistics: Statistics::default(),
            expected: SmallVec::new(),
        }
    }

    /// Returns the length that is expected of a request's segment number `nth`; `None` if none of that number has run.
    pub(crate) fn expected(&self, nth: usize) -> Option<Duration> {
        self.expected.get(nth.min(REMEMBERED - 1)).copied().filter(|length| !length.is_zero())
    }

    /// Takes note of the length of a request's segment number `nth`. Shorter ones count at once, longer ones by and by:
    /// a segment that is expected to end too late only costs the device a pause.
    pub(crate) fn learn(&mut self, nth: usize, busy: Duration) {
        let place = nth.min(REMEMBERED - 1);
        if self.expected.len() <= place {
            self.expected.resize(place + 1, Duration::ZERO);
        }
        let known = self.expected[place];
        self.expected[place] = if known.is_zero() || busy < known { busy } else { known + (busy - known) / 8 };
    }
}
