//! Liveliness: publishers that give signs of life in time, and those that do not.

use std::time::Duration;

use rospin_engine::Instant;

use super::record::EndEvents;
use super::status::{LivelinessChanged, LivelinessLost};
use super::timed::Timed;

/// The lease of a publisher whose program gives the signs of life. No timer runs for it unless a callback wants to be
/// told of its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    duration: Duration,
    /// The time of the last sign of life. The creation of the publisher is one.
    last: Instant,
    /// Number of times that the lease was found to have ended.
    lost: u64,
    /// True if it was found to have ended since the last sign of life. A sign that is noted afterwards, even with an
    /// earlier time, begins a new lease. Callbacks must then be notified, because no timer wakes them after the end of
    /// a lease.
    has_ended: bool,
}

impl Lease {
    pub(super) const fn new(duration: Duration, now: Instant) -> Self {
        Self { duration, last: now, lost: 0, has_ended: false }
    }

    /// Notes a sign of life. Returns true if the lease had ended.
    pub(super) fn sign(&mut self, now: Instant) -> bool {
        let had_ended = self.look(now);
        self.has_ended = false;
        // Signs on several threads may be noted out of order.
        self.last = self.last.max(now);
        had_ended
    }

    /// Returns the last moment of the lease.
    fn end(&self) -> Instant {
        self.last + self.duration
    }

    /// Notes if the lease has ended at `now`, and returns true in that case.
    fn look(&mut self, now: Instant) -> bool {
        if !self.has_ended && now > self.end() {
            self.has_ended = true;
            self.lost += 1;
        }
        self.has_ended
    }

    /// Returns the first moment after the lease, unless it was found to have ended.
    fn next(&self) -> Option<Instant> {
        if self.has_ended { None } else { Some(self.end() + Duration::from_nanos(1)) }
    }
}

impl Timed for LivelinessLost {
    type Totals = u64;

    fn look(events: &EndEvents, now: Instant) -> (u64, Option<Instant>) {
        let mut state = events.lock();
        let Some(lease) = &mut state.lease else { return (0, None) };
        lease.look(now);
        (lease.lost, lease.next())
    }

    fn between(before: u64, now: u64) -> Self {
        Self { total: now, total_change: now.saturating_sub(before) }
    }
}

/// Numbers of a subscription's publishers that are alive, and that are not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Alive {
    pub(super) alive: usize,
    pub(super) not_alive: usize,
}

impl Timed for LivelinessChanged {
    type Totals = Alive;

    fn look(events: &EndEvents, now: Instant) -> (Alive, Option<Instant>) {
        let (mut totals, publishers) = {
            let state = events.lock();
            (state.elsewhere, state.publishers.clone())
        };
        let mut next: Option<Instant> = None;
        // The publishers' locks are taken without the subscription's lock, because a publisher locks its subscriptions
        // under its own lock.
        for publisher in publishers {
            let mut state = publisher.lock();
            if state.lease.as_mut().is_some_and(|lease| lease.look(now)) {
                totals.not_alive += 1;
            } else {
                totals.alive += 1;
            }
            next = next.into_iter().chain(state.lease.and_then(|lease| lease.next())).min();
        }
        (totals, next)
    }

    fn between(before: Alive, now: Alive) -> Self {
        let change = |now: usize, before: usize| now.wrapping_sub(before).cast_signed();
        Self {
            alive: now.alive,
            alive_change: change(now.alive, before.alive),
            not_alive: now.not_alive,
            not_alive_change: change(now.not_alive, before.not_alive),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qos::{Liveliness, Qos};

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_lease_ends_once_until_the_next_sign_of_life() {
        let qos = Qos::default().with_liveliness(Liveliness::ManualByTopic, Duration::from_millis(10));
        let publisher = EndEvents::of(&qos, at(0));
        let subscription = EndEvents::of(&qos, at(0));
        subscription.follow(&publisher);
        let lost = |ms| LivelinessLost::look(&publisher, at(ms));
        let alive = |ms| {
            let (Alive { alive, not_alive }, next) = LivelinessChanged::look(&subscription, at(ms));
            (alive, not_alive, next)
        };
        let first = Some(at(10) + Duration::from_nanos(1));
        assert_eq!((lost(10), alive(10)), ((0, first), (1, 0, first)));
        assert_eq!((lost(11), alive(11)), ((1, None), (0, 1, None)));
        assert_eq!((lost(500), alive(500)), ((1, None), (0, 1, None)));
        publisher.sign_of_life(at(500));
        let second = Some(at(510) + Duration::from_nanos(1));
        assert_eq!((lost(501), alive(501)), ((1, second), (1, 0, second)));
        publisher.sign_of_life(at(509));
        assert_eq!((lost(519).0, lost(520).0), (1, 2));
        subscription.unfollow(&publisher);
        assert_eq!(alive(519), (0, 0, None));
    }

    /// The publisher's thread has read the clock, and another one finds the lease to have ended before the first one
    /// notes its sign.
    #[test]
    fn a_sign_of_life_that_is_noted_late_begins_a_lease() {
        let mut lease = Lease::new(Duration::from_millis(10), at(0));
        assert!(lease.look(at(11)));
        assert!(lease.sign(at(9)), "whoever was told of the end is told of the new lease");
        assert_eq!((lease.lost, lease.look(at(11)), lease.next()), (1, false, Some(at(19) + Duration::from_nanos(1))));
        assert!(lease.look(at(20)));
        assert_eq!((lease.lost, lease.next()), (2, None));
    }

    #[test]
    fn a_publisher_with_automatic_liveliness_is_alive() {
        let qos = Qos::default().with_liveliness(Liveliness::Automatic, Duration::from_millis(10));
        let publisher = EndEvents::of(&qos, at(0));
        let subscription = EndEvents::of(&qos, at(0));
        subscription.follow(&publisher);
        subscription.liveliness(2, 1);
        let alive = LivelinessChanged::look(&subscription, at(500));
        assert_eq!(alive, (Alive { alive: 3, not_alive: 1 }, None));
        assert_eq!(LivelinessLost::look(&publisher, at(500)), (0, None));
    }
}
