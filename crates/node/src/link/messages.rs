//! The receiving end of a topic.

use std::sync::Arc;

use bytes::Bytes;
use rospin_engine::{Closer, Context, Instant, Notifier, Pending, Queue, Source, SubscriptionOptions, TakeError};
use rospin_wire::cdr::from_payload_with;

use super::{KEEP_ALL, contain, guarantees, refused};
use crate::callback::Received;
use crate::error::Refused;
use crate::inbox::{Delivery, Inbox};
use crate::local_topics::{Address, AllMatches, EndKind, LocalEnd, LocalTopics};
use crate::matches::Matches;
use crate::message::Decode;
use crate::middleware::SubscriptionEnd;
use crate::qos::{Durability, Qos};

/// The messages of a subscription in the order of their arrival: those of this process as they are, and others encoded.
///
/// They wait in two queues, of which together the newest are kept, as many as the depth says.
pub(crate) struct Messages<D: Decode> {
    decode: D,
    depth: usize,
    // First nothing comes any more from either side, and then is counted what was left.
    end: Arc<LocalEnd>,
    _outside: Option<Box<dyn Send>>,
    here: Queue<D::Message>,
    encoded: Inbox<Bytes>,
}

impl<D: Decode> Messages<D> {
    pub(super) fn new(
        context: &Context,
        topics: &Arc<LocalTopics>,
        subscribe: impl FnOnce(Delivery<Bytes>) -> Result<Option<SubscriptionEnd>, Refused>,
        (address, qos): (Address, &Qos),
        decode: D,
    ) -> Result<(Self, Box<dyn Matches>), Refused> {
        let depth = qos.depth().unwrap_or(KEEP_ALL);
        let demands = guarantees(qos);
        let options = SubscriptionOptions::new(address.engine_name());
        let mut options = options.within(&topics.engine).keep_last(depth).demands(demands);
        if qos.durability == Durability::TransientLocal {
            options = options.transient_local();
        }
        let (encoded, delivery) = Inbox::new(depth);
        let (reader, outside) = subscribe(delivery.clone())?.map(|end| (end.reader, end.matches)).unzip();
        let here = context.create_queue::<D::Message>(options).map_err(refused)?;
        let end = topics.enter(address, EndKind::Subscription { demands, delivery });
        let end = Arc::new(end);
        let matches = AllMatches { here: Arc::clone(&end), outside };
        Ok((Self { decode, depth, end, _outside: reader, here, encoded }, Box::new(matches)))
    }

    /// Returns when the message that is taken next arrived, or `None` if there is none. Requires that a notifier is attached.
    pub(crate) fn oldest_arrival(&self) -> Option<Instant> {
        let arrivals = [self.here.oldest_arrival(), self.encoded.oldest_arrival()];
        arrivals.into_iter().flatten().min()
    }

    /// Drops the oldest messages of both queues beyond the depth.
    fn make_room(&mut self) {
        let encoded = self.encoded.len();
        if encoded == 0 {
            return;
        }
        let surplus = (encoded + self.here.len()).saturating_sub(self.depth);
        for _ in 0..surplus {
            let is_gone =
                self.encoded.pop_before(self.here.oldest_arrival()).is_some() || self.here.try_take().is_some();
            // While a publisher displaces the oldest message, there may be nothing to take. The topic counts that message.
            self.encoded.count_lost(is_gone.into());
        }
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
        self.make_room();
        let mut payload = self.encoded.pop_before(self.here.oldest_arrival());
        if payload.is_none() {
            if let Some(message) = Source::try_take(&mut self.here)? {
                return Ok(Some(Received::Shared(message)));
            }
            // The one that was older has made room for another, which is not there yet.
            payload = self.encoded.pop();
        }
        let Some(payload) = payload else { return Ok(None) };
        let decoded = contain(|| from_payload_with(&payload, self.decode.clone()));
        decoded.map(|message| Some(Received::Owned(message))).map_err(TakeError::Failed)
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
