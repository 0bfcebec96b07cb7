//! Options of a node's entities.

use std::time::Duration;

use rospin_engine::{EntityOptions, Priority};

use crate::group::Group;
use crate::qos::{Durability, Qos, Reliability};
use crate::statistics::TopicStatisticsOptions;

/// Options that every entity with a callback has: its name, and those that the engine uses.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) name: Option<String>,
    pub(crate) entity: EntityOptions,
}

impl Common {
    pub(crate) fn new() -> Self {
        Self { name: None, entity: EntityOptions::new("") }
    }

    /// Returns the options of an entity that is part of something larger, such as an action. `name` is its full name.
    pub(crate) fn named(name: &str, priority: Option<Priority>) -> Self {
        let entity = priority.into_iter().fold(EntityOptions::new(""), EntityOptions::priority);
        Self { name: Some(format!("/{name}")), entity }
    }

    /// Returns the full name of an entity of `group`: the one that the user gave, in the node's namespace, or the one
    /// for what the entity serves, such as a topic.
    pub(crate) fn name_in(&self, group: &dyn Group, of: &str) -> String {
        group.name_of(self.name.as_deref(), of)
    }

    /// Returns the engine's options under that name, and the quality of service with the depth of the deployment file,
    /// if it has one.
    pub(crate) fn into_entity(
        self,
        name: String,
        qos: Qos,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> (EntityOptions, Qos) {
        let qos = deployed_depth(&name).map_or(qos, |depth| qos.with_depth(depth));
        (self.into_entity_options(name, qos.depth()), qos)
    }

    /// Returns the engine's options under that name, with the depth of the queue, if it has one.
    pub(crate) fn into_entity_options(self, name: String, depth: Option<usize>) -> EntityOptions {
        depth.into_iter().fold(self.entity.name(name), EntityOptions::depth)
    }
}

/// The setters of [`Common`], for the options of every entity with a callback.
macro_rules! common_setters {
    () => {
        /// Sets the name under which the entity appears in messages, traces, chains, loss counts and deployment files.
        /// As ROS names, it is relative to the node's namespace unless it begins with `/`: in `/robot1`, `safety/scan`
        /// is `robot1/safety/scan`. The default consists of the names of the node, the group, and the topics or the
        /// service.
        #[must_use]
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.common.name = Some(name.into());
            self
        }

        /// Sets the priority, see [`EntityOptions::priority`](rospin_engine::EntityOptions::priority).
        #[must_use]
        pub fn priority(mut self, priority: Priority) -> Self {
            self.common.entity = self.common.entity.priority(priority);
            self
        }

        /// Sets the deadline of the callback, counted from the arrival of the message, see
        /// [`EntityOptions::deadline`](rospin_engine::EntityOptions::deadline). The deadline by which ends are matched
        /// is that of [`Qos::with_deadline`].
        #[must_use]
        pub fn deadline(mut self, deadline: Duration) -> Self {
            self.common.entity = self.common.entity.deadline(deadline);
            self
        }

        /// Sets the maximum number of activations that run at once, see
        /// [`EntityOptions::max_in_flight`](rospin_engine::EntityOptions::max_in_flight).
        #[must_use]
        pub fn max_in_flight(mut self, count: u32) -> Self {
            self.common.entity = self.common.entity.max_in_flight(count);
            self
        }

        /// Lets other callbacks of the group run while this asynchronous one awaits, see
        /// [`EntityOptions::releases_group_at_await`](rospin_engine::EntityOptions::releases_group_at_await).
        #[must_use]
        pub fn releases_group_at_await(mut self) -> Self {
            self.common.entity = self.common.entity.releases_group_at_await();
            self
        }
    };
}

/// Setter of the whole quality of service.
macro_rules! qos_setters {
    () => {
        /// Sets the quality of service.
        #[must_use]
        pub const fn qos(mut self, qos: Qos) -> Self {
            self.qos = qos;
            self
        }
    };
}

