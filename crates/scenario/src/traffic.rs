//! What comes from outside: messages and mishaps.

use std::time::Duration;

use rospin_core::ClockKind;
use serde::{Deserialize, Serialize};

use crate::callback::ExecutionTime;
use crate::text;

/// Messages that come from outside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "text::ReleaseText", into = "text::ReleaseText")]
#[non_exhaustive]
pub struct Release {
    /// Topics, or callbacks other than timers: each gets a message, in this order.
    pub to: Vec<String>,
    /// When.
    pub pattern: Pattern,
    /// How many at a time.
    pub burst: Option<Burst>,
}

impl Release {
    /// One message each.
    pub fn new<I>(to: I, pattern: Pattern) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { to: to.into_iter().map(Into::into).collect(), pattern, burst: None }
    }
}

/// When messages arrive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Pattern {
    /// At these times: `at = ["0 s", "3.2 s"]`.
    List(Vec<Duration>),
    /// Every `period` from `offset` on, up to `jitter` later: `period = "10 ms", offset = "1 ms", jitter = "2 ms"`.
    Periodic {
        /// Time between arrivals, jitter aside.
        period: Duration,
        /// The first arrival, jitter aside.
        offset: Duration,
        /// How much later one may arrive, in the order of the messages; may be longer than the period.
        jitter: Duration,
    },
    /// With gaps of random length: `gap = ["5 ms", "20 ms"], offset = "1 ms"`.
    Sporadic {
        /// The first arrival.
        offset: Duration,
        /// The shortest gap.
        min: Duration,
        /// The longest gap.
        max: Duration,
    },
    /// As often as these limits allow: `at_most = [[3, "10 ms"], [10, "1 s"]]` is at most 3 in any 10 ms, and at most 10 in
    /// any second. A simulation keeps as close to them as it may.
    Limited {
        /// The first arrival.
        offset: Duration,
        /// All of them hold.
        limits: Vec<Limit>,
    },
    /// As they were measured, from a file with one time a line: `measured = "scan-arrivals.txt"`. A simulation has them as
    /// they are; an analysis assumes that none ever come more densely.
    Measured {
        /// The file, from the folder of the scenario.
        file: String,
        /// What is in it, in order; see [`Scenario::load`](crate::Scenario::load).
        times: Vec<Duration>,
    },
}

/// At most so many messages in any interval of a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// How many.
    pub count: u32,
    /// In intervals of this length, one end of which belongs to it.
    pub within: Duration,
}

/// How long messages of callbacks are under way: what a network or a middleware adds.
///
/// They keep their order, from one callback to another. Messages that come from outside are not delayed: their release says
/// when they arrive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a link")]
#[non_exhaustive]
pub struct Link {
    /// Topics, or callbacks other than timers.
    pub to: Vec<String>,
    /// How long: constant, bounded, listed or as it was measured.
    pub delay: ExecutionTime,
}

impl Link {
    /// A link to these names.
    pub fn new<I>(to: I, delay: ExecutionTime) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { to: to.into_iter().map(Into::into).collect(), delay }
    }
}

/// Several messages instead of one: `burst = { count = 5, spacing = "1 ms" }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a burst")]
pub struct Burst {
    /// How many.
    pub count: u32,
    /// Time between two of them.
    #[serde(default, with = "text::duration")]
    pub spacing: Duration,
}

/// Something that goes wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// Some activations of a callback run longer.
    Overrun {
        /// The callback.
        callback: String,
        /// Share of its activations, from 0 to 1.
        probability: f64,
        /// By how much.
        #[serde(with = "text::duration")]
        extra: Duration,
    },
    /// A message is queued, but the executor is not told.
    LostNotification {
        /// The callback that it is for.
        callback: String,
        /// Share of its messages, from 0 to 1.
        probability: f64,
    },
    /// The executor is told of a message that is not there.
    SpuriousNotification {
        /// The callback that it is said to be for.
        callback: String,
        /// How often.
        #[serde(with = "text::duration")]
        period: Duration,
    },
    /// A clock is set.
    ClockJump {
        /// The system clock, or ROS time.
        #[serde(default = "system_clock", with = "text::clock_kind")]
        clock: ClockKind,
        /// The time of the jump, on the steady clock.
        #[serde(with = "text::duration")]
        at: Duration,
        /// How far the clock is set, and in which direction.
        by: Jump,
    },
}

const fn system_clock() -> ClockKind {
    ClockKind::System
}

/// A distance by which a clock is set, with its direction: `"+2 s"` or `"-2 s"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// To a later time.
    Forward(Duration),
    /// To an earlier time.
    Back(Duration),
}
