//! The events, as callbacks get them.

use std::fmt;

/// Matches of a publisher or subscription: the ends that it is connected with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MatchedStatus {
    /// Number of ends that the publisher or subscription is matched with now.
    pub current: usize,
    /// Change of `current` since the callback's last run.
    pub current_change: isize,
    /// Number of matches so far, those that have ended included. An end that goes and comes again counts twice.
    pub total: u64,
    /// Change of `total` since the callback's last run.
    pub total_change: u64,
}

/// Other ends of the topic that are not matched, because a subscription demands what a publisher does not offer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IncompatibleQos {
    /// Policy that does not fit, of the last such end. Of several policies, it is the first one in the order of
    /// [`QosPolicy`].
    pub policy: QosPolicy,
    /// Number of such ends that were found so far. DDS may count an end twice if it comes while this one is being
    /// created.
    pub total: u64,
    /// Change of `total` since the callback's last run.
    pub total_change: u64,
}

/// Messages that a subscription lost: those that newer ones displaced before its callback could take them, and those
/// that never arrived, as far as the middleware can tell. [`Subscription::missed`](crate::Subscription::missed) has the
/// same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MessageLost {
    /// Number of lost messages so far.
    pub total: u64,
    /// Change of `total` since the callback's last run.
    pub total_change: u64,
}

/// Deadlines that a publisher or a subscription missed: periods of its [deadline](crate::Qos::with_deadline) without a
/// message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeadlineMissed {
    /// Number of periods without a message so far.
    pub total: u64,
    /// Change of `total` since the callback's last run.
    pub total_change: u64,
}

/// Publishers of a subscription that are alive, and those that gave no [sign of life](crate::Qos::with_liveliness) for
/// longer than their lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LivelinessChanged {
    /// Number of matched publishers that are alive.
    pub alive: usize,
    /// Change of `alive` since the callback's last run.
    pub alive_change: isize,
    /// Number of publishers that are not alive.
    pub not_alive: usize,
    /// Change of `not_alive` since the callback's last run.
    pub not_alive_change: isize,
}

/// Leases that a publisher with [manual liveliness](crate::Liveliness::ManualByTopic) let end without a sign of life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LivelinessLost {
    /// Number of leases that ended so far.
    pub total: u64,
    /// Change of `total` since the callback's last run.
    pub total_change: u64,
}

/// Policy of a quality of service by which ends are matched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum QosPolicy {
    /// See [`Reliability`](crate::Reliability).
    Reliability,
    /// See [`Durability`](crate::Durability).
    Durability,
    /// See [`Qos::with_deadline`](crate::Qos::with_deadline).
    Deadline,
    /// See [`Qos::with_liveliness`](crate::Qos::with_liveliness).
    Liveliness,
    /// A policy of the middleware that ROS 2 does not have.
    Other,
}

impl fmt::Display for QosPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reliability => "reliability",
            Self::Durability => "durability",
            Self::Deadline => "deadline",
            Self::Liveliness => "liveliness",
            Self::Other => "other",
        })
    }
}
