//! Entities: timers, subscriptions, services and everything else that can become ready.

use std::fmt;
use std::time::Duration;

use crate::id::GroupId;

/// Largest depth of a queue: the number of messages or requests that it keeps. The engine allocates 16 bytes for each
/// when it creates the queue, so that this is 16 MiB.
pub const DEPTH_MAX: usize = 1_000_000;

/// The kind of an entity. The order of the variants is the order in which rclcpp's wait set serves them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum EntityKind {
    /// Timer, which becomes ready at its due times.
    Timer,
    /// Subscription, which becomes ready when a message has arrived.
    Subscription,
    /// Service, which becomes ready when a request has arrived.
    Service,
    /// Client, which becomes ready when a response has arrived.
    Client,
    /// Anything else that notifies, such as a stream or a part of an action.
    Waitable,
}

impl EntityKind {
    /// Returns the kind's name in lower case.
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

/// A priority for fixed-priority scheduling. The larger number runs first, as with `SCHED_FIFO`. The default is zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Priority(pub u32);

impl Priority {
    /// Priority of what turns the load of a robot down: the services of parameters and of managed nodes, unless a
    /// deployment file says otherwise. It is above all others, so that they are answered while everything else waits
    /// for its turn.
    pub const WAY_IN: Self = Self(u32::MAX);
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The description of an entity for the scheduler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EntitySpec {
    /// The name in messages and traces.
    pub name: String,
    /// The kind of entity.
    pub kind: EntityKind,
    /// The group that the entity belongs to.
    pub group: GroupId,
    /// The priority for [`FixedPriority`](crate::policy::FixedPriority).
    pub priority: Priority,
    /// The time from the release until an activation should have completed, for [`Edf`](crate::policy::Edf). With
    /// `None`, a periodic timer has its period as the deadline, and any other entity has no deadline.
    pub deadline: Option<Duration>,
    /// The number of this entity's activations that may be in flight at once, at least 1: running, or suspended at an
    /// await.
    ///
    /// It bounds the activations that an asynchronous callback can have suspended at once in a group that does not
    /// exclude them.
    pub max_in_flight: u32,
    /// True if a suspended activation frees its mutually exclusive group until it is resumed.
    pub releases_group_at_await: bool,
    /// True if the entity runs before everything that the policy picks from, as soon as no callback of its group runs.
    ///
    /// This is for callbacks that must run before anything else goes on: jump callbacks. A suspended callback that
    /// holds the group may wait for that very jump. So this entity does not wait for the end of such a callback, but
    /// runs between two of its segments. It never holds the group while it is suspended itself.
    pub precedes_all: bool,
}

impl EntitySpec {
    /// Creates an entity with priority 0, no deadline and one activation at a time, which holds its group until it
    /// completes.
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

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the deadline, counted from the release.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Sets the number of this entity's activations that may be in flight at once, running or suspended at an await.
    /// The default is 1. The scheduler refuses 0.
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

    /// Makes the entity run before everything that the policy picks from, see [`precedes_all`](Self::precedes_all).
    #[must_use]
    pub fn precedes_all(mut self, yes: bool) -> Self {
        self.precedes_all = yes;
        self
    }
}
