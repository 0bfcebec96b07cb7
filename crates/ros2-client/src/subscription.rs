//! Subscriptions as entities of callback groups.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context as TaskContext, Poll, ready};

use futures_core::Stream;
use ros2_client::ReadError;
use ros2_client::qos::History;
use rospin::{CallbackGroup, Entity, EntityKind, LossCause, Payload, ReentrantGroup, SourceError};

use crate::gaps::Gaps;
use crate::matches::Matched;
use crate::message::{Message, Wire};
use crate::names::{self, NameError};
use crate::node::{Node, Place};
use crate::options::{Common, SubscriptionOptions};
use crate::participant::End;
use crate::reader::{Read, Reader};

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
        reason: String,
    },
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl TopicError {
    pub(crate) fn refused(topic: &str, reason: String) -> Self {
        Self::Refused { topic: topic.to_owned(), reason }
    }
}

/// Receives the messages of a topic.
///
/// Dropping the handle removes the entity: from the executor's next pick on its callback does not run any more. One that is
/// running is not waited for.
#[must_use = "the subscription is removed when its handle is dropped"]
pub struct Subscription {
    entity: Entity,
    missed: Arc<AtomicU64>,
    matched: Matched,
    _node: Node,
}

impl Subscription {
    /// The entity's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entity.name()
    }

    /// How many messages made room for newer ones, or never came: with best effort the network may lose them, which shows as
    /// gaps in their publishers' numbers. What was published before a publisher's first message that came is none.
    ///
    /// What makes room is known when the next message is taken.
    #[must_use]
    pub fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }

    /// How many messages were lost for that cause. What the middleware's queue dropped is not here but in
    /// [`missed`](Self::missed).
    #[must_use]
    pub fn lost(&self, cause: LossCause) -> u64 {
        self.entity.lost(cause)
    }

    /// With how many publishers it is matched, as far as discovery was listened to: it is an entity of the executor that
    /// [`Domain::join`](crate::Domain::join) was given.
    #[must_use]
    pub fn publisher_count(&self) -> usize {
        self.matched.count()
    }

    /// Waits until it is matched with a publisher.
    pub fn wait_for_publisher(&self) -> impl Future<Output = ()> + Send + use<> {
        self.matched.wait()
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("name", &self.name()).finish_non_exhaustive()
    }
}

/// The messages of a topic.
struct Messages<M: Message> {
    subscription: ros2_client::Subscription<Wire<M>>,
    gaps: Gaps,
}

impl<M: Message> Read for Messages<M> {
    type Item = M;

    fn poll_read(&mut self, cx: &mut TaskContext<'_>) -> Poll<Result<Option<M>, ReadError>> {
        // The stream has no state of its own.
        let stream = pin!(self.subscription.async_stream());
        Poll::Ready(match ready!(stream.poll_next(cx)) {
            Some(Ok((Wire(message), info))) => {
                self.gaps.taken(info.publisher_gid(), info.sequence_number());
                Ok(Some(message))
            }
            Some(Err(error)) => {
                self.gaps.failed();
                Err(error)
            }
            None => Err(ReadError::Closed),
        })
    }
}

/// A subscription without its callback.
struct Draft<M: Message> {
    topic: String,
    common: Common,
    messages: Reader<Messages<M>>,
    missed: Arc<AtomicU64>,
    matched: Matched,
    node: Node,
}

impl<M: Message> Draft<M> {
    fn new(node: &Node, options: SubscriptionOptions) -> Result<Self, TopicError> {
        let SubscriptionOptions { common, topic, qos } = options;
        let (name, message_type) = (names::topic(&topic, node.name())?, names::message_type(M::TYPE)?);
        let history = qos.history;
        let dds_name = node.dds_name(&name, "rt", "");
        let created = node.create(&dds_name, End::Readers, |Place { node, participant }| {
            participant.matches.register(|| {
                let dds_topic = node.create_topic(&name, message_type, &qos)?;
                let subscription = node.create_subscription(&dds_topic, Some(qos))?;
                let guid = subscription.guid();
                Ok((subscription, guid))
            })
        });
        let (subscription, matched) = created.map_err(|reason| TopicError::refused(&topic, reason))?;
        let missed = Arc::<AtomicU64>::default();
        let messages = Messages { subscription, gaps: Gaps::new(Arc::clone(&missed)) };
        let messages = match history {
            History::KeepLast { depth } => Reader::keep_last(messages, depth, Arc::clone(&missed)),
            History::KeepAll => Reader::new(messages),
        };
        Ok(Self { topic, common, messages, missed, matched, node: node.clone() })
    }

    /// Finishes it with the entity that `create` makes of options and source.
    fn finish(
        self,
        group: &str,
        create: impl FnOnce(rospin::EntityOptions, Reader<Messages<M>>) -> Result<Entity, SourceError>,
    ) -> Result<Subscription, TopicError> {
        let Self { topic, common, messages, missed, matched, node } = self;
        let entity = create(common.into_entity(|| format!("{group}/{topic}")), messages)?;
        Ok(Subscription { entity, missed, matched, _node: node })
    }
}

impl Node {
    /// Creates a subscription on a group; a plain `&str` is its topic.
    ///
    /// # Errors
    /// If the topic's or the type's name is none, the middleware refuses, or the group is gone.
    pub fn create_subscription<P, M, F>(
        &self,
        group: &CallbackGroup<P>,
        options: impl Into<SubscriptionOptions>,
        callback: F,
    ) -> Result<Subscription, TopicError>
    where
        P: Send + 'static,
        M: Message,
        F: FnMut(&mut P, M) + Send + 'static,
    {
        Draft::new(self, options.into())?.finish(group.name(), |options, messages| {
            group.create_source(EntityKind::Subscription, options, messages, callback)
        })
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
    ) -> Result<Subscription, TopicError>
    where
        P: Send + 'static,
        M: Message,
        F: FnMut(Payload<P>, M) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Draft::new(self, options.into())?.finish(group.name(), |options, messages| {
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
    ) -> Result<Subscription, TopicError>
    where
        M: Message,
        F: Fn(M) + Send + Sync + 'static,
    {
        Draft::new(self, options.into())?.finish(group.name(), |options, messages| {
            group.create_source(EntityKind::Subscription, options, messages, callback)
        })
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
    ) -> Result<Subscription, TopicError>
    where
        M: Message,
        F: Fn(M) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Draft::new(self, options.into())?.finish(group.name(), |options, messages| {
            group.create_source_async(EntityKind::Subscription, options, messages, callback)
        })
    }
}
