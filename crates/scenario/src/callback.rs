//! Callbacks: what runs, when, and for how long.

use std::time::Duration;

use rospin_core::{ClockKind, EntityKind, GroupKind, Overrun};
use serde::{Deserialize, Serialize};

use crate::lists;
use crate::text;

/// An entity and its callback.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a callback")]
#[non_exhaustive]
pub struct Callback {
    /// Its name, which no topic has.
    pub name: String,
    /// What it is.
    #[serde(with = "text::entity_kind")]
    pub kind: EntityKind,
    /// Its group; in a text it may be left out if there is only one.
    #[serde(default)]
    pub group: String,
    /// Urgency, the larger number first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// Time from release to completion; a periodic timer's is its period if not given.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// How often it may miss its deadline; never if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerates: Option<Tolerance>,
    /// How long it runs, up to its first await if it has any.
    #[serde(default)]
    pub execution: ExecutionTime,
    /// Locks that it takes while it runs, one after the other.
    #[serde(default, deserialize_with = "lists::sections", skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<Section>,
    /// What it waits for in the middle: an asynchronous callback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awaits: Vec<Await>,
    /// Whether others of its group may run while it waits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub releases_group_at_await: bool,
    /// How many of its activations may be under way; see [`Callback::in_flight`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// The topic that it listens to, a subscription's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscribes: Option<String>,
    /// The topics that it joins, a subscription's, in place of the one that it listens to: it runs once there is a message of
    /// each, with the oldest of each.
    #[serde(default, deserialize_with = "lists::joins", skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
    /// How many messages wait at most, of each topic if it joins several; the oldest makes room for a new one. Not for timers.
    #[serde(default = "default_depth")]
    pub depth: u32,
    /// Topics that get a message when it ends. A service or a client can be named directly: a request, a response.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub publishes: Vec<String>,
    /// Timers: time between due times; without it, it fires once.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
    /// Timers: first due time; the period if not given.
    #[serde(default, with = "text::optional_duration", skip_serializing_if = "Option::is_none")]
    pub offset: Option<Duration>,
    /// Timers: what happens to due times that were missed.
    #[serde(default, with = "text::overrun", skip_serializing_if = "text::is_default")]
    pub overrun: Overrun,
    /// Timers: the clock.
    #[serde(default, with = "text::clock_kind", skip_serializing_if = "text::is_default")]
    pub clock: ClockKind,
}

/// The engine's default.
const fn default_depth() -> u32 {
    10
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Callback {
    /// A callback that takes no time, has no priority and keeps the last 10 messages.
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

    /// Whether it waits in the middle.
    #[must_use]
    pub const fn is_async(&self) -> bool {
        !self.awaits.is_empty()
    }

    /// How many of its activations may be under way, in a group of that kind, with so many threads: what is given, or
    /// what the engine takes by default.
    #[must_use]
    pub fn in_flight(&self, group: GroupKind, threads: u16) -> u32 {
        /// As in the engine.
        const ASYNCHRONOUS: u32 = 16;
        let excludes = group == GroupKind::MutuallyExclusive;
        match (self.is_async(), excludes) {
            (false, true) => 1,
            (true, true) if !self.releases_group_at_await => 1,
            (true, _) => self.max_in_flight.unwrap_or(ASYNCHRONOUS),
            (false, false) => self.max_in_flight.unwrap_or(u32::from(threads)),
        }
    }

    /// Time from release to completion by which it is judged.
    #[must_use]
    pub fn relative_deadline(&self) -> Option<Duration> {
        self.deadline.or(if self.kind == EntityKind::Timer { self.period } else { None })
    }

    /// A timer's first due time.
    #[must_use]
    pub fn first_due(&self) -> Duration {
        self.offset.or(self.period).unwrap_or_default()
    }
}

/// A weakly hard deadline: of so many activations in a row, at most so many miss it (Bernat, Burns and Llamosi, IEEE
/// Transactions on Computers 2001): `{ misses = 1, of = 10 }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "how many misses of how many activations, as in { misses = 1, of = 10 }")]
pub struct Tolerance {
    /// How many may miss it.
    pub misses: u32,
    /// Of how many in a row.
    pub of: u32,
}

/// How long a callback runs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ExecutionTime {
    /// Always as long: `"5 ms"`.
    Fixed(Duration),
    /// Anything from the first to the second: `{ uniform = ["1 ms", "5 ms"] }`.
    Uniform(Duration, Duration),
    /// One after the other, then from the beginning: `{ list = ["1 ms", "5 ms"] }`.
    List(Vec<Duration>),
    /// Drawn by how often each was seen: `{ recorded = [["1 ms", 90], ["5 ms", 10]] }`.
    Recorded(Vec<Bin>),
}

impl ExecutionTime {
    /// The longest one; zero if there is none.
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

/// An execution time and how often it was seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bin {
    /// The execution time.
    pub time: Duration,
    /// How often.
    pub count: u32,
}

/// A critical section: what a callback does under a lock that it shares with others. Who waits for a lock lends its priority
/// to the one who has it (priority inheritance, `PTHREAD_PRIO_INHERIT`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a lock, as in { lock = \"map\", after = \"1 ms\", hold = \"200 us\" }")]
pub struct Section {
    /// The lock's name.
    pub lock: String,
    /// How long the callback has run when it asks for it.
    #[serde(default, with = "text::duration", skip_serializing_if = "Duration::is_zero")]
    pub after: Duration,
    /// How long it runs then until it gives it back; a callback that ends before gives it back at its end.
    #[serde(with = "text::duration")]
    pub hold: Duration,
}

/// What an asynchronous callback waits for, and how long it runs after that.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an await")]
pub struct Await {
    /// How long it waits; the thread is free meanwhile.
    pub wait: ExecutionTime,
    /// How long it runs then.
    #[serde(default)]
    pub run: ExecutionTime,
}
