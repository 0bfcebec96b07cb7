//! Subscriptions as entities of callback groups.

use std::fmt;
use std::marker::PhantomData;

use rospin::{CallbackGroup, Entity, EntityKind, EntityOptions, LossCause, Payload, ReentrantGroup, SourceError};

use crate::graph::{EndpointKind, Presence};
use crate::message::{Decode, Message};
use crate::middleware::{Matches, Middleware, Refused};
use crate::names::{NameError, TypeName};
use crate::node::Node;
use crate::options::SubscriptionOptions;

/// Why a publisher or a subscription could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic's or the type's name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware refused.
    #[error("could not create an entity of topic `{topic}`: {reason}")]
    Refused {
        /// The topic.
        topic: String,
        /// What the middleware says.
        #[source]
        reason: Refused,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Receives the messages of a topic.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One that is
/// running is not waited for.
#[must_use = "the subscription is removed when its handle is dropped"]
pub struct Subscription<X: Middleware> {
    entity: Entity,
    matches: X::Matches,
    _presence: Presence,
    _node: Node<X>,
}

impl<X: Middleware> Subscription<X> {
    /// The entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// How many messages made room for newer ones before the callback could have them. Where best effort lets the network lose
    /// messages and the middleware can tell, those, too.
    ///
    /// Some middlewares know of what made room only when the next message is taken.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.lost(LossCause::QueueFull)
    }

    /// How many messages were lost for that cause.
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// With how many publishers it is matched, as far as discovery knows at this moment.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.matches.count()
    }

    /// Waits until it is matched with a publisher.
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + 'static {
        self.matches.wait()
    }
}

impl<X: Middleware> fmt::Debug for Subscription<X> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// A subscription without its callback.
pub(crate) struct Draft<D: Decode, X: Middleware> {
    options: EntityOptions,
    messages: X::Messages<D>,
    matches: X::Matches,
    presence: Presence,
    node: Node<X>,
}

impl<M: Message, X: Middleware> Draft<PhantomData<M>, X> {
    fn new(
        node: &Node<X>,
        group: &str,
        options: SubscriptionOptions,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> Result<Self, TopicError> {
        Self::of_type(node, group, options, &TypeName::of_message::<M>()?, PhantomData, deployed_depth)
    }
}

impl<D: Decode, X: Middleware> Draft<D, X> {
    pub(crate) fn of_type(
        node: &Node<X>,
        group: &str,
        options: SubscriptionOptions,
        message_type: &TypeName,
        decode: D,
        deployed_depth: impl FnOnce(&str) -> Option<usize>,
    ) -> Result<Self, TopicError> {
        let SubscriptionOptions { common, topic, qos } = options;
        let name = node.resolve(&topic)?;
        let (options, qos) = common.into_entity(|| format!("{group}/{topic}"), qos, deployed_depth);
        let created = node.middleware().create_subscription(node.raw(), &name, message_type, &qos, decode);
        let (messages, matches) = created.map_err(|reason| TopicError::Refused { topic, reason })?;
        let presence = node.enter(EndpointKind::Subscription, &name, message_type, &qos);
        Ok(Self { options, messages, matches, presence, node: node.clone() })
    }

    /// Finishes it with the entity that `create` makes of options and source.
    pub(crate) fn finish(
        self,
        create: impl FnOnce(EntityOptions, X::Messages<D>) -> Result<Entity, SourceError>,
    ) -> Result<Subscription<X>, TopicError> {
        let Self { options, messages, matches, presence, node } = self;
        Ok(Subscription { entity: create(options, messages)?, matches, _presence: presence, _node: node })
    }
}

impl<X: Middleware> Node<X> {
    /// Creates a subscription on a group; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_subscription<P, M, F>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        P: Send + 'static,
        M: Message,
        F: FnMut(&mut P, M) + Send + 'static,
    {
        let draft = Draft::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, messages| group.create_source(EntityKind::Subscription, options, messages, callback))
    }

    /// As [`create_subscription`](Self::create_subscription), with an asynchronous callback.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_subscription_async<P, M, F, Fut>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        P: Send + 'static,
        M: Message,
        F: FnMut(Payload<P>, M) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let draft = Draft::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, messages| {
            group.create_source_async(EntityKind::Subscription, options, messages, callback)
        })
    }

    /// As [`create_subscription`](Self::create_subscription), on a reentrant group.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_subscription<M, F>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        M: Message,
        F: Fn(M) + Send + Sync + 'static,
    {
        let draft = Draft::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, messages| group.create_source(EntityKind::Subscription, options, messages, callback))
    }

    /// As [`create_subscription`](Self::create_subscription), with an asynchronous callback on a reentrant group.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_reentrant_subscription_async<M, F, Fut>(
        &self,
        group: &ReentrantGroup,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription<X>, TopicError>
    where
        M: Message,
        F: Fn(M) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let draft = Draft::new(self, group.name(), options.into(), |name| group.deployed_depth(name))?;
        draft.finish(|options, messages| {
            group.create_source_async(EntityKind::Subscription, options, messages, callback)
        })
    }
}
