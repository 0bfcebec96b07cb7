//! Timers of the models.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};

use super::super::system::Timer;

/// Next due time of a timer, with its period.
pub(super) struct Due {
    pub(super) at: Instant,
    period: Duration,
}

impl Due {
    /// Returns the timer's first due time, which is its delay from now.
    pub(super) fn new(timer: &Timer) -> Self {
        Self { at: Instant::now() + timer.delay, period: timer.period }
    }

    /// Returns true if the timer is due by `now`. It is then due a period later, or later still if it missed due times.
    pub(super) fn fires(&mut self, now: Instant) -> bool {
        if now < self.at {
            return false;
        }
        let missed = (now - self.at).as_nanos() / self.period.as_nanos().max(1);
        self.at += self.period * u32::try_from(missed + 1).unwrap_or(u32::MAX);
        true
    }
}

/// The timers of a model, ordered by due time.
pub(super) struct Heap {
    dues: Vec<Due>,
    order: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Heap {
    /// Orders the timers by their first due times, each of which is the timer's delay from now. Their numbers are their
    /// indices in `timers`.
    pub(super) fn new(timers: &[Timer]) -> Self {
        let dues: Vec<_> = timers.iter().map(Due::new).collect();
        let order = dues.iter().enumerate().map(|(number, due)| Reverse((due.at, number))).collect();
        Self { dues, order }
    }

    /// Returns the earliest of all next due times; `None` if there are no timers.
    pub(super) fn next(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    /// Returns the number of a timer that is due by `now`, and sets its next due time. `None` if none is due.
    pub(super) fn fire(&mut self, now: Instant) -> Option<usize> {
        let mut first = self.order.peek_mut()?;
        let (_, number) = first.0;
        let due = &mut self.dues[number];
        if !due.fires(now) {
            return None;
        }
        first.0.0 = due.at;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_periods_are_skipped_and_the_phase_is_kept() {
        let ms = Duration::from_millis;
        let timer = Timer { group: 0, period: ms(10), delay: ms(5), callback: Box::new(|| ()) };
        let mut heap = Heap::new(&[timer]);
        let first = heap.next().unwrap();
        assert_eq!(heap.fire(first - ms(1)), None);
        assert_eq!(heap.fire(first), Some(0));
        assert_eq!(heap.next(), Some(first + ms(10)));
        assert_eq!(heap.fire(first + ms(35)), Some(0));
        assert_eq!(heap.next(), Some(first + ms(40)));
    }
}
