//! The encoded messages of a subscription. All of it is the same for all types of messages, so it is compiled once.

use std::sync::Arc;

use rospin_engine::{Clock, Instant, Notifier, Pending, Queue};

use super::depth;
use crate::address::Address;
use crate::error::Refused;
use crate::events::EndEvents;
use crate::inbox::{Delivery, Inbox};
use crate::info::Packet;
use crate::local_topics::{AllMatches, EndKind, LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::middleware::SubscriptionEnd;
use crate::qos::Qos;
use crate::terms::Terms;

/// The parts of a subscription through which encoded messages reach it.
pub(super) struct Encoded {
    pub(super) end: Arc<LocalEnd>,
    /// The middleware's subscription, which receives until it is dropped; `None` without a middleware.
    pub(super) reader: Option<Box<dyn Send>>,
    pub(super) queue: EncodedQueue,
    pub(super) matches: Box<dyn Matches>,
}

impl Encoded {
    /// Subscribes with the middleware by `subscribe`, and enters the subscription into `topics`, those of this process.
    pub(super) fn subscribe(
        topics: &Arc<LocalTopics>,
        subscribe: &dyn Fn(Delivery<Packet>) -> Result<Option<SubscriptionEnd>, Refused>,
        (address, qos): (Address, &Qos),
        clock: Clock,
        events: &EndEvents,
    ) -> Result<Self, Refused> {
        let depth = depth(qos);
        let (inbox, delivery) = Inbox::with_lifespans(depth, Packet::lifespan);
        if events.is_timed() {
            delivery.tell_arrivals(events);
        }
        let (reader, outside) = subscribe(delivery.clone())?.map(|end| (end.reader, end.matches)).unzip();
        let kind = EndKind::Subscription { requested: Terms::of(qos), delivery };
        let end = Arc::new(topics.enter(address, kind, events.clone()));
        let matches = Box::new(AllMatches { here: Arc::clone(&end), outside });
        Ok(Self { end, reader, queue: EncodedQueue { inbox, depth, clock }, matches })
    }
}

/// A subscription's queue of messages that were published in this process and are not encoded, as the queue of encoded
/// ones sees it: the two share the subscription's depth.
pub(super) trait CountedQueue {
    /// Returns when its oldest message arrived, or `None` if there is none.
    fn oldest_arrival(&self) -> Option<Instant>;
    /// Returns how many messages there are.
    fn len(&self) -> usize;
    /// Drops the oldest message. Returns false if there is none.
    fn drop_oldest(&self) -> bool;
}

impl<M: Send + Sync + 'static> CountedQueue for Queue<M> {
    fn oldest_arrival(&self) -> Option<Instant> {
        self.oldest_arrival()
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn drop_oldest(&self) -> bool {
        self.try_take().is_some()
    }
}

/// The queue of encoded messages.
pub(super) struct EncodedQueue {
    inbox: Inbox<Packet>,
    depth: usize,
    clock: Clock,
}

impl EncodedQueue {
    pub(super) fn attach(&self, notifier: Notifier) {
        self.inbox.attach(notifier);
    }

    pub(super) fn pending(&self) -> Pending {
        self.inbox.pending()
    }

    /// Returns when the oldest message arrived, or `None` if there is none. Requires that a notifier is attached.
    pub(super) fn oldest_arrival(&self) -> Option<Instant> {
        self.inbox.oldest_arrival()
    }

    /// Drops the oldest messages of this queue and `other` beyond the depth that the two share, first of all encoded
    /// ones whose lifespan is over.
    pub(super) fn make_room(&mut self, other: &dyn CountedQueue) {
        let count = self.inbox.len();
        if count == 0 {
            return;
        }
        let surplus = (count + other.len()).saturating_sub(self.depth);
        if surplus == 0 {
            return;
        }
        let now = self.clock.now();
        for _ in 0..surplus {
            if self.inbox.drop_expired(now) {
                continue;
            }
            let is_gone = self.inbox.pop_before(other.oldest_arrival()).is_some() || other.drop_oldest();
            // While a publisher displaces the oldest message, there may be nothing to take. The topic counts that
            // message.
            self.inbox.count_lost(is_gone.into());
        }
    }

    /// Takes the oldest message whose lifespan is not over, and returns it with the time of its arrival. Returns `None`
    /// if there is none, or if a message of the other queue, which arrived at `before`, comes first.
    pub(super) fn pop(&mut self, before: Option<Instant>) -> Option<(Option<Instant>, Packet)> {
        loop {
            let (arrival, packet) = self.inbox.pop_before(before)?;
            let is_expired = packet.lifespan().is_some_and(|lifespan| {
                arrival.is_some_and(|arrival| self.clock.now().saturating_since(arrival) >= lifespan)
            });
            if !is_expired {
                return Some((arrival, packet));
            }
            self.inbox.count_expired(1);
        }
    }
}
