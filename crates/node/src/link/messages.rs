//! The receiving end of a topic.

use std::sync::Arc;

use rospin_engine::{Clock, Closer, Context, Instant, Notifier, Pending, Source, TakeError};

use super::contain;
use super::here::{HereQueue, depth};
use crate::address::Address;
use crate::callback::{Arrivals, Received};
use crate::error::Refused;
use crate::events::EndEvents;
use crate::inbox::{Delivery, Inbox};
use crate::info::{MessageInfo, Packet, Way};
use crate::local_topics::{AllMatches, EndKind, LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::message::Decode;
use crate::middleware::SubscriptionEnd;
use crate::qos::Qos;
use crate::terms::Terms;

/// The messages of a subscription in the order of their arrival: shared ones from publishers of this process with the same Rust type,
/// and encoded ones from all others.
///
/// They wait in two queues. Before a message is taken, the oldest ones beyond the depth are dropped.
pub(crate) struct Messages<D: Decode> {
    decode: D,
    depth: usize,
    // First nothing comes any more from either side, and then is counted what was left.
    end: Arc<LocalEnd>,
    _outside: Option<Box<dyn Send>>,
    here: HereQueue<D::Message>,
    encoded: Inbox<Packet>,
    clock: Clock,
    /// The time on the steady clock when it was created, at which messages that had been kept for it arrived.
    created: Instant,
}

/// A message that was taken, with what is known of it.
struct Taken<M> {
    message: Received<M>,
    way: Way,
    /// The time of its arrival on the steady clock, if it is known.
    arrival: Option<Instant>,
}

/// The way of encoded messages to a subscription. It is the same for all types of messages, so it is compiled once.
struct Encoded {
    end: Arc<LocalEnd>,
    /// Keeps the middleware's subscription.
    reader: Option<Box<dyn Send>>,
    inbox: Inbox<Packet>,
    matches: Box<dyn Matches>,
}

impl Encoded {
    /// Subscribes with the middleware, and enters the subscription into the topics of this process.
    fn new(
        topics: &Arc<LocalTopics>,
        subscribe: &dyn Fn(Delivery<Packet>) -> Result<Option<SubscriptionEnd>, Refused>,
        address: Address,
        qos: &Qos,
        events: &EndEvents,
    ) -> Result<Self, Refused> {
        let (inbox, delivery) = Inbox::with_lifespans(depth(qos), Packet::lifespan);
        if events.is_timed() {
            delivery.tell_arrivals(events);
        }
        let (reader, outside) = subscribe(delivery.clone())?.map(|end| (end.reader, end.matches)).unzip();
        let kind = EndKind::Subscription { requested: Terms::of(qos), delivery };
        let end = Arc::new(topics.enter(address, kind, events.clone()));
        let matches = Box::new(AllMatches { here: Arc::clone(&end), outside });
        Ok(Self { end, reader, inbox, matches })
    }
}

impl<D: Decode> Messages<D> {
    pub(super) fn new(
        context: &Context,
        topics: &Arc<LocalTopics>,
        subscribe: &dyn Fn(Delivery<Packet>) -> Result<Option<SubscriptionEnd>, Refused>,
        (address, qos): (Address, &Qos),
        decode: D,
        with_origins: bool,
        events: &EndEvents,
    ) -> Result<(Self, Box<dyn Matches>), Refused> {
        let clock = context.clock().clone();
        let created = clock.now();
        let here = HereQueue::new(context, topics, (&address, qos), with_origins)?;
        let Encoded { end, reader, inbox, matches } = Encoded::new(topics, subscribe, address, qos, events)?;
        Ok((Self { decode, depth: depth(qos), end, _outside: reader, here, encoded: inbox, clock, created }, matches))
    }

    /// Returns when the message that is taken next arrived, or `None` if there is none. Requires that a notifier is attached.
    pub(crate) fn oldest_arrival(&self) -> Option<Instant> {
        let arrivals = [self.here.oldest_arrival(), self.encoded.oldest_arrival()];
        arrivals.into_iter().flatten().min()
    }

    /// Drops the oldest messages of both queues beyond the depth, first of all those whose lifespan is over.
    fn make_room(&mut self) {
        let encoded = self.encoded.len();
        if encoded == 0 {
            return;
        }
        let surplus = (encoded + self.here.len()).saturating_sub(self.depth);
        if surplus == 0 {
            return;
        }
        let now = self.clock.now();
        for _ in 0..surplus {
            if self.encoded.drop_expired(now) {
                continue;
            }
            let is_gone = self.encoded.pop_before(self.here.oldest_arrival()).is_some() || self.here.drop_oldest();
            // While a publisher displaces the oldest message, there may be nothing to take. The topic counts that message.
            self.encoded.count_lost(is_gone.into());
        }
    }

    /// Takes the oldest encoded message whose lifespan is not over, unless something else arrived `before` it.
    #[inline]
    fn pop_encoded(&mut self, before: Option<Instant>) -> Option<(Option<Instant>, Packet)> {
        loop {
            let (arrival, packet) = self.encoded.pop_before(before)?;
            let is_expired = packet.lifespan().is_some_and(|lifespan| {
                arrival.is_some_and(|arrival| self.clock.now().saturating_since(arrival) >= lifespan)
            });
            if !is_expired {
                return Some((arrival, packet));
            }
            self.encoded.count_expired(1);
        }
    }

    /// Takes the oldest message.
    #[inline]
    fn take(&mut self) -> Result<Option<Taken<D::Message>>, TakeError> {
        self.make_room();
        let mut packet = self.pop_encoded(self.here.oldest_arrival());
        if packet.is_none() {
            if let Some((message, origin)) = Source::try_take(&mut self.here)? {
                // Publishing puts it into the queue at once, unless it was kept for a late subscription.
                let arrival = origin.map(|origin| origin.published.max(self.created));
                return Ok(Some(Taken { message: Received::Shared(message), way: Way::Here(origin), arrival }));
            }
            // The one that was older has made room for another, which is not there yet.
            packet = self.pop_encoded(None);
        }
        let Some((arrival, packet)) = packet else { return Ok(None) };
        let message = contain(|| self.decode.decode(packet.payload())).map_err(TakeError::Failed)?;
        Ok(Some(Taken { message: Received::Owned(message), way: packet.way(), arrival }))
    }
}

impl<D: Decode> Drop for Messages<D> {
    fn drop(&mut self) {
        // The handle of the subscription has it, too.
        self.end.leave();
    }
}

impl<D: Decode> Source for Messages<D> {
    type Item = Received<D::Message>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.encoded.attach(notifier.clone());
        self.here.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Received<D::Message>>, TakeError> {
        Ok(self.take()?.map(|taken| taken.message))
    }

    fn pending(&self) -> Pending {
        match (Source::pending(&self.here), self.encoded.pending()) {
            (Pending::Since(here), Pending::Since(encoded)) => Pending::Since(here.min(encoded)),
            (Pending::Empty, pending) | (pending, Pending::Empty) => pending,
            (_, _) => Pending::Unknown,
        }
    }

    fn closer(&self) -> Option<Closer> {
        let here = self.here.closer();
        let end = Arc::downgrade(&self.end);
        Some(Box::new(move || {
            here.iter().for_each(|close| close());
            end.upgrade().iter().for_each(|end| end.leave());
        }))
    }
}

impl<D: Decode> Arrivals<D::Message> for Messages<D> {
    fn informed(self) -> impl Source<Item = (Received<D::Message>, MessageInfo)> {
        Informed(self)
    }
}

/// The messages of a subscription, each with its [`MessageInfo`].
struct Informed<D: Decode>(Messages<D>);

impl<D: Decode> Source for Informed<D> {
    type Item = (Received<D::Message>, MessageInfo);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(Taken { message, way, arrival }) = self.0.take()? else { return Ok(None) };
        Ok(Some((message, MessageInfo::new(way, arrival, &self.0.clock))))
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}

/// The messages of a subscription by value.
pub(crate) struct Values<D: Decode>(pub(crate) Messages<D>);

impl<D: Decode> Source for Values<D> {
    type Item = D::Message;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<D::Message>, TakeError> {
        Ok(self.0.try_take()?.map(Received::into_value))
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}
