//! Callbacks of a scenario: their kind, group, execution time and messages.

use std::time::Duration;

use rospin_core::{ClockKind, EntityKind, GroupKind, Overrun};
use serde::{Deserialize, Serialize};

use crate::lists;
use crate::text;

/// Entity and its callback.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a callback")]
#[non_exhaustive]
pub struct Callback {
    /// Name of the callback. No topic may have the same name.
    pub name: String,
    /// Kind of the entity.
    #[serde(with = "text::entity_kind")]
    pub kind: EntityKind,
    /// Name of the callback's group. A scenario file may leave it out if there is only one group.
    #[serde(default)]
    pub group: String,
    /// Priority inside the executor; a larger number is more urgent. `None`: see
    /// [`Scenario::priorities`](crate::Scenario::priorities).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Time from release to completion. For `None`, a periodic timer's deadline is its period, and others have no
    /// deadline.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// Misses of the deadline that are tolerated, among a number of consecutive activations. `None` tolerates no miss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerates: Option<Tolerance>,
    /// Execution time, up to the first await if it has awaits.
    #[serde(default)]
    pub execution: ExecutionTime,
    /// Critical sections, in the order in which the callback executes them.
    #[serde(default, deserialize_with = "lists::sections", skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Section>,
    /// Awaits of an asynchronous callback, in their order; empty for a synchronous one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<Await>,
    /// True if other callbacks of its group may run while the callback awaits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub releases_group_at_await: bool,
    /// Maximum number of activations that run at once, see [`Callback::in_flight`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// Name of the topic of a subscription; `None` for one that joins topics, or that gets its messages by the
    /// callback's own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribes: Option<String>,
    /// Names of the topics that a subscription joins, in place of a single topic. The subscription runs when it has a
    /// message of each topic, and takes the oldest one of each.
    #[serde(default, deserialize_with = "lists::joins", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
    /// Depth of the queue; a subscription that joins topics has a queue of this depth for each of them. A message that
    /// finds the queue full displaces the oldest one. Timers have no queue.
    #[serde(default = "default_depth")]
    pub depth: u32,
    /// Receivers of the messages that the callback sends at its end: topics, or callbacks other than timers and joins,
    /// by their names. A message to a service is a request, and one to a client a response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<String>,
    /// Period of a timer. A timer without a period fires once.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// First due time of a timer. For `None`, it is the period.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub offset: Option<Duration>,
    /// Overrun policy of a timer: the treatment of due times that were missed.
    #[serde(default, with = "text::overrun", skip_serializing_if = "text::is_default")]
    pub overrun: Overrun,
    /// Clock of a timer.
    #[serde(default, with = "text::clock_kind", skip_serializing_if = "text::is_default")]
    pub clock: ClockKind,
}

/// Returns the engine's default depth.
const fn default_depth() -> u32 {
    10
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Callback {
    /// Returns a callback that takes no time, has no priority, and keeps the last 10 messages.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: EntityKind, group: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            group: group.into(),
            priority: None,
            deadline: None,
            tolerates: None,
            execution: ExecutionTime::default(),
            locks: Vec::new(),
            awaits: Vec::new(),
            releases_group_at_await: false,
            max_in_flight: None,
            subscribes: None,
            joins: Vec::new(),
            depth: default_depth(),
            publishes: Vec::new(),
            period: None,
            offset: None,
            overrun: Overrun::default(),
            clock: ClockKind::default(),
        }
    }

    /// Returns true if the callback is asynchronous: it has awaits.
    #[must_use]
    pub const fn is_async(&self) -> bool {
        !self.awaits.is_empty()
    }

    /// Returns the maximum number of activations that run at once, for a callback in a group of kind `group` whose
    /// executor has `threads` threads. It is 1 if the group excludes them, or else
    /// [`max_in_flight`](Self::max_in_flight), whose default is that of the engine: 16 for an asynchronous callback,
    /// `threads` for a synchronous one.
    #[must_use]
    pub fn in_flight(&self, group: GroupKind, threads: u16) -> u32 {
        /// The engine's default.
        const ASYNCHRONOUS: u32 = 16;
        let excludes = group == GroupKind::MutuallyExclusive;
        match (self.is_async(), excludes) {
            (false, true) => 1,
            (true, true) if !self.releases_group_at_await => 1,
            (true, _) => self.max_in_flight.unwrap_or(ASYNCHRONOUS),
            (false, false) => self.max_in_flight.unwrap_or(u32::from(threads)),
        }
    }

    /// Returns the callback's deadline, counted from its release: the one that is set, or else a timer's period.
    #[must_use]
    pub fn relative_deadline(&self) -> Option<Duration> {
        self.deadline.or(if self.kind == EntityKind::Timer { self.period } else { None })
    }

    /// Returns the first due time of a timer, from the scenario's beginning.
    #[must_use]
    pub fn first_due(&self) -> Duration {
        self.offset.or(self.period).unwrap_or_default()
    }
}

