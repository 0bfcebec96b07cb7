//! Options of accelerators and of their clients.

use std::time::Duration;

use rospin_core::policy::{Edf, Fifo, FixedPriority};
use rospin_core::{Policy, Priority};

use crate::budget::Budget;

/// The order in which requests get the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Discipline {
    /// Highest priority of the client first.
    #[default]
    Priority,
    /// Earliest absolute deadline first. Clients without a deadline come last.
    Edf,
    /// First come, first served.
    Fifo,
}

impl Discipline {
    /// Returns the policy of the scheduling core for this order.
    pub(crate) fn policy(self) -> Box<dyn Policy> {
        match self {
            Self::Priority => Box::new(FixedPriority::new()),
            Self::Edf => Box::new(Edf::new()),
            Self::Fifo => Box::new(Fifo::new()),
        }
    }
}

/// Options of an [`Accelerator`](crate::Accelerator).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AcceleratorOptions {
    pub(crate) discipline: Discipline,
    pub(crate) patience: Duration,
    pub(crate) give_up: Option<Duration>,
    pub(crate) urgent: Option<Priority>,
    pub(crate) ahead: Duration,
}

impl AcceleratorOptions {
    /// Creates options: requests in order of priority, a [patience](Self::patience) of 100 ms, no time to
    /// [give up](Self::give_up), no [urgent](Self::urgent) lane, and no segment [ahead](Self::ahead) of its turn.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            discipline: Discipline::Priority,
            patience: Duration::from_millis(100),
            give_up: None,
            urgent: None,
            ahead: Duration::ZERO,
        }
    }

    /// Sets the order in which requests get the device.
    #[must_use]
    pub const fn discipline(mut self, discipline: Discipline) -> Self {
        self.discipline = discipline;
        self
    }

    /// Sets the time past its bound for which a segment may run before its request ends with
    /// [`Overrun`](crate::RequestError::Overrun). The segment keeps its lane until the device ends it.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets the time past a segment's bound after which the device counts as lost, because it does not end the segment.
    /// Unless set, an accelerator waits without a limit.
    #[must_use]
    pub const fn give_up(mut self, after: Duration) -> Self {
        self.give_up = Some(after);
        self
    }

    /// Keeps lane 0 of the device for the clients of at least this priority, which use no other lane. Where that lane
    /// is more urgent to the device than the others, as a stream of high priority is, their kernels preempt running
    /// ones between thread blocks: they wait for blocks, not for segments.
    ///
    /// Has no effect on a device with one lane, which is everybody's.
    #[must_use]
    pub const fn urgent(mut self, from: Priority) -> Self {
        self.urgent = Some(from);
        self
    }

    /// Sets the time before the expected end of a segment at which its lane is given the next one, so that the device
    /// is not idle while the end is reported and the next segment is launched. With zero, the next segment is picked
    /// after the end. The expected length is that of the client's former requests; after a segment whose length is not
    /// known yet, the next one is picked after the end. An [urgent](Self::urgent) lane is given the next one at once.
    ///
    /// A request that comes after that time waits for the segment that was picked, too: for at most two foreign
    /// segments of its lane, and not for one. A segment that was picked runs even if one before it fails, or if its
    /// request is cancelled or its client dropped. Nothing is picked ahead of the next segment of a client with a
    /// budget.
    #[must_use]
    pub const fn ahead(mut self, before_end: Duration) -> Self {
        self.ahead = before_end;
        self
    }

    /// Returns true if segments are picked ahead.
    pub(crate) const fn is_ahead(&self) -> bool {
        !self.ahead.is_zero()
    }
}

impl Default for AcceleratorOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Reaction to a segment that took longer than its bound. Whatever the reaction, the request ends with an error once
/// the segment has exceeded its bound by the [patience](AcceleratorOptions::patience).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum OnOverrun {
    /// The overrun is counted, and the request goes on.
    #[default]
    Count,
    /// The overrun is counted, and the request ends with an error. Its other segments do not run.
    Fail,
    /// The overrun is counted, and the client is expelled: all of its requests end with an error, and no more are
    /// accepted.
    Expel,
}

/// Options of a [`Client`](crate::Client).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientOptions {
    pub(crate) name: String,
    pub(crate) priority: Priority,
    pub(crate) deadline: Option<Duration>,
    pub(crate) depth: usize,
    pub(crate) budget: Option<Budget>,
    pub(crate) longest_segment: Option<Duration>,
    pub(crate) on_overrun: OnOverrun,
}

impl ClientOptions {
    /// Creates options of a client of this name, which errors contain: priority 0, no deadline, no budget, no longest
    /// segment, at most 8 requests at a time, and overruns that are only counted.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            priority: Priority(0),
            deadline: None,
            depth: 8,
            budget: None,
            longest_segment: None,
            on_overrun: OnOverrun::Count,
        }
    }

    /// Sets the client's priority, for [`Discipline::Priority`]: that of its chain. The larger number runs first.
    #[must_use]
    pub const fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the relative deadline of the client's requests, for [`Discipline::Edf`]: the time from a request to its end
    /// that the chain allows.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the number of requests that the client may have at a time, at least 1: waiting, running, or ended with a
    /// result that nobody has read.
    #[must_use]
    pub const fn depth(mut self, requests: usize) -> Self {
        self.depth = requests;
        self
    }

    /// Sets the device time, `capacity`, that the client may use in each `period`: see [`Budget`].
    #[must_use]
    pub const fn budget(mut self, capacity: Duration, period: Duration) -> Self {
        self.budget = Some(Budget { capacity, period });
        self
    }

    /// Sets the longest bound that a segment of the client may have. Requests with a longer one, or without one, are
    /// refused.
    #[must_use]
    pub const fn longest_segment(mut self, length: Duration) -> Self {
        self.longest_segment = Some(length);
        self
    }

    /// Sets the reaction to a segment that took longer than its bound.
    #[must_use]
    pub const fn on_overrun(mut self, reaction: OnOverrun) -> Self {
        self.on_overrun = reaction;
        self
    }
}

/// Errors of creating a client.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The depth is 0, so that the client could never send a request.
    #[error("client `{client}` has a depth of 0; it must be at least 1")]
    NoDepth {
        /// The client's name.
        client: String,
    },
    /// The budget's capacity or period is zero.
    #[error("client `{client}` has a budget of zero or with a period of zero; both must be positive")]
    EmptyBudget {
        /// The client's name.
        client: String,
    },
}
