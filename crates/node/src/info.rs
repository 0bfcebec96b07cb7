//! Properties of a message besides its content: its publisher, its number, and the times when it was sent and received.
//!
//! Publishing reads no system clock for that: the system's time is calculated from the steady clock when a message is
//! taken. Each publisher counts its messages as Zenoh does, so messages have the same numbers on both ways.

use std::fmt;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use rospin_engine::{Clock, Instant};

/// The id of a publisher or client, which is the same in every process: a DDS or Zenoh identity, or a random one where
/// there is no middleware.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid([u8; 16]);

impl Gid {
    /// Returns the id with these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns its bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns an id that no other publisher or client has.
    pub(crate) fn random() -> Self {
        Self(crate::sync::random_uuid())
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gid({self})")
    }
}

/// The id of a request: its client, and its number among the client's requests. Client and server know the same id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId {
    /// Id of the client.
    pub client: Gid,
    /// The number of the request among those of its client.
    pub number: i64,
}

/// Origin and times of a message. A subscription's callback that takes it as its last parameter gets it.
///
/// Id, number and time of publication are `None` if the publisher did not send them, such as one over Zenoh that is not
/// of ROS 2.
///
/// ```
/// use rospin::{Context, ContextOptions, MessageInfo, Ros, SpinOptions};
/// use rospin::msgs::std_msgs::msg::String as Text;
///
/// let ros = Ros::in_process(&Context::new(ContextOptions::new()));
/// let node = ros.create_node("listener")?;
/// let _subscription = node.create_subscription("chatter", |message: Text, info: MessageInfo| {
///     let age = info.source_timestamp.and_then(|sent| info.received_timestamp.duration_since(sent).ok());
///     println!("{} was under way for {age:?}", message.data);
///     assert!(info.is_in_process);
/// })?;
/// node.create_publisher("chatter")?.publish(Text { data: "hello".to_owned() })?;
/// ros.executor().spin(SpinOptions::spin_all())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageInfo {
    /// Time of publication on the system clock of the publisher's machine, which may differ from this one's. It does
    /// not follow `/clock`, and has nothing to do with [`Node::now`](crate::Node::now) in simulation: see
    /// [`Time`](rospin_engine::Time).
    ///
    /// For messages of this process it is calculated from the steady clock when the message is taken.
    pub source_timestamp: Option<SystemTime>,
    /// Time of the arrival in the subscription's queue, on the system clock. Calculated from the steady clock when the
    /// message is taken.
    pub received_timestamp: SystemTime,
    /// Id of the publisher.
    pub publisher_gid: Option<Gid>,
    /// Number of the message among those of its publisher, which begin with 1. `None` if it came over DDS, which does
    /// not tell it.
    ///
    /// All processes see the same number, with one exception: if two threads publish through one publisher at the same
    /// time, the publisher's process and others may see the numbers of their two messages exchanged.
    pub publication_sequence_number: Option<u64>,
    /// True if the message came from a publisher of this process, without the middleware.
    pub is_in_process: bool,
}

/// An encoded message on its way to a subscription.
#[derive(Clone, Debug)]
pub struct Packet {
    payload: Bytes,
    way: Way,
    /// Time for which it may be taken, from its publication on if it is of this process, and else from its arrival on;
    /// `None` is no limit.
    lifespan: Option<Duration>,
}

/// Origin of a message that came through the middleware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Publication {
    /// Id of the publisher.
    pub publisher: Gid,
    /// The number of the message among those of its publisher, beginning with 1, if the middleware has it.
    pub number: Option<u64>,
    /// Time of the publication on the publisher's system clock, if the middleware has it.
    pub time: Option<SystemTime>,
}

