//! Errors of entities, and of the middleware under them.

use std::fmt;
use std::sync::Arc;

use rospin_engine::{DepthTooLarge, SourceError};

use crate::names::{NameError, TypeNameError};

/// Error of a middleware, as the text that the middleware gives.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Reasons for which a publisher or a subscription could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TopicError {
    /// The topic's or the type's name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware could not create the publisher or subscription.
    #[error("could not create an entity of topic `{topic}`: {reason}")]
    Refused {
        /// Name of the topic.
        topic: String,
        /// The middleware's reason.
        reason: Refused,
    },
    /// The period of the [statistics](crate::TopicStatisticsOptions::publish_period) is zero.
    #[error("the statistics of topic `{topic}` have a publish period of zero; give them a positive one, such as 1 s")]
    StatisticsPeriod {
        /// Name of the topic.
        topic: String,
    },
    /// The quality of service keeps more messages than a queue may.
    #[error(transparent)]
    DepthTooLarge(#[from] DepthTooLarge),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<TypeNameError> for TopicError {
    fn from(error: TypeNameError) -> Self {
        Self::Name(error.into())
    }
}

/// Reasons for which a message was not published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// There is no room for the message, because a subscription is far behind or the network is slow.
    #[error("topic `{topic}` has too many messages on their way; this one was not published")]
    Full {
        /// Name of the topic.
        topic: String,
    },
    /// The message has another type than its topic. That is possible only with [dynamic](crate::dynamic) messages.
    #[error("topic `{topic}` is of type {expected}; a message of type {found} was not published")]
    WrongType {
        /// Name of the topic.
        topic: String,
        /// The type of the topic.
        expected: String,
        /// The type of the message.
        found: String,
    },
    /// The middleware could not encode or send the message.
    #[error("could not publish on topic `{topic}`: {reason}")]
    Failed {
        /// Name of the topic.
        topic: String,
        /// The middleware's reason.
        reason: String,
    },
}

/// The error of [`Publisher::publish_if_room`](crate::Publisher::publish_if_room), with the message.
#[derive(Clone, thiserror::Error)]
#[error("{reason}; the message is returned")]
pub struct NotPublished<M> {
    /// The reason. [`PublishError::Full`] if there is no room: nobody got the message.
    pub reason: PublishError,
    /// The message.
    pub message: Arc<M>,
}

impl<M> fmt::Debug for NotPublished<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotPublished").field("reason", &self.reason).finish_non_exhaustive()
    }
}

/// Reasons for which a server or a client could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The service's or the type's name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The middleware could not create the server or client.
    #[error("could not create an entity of service `{service}`: {reason}")]
    Refused {
        /// The service's name.
        service: String,
        /// The middleware's reason.
        reason: Refused,
    },
    /// The quality of service keeps more requests than a queue may.
    #[error(transparent)]
    DepthTooLarge(#[from] DepthTooLarge),
    /// The group was removed, or its executor dropped.
    #[error(transparent)]
    Source(#[from] SourceError),
}

impl From<TypeNameError> for ServiceError {
    fn from(error: TypeNameError) -> Self {
        Self::Name(error.into())
    }
}

/// Reasons for which a call has no response.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// No server was matched when the request was to be sent.
    #[error("no server of service `{service}` is known; await `Client::wait_for_service` first")]
    Unavailable {
        /// Name of the service.
        service: String,
    },
    /// The request could not be encoded, or there was no room for it.
    #[error("the request to service `{service}` was not sent: {reason}")]
    NotSent {
        /// Name of the service.
        service: String,
        /// The middleware's reason.
        reason: String,
    },
    /// There will be no response that can be read. The server ended, its callback panicked, newer requests displaced
    /// this one, or the request or the response could not be decoded. Not every middleware reports all of these.
    #[error("service `{service}` will not answer this call: {reason}")]
    Unanswered {
        /// Name of the service.
        service: String,
        /// The middleware's reason.
        reason: String,
    },
    /// The client was dropped before the response came.
    #[error("the client of service `{service}` ended before the response came")]
    ClientGone {
        /// Name of the service.
        service: String,
    },
}
