//! Violations: what a callback or chain did that it should not, and because of whom.

use std::fmt;
use std::time::Duration;

use rospin_core::Instant;
use rospin_core::recording::Event;

use crate::overdue::{during, length};

/// Kinds of violations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum ViolationKind {
    /// Messages or due times came more often than the system file says.
    Arrival,
    /// The callback ran longer than the longest execution time in the system file.
    Execution,
    /// The callback ended after its deadline: that of the system file, or an earlier one that the program set.
    Deadline,
    /// The response time was longer than the bound that the analysis has proven.
    Bound,
    /// The latency of the chain was longer than its deadline.
    ChainDeadline,
    /// The latency of the chain was longer than the bound that the analysis has proven.
    ChainBound,
    /// A message was lost because the queue was full.
    Overflow,
    /// A timer has not run for twice its period, and for its period and 100 ms at least: it is told while the timer
    /// waits, and again whenever it has waited twice as long.
    NotRun,
    /// A message, a request or a response has waited for twice the deadline, and for the deadline and 100 ms at least.
    /// It is told as [`NotRun`](Self::NotRun) is.
    NotServed,
}

/// A limit, and a figure that is beyond it.
pub(super) struct Excess {
    pub(super) kind: ViolationKind,
    pub(super) measured: u64,
    pub(super) limit: u64,
}

impl ViolationKind {
    /// All kinds, in the order of [`VIOLATIONS`](rospin_core::recording::VIOLATIONS).
    pub const ALL: [Self; 9] = [
        Self::Arrival,
        Self::Execution,
        Self::Deadline,
        Self::Bound,
        Self::ChainDeadline,
        Self::ChainBound,
        Self::Overflow,
        Self::NotRun,
        Self::NotServed,
    ];

    /// Returns the place of the kind in [`VIOLATIONS`](rospin_core::recording::VIOLATIONS).
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// Returns the kind in words, such as `missed its deadline`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        rospin_core::recording::VIOLATIONS[usize::from(self.index())]
    }

    /// Returns true if it is told of something that waits, whose end nobody knows.
    const fn is_waiting(self) -> bool {
        matches!(self, Self::NotRun | Self::NotServed)
    }

    /// Returns the kind at that place in [`VIOLATIONS`](rospin_core::recording::VIOLATIONS).
    #[must_use]
    pub fn at(index: u8) -> Option<Self> {
        Self::ALL.get(usize::from(index)).copied()
    }
}

/// Causes of violations. The culprit of most of them is another callback.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The recording does not say.
    Unknown,
    /// The callback itself: its execution, or for a chain the execution of the callback that took longest.
    Itself,
    /// The culprit published more than the system file says, or is not named there as a publisher.
    Published,
    /// The culprit ran longer than the system file says.
    RanTooLong,
    /// The culprit's activations came more often than the system file says.
    ArrivedTooOften,
    /// The culprit, of the same group, ran meanwhile.
    Group,
    /// The culprit, of a higher priority, ran meanwhile.
    Priority,
    /// The culprit, which is not more urgent, ran meanwhile.
    Running,
    /// The kernel did not run a thread: the culprit's while that ran, or else the one that should have run the
    /// callback. Another program of a higher priority had its core, or the thread waited for something outside of
    /// rospin.
    NotScheduled,
    /// The queue is too short.
    QueueTooShort,
}

impl Cause {
    /// All causes, in the order of [`VIOLATION_CAUSES`](rospin_core::recording::VIOLATION_CAUSES).
    pub const ALL: [Self; 10] = [
        Self::Unknown,
        Self::Itself,
        Self::Published,
        Self::RanTooLong,
        Self::ArrivedTooOften,
        Self::Group,
        Self::Priority,
        Self::Running,
        Self::NotScheduled,
        Self::QueueTooShort,
    ];

    /// Returns the place of the cause in [`VIOLATION_CAUSES`](rospin_core::recording::VIOLATION_CAUSES).
    #[must_use]
    pub const fn index(self) -> u8 {
        self as u8
    }

    /// Returns the cause at that place.
    #[must_use]
    pub fn at(index: u8) -> Self {
        Self::ALL.get(usize::from(index)).copied().unwrap_or(Self::Unknown)
    }

