//! The receiving end of a topic.

use std::sync::Arc;

use rospin_engine::{Clock, Closer, Context, Instant, Notifier, Pending, Recorder, Source, TakeError};

use super::contain;
use super::encoded::{Encoded, EncodedQueue};
use super::here::HereQueue;
use crate::address::Address;
use crate::callback::{Arrivals, Received};
use crate::error::Refused;
use crate::events::EndEvents;
use crate::inbox::Delivery;
use crate::info::{MessageInfo, Packet, Way};
use crate::local_topics::{LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::message::Decode;
use crate::middleware::SubscriptionEnd;
use crate::qos::Qos;
use crate::statistics::Collector;

/// The messages of a subscription in the order of their arrival: shared ones from publishers of this process that have
/// the same [form](crate::address::Form), and encoded ones from all others.
///
/// They wait in two queues. Before a message is taken, the oldest ones beyond the depth are dropped.
pub(crate) struct Messages<D: Decode> {
    decode: D,
    // The order of drops: first both ends, so that nothing arrives any more, and then the queues, which count the
    // messages that were left.
    end: Arc<LocalEnd>,
    _outside: Option<Box<dyn Send>>,
    here: HereQueue<D::Message>,
    encoded: EncodedQueue,
    clock: Clock,
    recorder: Recorder,
    /// The time of creation on the steady clock. Messages that publishers had kept for this subscription arrived then.
    created: Instant,
    /// The collector of the age and the period of messages, if they are measured.
    statistics: Option<Arc<Collector>>,
}

/// A message that was taken, with what is known of it.
struct Taken<M> {
    message: Received<M>,
    way: Way,
    /// The time of its arrival on the steady clock, if it is known.
    arrival: Option<Instant>,
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
        let Encoded { end, reader, queue, matches } =
            Encoded::subscribe(topics, subscribe, (address, qos), clock.clone(), events)?;
        Ok((
            Self {
                decode,
                end,
                _outside: reader,
                here,
                encoded: queue,
                clock,
                recorder: context.recorder().clone(),
                created,
                statistics: None,
            },
            matches,
        ))
    }

    /// Has every message measured that is taken from now on.
    pub(crate) fn measure(&mut self, statistics: Arc<Collector>) {
        self.statistics = Some(statistics);
    }

    /// Returns when the message that is taken next arrived, or `None` if there is none. Requires that a notifier is
    /// attached.
    pub(crate) fn oldest_arrival(&self) -> Option<Instant> {
        let arrivals = [self.here.counted().oldest_arrival(), self.encoded.oldest_arrival()];
        arrivals.into_iter().flatten().min()
    }

    /// Takes the oldest message. Returns `None` if there is none. If the subscription has statistics, the message
    /// counts in them.
    ///
    /// # Errors
    /// If the message cannot be decoded. It is lost then.
    #[inline]
    fn take(&mut self) -> Result<Option<Taken<D::Message>>, TakeError> {
        let taken = self.take_oldest()?;
        if let (Some(statistics), Some(taken)) = (&self.statistics, &taken) {
            statistics.measure(taken.way);
        }
        Ok(taken)
    }

    #[inline]
    fn take_oldest(&mut self) -> Result<Option<Taken<D::Message>>, TakeError> {
        self.encoded.make_room(self.here.counted());
        let mut packet = self.encoded.pop(self.here.counted().oldest_arrival());
        if packet.is_none() {
            if let Some((message, origin)) = Source::try_take(&mut self.here)? {
                // Publishing puts a message into the queue at once, so it arrived when it was published, unless it was
                // kept for a late subscription.
                let arrival = origin.map(|origin| origin.published.max(self.created));
                return Ok(Some(Taken { message: Received::Shared(message), way: Way::Here(origin), arrival }));
            }
            // A newer message is displacing the older one, and cannot be taken yet.
            packet = self.encoded.pop(None);
        }
        let Some((arrival, packet)) = packet else { return Ok(None) };
        if self.recorder.is_on() {
            self.note(packet.way());
        }
        let message = contain(|| self.decode.decode(packet.payload())).map_err(TakeError::Failed)?;
        Ok(Some(Taken { message: Received::Owned(message), way: packet.way(), arrival }))
    }

    /// Records that a message which came on that way is taken.
    #[cold]
    #[inline(never)]
    fn note(&self, way: Way) {
        if let Some((publisher, number)) = way.identity() {
            self.recorder.received(|| self.clock.now(), publisher.to_bytes(), number.unwrap_or(0));
        }
        self.recorder.took_encoded(match way {
            Way::Outside(publication) => publication.and_then(|publication| publication.time),
            Way::Here(_) => None,
        });
    }
}

impl<D: Decode> Drop for Messages<D> {
    fn drop(&mut self) {
        // The handle of the subscription holds the end, too, so dropping it here would not suffice.
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

    fn prefetch(&self, distance: usize) {
        self.here.prefetch(distance);
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

    fn prefetch(&self, distance: usize) {
        self.0.prefetch(distance);
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}

/// Source of a subscription's messages by value: a shared message is copied, unless no other subscription holds it.
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

    fn prefetch(&self, distance: usize) {
        self.0.prefetch(distance);
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}
