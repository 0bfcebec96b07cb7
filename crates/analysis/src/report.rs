//! Results of an analysis.

use std::time::Duration;

/// Bounds of all callbacks and chains of a system.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// Bounds of callbacks, in the scenario's order.
    pub callbacks: Vec<CallbackBound>,
    /// Bounds of chains, in the scenario's order.
    pub chains: Vec<ChainBound>,
    /// Load of each core on which executors have callbacks.
    pub cores: Vec<CoreLoad>,
    /// Load of each accelerator, and the waits for it, in the scenario's order.
    pub accelerators: Vec<AcceleratorLoad>,
    /// Names of the analyses that gave bounds of callbacks, chains and accelerators, in alphabetical order. Each bound
    /// has the name of its own.
    pub methods: Vec<&'static str>,
    /// Assumptions on which the bounds depend, a sentence each.
    pub assumptions: Vec<String>,
}

impl Report {
    /// Returns true if every callback and chain has a bound, and all deadlines hold or are missed no more often than is
    /// tolerated.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.callbacks.iter().all(|callback| callback.holds) && self.chains.iter().all(|chain| chain.holds)
    }

    /// Returns the result for the callback with this name; `None` if the scenario has no such callback.
    #[must_use]
    pub fn callback(&self, name: &str) -> Option<&CallbackBound> {
        self.callbacks.iter().find(|callback| callback.name == name)
    }

    /// Returns the result for the chain with this name; `None` if the scenario has no such chain.
    #[must_use]
    pub fn chain(&self, name: &str) -> Option<&ChainBound> {
        self.chains.iter().find(|chain| chain.name == name)
    }
}

/// Kind of reason for which a callback has no bound.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Unbounded {
    /// It may starve: others can keep all threads busy whenever its group is free, or the group of one that sends to
    /// it.
    MayStarve,
    /// Two groups send messages to each other, and it belongs to one of them or gets messages from one. In some systems
    /// of this kind, responses grow without end; if in this one, is not known.
    MayGrow,
    /// No bound is known, and no way in which it could starve.
    Unknown,
}

/// Bound of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CallbackBound {
    /// Name of the callback.
    pub name: String,
    /// Name of its executor.
    pub executor: String,
    /// Priority inside the executor, given by the scenario or derived from its chains as in PiCAS. Only the
    /// fixed-priority policy uses it.
    pub priority: u32,
    /// Longest time from release (due time, or arrival of the message) to end; `None` if no bound was found.
    pub bound: Option<Duration>,
    /// Reason for which no bound was found, and the changes that give one, in words; `None` if there is a bound.
    pub not_proven: Option<String>,
    /// The reason alone; `None` if there is a bound.
    pub why: Option<String>,
    /// Kind of that reason; `None` if there is a bound.
    pub unbounded: Option<Unbounded>,
    /// Changes, each of which alone gives a bound: the smallest ones of their kinds, in words that end the sentence "It
    /// has a bound". Empty if there is a bound, if no such change was found, or if none was tried, as in large systems.
    pub changes: Vec<String>,
    /// Deadline, counted from the release; `None` if the callback has none.
    pub deadline: Option<Duration>,
    /// True if the bound is within the deadline, or the number of possible misses is tolerated. Without a deadline:
    /// true if there is a bound.
    pub holds: bool,
    /// Largest number of misses among as many consecutive activations as the callback's tolerance counts. `None` if it
    /// has no tolerance, or if no number was found.
    pub misses: Option<u64>,
    /// Largest number of messages that wait at once, including the next one to be taken; `None` for timers, and without
    /// a bound that holds for queues of any depth. If all queues have these depths, they lose no message. The messages of
    /// a join wait for each other, which this does not count.
    pub backlog: Option<u64>,
    /// True if a message may be displaced by a newer one, because more may wait than the queue holds.
    pub may_lose: bool,
    /// Name of the analysis that gave the bound, or that found none.
    pub method: &'static str,
}

/// Bounds of a chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ChainBound {
    /// Name of the chain.
    pub name: String,
    /// Longest time from the release of the first callback to the end of the last one. The chain's deadline limits this
    /// time.
    pub latency: Option<Duration>,
    /// Longest time from an event outside to the end of the last callback whose data depends on it. If a timer starts
    /// the chain, the event may happen just after the timer sampled. `None` without a latency, or if messages may be
    /// lost on the way.
    pub reaction_time: Option<Duration>,
    /// Largest age of the data behind the last callback's output, until the next output replaces it. `None` without a
    /// latency, if messages may be lost on the way, or if no limit is known for the time between two starts of the
    /// chain.
    pub data_age: Option<Duration>,
    /// Deadline of the chain; `None` if it has none.
    pub deadline: Option<Duration>,
    /// True if the latency is within the deadline; without a deadline, if there is a latency.
    pub holds: bool,
    /// Name of the analysis that gave the latency.
    pub method: &'static str,
    /// Names of the chain's callbacks that may lose messages.
    pub lossy: Vec<String>,
}

/// Load of a core.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct CoreLoad {
    /// Number of the core. An executor that is not pinned, and can have a core of its own, counts on one that it can
    /// have.
    pub core: u16,
    /// Share of the core's time that is used, including overheads: the mean of several cores if an executor with
    /// several threads has them, or executors share them.
    pub utilization: f64,
    /// Names of the executors on the core.
    pub executors: Vec<String>,
}

/// Load of an accelerator, and the callbacks that use it.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct AcceleratorLoad {
    /// Name of the accelerator.
    pub name: String,
    /// Share of the time of all its lanes that is asked for.
    pub utilization: f64,
    /// Callbacks that use it, in the scenario's order.
    pub uses: Vec<AcceleratorUse>,
}

/// Use of an accelerator by a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AcceleratorUse {
    /// Name of the callback.
    pub callback: String,
    /// Longest time that the requests of an activation take there without waiting for others.
    pub own: Duration,
    /// Longest time that they take with all waiting; `None` if no bound was found.
    pub bound: Option<Duration>,
}
