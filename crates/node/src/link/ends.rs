//! The ends of a subscription through which messages reach its queue. All of it is the same for all types of messages,
//! so it is compiled once.

use std::sync::Arc;

use crate::address::Address;
use crate::error::Refused;
use crate::events::EndEvents;
use crate::inlet::Inlet;
use crate::local_topics::{AllMatches, EndKind, LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::middleware::SubscriptionEnd;
use crate::qos::Qos;
use crate::terms::Terms;

/// Function that subscribes with the middleware, if there is one.
pub(super) type Subscribe<'a> = &'a dyn Fn(Inlet) -> Result<Option<SubscriptionEnd>, Refused>;

/// The ends of a subscription, and what it is matched with.
pub(super) struct SubscriptionEnds {
    pub(super) here: Arc<LocalEnd>,
    /// The middleware's subscription, which receives until it is dropped; `None` without a middleware.
    pub(super) reader: Option<Box<dyn Send>>,
    pub(super) matches: Box<dyn Matches>,
}

impl SubscriptionEnds {
    /// Subscribes with the middleware by `subscribe`, and enters the subscription into `topics`, those of this process.
    pub(super) fn subscribe(
        topics: &Arc<LocalTopics>,
        subscribe: Subscribe<'_>,
        (address, qos): (Address, &Qos),
        inlet: Inlet,
        events: &EndEvents,
    ) -> Result<Self, Refused> {
        let (reader, outside) = subscribe(inlet.clone())?.map(|end| (end.reader, end.matches)).unzip();
        let kind = EndKind::Subscription { requested: Terms::of(qos), inlet };
        let here = Arc::new(topics.enter(address, kind, events.clone()));
        let matches = Box::new(AllMatches { here: Arc::clone(&here), outside });
        Ok(Self { here, reader, matches })
    }
}
