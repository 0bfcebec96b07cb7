//! The receiving end of a topic.

use std::sync::Arc;

use rospin_engine::{
    Clock, Closer, Context, Envelope as _, Instant, LateQueue, LossCause, Mixed, MixedQueue, Notifier, Pending,
    Recorder, Source, SubscriptionOptions, TakeError, TopicError,
};

use super::ends::{Subscribe, SubscriptionEnds};
use super::{contain, depth, refused};
use crate::address::Address;
use crate::callback::{Arrivals, Received};
use crate::envelope::Envelope;
use crate::error::Refused;
use crate::events::EndEvents;
use crate::info::{Gid, MessageInfo, Packet, Way};
use crate::inlet::Inlet;
use crate::local_topics::{Entered, LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::message::Decode;
use crate::qos::Qos;
use crate::statistics::Collector;
use crate::terms::Terms;

/// The messages of a subscription in the order of their arrival: shared ones from publishers of this process that have
/// the same [form](crate::address::Form), and encoded ones from all others. They wait in one queue.
pub(crate) struct Messages<D: Decode> {
    decode: D,
    // The order of drops: first both ends, so that nothing arrives any more, and then the queue, which counts the
    // messages that were left.
    end: Arc<LocalEnd>,
    _outside: Option<Box<dyn Send>>,
    queue: MixedQueue<D::Message, Envelope>,
    clock: Clock,
    recorder: Recorder,
    /// The collector of the age and the period of messages, if they are measured.
    statistics: Option<Arc<Collector>>,
}

/// A message that was taken, with what is known of it.
struct Taken<M> {
    message: Received<M>,
    way: Way,
}

/// The result of a take, and what is left in the queue then.
type TakenWithRest<M> = Result<Option<(Taken<M>, Pending)>, TakeError>;

/// The result of a take, and the time of the message's arrival on the steady clock.
type TakenWithArrival<M> = Result<Option<(Taken<M>, Instant)>, TakeError>;

fn queue_options(topics: &LocalTopics, address: &Address, qos: &Qos) -> SubscriptionOptions {
    let options = SubscriptionOptions::new(address.engine_name()).within(&topics.engine);
    let options = options.demands(Terms::of(qos).guarantees);
    let room = depth(qos);
    // Messages that publishers keep for late subscriptions come from the topic of this process, in any form.
    if qos.loses_nothing() { options.keep_all(room) } else { options.keep_last(room) }
}

impl<D: Decode> Messages<D> {
    pub(super) fn new(
        context: &Context,
        topics: &Arc<LocalTopics>,
        subscribe: Subscribe<'_>,
        (address, qos): (Address, &Qos),
        decode: D,
        with_origins: bool,
        events: &EndEvents,
    ) -> Result<(Self, Box<dyn Matches>), Refused> {
        let clock = context.clock().clone();
        let options = queue_options(topics, &address, qos);
        let create = |kept: Vec<Envelope>| {
            // Messages that publishers had kept for this subscription arrive now.
            if events.is_timed() {
                let arrival = clock.now();
                kept.iter().for_each(|_| events.message(arrival));
            }
            let late = context.create_late_mixed_queue(options, with_origins, kept)?;
            let inlet = Inlet::new(late.queue.inlet(), clock.clone(), events, qos.loses_nothing());
            Ok::<_, TopicError>((inlet, late))
        };
        let entered = topics.enter_subscription(address, Terms::of(qos), events.clone(), depth(qos), create);
        let Entered { end, inlet, with: LateQueue { queue, older }, since, mut lost } = entered.map_err(refused)?;
        // A message that was published since the subscription came is its own, also if it is displaced at once.
        let now = clock.now();
        for message in older {
            if let Mixed::Envelope(envelope) = message
                && envelope.order() > since
            {
                lost.count(envelope.is_expired(now));
            }
        }
        queue.count_lost(LossCause::QueueFull, lost.others);
        queue.count_lost(LossCause::Expired, lost.expired);
        let SubscriptionEnds { here, reader, matches } = SubscriptionEnds::subscribe(end, subscribe, inlet)?;
        let recorder = context.recorder().clone();
        Ok((Self { decode, end: here, _outside: reader, queue, clock, recorder, statistics: None }, matches))
    }

    /// Has every message measured that is taken from now on.
    pub(crate) fn measure(&mut self, statistics: Arc<Collector>) {
        self.statistics = Some(statistics);
    }

    /// Returns when the message that is taken next arrived, or `None` if there is none.
    pub(crate) fn oldest_arrival(&self) -> Option<Instant> {
        self.queue.oldest_arrival()
    }

    /// Takes the oldest message. Returns `None` if there is none. If the subscription has statistics, the message
    /// counts in them.
    ///
    /// # Errors
    /// If the message cannot be decoded. It is lost then.
    fn take(&mut self) -> Result<Option<Taken<D::Message>>, TakeError> {
        // A message whose lifespan is over is followed by the next one.
        while let Some(message) = self.queue.try_take()? {
            if let Some(taken) = self.open(message)? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Does what [`take`](Self::take) does, and returns the time of the message's arrival, too.
    fn take_with_arrival(&mut self) -> TakenWithArrival<D::Message> {
        while let Some((message, arrival)) = self.queue.take_with_arrival() {
            if let Some(taken) = self.open(message)? {
                return Ok(Some((taken, arrival)));
            }
        }
        Ok(None)
    }

    /// Does what [`take`](Self::take) does, and returns what is left in the queue, too.
    #[inline]
    fn take_with_rest(&mut self) -> TakenWithRest<D::Message> {
        while let Some((message, pending)) = self.queue.take_and_look()? {
            if let Some(taken) = self.open(message)? {
                return Ok(Some((taken, pending)));
            }
        }
        Ok(None)
    }

    /// Returns a message of the queue as its callback gets it; `None` if its lifespan is over.
    #[inline]
    fn open(&mut self, message: Mixed<D::Message, Envelope>) -> Result<Option<Taken<D::Message>>, TakeError> {
        let taken = match message {
            Mixed::Value(message) => Some(Taken { message: Received::Shared(message), way: Way::Here(None) }),
            Mixed::Envelope(envelope) => self.open_envelope(envelope)?,
        };
        if let (Some(statistics), Some(taken)) = (&self.statistics, &taken) {
            statistics.measure(taken.way);
        }
        Ok(taken)
    }

    #[inline(never)]
    fn open_envelope(&mut self, envelope: Arc<Envelope>) -> Result<Option<Taken<D::Message>>, TakeError> {
        let (message, origin) = match Arc::try_unwrap(envelope) {
            Ok(Envelope::Shared { message, origin }) => (message, origin),
            Ok(Envelope::Encoded { packet, arrival, .. }) => return self.decode(&packet, arrival),
            Err(envelope) => match &*envelope {
                Envelope::Shared { message, origin } => (Arc::clone(message), *origin),
                Envelope::Encoded { packet, arrival, .. } => return self.decode(packet, *arrival),
            },
        };
        // The name of the topic has the type in it.
        let Ok(message) = message.downcast() else { return Ok(None) };
        Ok(Some(Taken { message: Received::Shared(message), way: Way::Here(Some(origin)) }))
    }

    fn decode(&self, packet: &Packet, arrival: Instant) -> Result<Option<Taken<D::Message>>, TakeError> {
        if packet.is_expired(arrival, self.clock.now()) {
            self.queue.count_lost(LossCause::Expired, 1);
            return Ok(None);
        }
        if self.recorder.is_on() {
            self.note(packet.way());
        }
        let message = contain(|| self.decode.decode(packet.payload())).map_err(TakeError::Failed)?;
        Ok(Some(Taken { message: Received::Owned(message), way: packet.way() }))
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
        self.queue.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Received<D::Message>>, TakeError> {
        Ok(self.take()?.map(|taken| taken.message))
    }

    fn pending(&self) -> Pending {
        self.queue.pending()
    }

    #[inline]
    fn take_and_look(&mut self) -> Result<Option<(Received<D::Message>, Pending)>, TakeError> {
        Ok(self.take_with_rest()?.map(|(taken, pending)| (taken.message, pending)))
    }

    fn prefetch(&self, distance: usize) {
        self.queue.prefetch(distance);
    }

    fn closer(&self) -> Option<Closer> {
        let queue = self.queue.closer();
        let end = Arc::downgrade(&self.end);
        Some(Box::new(move || {
            queue.iter().for_each(|close| close());
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
        let Some((taken, arrival)) = self.0.take_with_arrival()? else { return Ok(None) };
        Ok(Some((taken.message, MessageInfo::new(taken.way, arrival, &self.0.clock))))
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

    fn take_and_look(&mut self) -> Result<Option<(D::Message, Pending)>, TakeError> {
        Ok(Source::take_and_look(&mut self.0)?.map(|(message, pending)| (message.into_value(), pending)))
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

/// Source of a subscription's messages by value, each with the id of its publisher, if that is known. The subscription
/// must ask for origins.
pub(crate) struct Attributed<D: Decode>(pub(crate) Messages<D>);

impl<D: Decode> Source for Attributed<D> {
    type Item = (D::Message, Option<Gid>);
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.0.attach(notifier)
    }

    fn try_take(&mut self) -> Result<Option<Self::Item>, TakeError> {
        let Some(taken) = self.0.take()? else { return Ok(None) };
        let publisher = taken.way.identity().map(|(publisher, _)| publisher);
        Ok(Some((taken.message.into_value(), publisher)))
    }

    fn pending(&self) -> Pending {
        self.0.pending()
    }

    fn closer(&self) -> Option<Closer> {
        self.0.closer()
    }
}
