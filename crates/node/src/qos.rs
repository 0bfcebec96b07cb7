//! Quality of service, in the terms of ROS 2.

use std::time::Duration;

use rospin_engine::DepthTooLarge;

/// Quality of service that a publisher offers, or that a subscription demands.
///
/// Which publishers a subscription is matched with depends on it over DDS and within a process. Zenoh connects all.
///
/// ```
/// use std::time::Duration;
/// use rospin_node::{Liveliness, Qos, Reliability};
///
/// let qos = Qos::keep_last(5)
///     .with_deadline(Duration::from_millis(100))
///     .with_lifespan(Duration::from_secs(1))
///     .with_liveliness(Liveliness::ManualByTopic, Duration::from_secs(2));
/// assert_eq!((qos.depth(), Qos::keep_all().depth()), (Some(5), None));
/// assert_eq!((qos.deadline(), Qos::default().deadline()), (Some(Duration::from_millis(100)), None));
/// assert_eq!((qos.lifespan(), qos.liveliness_lease()), (Some(Duration::from_secs(1)), Some(Duration::from_secs(2))));
/// assert_eq!(Qos::sensor_data().reliability, Reliability::BestEffort);
/// let patient = Qos::keep_all().with_max_blocking_time(Duration::from_secs(1));
/// assert_eq!((patient.max_blocking_time, qos.max_blocking_time), (Duration::from_secs(1), Duration::from_millis(100)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Qos {
    /// Treatment of messages that the network lost: see [`Reliability`].
    pub reliability: Reliability,
    /// Longest time for which a reliable publisher waits for room: see
    /// [`with_max_blocking_time`](Self::with_max_blocking_time). It is a publisher's, and has no part in matching.
    pub max_blocking_time: Duration,
    /// Treatment of subscriptions that come late: see [`Durability`].
    pub durability: Durability,
    /// Number of messages that are kept: see [`History`].
    pub history: History,
    /// Longest time between two messages of a publisher; `None` is no limit. A subscription that requests a deadline is
    /// matched only with publishers that offer the same or a shorter one. Missed deadlines are an
    /// [event](crate::DeadlineMissed).
    pub deadline: Option<Duration>,
    /// Time after which a message is not worth receiving any more; `None` is no limit. It is a publisher's: see
    /// [`with_lifespan`](Self::with_lifespan).
    pub lifespan: Option<Duration>,
    /// Signs of life that a publisher gives: see [`Liveliness`].
    pub liveliness: Liveliness,
    /// Longest time between two signs of life of a publisher; `None` is no limit. A subscription that requests a lease
    /// is matched only with publishers that offer the same or a shorter one.
    pub liveliness_lease_duration: Option<Duration>,
}

impl Qos {
    /// Returns reliable, volatile quality of service that keeps the last `depth` messages: at least one, and at most
    /// [`DEPTH_MAX`](rospin_engine::DEPTH_MAX), or else the entity is not created. The default profile of ROS 2 has a
    /// depth of 10.
    #[must_use]
    pub const fn keep_last(depth: usize) -> Self {
        Self {
            reliability: Reliability::Reliable,
            max_blocking_time: Duration::from_millis(100),
            durability: Durability::Volatile,
            history: History::KeepLast(if depth == 0 { 1 } else { depth }),
            deadline: None,
            lifespan: None,
            liveliness: Liveliness::Automatic,
            liveliness_lease_duration: None,
        }
    }

    /// Returns reliable, volatile quality of service that keeps [all](History::KeepAll) messages.
    #[must_use]
    pub const fn keep_all() -> Self {
        Self { history: History::KeepAll, ..Self::keep_last(1) }
    }

    /// Sets the longest time for which a reliable publisher waits for room. The default is that of DDS, 100 ms. With
    /// zero it never waits.
    ///
    /// [`publish`](crate::Publisher::publish) waits with a history that [keeps all](History::KeepAll). With one that
    /// keeps the last few messages it waits over DDS only, and only if it is called as fast as possible: while more is on
    /// its way to other processes of this machine than fits into the buffers of their sockets, and for 25 ms at most if
    /// they do not answer. [`wait_for_room`](crate::Publisher::wait_for_room) waits with any history. Over Zenoh, a
    /// publisher waits for as long as the session's options say.
    #[must_use]
    pub const fn with_max_blocking_time(self, max_blocking_time: Duration) -> Self {
        Self { max_blocking_time, ..self }
    }

