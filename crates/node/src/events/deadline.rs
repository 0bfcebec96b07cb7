//! Deadlines of publishers and subscriptions: the longest time between two messages.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use rospin_engine::{ClockKind, Instant, Notifier, Pending, Sleep, Source, TakeError};

use super::record::EndEvents;
use super::status::DeadlineMissed;

/// Missed deadlines of an end, calculated from the times of its messages. Nothing runs for it while no callback wants to be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// Never zero.
    period: Duration,
    /// The time of the last message. The first one starts the first period.
    last: Option<Instant>,
    /// Number of periods without a message, up to the last message.
    missed: u64,
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
        Self { period, last: None, missed: 0 }
    }

    /// Notes a message. Returns true if it is the first one.
    pub(super) fn message(&mut self, now: Instant) -> bool {
        self.missed = self.state(now).missed;
        // Messages on several threads may be noted out of order.
        let before = self.last.replace(self.last.map_or(now, |last| last.max(now)));
        before.is_none()
    }

    fn state(&self, now: Instant) -> State {
        let Some(last) = self.last else { return State { missed: self.missed, next: None } };
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let period = nanos(self.period);
        // A message that comes exactly when the period ends is in time.
        let since = nanos(now.saturating_since(last)).saturating_sub(1) / period;
        let ends = period.saturating_mul(since.saturating_add(1)).saturating_add(1);
        State { missed: self.missed.saturating_add(since), next: Some(last + Duration::from_nanos(ends)) }
    }
}

/// Missed deadlines as the source of an entity. It sleeps on the entity's executor until the next period ends.
pub(crate) struct Misses {
    events: EndEvents,
    number: u64,
    told: u64,
    notifier: Option<Notifier>,
    alarm: Option<Sleep>,
    /// True once it has looked, from when on it is notified of what follows.
    has_looked: bool,
}

impl Misses {
    pub(super) fn new(events: &EndEvents) -> Self {
        let number = events.lock().watchers.add();
        Self { events: events.clone(), number, told: 0, notifier: None, alarm: None, has_looked: false }
    }

    /// Sleeps until that time.
    fn sleep_until(&mut self, notifier: &Notifier, due: Instant) {
        let waker = Waker::from(notifier.clone());
        let mut alarm = notifier.sleep_until(ClockKind::Steady, due);
        if Pin::new(&mut alarm).poll(&mut Context::from_waker(&waker)).is_ready() {
            notifier.notify();
        }
        self.alarm = Some(alarm);
    }
}

impl Source for Misses {
    type Item = DeadlineMissed;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        self.events.lock().watchers.attach(self.number, notifier.clone());
        self.notifier = Some(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<DeadlineMissed>, TakeError> {
        self.has_looked = true;
        let Some(notifier) = self.notifier.clone() else { return Ok(None) };
        let Some(deadline) = self.events.lock().deadline else { return Ok(None) };
        let State { missed, next } = deadline.state(notifier.now());
        if let Some(next) = next {
            self.sleep_until(&notifier, next);
        }
        let before = std::mem::replace(&mut self.told, missed);
        Ok((missed != before).then(|| DeadlineMissed { total: missed, total_change: missed.saturating_sub(before) }))
    }

    fn pending(&self) -> Pending {
        if self.has_looked { Pending::Empty } else { Pending::Unknown }
    }
}

impl Drop for Misses {
    fn drop(&mut self) {
        let removed = self.events.lock().watchers.remove(self.number);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_period_without_a_message_counts_once() {
        let at = |ms| Instant::from_millis(ms);
        let mut deadline = Deadline::new(Duration::from_millis(10));
        let state = |deadline: &Deadline, ms| deadline.state(at(ms));
        assert_eq!(state(&deadline, 500), State { missed: 0, next: None }, "the first message starts the first period");
        assert!(deadline.message(at(100)));
        let in_time = State { missed: 0, next: Some(at(110) + Duration::from_nanos(1)) };
        assert_eq!((state(&deadline, 100), state(&deadline, 110)), (in_time, in_time));
        let late = State { missed: 1, next: Some(at(120) + Duration::from_nanos(1)) };
        assert_eq!((deadline.state(at(110) + Duration::from_nanos(1)), state(&deadline, 120)), (late, late));
        assert!(!deadline.message(at(135)));
        assert_eq!(state(&deadline, 135).missed, 3);
        assert!(!deadline.message(at(134)), "one that is noted late");
        assert_eq!(state(&deadline, 145).missed, 3);
        assert_eq!(state(&deadline, 146).missed, 4);
    }
}
