//! Subscriptions as entities of callback groups.
//!
//! A [`Draft`] is made for a node and for a decoder of messages, and finished with a callback. Subscriptions of every
//! kind are made of one: those of [`On`](crate::On), and those of features, such as dynamic ones and caches. So nothing
//! here names them.

mod statistics;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use rospin_engine::{Declaration, Entity, EntityKind, EntityOptions, Failures, LossCause, SourceError, Timer};

use statistics::Prepared;

use crate::callback::{Received, SubscriptionCallback};
use crate::error::TopicError;
use crate::events::EndEvents;
use crate::graph::{EndpointKind, Presence};
use crate::group::Group;
use crate::link::{Messages, depth};
use crate::matches::Matches;
use crate::message::{Decode, Message};
use crate::names::{FullName, TypeName};
use crate::node::Node;
use crate::options::SubscriptionOptions;
use crate::qos::Qos;

/// Subscription to a topic, whose callback gets its messages.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One
/// that is running is not waited for.
#[must_use = "the subscription is removed when its handle is dropped, and hears nothing; keep it (`let _scans = ..`, not `let _ = ..`)"]
pub struct Subscription {
    entity: Entity,
    registration: Registration,
}

/// Parts of a subscription besides its entity: its matches, its events, the timer of its statistics, its node, and its
/// entry in the graph, which ends when this is dropped.
struct Registration {
    matches: Box<dyn Matches>,
    events: EndEvents,
    statistics: Option<Timer>,
    _presence: Presence,
    node: Node,
}

impl Registration {
    /// Starts the publication of statistics, if there are any.
    fn start(&mut self, statistics: Option<Prepared>, group: &impl Group) -> Result<(), SourceError> {
        self.statistics = statistics.map(|statistics| statistics.start(group)).transpose()?;
        Ok(())
    }
}

impl Subscription {
    fn new(entity: Entity, topic: &FullName, depth: usize, registration: Registration) -> Self {
        let node = &registration.node;
        node.link().recorder().declare(|| Declaration::Subscription {
            node: node.fully_qualified_name(),
            account: entity.account(),
            topic: topic.to_string(),
            depth,
        });
        registration.events.counts_losses(entity.watch_losses(LossCause::QueueFull));
        Self { entity, registration }
    }

    /// Returns the entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// Returns the record of its events.
    pub(crate) const fn record(&self) -> &EndEvents {
        &self.registration.events
    }

    /// Returns the number of messages that newer ones displaced before the callback could take them, and of those that
    /// never arrived, as far as the middleware can tell: the losses for the cause [`QueueFull`](LossCause::QueueFull).
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.lost(LossCause::QueueFull)
    }

    /// Returns the number of messages that were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// Returns the number of runs of the callback that ended after their deadlines: the one that the options or a
    /// deployment file set. They are counted under every policy.
    #[must_use]
    pub fn missed_deadlines(&self) -> u64 {
        self.entity.missed_deadlines()
    }

    /// Returns the number of publishers that the subscription is matched with, as far as discovery knows at this
    /// moment.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.registration.matches.count()
    }

    /// Returns a future that resolves once the subscription is matched with a publisher.
    ///
    /// Cancel safe: a future that is dropped early has no effect.
    ///
    /// ```
    /// use rospin::msgs::std_msgs::msg::String as Text;
    /// use rospin::monitoring::LossCause;
    /// use rospin::{Context, ContextOptions, Node, Ros, SpinOptions, SubscriptionOptions};
    ///
    /// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
    /// let node = ros.create_node("listener")?;
    /// let subscription = node.create_subscription(SubscriptionOptions::new("chatter").keep_last(1), |_: Text| ())?;
    /// let publisher = node.create_publisher("chatter")?;
    /// ros.spin_until(subscription.wait_for_publisher())?;
    /// for data in ["one", "two", "three"] {
    ///     publisher.publish(Text { data: data.to_owned() })?;
    /// }
    /// // The queue keeps one.
    /// assert_eq!((subscription.lost(LossCause::QueueFull), subscription.missed()), (2, 2));
    /// assert_eq!((subscription.publisher_count(), subscription.missed_deadlines()), (1, 0));
    /// assert_eq!(subscription.name(), "listener/chatter");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + 'static {
        self.registration.matches.wait()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A subscription before it has its callback.