    /// Sets the longest time between two messages. Zero is no limit.
    ///
    /// Each end measures it by itself, over every middleware: a publisher from one `publish` to the next one, a
    /// subscription from one arrival to the next one, by the steady clock. The first message starts the first period.
    /// Each period without a message counts as one miss.
    #[must_use]
    pub const fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline: Some(deadline), ..self }
    }

    /// Sets the time after which a publisher's messages are not worth receiving any more. Zero is no limit.
    ///
    /// A message that waits in a subscription's queue for longer is dropped in place of being taken, and counted in
    /// [`lost`](crate::Subscription::lost) as [`Expired`](rospin_engine::LossCause::Expired). One that was kept for
    /// late subscriptions is dropped, too, once it is too old. For messages of other processes the time begins with
    /// their arrival, as Cyclone DDS has it. Over Zenoh the subscriptions of other processes know no lifespan.
    #[must_use]
    pub const fn with_lifespan(self, lifespan: Duration) -> Self {
        Self { lifespan: Some(lifespan), ..self }
    }

    /// Sets the signs of life of a publisher, and the longest time between two of them. Zero is no limit.
    #[must_use]
    pub const fn with_liveliness(self, liveliness: Liveliness, lease_duration: Duration) -> Self {
        Self { liveliness, liveliness_lease_duration: Some(lease_duration), ..self }
    }

    /// Returns the longest time between two messages; `None` is no limit. It is never zero.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline.filter(|deadline| !deadline.is_zero())
    }

    /// Returns the time for which messages are worth receiving; `None` is no limit. It is never zero.
    #[must_use]
    pub fn lifespan(&self) -> Option<Duration> {
        self.lifespan.filter(|lifespan| !lifespan.is_zero())
    }

    /// Returns the longest time between two signs of life; `None` is no limit. It is never zero.
    #[must_use]
    pub fn liveliness_lease(&self) -> Option<Duration> {
        self.liveliness_lease_duration.filter(|lease| !lease.is_zero())
    }

    /// Returns true if it is reliable and keeps all.
    pub(crate) fn loses_nothing(&self) -> bool {
        self.reliability == Reliability::Reliable && self.history == History::KeepAll
    }

    /// Returns true if it has a deadline, a lifespan, a lease or manual liveliness. Ends with such a quality of service
    /// exchange encoded messages, so that all other ends need no code for time.
    pub(crate) fn is_timed(&self) -> bool {
        self.deadline().is_some()
            || self.lifespan().is_some()
            || self.liveliness_lease().is_some()
            || self.liveliness != Liveliness::Automatic
    }

    /// Returns the sensor data profile of ROS 2: best effort, keep the last 5.
    #[must_use]
    pub const fn sensor_data() -> Self {
        Self { reliability: Reliability::BestEffort, ..Self::keep_last(5) }
    }

    /// Returns an error if that entity, or the publisher of that topic, would keep more messages than a queue may.
    pub(crate) fn check_depth(&self, entity: &str) -> Result<(), DepthTooLarge> {
        DepthTooLarge::check(entity, self.depth().unwrap_or_default())
    }

    /// Sets the depth: `depth`, or 1 if that is zero.
    #[must_use]
    pub(crate) fn with_depth(self, depth: usize) -> Self {
        Self { history: History::KeepLast(depth.max(1)), ..self }
    }

    /// Returns the depth, which is at least 1, or `None` if everything is kept.
    #[must_use]
    pub const fn depth(&self) -> Option<usize> {
        match self.history {
            History::KeepLast(0) => Some(1),
            History::KeepLast(depth) => Some(depth),
            History::KeepAll => None,
        }
    }
}

impl Default for Qos {
    fn default() -> Self {
        Self::keep_last(10)
    }
}

/// Treatment of messages that the network lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reliability {
    /// Each message is sent once. A subscription that requests it receives from all publishers.
    BestEffort,
    /// Each message is sent until it has arrived. A subscription that requests it receives from reliable publishers
    /// only.
    Reliable,
}

/// Treatment of subscriptions that are created after a message was published.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Durability {
    /// Later subscriptions do not get the message.
    Volatile,
    /// Later subscriptions get the message if they ask for it, and if its publisher still exists and still keeps it.
    TransientLocal,
}

/// Signs of life that a publisher gives. Publishers that stay silent for longer than their
/// [lease](Qos::with_liveliness) count as not alive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Liveliness {
    /// The middleware gives them for as long as the process runs.
    Automatic,
    /// The publisher gives them: by publishing, or by [asserting](crate::Publisher::assert_liveliness) that it is
    /// alive.
    ManualByTopic,
}

/// Messages that are kept until they are taken, or acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum History {
    /// The newest messages, as many as this number; at least one.
    KeepLast(usize),
    /// All messages, within the limits of the middleware. In a process, a subscription has room for 8192. While that is
    /// full, a reliable publisher that keeps all waits for up to its
    /// [`max_blocking_time`](Qos::with_max_blocking_time) (and once more for subscriptions that ask for a
    /// [`MessageInfo`](crate::MessageInfo)), unless its thread spins an executor: a callback that waited
    /// might keep the subscription's callback from running. A thread of Tokio's waits, too. After that, the oldest
    /// messages are lost, and counted.
    ///
    /// Over DDS, messages of a reliable publisher for which a subscription that keeps all has no room stay with the
    /// publisher: the subscription loses none. A publisher that keeps all waits for up to its `max_blocking_time` until
    /// its own history has room, on any thread, and then returns [`PublishError::Full`](crate::PublishError::Full): each message is
    /// received or was refused. A subscription has room for 8192 messages and 64 MiB there. Over Zenoh, a publisher
    /// that keeps all waits for the connection, and a subscription loses the oldest messages, and counts them.
    KeepAll,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_one_is_kept() {
        let depths =
            [Qos::keep_last(0), Qos::default().with_depth(0), Qos { history: History::KeepLast(0), ..Qos::default() }];
        assert_eq!(depths.map(|qos| qos.depth()), [Some(1); 3]);
    }
}