    /// Returns the cause of a violation of that kind in words, with the name of the culprit: ``because `detect` ran too
    /// long``.
    #[must_use]
    pub fn describe(self, kind: ViolationKind, culprit: Option<&str>) -> String {
        if kind.is_waiting() {
            let who = culprit.map_or_else(|| "another callback".to_owned(), |name| format!("`{name}`"));
            return match self {
                Self::Group => format!("{who} held its group"),
                Self::NotScheduled => "its executor does not spin, or the kernel does not run its thread".to_owned(),
                _ => format!("{who} held its thread"),
            };
        }
        let who = culprit.map_or_else(|| "a thread outside of callbacks".to_owned(), |name| format!("`{name}`"));
        match self {
            Self::Unknown => "for a reason that the events do not show".to_owned(),
            Self::Itself if culprit.is_some() => format!("most of it in {who}"),
            Self::Itself if kind == ViolationKind::Arrival => "by its own timer".to_owned(),
            Self::Itself => "by its own execution".to_owned(),
            Self::Published => format!("because {who} published it"),
            Self::RanTooLong => format!("because {who} ran too long"),
            Self::ArrivedTooOften => format!("because {who} came too often"),
            Self::Group => format!("because {who} held its group"),
            Self::Priority => format!("because {who} with a higher priority ran"),
            Self::Running => format!("because {who} was running"),
            Self::NotScheduled if culprit.is_some() => {
                format!("because the kernel did not run the thread of {who}: preempted or blocked")
            }
            Self::NotScheduled => "because the kernel did not run its thread: preempted or blocked".to_owned(),
            Self::QueueTooShort => "because its queue is too short".to_owned(),
        }
    }
}

/// Violation of a limit by a callback or chain.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Violation {
    /// The time on the steady clock.
    pub at: Instant,
    /// The kind.
    pub kind: ViolationKind,
    /// The name of the callback; of a chain's last callback.
    pub callback: String,
    /// The name of its executor.
    pub executor: String,
    /// The name of the chain, if it is a violation of one.
    pub chain: Option<String>,
    /// The nanoseconds that were measured; the number of messages for [`Overflow`](ViolationKind::Overflow).
    pub measured: u64,
    /// The limit of `measured`: the most nanoseconds; for [`Arrival`](ViolationKind::Arrival) the least ones, and 0 if
    /// the system file has no such arrival; for [`Overflow`](ViolationKind::Overflow) the length of the queue.
    pub limit: u64,
    /// The cause.
    pub cause: Cause,
    /// The name of the callback that is the cause; `None` if it is not another callback.
    pub culprit: Option<String>,
    /// The numbers of executor, entity, chain and culprit in events.
    pub(super) numbers: (u16, u64, u32, u64),
}

impl Violation {
    /// Returns the event for a recording.
    #[must_use]
    pub fn event(&self) -> Event {
        let (executor, entity, chain, culprit) = self.numbers;
        let kind = self.kind.index();
        let cause = self.cause.index();
        Event::Violation { executor, entity, kind, cause, chain, culprit, measured: self.measured, limit: self.limit }
    }

    /// Returns the name of what violated its limit: the chain, or else the callback.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.chain.as_deref().unwrap_or(&self.callback)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.chain.is_some() { "chain" } else { "callback" };
        let then = if self.kind.is_waiting() { ":" } else { "," };
        write!(f, "{what} `{}` {}{then} ", self.subject(), told(self.kind, self.measured, self.limit))?;
        f.write_str(&self.cause.describe(self.kind, self.culprit.as_deref()))
    }
}

/// Returns the kind of violation with its figures in words.
#[must_use]
pub fn told(kind: ViolationKind, measured: u64, limit: u64) -> String {
    let time = Duration::from_nanos;
    match kind {
        ViolationKind::Arrival if limit == 0 => "got a message that the system file does not have".to_owned(),
        ViolationKind::Arrival => {
            format!("arrived too often: after {:?} instead of at least {:?}", time(measured), time(limit))
        }
        ViolationKind::Execution => format!("ran too long: {:?} instead of at most {:?}", time(measured), time(limit)),
        ViolationKind::Deadline | ViolationKind::ChainDeadline => {
            format!("missed its deadline: {:?} instead of at most {:?}", time(measured), time(limit))
        }
        ViolationKind::Bound | ViolationKind::ChainBound => {
            format!("exceeded its proven bound: {:?} instead of at most {:?}", time(measured), time(limit))
        }
        ViolationKind::NotRun => format!("has not run for {} (period {})", during(measured), length(limit)),
        ViolationKind::NotServed => {
            format!("has not run for {} although something waits (deadline {})", during(measured), length(limit))
        }
        ViolationKind::Overflow if measured == 1 => format!("lost a message from its queue of {limit}"),
        ViolationKind::Overflow => format!("lost {measured} messages from its queue of {limit}"),
    }
}
