//! Lateness of threads: the grid of due times, the record of starts, and the barest loop that sleeps to them.

use std::time::Duration;

use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time after the last due time for which a timer may still go on. The first start that is later ends the record; those
/// that follow are missing.
pub const GRACE: Duration = Duration::from_millis(20);
/// Time between setting up and the first due time.
const LEAD: Duration = Duration::from_millis(5);

/// Returns the time in nanoseconds of the steady clock, which is the same in all processes.
#[must_use]
pub fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    // Neither part is ever negative on this clock.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Grid of equidistant due times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The first due time, in nanoseconds of the steady clock.
    pub first_ns: u64,
    /// Nanoseconds between two due times.
    pub period_ns: u64,
    /// Number of due times.
    pub count: u64,
}

impl Grid {
    /// Returns a grid whose first due time is 5 ms from now plus `phase`.
    #[must_use]
    pub fn soon(period: Duration, count: u64, phase: Duration) -> Self {
        Self { first_ns: now_ns() + (LEAD + phase).as_nanos() as u64, period_ns: period.as_nanos() as u64, count }
    }

    /// Returns the time between two due times.
    #[must_use]
    pub const fn period(&self) -> Duration {
        Duration::from_nanos(self.period_ns)
    }

    /// Returns the due time with this number, from 0, in nanoseconds of the steady clock.
    #[must_use]
    pub const fn due_ns(&self, number: u64) -> u64 {
        self.first_ns + number * self.period_ns
    }

    /// Returns the last due time; for a grid without due times, the time of a first one.
    const fn last_ns(&self) -> u64 {
        self.due_ns(self.count.saturating_sub(1))
    }

    /// Returns the first due time of the grid after both `due_ns` and `now_ns`. ROS timers that miss due times continue
    /// there.
    #[must_use]
    pub const fn next_ns(&self, due_ns: u64, now_ns: u64) -> u64 {
        let next = due_ns + self.period_ns;
        if next > now_ns { next } else { next + ((now_ns - next) / self.period_ns + 1) * self.period_ns }
    }

    /// Returns the end of the grid including [`GRACE`], in nanoseconds of the steady clock. The first start after it
    /// ends the record.
    #[must_use]
    pub const fn over_ns(&self) -> u64 {
        self.last_ns() + GRACE.as_nanos() as u64
    }

    /// Returns the time from now to the end of the grid including [`GRACE`]; zero if that is over.
    #[must_use]
    pub fn left(&self) -> Duration {
        Duration::from_nanos(self.over_ns().saturating_sub(now_ns()))
    }
}

/// Record of the lateness of each start on a grid.
#[derive(Clone, Debug)]
pub struct Lateness {
    grid: Grid,
    /// Lateness of each start in nanoseconds.
    late_ns: Vec<u64>,
}

impl Lateness {
    /// Returns a record with memory for all starts. The memory is touched here, because a page fault later would look
    /// like a late start.
    #[must_use]
    pub fn new(grid: Grid) -> Self {
        let mut late_ns = vec![u64::MAX; usize::try_from(grid.count).unwrap_or(0)];
        late_ns.clear();
        Self { grid, late_ns }
    }

    /// Returns the grid of due times.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Records that a start which was due at `due_ns` happens now. A callback calls it before anything else. Due times
    /// after the last one of the grid are not recorded. Returns false if no more starts follow: after the last due
    /// time, or after the grid's end with [`GRACE`].
    pub fn start(&mut self, due_ns: u64) -> bool {
        let now_ns = now_ns();
        let counts = due_ns <= self.grid.last_ns() && self.late_ns.len() < self.late_ns.capacity();
        if counts {
            // A Tokio instant has no accessible nanoseconds, so a start may seem to be a little early.
            self.late_ns.push(now_ns.saturating_sub(due_ns));
        }
        due_ns < self.grid.last_ns() && now_ns < self.grid.over_ns()
    }

    /// Returns the lateness of each start in microseconds, in the order of the starts.
    #[must_use]
    pub fn into_us(self) -> Vec<f64> {
        self.late_ns.into_iter().map(|late_ns| late_ns as f64 / 1e3).collect()
    }
}

/// Sleeps to each due time, records the start, and does nothing else: no timer is less late than this.
pub fn sleep_loop(lateness: &mut Lateness) {
    let grid = *lateness.grid();
    for number in 0..grid.count {
        let due_ns = grid.due_ns(number);
        sleep_until(due_ns);
        if !lateness.start(due_ns) {
            return;
        }
    }
}

/// Sleeps until `due_ns` on the steady clock. Returns at once if that time has passed.
pub fn sleep_until(due_ns: u64) {
    let request = Timespec { tv_sec: (due_ns / 1_000_000_000) as i64, tv_nsec: (due_ns % 1_000_000_000) as _ };
    // A signal interrupted the sleep before its end: the loop sleeps again.
    while clock_nanosleep_absolute(ClockId::Monotonic, &request).is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: Grid = Grid { first_ns: 1000, period_ns: 100, count: 5 };

    #[test]
    fn due_times_that_passed_are_skipped_on_the_grid() {
        for (now_ns, next_ns) in [(1001, 1100), (1099, 1100), (1100, 1200), (1101, 1200), (1250, 1300)] {
            assert_eq!(GRID.next_ns(1000, now_ns), next_ns, "{now_ns}");
        }
        assert_eq!((GRID.due_ns(4), GRID.last_ns()), (1400, 1400));
    }

    #[test]
    fn only_due_times_of_the_grid_count() {
        let grid = Grid::soon(Duration::from_micros(10), 3, Duration::ZERO);
        let mut lateness = Lateness::new(grid);
        assert!(lateness.start(grid.due_ns(0)) && lateness.start(grid.due_ns(1)));
        assert!(!lateness.start(grid.due_ns(2)) && !lateness.start(grid.due_ns(3)));
        assert_eq!(lateness.into_us().len(), 3);
    }

    #[test]
    fn the_loop_starts_at_every_due_time_and_never_before() {
        let mut lateness = Lateness::new(Grid::soon(Duration::from_micros(100), 20, Duration::ZERO));
        let grid = *lateness.grid();
        sleep_loop(&mut lateness);
        assert!(now_ns() > grid.last_ns());
        // If the machine stands still for the whole grace, the loop ends early.
        assert!((1..=20).contains(&lateness.into_us().len()));
    }
}
