//! How entities of a node are set up.

use std::time::Duration;

use rospin_engine::{EntityOptions, Priority};

use crate::qos::{Durability, Qos, Reliability};

/// What entities with callbacks have in common: what rospin wants to know of them.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    name: Option<String>,
    entity: EntityOptions,
}

impl Common {
    fn new() -> Self {
        Self { name: None, entity: EntityOptions::new("") }
    }

    /// For an entity that belongs to something larger.
    pub(crate) fn named(name: String, priority: Option<Priority>) -> Self {
        let entity = priority.into_iter().fold(EntityOptions::new(""), EntityOptions::priority);
        Self { name: Some(name), entity }
    }

    /// Returns the name that it was given, or `default`.
    pub(crate) fn name_or(&self, default: impl FnOnce() -> String) -> String {
        self.name.clone().unwrap_or_else(default)
    }

    /// Returns what rospin wants to know, with that name, and with the depth that the deployment file says.
    pub(crate) fn into_entity(
        self,
        name: String,
        qos: Qos,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> (EntityOptions, Qos) {
        let qos = deployed_depth(&name).map_or(qos, |depth| qos.with_depth(depth));
        let options = self.entity.name(name);
        (qos.depth().into_iter().fold(options, EntityOptions::depth), qos)
    }
}

/// The setters of [`Common`], for what has a callback.
macro_rules! common_setters {
    () => {
        /// Sets the name under which the entity appears in messages, traces, chains and loss counts.
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.common.name = Some(name.into());
            self
        }

        /// Sets the urgency, see [`EntityOptions::priority`].
        #[must_use]
        pub fn priority(mut self, priority: Priority) -> Self {
            self.common.entity = self.common.entity.priority(priority);
            self
        }

        /// Sets the time from arrival by which the callback should have ended, see [`EntityOptions::deadline`].
        #[must_use]
        pub fn deadline(mut self, deadline: Duration) -> Self {
            self.common.entity = self.common.entity.deadline(deadline);
            self
        }

        /// Sets how many activations may be under way at once, see [`EntityOptions::max_in_flight`].
        #[must_use]
        pub fn max_in_flight(mut self, count: u32) -> Self {
            self.common.entity = self.common.entity.max_in_flight(count);
            self
        }

        /// Lets other callbacks of the group run while this asynchronous one waits, see
        /// [`EntityOptions::releases_group_at_await`].
        #[must_use]
        pub fn releases_group_at_await(mut self) -> Self {
            self.common.entity = self.common.entity.releases_group_at_await();
            self
        }
    };
}

/// The setter of the whole quality of service.
macro_rules! qos_setters {
    () => {
        /// Sets all of the quality of service.
        #[must_use]
        pub const fn qos(mut self, qos: Qos) -> Self {
            self.qos = qos;
            self
        }
    };
}

/// How a subscription is set up; a plain `&str` is its topic.
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(crate) common: Common,
    pub(crate) topic: String,
    pub(crate) qos: Qos,
}

impl SubscriptionOptions {
    /// A reliable subscription of the topic that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { common: Common::new(), topic: topic.into(), qos: Qos::default() }
    }

    /// Sets how many messages are kept until the callback has run; the oldest makes room for a new one, and is counted in
    /// [`Subscription::missed`](crate::Subscription::missed). At least 1. What a deployment file says goes before it.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    /// Does without what got lost on the network, and receives from publishers that offer no more than that.
    #[must_use]
    pub const fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// Also receives what [latched](PublisherOptions::transient_local) publishers published before. Receives from no others.
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    qos_setters!();
    common_setters!();
}

impl From<&str> for SubscriptionOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// How a publisher is set up; a plain `&str` is its topic.
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    pub(crate) topic: String,
    pub(crate) qos: Qos,
}

impl PublisherOptions {
    /// A reliable publisher of the topic that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { topic: topic.into(), qos: Qos::default() }
    }

    /// Sets how many messages are kept for [late subscriptions](Self::transient_local). At least 1. What is on its way to
    /// subscriptions that are there is kept beside it, as far as the middleware's limits go.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    /// Sends every message once, and does not care for what gets lost on the network.
    #[must_use]
    pub const fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// Keeps the last messages for [subscriptions that ask for them](SubscriptionOptions::transient_local) later.
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    qos_setters!();
}

impl From<&str> for PublisherOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// How a service's server is set up; a plain `&str` is the service's name.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    pub(crate) common: Common,
    pub(crate) service: String,
    pub(crate) qos: Qos,
}

impl ServiceOptions {
    /// A service that keeps the last 10 requests.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::new(), service: service.into(), qos: Qos::default() }
    }

    /// Sets how many requests are kept; the oldest makes room for a new one. At least 1. What a deployment file says goes
    /// before it.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    qos_setters!();
    common_setters!();
}

impl From<&str> for ServiceOptions {
    fn from(service: &str) -> Self {
        Self::new(service)
    }
}

/// How a client is set up; a plain `&str` is the service's name.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub(crate) service: String,
    pub(crate) qos: Qos,
}

impl ClientOptions {
    /// A client of the service, which need not be there yet.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into(), qos: Qos::keep_last(100) }
    }

    /// Sets how many requests and responses the middleware keeps while they are on their way. At least 1, by default 100.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    qos_setters!();
}

impl From<&str> for ClientOptions {
    fn from(service: &str) -> Self {
        Self::new(service)
    }
}
