//! The options of groups and entities.

use std::time::Duration;

use rospin_core::{ClockKind, Instant, Overrun, Priority};

use crate::incident::OnPanic;

/// How a callback group is set up.
#[derive(Clone, Debug)]
pub struct GroupOptions {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) on_panic: OnPanic,
}

impl GroupOptions {
    /// A group of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), node: String::new(), on_panic: OnPanic::default() }
    }

    /// Sets the node that the group belongs to, for [deployment files](crate::ContextOptions::deployment).
    #[must_use]
    pub fn node(mut self, node: impl Into<String>) -> Self {
        self.node = node.into();
        self
    }

    /// Sets what happens after a callback of the group panicked.
    #[must_use]
    pub const fn on_panic(mut self, reaction: OnPanic) -> Self {
        self.on_panic = reaction;
        self
    }
}

impl From<&str> for GroupOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for GroupOptions {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

/// What all kinds of entities have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Common {
    pub(crate) name: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_in_flight: Option<u32>,
    pub(crate) releases_group_at_await: bool,
    /// Not for users: see [`EntitySpec`](rospin_core::EntitySpec::precedes_all).
    pub(crate) precedes_all: bool,
}

/// The setters of [`Common`], for each of the options below.
macro_rules! common_setters {
    () => {
        /// Sets the name under which the entity appears in messages, traces, chains and loss counts.
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.common.name = Some(name.into());
            self
        }

        /// Sets the urgency under [`FixedPriority`](crate::policy::FixedPriority), instead of the context's
        /// [priorities](crate::ContextOptions::priorities).
        #[must_use]
        pub const fn priority(mut self, priority: Priority) -> Self {
            self.common.priority = Some(priority);
            self
        }

        /// Sets the time from release by which the callback should have ended, for [`Edf`](crate::policy::Edf).
        #[must_use]
        pub const fn deadline(mut self, deadline: Duration) -> Self {
            self.common.deadline = Some(deadline);
            self
        }

        /// Sets how many activations may be under way at once, where the group allows more than one. By default as many
        /// as the executor has threads, and 16 for an asynchronous callback. What exceeds it waits in the source. At least
        /// 1, at most 1024: room is made for all of them.
        #[must_use]
        pub fn max_in_flight(mut self, count: u32) -> Self {
            self.common.max_in_flight = Some(count.clamp(1, 1024));
            self
        }

        /// Lets other callbacks of the group run while this asynchronous one waits. Without it, the group is held until
        /// the callback ends.
        #[must_use]
        pub const fn releases_group_at_await(mut self) -> Self {
            self.common.releases_group_at_await = true;
            self
        }
    };
}

/// How the entity of a [`Source`](crate::Source) or a stream is set up.
#[derive(Clone, Debug)]
pub struct EntityOptions {
    pub(crate) common: Common,
    pub(crate) depth: Option<usize>,
}

impl EntityOptions {
    /// An entity of that name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { common: Common { name: Some(name.into()), ..Common::default() }, depth: None }
    }

    /// Says how many items the source keeps, for templates of deployment files: the source itself was set up with what
    /// [`CallbackGroup::deployed_depth`](crate::CallbackGroup::deployed_depth) says.
    #[must_use]
    pub const fn depth(mut self, depth: usize) -> Self {
        self.depth = Some(depth);
        self
    }

    common_setters!();
}

impl From<&str> for EntityOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

/// How a timer is set up.
#[derive(Clone, Debug)]
pub struct TimerOptions {
    pub(crate) common: Common,
    pub(crate) period: Option<Duration>,
    /// Time from creation to the first due time, unless that is given.
    pub(crate) delay: Duration,
    pub(crate) first_due: Option<Instant>,
    pub(crate) clock: ClockKind,
    pub(crate) overrun: Overrun,
}

impl TimerOptions {
    /// Returns the name that it was given, if any.
    #[must_use]
    pub fn given_name(&self) -> Option<&str> {
        self.common.name.as_deref()
    }

    /// Fires every `period`, for the first time one period from now.
    #[must_use]
    pub fn periodic(period: Duration) -> Self {
        Self {
            common: Common::default(),
            period: Some(period),
            delay: period,
            first_due: None,
            clock: ClockKind::default(),
            overrun: Overrun::default(),
        }
    }

    /// Fires once, `delay` from now.
    #[must_use]
    pub fn one_shot(delay: Duration) -> Self {
        Self { period: None, ..Self::periodic(delay) }
    }

    /// Sets the first due time, on the timer's clock.
    #[must_use]
    pub const fn first_due(mut self, due: Instant) -> Self {
        self.first_due = Some(due);
        self
    }

    /// Sets the clock; steady by default, as rclcpp's wall timers. [`ClockKind::Ros`] is the context's
    /// [ROS time](crate::RosTime).
    #[must_use]
    pub const fn clock(mut self, clock: ClockKind) -> Self {
        self.clock = clock;
        self
    }

    /// Sets what happens to due times that were missed; skipped by default.
    #[must_use]
    pub const fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    common_setters!();
}

impl From<Duration> for TimerOptions {
    fn from(period: Duration) -> Self {
        Self::periodic(period)
    }
}

/// How a subscription is set up.
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(crate) common: Common,
    pub(crate) topic: String,
    pub(crate) depth: usize,
    pub(crate) transient_local: bool,
}

impl SubscriptionOptions {
    /// A subscription of the topic that keeps the last 10 messages.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { common: Common::default(), topic: topic.into(), depth: 10, transient_local: false }
    }

    /// Sets how many messages are kept; the oldest makes room for a new one, and is counted as lost. At least 1.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.depth = depth.max(1);
        self
    }

    /// Also receives what [latched](PublisherOptions::transient_local) publishers published before.
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.transient_local = true;
        self
    }

    common_setters!();
}

impl From<&str> for SubscriptionOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// How a publisher is set up.
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    pub(crate) topic: String,
    /// How many messages are kept for late subscriptions.
    pub(crate) latched: usize,
}

impl PublisherOptions {
    /// A publisher that keeps nothing.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { topic: topic.into(), latched: 0 }
    }

    /// Keeps the last `depth` messages for [subscriptions that ask for them](SubscriptionOptions::transient_local) later.
    #[must_use]
    pub const fn transient_local(mut self, depth: usize) -> Self {
        self.latched = depth;
        self
    }
}

impl From<&str> for PublisherOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// How a service is set up.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    pub(crate) common: Common,
    pub(crate) service: String,
    pub(crate) depth: usize,
}

impl ServiceOptions {
    /// A service that keeps the last 10 requests.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::default(), service: service.into(), depth: 10 }
    }

    /// Sets how many requests are kept; the oldest makes room for a new one, and its caller is told. At least 1.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.depth = depth.max(1);
        self
    }

    common_setters!();
}

impl From<&str> for ServiceOptions {
    fn from(service: &str) -> Self {
        Self::new(service)
    }
}
