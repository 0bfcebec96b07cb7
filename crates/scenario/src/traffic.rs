//! Events from outside: messages, delays and faults.

use std::time::Duration;

use rospin_core::ClockKind;
use serde::{Deserialize, Serialize};

use crate::callback::ExecutionTime;
use crate::text;

/// Release of messages from outside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "text::ReleaseText", into = "text::ReleaseText")]
#[non_exhaustive]
pub struct Release {
    /// Receivers: topics, or callbacks other than timers and joins. Each gets a message, in this order.
    pub to: Vec<String>,
    /// Pattern of arrivals.
    pub pattern: Pattern,
    /// Number and spacing of the messages of each arrival; `None` for a single message.
    pub burst: Option<Burst>,
}

impl Release {
    /// Returns a release of single messages.
    pub fn new<I>(to: I, pattern: Pattern) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { to: to.into_iter().map(Into::into).collect(), pattern, burst: None }
    }
}

/// Pattern of arrivals. Times count from the beginning of the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Pattern {
    /// At listed times: `at = ["0 s", "3.2 s"]`.
    List(Vec<Duration>),
    /// Periodic from `offset` on, each arrival up to `jitter` later: `period = "10 ms", offset = "1 ms", jitter = "2
    /// ms"`.
    Periodic {
        /// Time between arrivals, without jitter.
        period: Duration,
        /// The first arrival, without jitter.
        offset: Duration,
        /// Maximum delay of an arrival. Messages keep their order. It may exceed the period.
        jitter: Duration,
    },
    /// With random gaps: `gap = ["5 ms", "20 ms"], offset = "1 ms"`.
    Sporadic {
        /// The first arrival.
        offset: Duration,
        /// The shortest gap.
        min: Duration,
        /// The longest gap.
        max: Duration,
    },
    /// As often as limits allow: `at_most = [[3, "10 ms"], [10, "1 s"]]` means at most 3 in any 10 ms, and at most 10
    /// in any second. A simulation stays close to the limits.
    Limited {
        /// The first arrival.
        offset: Duration,
        /// The limits, all of which hold.
        limits: Vec<Limit>,
    },
    /// As measured, from a file with one time per line: `measured = "scan-arrivals.txt"`. A simulation repeats the
    /// measurement; an analysis assumes that arrivals are never denser than in it.
    Measured {
        /// The file, relative to the folder of the scenario.
        file: String,
        /// The times in the file, in order and relative to the first one. Empty until
        /// [`Scenario::load`](crate::Scenario::load) or [`load_measured`](crate::Scenario::load_measured) has read the
        /// file.
        times: Vec<Duration>,
    },
}

/// Limit: at most `count` messages in any interval of the length `within`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// Maximum number of messages.
    pub count: u32,
    /// Length of the interval, which includes one of its two ends.
    pub within: Duration,
}

/// Delay of messages between callbacks, by a network or a middleware.
///
/// Messages from one callback to another keep their order. Messages from outside have no delay: their release says
/// when they arrive.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a link")]
#[non_exhaustive]
pub struct Link {
    /// Receivers whose messages are delayed: topics, or callbacks other than timers and joins.
    pub to: Vec<String>,
    /// Delay of each message: constant, bounded, listed or as measured.
    pub delay: ExecutionTime,
}

impl Link {
    /// Returns a link to these receivers.
    pub fn new<I>(to: I, delay: ExecutionTime) -> Self
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        Self { to: to.into_iter().map(Into::into).collect(), delay }
    }
}

/// Burst: several messages in place of one, `burst = { count = 5, spacing = "1 ms" }`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a burst")]
pub struct Burst {
    /// Number of messages.
    pub count: u32,
    /// Time between two messages.
    #[serde(default, with = "text::duration")]
    pub spacing: Duration,
}

/// Fault that is injected into a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Fault {
    /// Some activations of a callback run longer.
    Overrun {
        /// Name of the callback.
        callback: String,
        /// Share of the callback's activations, from 0 to 1.
        probability: f64,
        /// The additional execution time.
        #[serde(with = "text::duration")]
        extra: Duration,
    },
    /// A message is queued, but the executor is not notified.
    LostNotification {
        /// Name of the receiving callback.
        callback: String,
        /// Probability, from 0 to 1, that the notification of a message is lost.
        probability: f64,
    },
    /// The executor is notified without a message.
    SpuriousNotification {
        /// Name of the callback whose executor is notified.
        callback: String,
        /// The period of the notifications.
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
        /// The distance and direction of the jump.
        by: Jump,
    },
}

const fn system_clock() -> ClockKind {
    ClockKind::System
}

/// Distance by which a clock is set: `"+2 s"` or `"-2 s"`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// Forward, to a later time.
    Forward(Duration),
    /// Back, to an earlier time.
    Back(Duration),
}
