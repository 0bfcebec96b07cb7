//! Events of several threads in the order of time, although they come thread after thread.

use rospin_core::Instant;
use rospin_core::recording::{Event, Words};
use std::collections::HashMap;

/// An event with its thread.
pub(crate) type Ordered = (u32, Instant, Event);

/// Events that wait until no earlier one of another thread can come.
#[derive(Default)]
pub(crate) struct RoundSorter {
    /// Events with their places in time.
    waiting: Vec<(u64, Ordered)>,
    /// The latest time of each thread: a release is noted later than it happened, and stays behind what came before it.
    latest: HashMap<u32, u64>,
    /// The latest time of the last round and of this one.
    former: u64,
    newest: u64,
}

impl RoundSorter {
    pub(crate) fn add(&mut self, thread: u32, events: &[Words]) {
        let latest = self.latest.entry(thread).or_default();
        for (at, event) in events.iter().filter_map(Event::decode) {
            *latest = at.as_nanos().max(*latest);
            self.waiting.push((*latest, (thread, at, event)));
        }
        self.newest = self.newest.max(*latest);
        // Threads that come and go.
        if self.latest.len() > 10_000 {
            let former = self.former;
            self.latest.retain(|_, latest| *latest >= former);
        }
    }

    /// Ends a round, and returns the events that are in their order: all that happened until the end of the round
    /// before. What another thread did until then has been read in this round.
    pub(crate) fn end_round(&mut self) -> Vec<Ordered> {
        let until = std::mem::replace(&mut self.former, self.newest);
        self.take(until)
    }

    /// Returns the time of the latest event in nanoseconds; `None` while events wait for their order, or if there was
    /// none.
    pub(super) fn all_until(&self) -> Option<u64> {
        if self.newest > 0 && self.waiting.is_empty() { Some(self.newest) } else { None }
    }

    /// Returns all events.
    pub(crate) fn flush(&mut self) -> Vec<Ordered> {
        self.take(u64::MAX)
    }

    fn take(&mut self, until: u64) -> Vec<Ordered> {
        // A stable sort keeps the order of each thread.
        self.waiting.sort_by_key(|(at, _)| *at);
        let count = self.waiting.partition_point(|(at, _)| *at <= until);
        self.waiting.drain(..count).map(|(_, event)| event).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u64) -> Words {
        Event::Dropped { count: at }.encode(Instant::from_nanos(at))
    }

    fn times(events: &[Ordered]) -> Vec<u64> {
        events.iter().map(|(_, at, _)| at.as_nanos()).collect()
    }

    #[test]
    fn threads_are_merged_a_round_later() {
        let mut order = RoundSorter::default();
        order.add(1, &[event(10), event(30)]);
        order.add(2, &[event(20)]);
        assert!(order.end_round().is_empty());
        order.add(1, &[event(50)]);
        order.add(2, &[event(25), event(40)]);
        assert_eq!(times(&order.end_round()), [10, 20, 25, 30]);
        assert_eq!(times(&order.end_round()), [40, 50]);
        order.add(1, &[event(60)]);
        assert_eq!(times(&order.flush()), [60]);
    }

    #[test]
    fn the_order_of_a_thread_is_kept_although_releases_are_noted_later() {
        let mut order = RoundSorter::default();
        order.add(1, &[event(30), event(10)]);
        order.add(2, &[event(20)]);
        assert_eq!(times(&order.flush()), [20, 30, 10]);
    }
}
