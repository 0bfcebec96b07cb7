//! The ends of a subscription through which messages reach its queue. All of it is the same for all types of messages,
//! so it is compiled once.

use std::sync::Arc;

use crate::error::Refused;
use crate::inlet::Inlet;
use crate::local_topics::{AllMatches, LocalEnd};
use crate::matches::Matches;
use crate::middleware::SubscriptionEnd;

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
    /// Subscribes with the middleware by `subscribe`. `here` is the end among those of this process.
    pub(super) fn subscribe(here: LocalEnd, subscribe: Subscribe<'_>, inlet: Inlet) -> Result<Self, Refused> {
        let here = Arc::new(here);
        let (reader, outside) = subscribe(inlet)?.map(|end| (end.reader, end.matches)).unzip();
        let matches = Box::new(AllMatches { here: Arc::clone(&here), outside });
        Ok(Self { here, reader, matches })
    }
}