pub(crate) use {common_setters, qos_setters};

/// Options of a subscription. A plain `&str` is its topic.
///
/// ```
/// use std::time::Duration;
/// use rospin::msgs::std_msgs::msg::String as Text;
/// use rospin::Qos;
/// use rospin::{Context, ContextOptions, Node, Priority, PublisherOptions, Ros, SubscriptionOptions};
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("listener")?;
/// let options = SubscriptionOptions::new("chatter")
///     .keep_last(5)
///     .transient_local()
///     .name("chatter")
///     .priority(Priority(3))
///     .deadline(Duration::from_millis(5))
///     .max_in_flight(1);
/// let subscription = node.create_subscription(options, |text: Text| println!("{}", text.data))?;
/// assert_eq!(subscription.name(), "chatter");
/// // The same as `SubscriptionOptions::new("scan").keep_last(5).best_effort()`.
/// let options = SubscriptionOptions::new("scan").qos(Qos::sensor_data()).releases_group_at_await();
/// let _scans = node.create_subscription(options, async |_: Text| ())?;
/// assert_eq!(node.count_subscriptions("scan")?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SubscriptionOptions {
    pub(crate) common: Common,
    pub(crate) topic: String,
    pub(crate) qos: Qos,
    pub(crate) statistics: TopicStatisticsOptions,
}

impl SubscriptionOptions {
    /// Returns the options of a reliable subscription that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        let statistics = TopicStatisticsOptions::default();
        Self { common: Common::new(), topic: topic.into(), qos: Qos::default(), statistics }
    }

    /// Enables or disables statistics of the messages' age and period, by `true` or `false`, or says where and how
    /// often they are published. The default is that of the [node](crate::NodeOptions::enable_topic_statistics).
    #[must_use]
    pub fn topic_statistics(mut self, statistics: impl Into<TopicStatisticsOptions>) -> Self {
        self.statistics = statistics.into();
        self
    }

    /// Sets the depth of the queue: messages that wait for the callback. At least 1. A message that finds the queue
    /// full displaces the oldest one, which is counted in [`Subscription::missed`](crate::Subscription::missed). A
    /// deployment file may override the depth.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    /// Makes the subscription best effort: the network may lose messages. Except over Zenoh, which connects all, only
    /// such subscriptions receive from best-effort publishers.
    #[must_use]
    pub const fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// Makes the subscription also receive the messages that [transient local](PublisherOptions::transient_local)
    /// publishers kept. Except over Zenoh, which connects all, such a subscription receives from no other publishers.
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

/// Options of a publisher. A plain `&str` is its topic.
///
/// ```
/// use std::time::Duration;
/// use rospin::msgs::std_msgs::msg::String as Text;
/// use rospin::Qos;
/// use rospin::{Context, ContextOptions, Node, PublisherOptions, Ros};
///
/// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("talker")?;
/// let maps = node.create_publisher::<Text>(PublisherOptions::new("map").keep_last(1).transient_local())?;
/// let scans = node.create_publisher::<Text>(PublisherOptions::new("scan").best_effort())?;
/// let all = PublisherOptions::new("all").qos(Qos::keep_all()).max_blocking_time(Duration::from_secs(1));
/// let all = node.create_publisher::<Text>(all)?;
/// assert_eq!([maps.topic(), scans.topic(), all.topic()], ["map", "scan", "all"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PublisherOptions {
    pub(crate) topic: String,
    pub(crate) qos: Qos,
}

impl PublisherOptions {
    /// Returns the options of a reliable publisher that keeps the last 10 messages, as in rclcpp.
    #[must_use]
    pub fn new(topic: impl Into<String>) -> Self {
        Self { topic: topic.into(), qos: Qos::default() }
    }

    /// Sets the number of messages that are kept for [late subscriptions](Self::transient_local). At least 1. Messages
    /// on their way to subscriptions that are matched already are kept besides, within the limits of the middleware.
    #[must_use]
    pub fn keep_last(mut self, depth: usize) -> Self {
        self.qos = self.qos.with_depth(depth);
        self
    }

