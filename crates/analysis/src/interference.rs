//! Interference while an activation is under way, without a busy window: each other activation was released at most its
//! own response time before.

use crate::arrivals::Arrivals;
use crate::known::Known;
use crate::system::{Callback, Executor, Policy, System};

/// Order of another callback of an executor with respect to the one under analysis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Relation {
    /// Longest time after the release of the activation under analysis at which an activation of the other callback can
    /// be released and still come before it, in nanoseconds. `None`: all of its activations come before.
    pub(crate) before: Option<i64>,
    /// True if some activations of the other callback come after it, and can be running when it becomes ready.
    pub(crate) after: bool,
}

impl Relation {
    /// All activations come before.
    pub(crate) const ALL: Self = Self { before: None, after: false };
    /// No activations come before, and all come after.
    const NOTHING: Self = Self { before: Some(i64::MIN), after: true };

    /// Returns the order of `other` to `callback`, which may see messages up to `delay` late.
    pub(crate) fn of(executor: &Executor, callback: &Callback, other: &Callback, delay: u64) -> Self {
        let delay = delay as i64;
        // Every segment of an asynchronous callback is a new release, so its release time grows while it runs.
        let by_release = Self { before: Some(delay).filter(|_| !callback.is_async()), after: false };
        match executor.policy {
            Policy::FixedPriority if other.priority >= callback.priority => Self::ALL,
            Policy::FixedPriority => Self::NOTHING,
            Policy::Fifo => by_release,
            Policy::Edf => match (callback.deadline, other.deadline) {
                (Some(own), Some(its)) => {
                    // While the callback waits, callbacks with later deadlines may start.
                    let after = its > own || callback.is_async();
                    Self { before: Some(own as i64 - its as i64 + delay), after }
                }
                (None, Some(_)) => Self::ALL,
                (Some(_), None) => Self::NOTHING,
                (None, None) => by_release,
            },
            Policy::WaitSet { .. } => Self::ALL,
        }
    }

    /// Returns the order on several threads, with inheritance: a callback whose group has a member that comes before
    /// can inherit from it, and then runs before the one under analysis, no matter when it is released.
    pub(crate) fn with_inheritance(system: &System, callback: usize, other: usize, delay: u64) -> Self {
        let (plan, mate) = (&system.callbacks[callback], &system.callbacks[other]);
        let executor = &system.executors[plan.executor];
        let own = Self::of(executor, plan, mate, delay);
        let precedes = |member: &usize| Self::of(executor, plan, &system.callbacks[*member], delay).is_before();
        let inherits = mate.holds_group() && !plan.mates.contains(&other) && mate.mates.iter().any(precedes);
        // The emulated wait set has no inheritance, but there all callbacks come before anyway.
        if inherits { Self { before: None, ..own } } else { own }
    }

    /// Returns true if any activations come before.
    pub(crate) fn is_before(self) -> bool {
        self.before != Some(i64::MIN)
    }
}

/// Work of a callback that comes before another one.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    arrivals: Arrivals,
    /// Bound of the response time.
    response: Option<u64>,
    /// Largest number of activations that wait or have begun at one time.
    held: Option<u64>,
    /// True if only one activation runs at a time.
    is_serial: bool,
    cost: u64,
    /// Limit of the releases that count, as in [`Relation::before`].
    before: Option<i64>,
}

impl Work {
    /// Returns the work of a callback whose activations take `cost` each; `None` if nothing bounds its arrivals, or how
    /// many activations are left from before.
    pub(crate) fn of(known: &Known<'_>, callback: usize, cost: u64) -> Option<Self> {
        let arrivals = known.arrivals[callback].clone()?;
        let (response, held) = (known.responses[callback], known.held(callback));
        let is_serial = known.system.callbacks[callback].in_flight == 1;
        (response.is_some() || held.is_some()).then_some(Self {
            arrivals,
            response,
            held,
            is_serial,
            cost,
            before: None,
        })
    }

    /// Returns the work of the receive thread, which handles a message within the time `response`.
    pub(crate) const fn received(arrivals: Arrivals, response: u64, cost: u64) -> Self {
        Self { arrivals, response: Some(response), held: None, is_serial: false, cost, before: None }
    }

    /// Returns this work with only those activations that come before, by `relation`.
    pub(crate) fn limited(self, relation: Relation) -> Self {
        Self { before: relation.before, ..self }
    }

    /// Returns how many activations can come before in an interval of this length.
    pub(crate) fn count(&self, length: u64) -> u64 {
        let length = length.max(1) as i64;
        let until = self.before.map_or(length, |before| length.min(before.saturating_add(1)));
        let by_response = self.response.map(|response| self.arrivals.number(response.saturating_add_signed(until)));
        let released = self.arrivals.number(u64::try_from(until).unwrap_or(0));
        let by_queue = self.held.map(|held| released.saturating_add(held));
        by_response.into_iter().chain(by_queue).min().unwrap_or(u64::MAX)
    }

    /// Returns the longest time for which this work can run in an interval of this length.
    ///
    /// For activations that come one at a time: the interval begins with one that runs as late as it may, those after
    /// it run as early as they can (Bertogna and Cirinei, RTSS 2007).
    pub(crate) fn total(&self, length: u64) -> u64 {
        let counted = self.count(length).saturating_mul(self.cost);
        match (&self.arrivals, self.response) {
            (Arrivals::Repeated { gap, jitter, burst: 1 }, Some(response))
                if self.cost <= *gap && self.cost <= response =>
            {
                let room = length + jitter + response - self.cost;
                let whole = room / gap;
                counted.min(whole * self.cost + self.cost.min(room - whole * gap))
            }
            _ => counted,
        }
    }

    /// Returns the longest time for which this work can run in an interval of this length, of which the activation
    /// under analysis waits for the time `waiting`. A callback whose activations do not overlap runs on one thread at a
    /// time, so for no longer than `waiting`; the result is a nanosecond more, because times are whole nanoseconds.
    pub(crate) fn within(&self, length: u64, waiting: u64) -> u64 {
        let has_one = self.response.is_some_and(|response| self.arrivals.number(response) <= 1);
        let sequential = self.is_serial || has_one;
        if sequential { self.total(length).min(waiting + 1) } else { self.total(length) }
    }
}
