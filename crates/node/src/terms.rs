//! Quality of service by which ends of this process are matched, as DDS and ROS 2 match it.

use std::time::Duration;

use rospin_engine::Guarantees;

use crate::events::QosPolicy;
use crate::qos::{Durability, Liveliness, Qos, Reliability};

/// Quality of service that a publisher offers or a subscription requests, as far as their match depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Terms {
    /// Reliability and durability, which the engine compares, too.
    pub(crate) guarantees: Guarantees,
    /// Longest time between two messages. [`Duration::MAX`] is no limit.
    deadline: Duration,
    /// Longest time without a sign of life. [`Duration::MAX`] is no limit.
    lease: Duration,
    liveliness: Liveliness,
}

impl Terms {
    /// Terms of a publisher that every subscription is matched with.
    pub(crate) const ALL: Self = Self {
        guarantees: Guarantees::ALL,
        deadline: Duration::ZERO,
        lease: Duration::ZERO,
        liveliness: Liveliness::ManualByTopic,
    };

    /// Returns the terms of a publisher or subscription with that quality of service.
    pub(crate) fn of(qos: &Qos) -> Self {
        let reliable = if qos.reliability == Reliability::Reliable { Guarantees::RELIABLE } else { Guarantees::NONE };
        let latched =
            if qos.durability == Durability::TransientLocal { Guarantees::TRANSIENT_LOCAL } else { Guarantees::NONE };
        Self {
            guarantees: reliable | latched,
            deadline: qos.deadline().unwrap_or(Duration::MAX),
            lease: qos.liveliness_lease().unwrap_or(Duration::MAX),
            liveliness: qos.liveliness,
        }
    }

    /// Returns `Ok` if a publisher with these terms meets those of a subscription, and otherwise the first policy that
    /// it does not meet, in the order in which Cyclone DDS compares them.
    pub(crate) fn meet(&self, requested: &Self) -> Result<(), QosPolicy> {
        let lacks = |guarantee| requested.guarantees.include(guarantee) && !self.guarantees.include(guarantee);
        let unmet = [
            (lacks(Guarantees::RELIABLE), QosPolicy::Reliability),
            (lacks(Guarantees::TRANSIENT_LOCAL), QosPolicy::Durability),
            (self.deadline > requested.deadline, QosPolicy::Deadline),
            (self.liveliness < requested.liveliness || self.lease > requested.lease, QosPolicy::Liveliness),
        ];
        unmet.into_iter().find(|(is_unmet, _)| *is_unmet).map_or(Ok(()), |(_, policy)| Err(policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_millis(20);

    fn meets(offered: Qos, requested: Qos) -> Result<(), QosPolicy> {
        Terms::of(&offered).meet(&Terms::of(&requested))
    }

    #[test]
    fn a_publisher_offers_at_least_what_is_requested() {
        let any = Qos::default();
        assert_eq!(meets(any, any), Ok(()));
        assert_eq!(meets(any.with_deadline(SHORT), any), Ok(()));
        assert_eq!(meets(any.with_deadline(SHORT), any.with_deadline(LONG)), Ok(()));
        assert_eq!(meets(any.with_deadline(SHORT), any.with_deadline(SHORT)), Ok(()));
        assert_eq!(meets(any.with_deadline(LONG), any.with_deadline(SHORT)), Err(QosPolicy::Deadline));
        assert_eq!(meets(any, any.with_deadline(LONG)), Err(QosPolicy::Deadline));
        assert_eq!(meets(any.with_lifespan(SHORT), any), Ok(()), "subscriptions request no lifespan");
        let automatic = |lease| any.with_liveliness(Liveliness::Automatic, lease);
        let manual = |lease| any.with_liveliness(Liveliness::ManualByTopic, lease);
        assert_eq!(meets(manual(SHORT), automatic(LONG)), Ok(()));
        assert_eq!(meets(automatic(SHORT), manual(LONG)), Err(QosPolicy::Liveliness));
        assert_eq!(meets(manual(LONG), manual(SHORT)), Err(QosPolicy::Liveliness));
        assert_eq!(Terms::ALL.meet(&Terms::of(&manual(SHORT).with_deadline(SHORT))), Ok(()));
        let worst = Qos { reliability: Reliability::BestEffort, ..any };
        assert_eq!(meets(worst, any.with_deadline(SHORT)), Err(QosPolicy::Reliability), "the first policy is told");
        let latched = Qos { durability: Durability::TransientLocal, ..any };
        assert_eq!(meets(any, latched.with_deadline(SHORT)), Err(QosPolicy::Durability));
    }

    #[test]
    fn a_time_of_zero_is_no_limit() {
        let any = Qos::default();
        assert_eq!(meets(any, any.with_deadline(Duration::ZERO)), Ok(()));
        assert_eq!(any.with_lifespan(Duration::ZERO).lifespan(), None);
    }
}