/// Weakly hard deadline (Bernat, Burns and Llamosi, IEEE Transactions on Computers 2001): of `of` consecutive
/// activations, at most `misses` may miss their deadlines. Written `{ misses = 1, of = 10 }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "how many misses of how many activations, as in { misses = 1, of = 10 }")]
pub struct Tolerance {
    /// Maximum number of misses among `of` consecutive activations.
    pub misses: u32,
    /// Number of consecutive activations.
    pub of: u32,
}

/// Execution time of a callback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExecutionTime {
    /// Constant: `"5 ms"`.
    Fixed(Duration),
    /// Uniformly distributed, ends included: `{ uniform = ["1 ms", "5 ms"] }`.
    Uniform(Duration, Duration),
    /// The times of a list, one after the other, and from the start again after its end: `{ list = ["1 ms", "5 ms"] }`.
    List(Vec<Duration>),
    /// Random times with the distribution of a histogram: `{ recorded = [["1 ms", 90], ["5 ms", 10]] }`.
    Recorded(Vec<Bin>),
}

impl ExecutionTime {
    /// Returns the longest execution time, or zero if a list or histogram is empty.
    #[must_use]
    pub fn longest(&self) -> Duration {
        match self {
            Self::Fixed(time) | Self::Uniform(_, time) => *time,
            Self::List(times) => times.iter().max().copied().unwrap_or_default(),
            Self::Recorded(bins) => {
                bins.iter().filter(|bin| bin.count > 0).map(|bin| bin.time).max().unwrap_or_default()
            }
        }
    }
}

impl Default for ExecutionTime {
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

/// Bin of a histogram of execution times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bin {
    /// Execution time of the executions in this bin.
    pub time: Duration,
    /// Number of measured executions that took this time.
    pub count: u32,
}

/// Critical section: a part of a callback that holds a lock. A thread that waits for the lock lends its priority to the
/// thread that holds it (priority inheritance, `PTHREAD_PRIO_INHERIT`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a lock, as in { lock = \"map\", after = \"1 ms\", hold = \"200 us\" }")]
pub struct Section {
    /// Name of the lock.
    pub lock: String,
    /// Execution time of the callback before it takes the lock.
    #[serde(default, with = "text::duration", skip_serializing_if = "Duration::is_zero")]
    pub after: Duration,
    /// Execution time while the callback holds the lock. A callback that ends earlier releases the lock at its end.
    #[serde(with = "text::duration")]
    pub hold: Duration,
}

/// An await of an asynchronous callback, and the execution after it. It takes a time of its own, or it is a request to
/// an accelerator.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an await")]
#[non_exhaustive]
pub struct Await {
    /// Duration of the await. The thread is free meanwhile. Zero, or an empty list, for a request to an accelerator.
    #[serde(default = "missing", skip_serializing_if = "is_missing")]
    pub wait: ExecutionTime,
    /// Name of the accelerator that the callback sends a request to; `None` if it awaits something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<String>,
    /// Times that the segments of the request take on the accelerator, with their copies, without waiting for others.
    #[serde(default, deserialize_with = "lists::segments", skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<ExecutionTime>,
    /// Priority of the request; a larger number is more urgent. `None`: that of the callback.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Execution time after the await.
    #[serde(default)]
    pub run: ExecutionTime,
}

/// Returns the wait of an await whose text has none: an empty list, which no wait may be.
const fn missing() -> ExecutionTime {
    ExecutionTime::List(Vec::new())
}

/// Returns true for the wait of an await whose text has none.
pub(crate) fn is_missing(wait: &ExecutionTime) -> bool {
    *wait == missing()
}

impl Await {
    /// Returns an await that takes the time `wait`, and the execution `run` after it.
    #[must_use]
    pub const fn new(wait: ExecutionTime, run: ExecutionTime) -> Self {
        Self { wait, accelerator: None, segments: Vec::new(), priority: None, run }
    }

    /// Returns a request of these segments to an accelerator, with the priority of the callback, and the execution
    /// `run` after it.
    #[must_use]
    pub fn request(accelerator: impl Into<String>, segments: Vec<ExecutionTime>, run: ExecutionTime) -> Self {
        Self { wait: missing(), accelerator: Some(accelerator.into()), segments, priority: None, run }
    }
}
