//! Envelopes: messages of a topic of this process with what else is known of them.
//!
//! A subscription has one queue, of a mixed topic of the engine. A message of this process is a shared value there. It
//! is in an envelope if a subscription's callback asks for a [`MessageInfo`](crate::MessageInfo), if its publisher
//! keeps it for late subscriptions, or if it came encoded, from another process or from a publisher of another
//! [form](crate::address::Form). So nothing is allocated, and no further clock is read, for messages whose
//! subscriptions do not ask.

use std::any::Any;
use std::sync::Arc;

use rospin_engine::{Carried, Instant};

use crate::info::{Origin, Packet};

/// A message of any type.
type AnyMessage = Arc<dyn Any + Send + Sync>;

/// A message with what else is known of it. The type is the same for all messages, so that its code is compiled here.
pub(crate) enum Envelope {
    /// A message that a publisher of this process shares, with its origin.
    Shared { message: AnyMessage, origin: Origin },
    /// An encoded message, when it arrived, and perhaps a message of this process that it has displaced.
    Encoded { packet: Packet, arrival: Instant, carried: Option<Carried> },
}

impl Envelope {
    /// Returns an encoded message that arrived at that time.
    pub(crate) const fn encoded(packet: Packet, arrival: Instant) -> Self {
        Self::Encoded { packet, arrival, carried: None }
    }

    /// Returns the same shared message in an envelope of its own; `None` if it is encoded.
    pub(crate) fn share(&self) -> Option<Self> {
        match self {
            Self::Shared { message, origin } => Some(Self::Shared { message: Arc::clone(message), origin: *origin }),
            Self::Encoded { .. } => None,
        }
    }

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
    fn is_expired(&self, now: Instant) -> bool {
        match self {
            Self::Encoded { packet, arrival, .. } => packet.is_expired(*arrival, now),
            Self::Shared { .. } => false,
        }
    }

    fn order(&self) -> u64 {
        match self {
            Self::Encoded { packet, .. } => packet.order(),
            Self::Shared { origin, .. } => origin.order,
        }
    }

    fn came_through_inlet(&self) -> bool {
        matches!(self, Self::Encoded { .. })
    }

    fn carried(&mut self) -> Option<&mut Option<Carried>> {
        match self {
            Self::Encoded { carried, .. } => Some(carried),
            Self::Shared { .. } => None,
        }
    }
}
