//! What can become ready.

use std::fmt;
use std::time::Duration;

use crate::id::GroupId;

/// What an entity is; the order of the variants is the order in which rclcpp's wait set serves them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum EntityKind {
    /// Becomes ready by the passing of time.
    Timer,
    /// Becomes ready when a message arrived.
    Subscription,
    /// Becomes ready when a request arrived.
    Service,
    /// Becomes ready when a response arrived.
    Client,
    /// Anything else that notifies: a stream, a part of an action.
    Waitable,
}

impl EntityKind {
    /// The kind's name in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Subscription => "subscription",
            Self::Service => "service",
            Self::Client => "client",
            Self::Waitable => "waitable",
        }
    }
}

impl fmt::Display for EntityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Urgency under fixed-priority scheduling: the larger number runs first, as with `SCHED_FIFO`. Zero is the default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Priority(pub u32);

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the scheduler must know of an entity.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EntitySpec {
    /// Name in messages and traces.
    pub name: String,
    /// What it is.
    pub kind: EntityKind,
    /// The group that it belongs to.
    pub group: GroupId,
    /// Its urgency under [`FixedPriority`](crate::policy::FixedPriority).
    pub priority: Priority,
    /// Time from release by which an activation should have completed; used by [`Edf`](crate::policy::Edf).
    pub deadline: Option<Duration>,
    /// How many activations of this entity may be under way at once (at least 1).
    ///
    /// Bounds what an asynchronous callback can pile up in a group that does not exclude it.
    pub max_in_flight: u32,
    /// Whether a suspended activation frees its mutually exclusive group until it is resumed.
    pub releases_group_at_await: bool,
    /// Whether it runs before everything that the policy chooses from, as soon as no callback of its group runs.
    ///
    /// For what must have happened before anything else goes on: a callback for a jump of the time. A suspended callback that
    /// holds the group may wait for just that, so this one does not wait for its end: it runs between two of its segments.
    /// It never holds the group while it is suspended itself.
    pub precedes_all: bool,
}

impl EntitySpec {
    /// An entity with priority 0, no deadline, one activation at a time, that holds its group until it completes.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: EntityKind, group: GroupId) -> Self {
        Self {
            name: name.into(),
            kind,
            group,
            priority: Priority::default(),
            deadline: None,
            max_in_flight: 1,
            releases_group_at_await: false,
            precedes_all: false,
        }
    }

    /// Sets the urgency.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the relative deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets how many activations may be under way at once.
    #[must_use]
    pub fn max_in_flight(mut self, count: u32) -> Self {
        self.max_in_flight = count;
        self
    }

    /// Lets other callbacks of the group run while an activation of this entity is suspended.
    #[must_use]
    pub fn releases_group_at_await(mut self, yes: bool) -> Self {
        self.releases_group_at_await = yes;
        self
    }

    /// Has it run before everything that the policy chooses from.
    #[must_use]
    pub fn precedes_all(mut self, yes: bool) -> Self {
        self.precedes_all = yes;
        self
    }
}
