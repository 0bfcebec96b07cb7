//! How entities of a node are set up.

use std::time::Duration;

use ros2_client::QosProfile;
use ros2_client::qos::{Durability, History, Reliability, WhenFull};
use rospin::{EntityOptions, Priority};

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

    /// With that name, unless it was given one.
    pub(crate) fn into_entity(self, default_name: impl FnOnce() -> String) -> EntityOptions {
        let name = self.name.unwrap_or_else(default_name);
        self.entity.name(name)
    }
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

/// Reliable, keeping the last `depth`. A writer that is ahead of its readers by more than the middleware keeps is an error
/// at once: nothing here blocks an executor's thread.
const fn reliable(depth: usize) -> QosProfile {
    QosProfile::publisher_default().reliability_reliable(WhenFull::Fail).history(History::KeepLast { depth })
}

/// How a subscription is set up; a plain `&str` is its topic.
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(crate) common: Common,
    pub(crate) topic: String,
    pub(crate) qos: QosProfile,
}

impl SubscriptionOptions {
    /// A reliable subscription of the topic that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { common: Common::new(), topic: topic.into(), qos: reliable(10) }
    }

    /// Sets how many messages are kept until the callback has run; the oldest makes room for a new one, and is counted in
    /// [`Subscription::missed`](crate::Subscription::missed). At least 1. Deployment files do not change it yet.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos.history = History::KeepLast { depth: depth.max(1) };
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

    /// Sets all of the quality of service, for what has no setter of its own.
    #[must_use]
    pub fn qos(mut self, qos: QosProfile) -> Self {
        self.qos = qos;
        self
    }

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
    pub(crate) qos: QosProfile,
}

impl PublisherOptions {
    /// A reliable publisher of the topic that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { topic: topic.into(), qos: reliable(10) }
    }

    /// Sets how many messages are kept for [late subscriptions](Self::transient_local). At least 1. What is on its way to
    /// subscriptions that are there is kept beside it, up to 8192 messages that they have not acknowledged.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos.history = History::KeepLast { depth: depth.max(1) };
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

    /// Sets all of the quality of service, for what has no setter of its own. With another [`WhenFull`] than `Fail`,
    /// publishing may block the callback that does it.
    #[must_use]
    pub fn qos(mut self, qos: QosProfile) -> Self {
        self.qos = qos;
        self
    }
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
    pub(crate) qos: QosProfile,
}

impl ServiceOptions {
    /// A service that keeps the last 10 requests.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::new(), service: service.into(), qos: reliable(10) }
    }

    /// Sets how many requests are kept; the oldest makes room for a new one. At least 1.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos.history = History::KeepLast { depth: depth.max(1) };
        self
    }

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
    pub(crate) common: Common,
    pub(crate) service: String,
    pub(crate) qos: QosProfile,
}

impl ClientOptions {
    /// A client of the service, which need not be there yet.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::new(), service: service.into(), qos: reliable(100) }
    }

    /// Sets how many responses are kept until the executor gets at them. Responses to other clients of the service count,
    /// too: DDS brings them all. At least 1, by default 100.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos.history = History::KeepLast { depth: depth.max(1) };
        self
    }

    /// Sets the name under which the client appears in messages, traces, chains and loss counts.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.common.name = Some(name.into());
        self
    }

    /// Sets how urgently responses reach who waits for them, see [`EntityOptions::priority`].
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.common.entity = self.common.entity.priority(priority);
        self
    }
}

impl From<&str> for ClientOptions {
    fn from(service: &str) -> Self {
        Self::new(service)
    }
}