pub(crate) struct Draft<D: Decode> {
    options: EntityOptions,
    messages: Messages<D>,
    failures: Failures,
    resolved: FullName,
    depth: usize,
    registration: Registration,
    statistics: Option<Prepared>,
}

/// The parts of a new subscription that do not depend on the type of its messages.
struct Plan {
    topic: String,
    resolved: FullName,
    qos: Qos,
    options: EntityOptions,
    failures: Failures,
    statistics: Option<Prepared>,
}

impl Plan {
    fn new(node: &Node, group: &dyn Group, options: SubscriptionOptions) -> Result<Self, TopicError> {
        let SubscriptionOptions { common, topic, qos, statistics } = options;
        let resolved = node.resolve_topic(&topic)?;
        let name = common.name_in(group, &topic);
        let failures = group.failures(&name);
        let statistics = Prepared::new(node, group, statistics, &topic, &name)?;
        let (options, qos) = common.into_entity(name.clone(), qos, |name| group.deployed_depth(name));
        qos.check_depth(&name)?;
        Ok(Self { topic, resolved, qos, options, failures, statistics })
    }
}

impl<M: Message> Draft<PhantomData<M>> {
    pub(crate) fn of_message(
        node: &Node,
        group: &dyn Group,
        options: SubscriptionOptions,
        with_origins: bool,
    ) -> Result<Self, TopicError> {
        Self::of_type(node, group, options, &TypeName::of_message::<M>()?, PhantomData, with_origins)
    }
}

impl<D: Decode> Draft<D> {
    /// Prepares a subscription of messages of that type. With `with_origins`, they come with what a
    /// [`MessageInfo`](crate::MessageInfo) needs.
    pub(crate) fn of_type(
        node: &Node,
        group: &dyn Group,
        options: SubscriptionOptions,
        message_type: &TypeName,
        decode: D,
        with_origins: bool,
    ) -> Result<Self, TopicError> {
        let Plan { topic, resolved, qos, options, failures, statistics } = Plan::new(node, group, options)?;
        // Ages of messages of this process need the times of their publication.
        let with_origins = with_origins || statistics.is_some();
        let created = node.link().create_subscription(&resolved, message_type, &qos, decode, with_origins);
        let (mut messages, matches, events) = created.map_err(|reason| TopicError::Refused { topic, reason })?;
        let presence = node.enter(EndpointKind::Subscription, &resolved, message_type, &qos);
        if let Some(statistics) = &statistics {
            messages.measure(statistics.collector());
        }
        let registration = Registration { matches, events, statistics: None, _presence: presence, node: node.clone() };
        let depth = depth(&qos);
        Ok(Self { options, messages, failures, resolved, depth, registration, statistics })
    }

    /// Creates the subscription with its callback.
    pub(crate) fn finish<G: Group, Form>(
        self,
        group: &G,
        callback: impl SubscriptionCallback<G, D::Message, Form>,
    ) -> Result<Subscription, TopicError> {
        let Self { options, messages, failures, resolved, depth, mut registration, statistics } = self;
        let entity = callback.create(group, options, messages, failures)?;
        registration.start(statistics, group)?;
        Ok(Subscription::new(entity, &resolved, depth, registration))
    }

    /// Creates the subscription with a callback that needs no payload, on a group of any kind.
    pub(crate) fn finish_plain(
        self,
        group: &impl Group,
        callback: impl Fn(Arc<D::Message>) + Send + Sync + 'static,
    ) -> Result<Subscription, TopicError> {
        let Self { options, messages, failures: _, resolved, depth, mut registration, statistics } = self;
        let callback = move |received: Received<D::Message>| callback(received.into_arc());
        let entity = group.create_inner(EntityKind::Subscription, options, messages, callback)?;
        registration.start(statistics, group)?;
        Ok(Subscription::new(entity, &resolved, depth, registration))
    }
}
