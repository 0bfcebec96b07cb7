//! The ends of a topic.

use std::any::TypeId;
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use rospin_engine::{
    Closer, Context, Notifier, Pending, PublisherOptions, Queue, Source, SubscriptionOptions, TakeError, TopicEnds,
};
use rospin_wire::cdr::{append_payload, from_payload_with};

use super::{KEEP_ALL, refused};
use crate::callback::Received;
use crate::dynamic::DynamicMessage;
use crate::message::{Decode, Encode};
use crate::middleware::{Awaited, Matches, PayloadSource, PublisherEnd, Refused};
use crate::names::{FullName, TypeName};
use crate::publisher::PublishError;
use crate::qos::{Durability, Qos};

/// The topic of the context that messages of Rust type `M` go over. All dynamic messages have one Rust type: those of each ROS type
/// have a topic of their own.
fn topic_of<M: 'static>(topic: &FullName, message_type: &TypeName) -> String {
    if TypeId::of::<M>() != TypeId::of::<DynamicMessage>() {
        return topic.to_string();
    }
    format!("{topic} of {message_type} {}", message_type.hash.as_deref().unwrap_or_default())
}

thread_local! {
    /// The memory of the last payload that was encoded on this thread, unless its middleware took it.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// How long the last payload of a publisher was: the next one will hardly be much longer.
#[derive(Default)]
pub(crate) struct Room(AtomicUsize);

impl Room {
    /// Returns an empty buffer with so much room. It is taken out, since encoding is the message's own code, which may publish
    /// something itself.
    fn buffer(&self) -> Vec<u8> {
        let mut buffer = BUFFER.take();
        buffer.clear();
        buffer.reserve(self.0.load(Ordering::Relaxed));
        buffer
    }

    fn note(&self, length: usize) {
        self.0.store(length, Ordering::Relaxed);
    }
}

/// What a publisher sends through.
pub(crate) enum PublisherLink<M: Encode> {
    InProcess(rospin_engine::Publisher<M>),
    Network { topic: String, end: Box<dyn PublisherEnd>, room: Room },
}

impl<M: Encode> PublisherLink<M> {
    pub(super) fn in_process(
        context: &Context,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<Self, Refused> {
        let mut options = PublisherOptions::new(topic_of::<M>(topic, message_type));
        if qos.durability == Durability::TransientLocal {
            options = options.transient_local(qos.depth().unwrap_or(KEEP_ALL));
        }
        context.create_publisher(options).map(Self::InProcess).map_err(refused)
    }

    pub(super) fn network(topic: &FullName, end: Box<dyn PublisherEnd>) -> Self {
        Self::Network { topic: topic.to_string(), end, room: Room::default() }
    }

    pub(crate) fn publish(&self, message: M) -> Result<(), PublishError> {
        match self {
            Self::InProcess(publisher) => {
                // What it displaces is counted where it was.
                publisher.publish(message);
                Ok(())
            }
            Self::Network { topic, end, room } => {
                let failed = |reason: String| PublishError::Failed { topic: topic.clone(), reason };
                let mut payload = room.buffer();
                let encoded = append_payload(&mut payload, &message).map_err(|error| failed(error.to_string()));
                let sent = encoded.and_then(|()| {
                    room.note(payload.len());
                    end.publish(&mut payload)
                });
                BUFFER.set(payload);
                sent
            }
        }
    }
}

impl<M: Encode> Matches for PublisherLink<M> {
    fn count(&self) -> usize {
        match self {
            Self::InProcess(publisher) => publisher.subscription_count(),
            Self::Network { end, .. } => end.count(),
        }
    }

    fn wait(&self) -> Awaited<()> {
        match self {
            Self::InProcess(publisher) => Box::pin(publisher.ends().wait_for_subscription()),
            Self::Network { end, .. } => end.wait(),
        }
    }
}

/// The publishers of a topic of the context.
struct Publishers(TopicEnds);

impl Matches for Publishers {
    fn count(&self) -> usize {
        self.0.publisher_count()
    }

    fn wait(&self) -> Awaited<()> {
        Box::pin(self.0.wait_for_publisher())
    }
}

/// The messages of a subscription.
pub(crate) enum Messages<D: Decode> {
    InProcess(Queue<D::Message>),
    Network { source: PayloadSource, decode: D },
}

impl<D: Decode> Messages<D> {
    pub(super) fn in_process(
        context: &Context,
        topic: &FullName,
        message_type: &TypeName,
        qos: &Qos,
    ) -> Result<(Self, Box<dyn Matches>), Refused> {
        let topic = topic_of::<D::Message>(topic, message_type);
        let mut options = SubscriptionOptions::new(topic).keep_last(qos.depth().unwrap_or(KEEP_ALL));
        if qos.durability == Durability::TransientLocal {
            options = options.transient_local();
        }
        let queue = context.create_queue::<D::Message>(options).map_err(refused)?;
        let publishers = Publishers(queue.ends());
        Ok((Self::InProcess(queue), Box::new(publishers)))
    }
}

impl<D: Decode> Source for Messages<D> {
    type Item = Received<D::Message>;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        match self {
            Self::InProcess(queue) => queue.attach(notifier),
            Self::Network { source, .. } => source.attach(notifier),
        }
    }

    fn try_take(&mut self) -> Result<Option<Received<D::Message>>, TakeError> {
        match self {
            Self::InProcess(queue) => Ok(Source::try_take(queue)?.map(Received::Shared)),
            Self::Network { source, decode } => {
                let Some(payload) = source.try_take()? else { return Ok(None) };
                let decoded = from_payload_with(&payload, decode.clone());
                decoded
                    .map(|message| Some(Received::Owned(message)))
                    .map_err(|error| TakeError::Failed(Box::new(error)))
            }
        }
    }

    fn pending(&self) -> Pending {
        match self {
            Self::InProcess(queue) => queue.pending(),
            Self::Network { source, .. } => source.pending(),
        }
    }

    fn closer(&self) -> Option<Closer> {
        match self {
            Self::InProcess(queue) => queue.closer(),
            Self::Network { source, .. } => source.closer(),
        }
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
