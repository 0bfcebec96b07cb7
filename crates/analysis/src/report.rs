//! Results of an analysis.

use std::time::Duration;

/// Bounds for everything in a system.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// By callback, in the scenario's order.
    pub callbacks: Vec<CallbackBound>,
    /// By chain, in the scenario's order.
    pub chains: Vec<ChainBound>,
    /// Load, by core; of executors that have callbacks.
    pub cores: Vec<CoreLoad>,
    /// The analyses that were used, in words.
    pub method: String,
    /// Assumptions that must be true for the bounds to be true, in words.
    pub assumptions: Vec<String>,
}

impl Report {
    /// Returns true if all deadlines hold, and everything has a bound.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.callbacks.iter().all(|callback| callback.holds) && self.chains.iter().all(|chain| chain.holds)
    }

    /// Returns the result for the callback with this name.
    #[must_use]
    pub fn callback(&self, name: &str) -> Option<&CallbackBound> {
        self.callbacks.iter().find(|callback| callback.name == name)
    }

    /// Returns the result for the chain with this name.
    #[must_use]
    pub fn chain(&self, name: &str) -> Option<&ChainBound> {
        self.chains.iter().find(|chain| chain.name == name)
    }
}

/// The bound of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallbackBound {
    /// Its name.
    pub name: String,
    /// Its executor's name.
    pub executor: String,
    /// Its priority inside the executor, from the scenario or from PiCAS; used by the fixed-priority policy only.
    pub priority: u32,
    /// Longest time from release (due time, or arrival of the message) to end; `None` if none was found.
    pub bound: Option<Duration>,
    /// The reason that none was found, in words; `None` if there is one.
    pub not_proven: Option<String>,
    /// Its deadline, from release.
    pub deadline: Option<Duration>,
    /// True if the bound is within the deadline, or no more misses are possible than are tolerated; without a deadline, if
    /// there is a bound.
    pub holds: bool,
    /// The most misses of as many activations in a row as its tolerance is about; `None` without one, or if nothing is known.
    pub misses: Option<u64>,
    /// The number of messages that may wait at once, the one that is taken next included; `None` for timers and without a bound.
    pub backlog: Option<u64>,
    /// True if a message can make room for a newer one, because more may wait than the queue holds.
    pub may_lose: bool,
    /// The analysis that was used, in words.
    pub method: &'static str,
}

/// The bounds of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainBound {
    /// Its name.
    pub name: String,
    /// Longest time from the release of its first callback to the end of its last one; this is what its deadline is about.
    pub latency: Option<Duration>,
    /// Longest time from an event to the end of the last callback that knows of it: where a timer starts the chain, the
    /// event may just have missed it. `None` also if messages may be lost on the way.
    pub reaction_time: Option<Duration>,
    /// The age that the data behind the latest end of the last callback can become until the next one: `None` also if messages
    /// may be lost on the way, or if nothing says how rarely the chain starts.
    pub data_age: Option<Duration>,
    /// Its deadline.
    pub deadline: Option<Duration>,
    /// True if the latency is within the deadline; without a deadline, if there is a latency.
    pub holds: bool,
    /// Its callbacks that may lose messages.
    pub lossy: Vec<String>,
}

/// The load of a core.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CoreLoad {
    /// Its number. Where executors are not pinned and each thread can have a core of its own: one that it can have.
    pub core: u16,
    /// Share of its time, overheads included.
    pub utilization: f64,
    /// The executors on it.
    pub executors: Vec<String>,
}
