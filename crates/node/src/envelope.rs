//! Envelopes: messages of a topic of this process with what else is known of them.
//!
//! A subscription has one queue, of a mixed topic of the engine. A message of this process is a shared value there. It
//! is in an envelope if a subscription's callback asks for a [`MessageInfo`](crate::MessageInfo), if its publisher keeps
//! it for late subscriptions, or if it came encoded, from another process or from a publisher of another
//! [form](crate::address::Form). So nothing is allocated, and no further clock is read, for messages whose
//! subscriptions do not ask.

use std::any::Any;
use std::sync::Arc;

use rospin_engine::Instant;

use crate::info::{Origin, Packet};

/// A message of any type.
type AnyMessage = Arc<dyn Any + Send + Sync>;

/// A message with what else is known of it. The type is the same for all messages, so that its code is compiled here.
pub(crate) enum Envelope {
    /// A message that a publisher of this process shares, with its origin.
    Shared { message: AnyMessage, origin: Origin },
    /// An encoded message, and when it arrived.
    Encoded { packet: Packet, arrival: Instant },
}

impl Envelope {
    /// Returns the shared message and its origin; `None` if it is encoded, or has another type, which the name of the
    /// topic rules out.
    pub(crate) fn shared<M: Send + Sync + 'static>(&self) -> Option<(&M, Origin)> {
        match self {
            Self::Shared { message, origin } => Some((message.downcast_ref()?, *origin)),
            Self::Encoded { .. } => None,
        }
    }
}

impl rospin_engine::Envelope for Envelope {
    fn may_expire(&self) -> bool {
        matches!(self, Self::Encoded { packet, .. } if packet.lifespan().is_some())
    }

    fn is_expired(&self, now: Instant) -> bool {
        match self {
            Self::Encoded { packet, arrival } => {
                packet.lifespan().is_some_and(|lifespan| now.saturating_since(*arrival) >= lifespan)
            }
            Self::Shared { .. } => false,
        }
    }

    fn came_through_inlet(&self) -> bool {
        matches!(self, Self::Encoded { .. })
    }
}