/// The origin of a message of this process: its publisher, its number and the time of its publication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) publisher: Gid,
    pub(crate) number: u64,
    /// On the steady clock. For a message that was kept for a late subscription, or waited for room in its queue, this
    /// is earlier than its arrival.
    pub(crate) published: Instant,
    /// The message's place in the order of publication on its topic, if publishers keep it for late subscriptions or
    /// its topic has several [forms](crate::address::Form); else 0.
    pub(crate) order: u64,
}

/// The way of a message to its subscription, with what is known of its publication.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Way {
    /// From a publisher of this process. `None` if the subscription did not ask for origins.
    Here(Option<Origin>),
    /// Through the middleware. `None` if it knows nothing of the publication.
    Outside(Option<Publication>),
}

impl Way {
    /// Returns the publisher and the number of the message among those of its publisher, as far as they are known.
    pub(crate) const fn identity(&self) -> Option<(Gid, Option<u64>)> {
        match self {
            Self::Here(Some(Origin { publisher, number, .. })) => Some((*publisher, Some(*number))),
            Self::Outside(Some(Publication { publisher, number, .. })) => Some((*publisher, *number)),
            _ => None,
        }
    }
}

impl Packet {
    /// Returns a message that came through the middleware. The payload is a CDR header of four bytes and the encoded
    /// message. `publication` is `None` if the middleware knows nothing of it.
    #[must_use]
    pub const fn new(payload: Bytes, publication: Option<Publication>) -> Self {
        Self { payload, way: Way::Outside(publication), lifespan: None }
    }

    /// Sets the time from the message's arrival on after which it is dropped in place of being taken; `None` is no
    /// limit.
    #[must_use]
    pub const fn with_lifespan(mut self, lifespan: Option<Duration>) -> Self {
        self.lifespan = lifespan;
        self
    }

    /// Returns true if the lifespan of the message, which arrived at that time, is over at `now`.
    pub(crate) fn is_expired(&self, arrival: Instant, now: Instant) -> bool {
        let begin = match self.way {
            Way::Here(Some(origin)) => origin.published,
            _ => arrival,
        };
        self.lifespan.is_some_and(|lifespan| now.saturating_since(begin) >= lifespan)
    }

    /// Returns an encoded message of this process, whose publisher and subscription have different
    /// [forms](crate::address::Form).
    pub(crate) const fn of_here(payload: Bytes, origin: Origin) -> Self {
        Self { payload, way: Way::Here(Some(origin)), lifespan: None }
    }

    pub(crate) const fn payload(&self) -> &Bytes {
        &self.payload
    }

    pub(crate) const fn way(&self) -> Way {
        self.way
    }

    /// Returns the place of a message of this process in the order of publication on its topic; 0 for others.
    pub(crate) const fn order(&self) -> u64 {
        if let Way::Here(Some(origin)) = self.way { origin.order } else { 0 }
    }
}

impl MessageInfo {
    /// Returns the info of a message that came on that way. `arrival` is on the steady clock.
    pub(crate) fn new(way: Way, arrival: Instant, clock: &Clock) -> Self {
        let now = Now::read(clock);
        let publication = match way {
            Way::Outside(publication) => publication,
            Way::Here(origin) => origin.map(|origin| Publication {
                publisher: origin.publisher,
                number: Some(origin.number),
                time: Some(now.system_time(origin.published)),
            }),
        };
        Self {
            source_timestamp: publication.and_then(|publication| publication.time),
            received_timestamp: now.system_time(arrival),
            publisher_gid: publication.map(|publication| publication.publisher),
            publication_sequence_number: publication.and_then(|publication| publication.number),
            is_in_process: matches!(way, Way::Here(_)),
        }
    }
}

/// One moment on two clocks.
struct Now {
    steady: Instant,
    system: SystemTime,
}

impl Now {
    fn read(clock: &Clock) -> Self {
        Self { steady: clock.now(), system: clock.time_of_day() }
    }

    /// Returns the time of the system clock at an earlier time of the steady clock.
    fn system_time(&self, steady: Instant) -> SystemTime {
        self.system - self.steady.saturating_since(steady)
    }
}
