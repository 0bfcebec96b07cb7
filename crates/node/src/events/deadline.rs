//! Deadlines of publishers and subscriptions: the longest time between two messages.
//!
//! They are counted here, from one `publish` or arrival to the next one, so they are the same over every middleware,
//! and within a process. Cyclone DDS could not do it: its own history cache counts them, which is not used, and its
//! writers do not see messages that only this process hears.

use std::time::Duration;

use rospin_engine::Instant;

use super::record::EndEvents;
use super::status::DeadlineMissed;
use super::timed::Timed;

/// Missed deadlines of an end, calculated from the times of its messages. No timer runs for it unless a callback wants
/// to be told of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// Longest time between two messages. Never zero.
    period: Duration,
    /// The time of the last message. The first one starts the first period.
    last: Option<Instant>,
    /// Number of periods without a message, up to the last message.
    missed: u64,
    /// Number of periods since the last message that were found to be missed. A message that is noted afterwards with
    /// an earlier time does not take them back, because callbacks may have been told of them.
    seen: u64,
}

/// The present state of a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    /// Number of periods without a message so far.
    missed: u64,
    /// The time at which that number grows unless there is a message; `None` before the first message.
    next: Option<Instant>,
}

impl Deadline {
    pub(super) const fn new(period: Duration) -> Self {
        Self { period, last: None, missed: 0, seen: 0 }
    }

    /// Notes a message. Returns true if it is the first one.
    pub(super) fn message(&mut self, now: Instant) -> bool {
        self.missed = self.look(now).missed;
        self.seen = 0;
        // Messages on several threads may be noted out of order.
        let before = self.last.replace(self.last.map_or(now, |last| last.max(now)));
        before.is_none()
    }

    /// Returns the state at `now`, and notes the periods that were missed by then.
    fn look(&mut self, now: Instant) -> State {
        let Some(last) = self.last else { return State { missed: self.missed, next: None } };
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let period = nanos(self.period);
        // A message that comes exactly when the period ends is in time.
        let since = nanos(now.saturating_since(last)).saturating_sub(1) / period;
        self.seen = self.seen.max(since);
        let ends = period.saturating_mul(self.seen.saturating_add(1)).saturating_add(1);
        State { missed: self.missed.saturating_add(self.seen), next: Some(last + Duration::from_nanos(ends)) }
    }
}

impl Timed for DeadlineMissed {
    type Totals = u64;

    fn look(events: &EndEvents, now: Instant) -> (u64, Option<Instant>) {
        let mut state = events.lock();
        state.deadline.as_mut().map_or((0, None), |deadline| {
            let State { missed, next } = deadline.look(now);
            (missed, next)
        })
    }

    fn between(before: u64, now: u64) -> Self {
        Self { total: now, total_change: now.saturating_sub(before) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_without_a_message_counts_once() {
        let at = |ms| Instant::from_millis(ms);
        let mut deadline = Deadline::new(Duration::from_millis(10));
        let state = |deadline: &Deadline, ms| Deadline::clone(deadline).look(at(ms));
        assert_eq!(state(&deadline, 500), State { missed: 0, next: None }, "the first message starts the first period");
        assert!(deadline.message(at(100)));
        let in_time = State { missed: 0, next: Some(at(110) + Duration::from_nanos(1)) };
        assert_eq!((state(&deadline, 100), state(&deadline, 110)), (in_time, in_time));
        let late = State { missed: 1, next: Some(at(120) + Duration::from_nanos(1)) };
        assert_eq!((deadline.look(at(110) + Duration::from_nanos(1)), state(&deadline, 120)), (late, late));
        assert!(!deadline.message(at(135)));
        assert_eq!(state(&deadline, 135).missed, 3);
        assert!(!deadline.message(at(134)), "one that is noted late");
        assert_eq!(state(&deadline, 145).missed, 3);
        assert_eq!(state(&deadline, 146).missed, 4);
    }

    /// The publisher's thread has read the clock, and another one finds a period to be missed before the first one
    /// notes its message.
    #[test]
    fn a_missed_deadline_is_not_taken_back() {
        let at = |ms| Instant::from_millis(ms);
        let mut deadline = Deadline::new(Duration::from_millis(10));
        deadline.message(at(0));
        assert_eq!(deadline.look(at(11)).missed, 1);
        deadline.message(at(9));
        let next = Some(at(19) + Duration::from_nanos(1));
        assert_eq!(deadline.look(at(12)), State { missed: 1, next });
        assert_eq!(deadline.look(at(20)).missed, 2);
    }
}