    /// Makes the publisher best effort: it sends each message once, and not again if the network loses it.
    #[must_use]
    pub const fn best_effort(mut self) -> Self {
        self.qos.reliability = Reliability::BestEffort;
        self
    }

    /// Makes the publisher keep its last messages for [later subscriptions that ask for
    /// them](SubscriptionOptions::transient_local).
    #[must_use]
    pub const fn transient_local(mut self) -> Self {
        self.qos.durability = Durability::TransientLocal;
        self
    }

    /// Sets the longest time for which a reliable publisher waits for room, see [`Qos::with_max_blocking_time`].
    #[must_use]
    pub const fn max_blocking_time(mut self, max_blocking_time: Duration) -> Self {
        self.qos.max_blocking_time = max_blocking_time;
        self
    }

    qos_setters!();
}

impl From<&str> for PublisherOptions {
    fn from(topic: &str) -> Self {
        Self::new(topic)
    }
}

/// Options of a service's server. A plain `&str` is the service's name.
///
/// ```
/// use std::time::Duration;
/// use rospin::msgs::example_interfaces::srv::{AddTwoInts, AddTwoIntsRequest, AddTwoIntsResponse};
/// use rospin::Qos;
/// use rospin::{ClientOptions, Context, ContextOptions, Node, Priority, Ros, ServiceOptions};
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("calculator")?;
/// let options = ServiceOptions::new("add")
///     .keep_last(100)
///     .name("add")
///     .priority(Priority(2))
///     .deadline(Duration::from_millis(5))
///     .max_in_flight(1);
/// fn add(request: AddTwoIntsRequest) -> AddTwoIntsResponse {
///     AddTwoIntsResponse { sum: request.a + request.b }
/// }
/// let service = node.create_service(options, add)?;
/// assert_eq!((service.name(), service.unsent_responses(), service.missed_deadlines()), ("add", 0, 0));
/// let later = ServiceOptions::new("later").qos(Qos::keep_last(5)).releases_group_at_await();
/// let _later = node.create_service(later, async |request: AddTwoIntsRequest| add(request))?;
///
/// let client = node.create_client::<AddTwoInts>(ClientOptions::new("later").keep_last(5))?;
/// let call = async {
///     client.wait_for_service().await;
///     client.call(AddTwoIntsRequest { a: 2, b: 3 }).await
/// };
/// assert_eq!(ros.spin_until(call)??.sum, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    pub(crate) common: Common,
    pub(crate) service: String,
    pub(crate) qos: Qos,
}

impl ServiceOptions {
    /// Returns the options of a server that keeps the last 10 requests.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { common: Common::new(), service: service.into(), qos: Qos::default() }
    }

    /// Sets the depth of the queue: requests that wait for the callback. At least 1. A request that finds the queue
    /// full displaces the oldest one. A deployment file may override the depth.
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

/// Options of a client. A plain `&str` is the service's name.
///
/// ```
/// use rospin::msgs::example_interfaces::srv::AddTwoInts;
/// use rospin::Qos;
/// use rospin::{ClientOptions, Context, ContextOptions, Node, Ros};
///
/// let node = Ros::in_process(&Context::new(ContextOptions::new())).create_node("asker")?;
/// let _few = node.create_client::<AddTwoInts>(ClientOptions::new("add").keep_last(1))?;
/// let many = node.create_client::<AddTwoInts>(ClientOptions::new("add").qos(Qos::keep_last(1000)))?;
/// assert!(!many.service_is_ready());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientOptions {
    pub(crate) service: String,
    pub(crate) qos: Qos,
}

impl ClientOptions {
    /// Returns the options of a client. The service need not exist yet.
    #[must_use]
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into(), qos: Qos::keep_last(100) }
    }

    /// Sets the number of requests and responses that the middleware keeps while they are on their way. At least 1. The
    /// default is 100.
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
