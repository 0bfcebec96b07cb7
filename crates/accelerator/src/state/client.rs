//! State of one client.

use std::collections::VecDeque;
use std::time::Duration;

use rospin_core::{EntityId, Instant};
use smallvec::SmallVec;

use crate::budget::Account;
use crate::options::ClientOptions;
use crate::statistics::Statistics;

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
