//! Timers: absolute due times on several clocks, with a heap for each clock.

use std::time::Duration;

use crate::heap::{Heap, Ranked};
use crate::id::EntityId;
use crate::time::{Instant, nanos};

/// The clock that a timer follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ClockKind {
    /// The steady clock (`CLOCK_MONOTONIC`). It never jumps, and counts while the machine is awake. It is the
    /// scheduler's own time line.
    #[default]
    Steady,
    /// The time of day (`CLOCK_REALTIME`). It may be set forward or back.
    ///
    /// Due times are times of day, as with `RCL_SYSTEM_TIME`. If the clock is set back by an hour, a timer waits an
    /// hour longer. If it is set forward, the due times in between were missed. For a timer with a fixed rate, use
    /// [`Steady`](Self::Steady) or [`Ros`](Self::Ros).
    System,
    /// ROS time, which a simulator or a recording may set. It may stand still, and jump forward or back. The driver
    /// passes on its readings and its [jumps](crate::Scheduler::jump).
    ///
    /// After a jump back, no periodic timer waits for longer than its period, and none that fires once for longer than
    /// its [`delay`](TimerSpec::delay), if it has one. That also holds if ROS time follows the system clock and that is
    /// set back: a timer keeps its rate, unlike one on [`System`](Self::System). An executor notices the step when it
    /// reads the time next, after a second at the latest. If the step is smaller than the time since its last reading,
    /// it goes unnoticed, and one tick comes late by the size of the step.
    Ros,
}

impl ClockKind {
    pub(crate) const COUNT: usize = 3;

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Steady => 0,
            Self::System => 1,
            Self::Ros => 2,
        }
    }
}

/// The overrun policy of a periodic timer: its reaction to due times that passed before it could run.
///
/// Due times are absolute, so a callback that runs late does not delay later ones, except under
/// [`ShiftPhase`](Overrun::ShiftPhase).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Overrun {
    /// Skips missed due times and goes on at the next due time of the original grid, as rclcpp does.
    #[default]
    Skip,
    /// Runs up to this many missed due times late, one after the other, and skips older ones.
    CatchUp(u32),
    /// Skips missed due times and starts a new grid: the next due time is one period after the start of the late run.
    ShiftPhase,
}

/// Description of a timer: its clock, its due times and its overrun policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimerSpec {
    /// The clock that `first_due` and `period` are measured on.
    pub clock: ClockKind,
    /// The first due time, on that clock.
    pub first_due: Instant,
    /// The time between due times; `None` for a timer that fires once.
    pub period: Option<Duration>,
    /// The overrun policy.
    pub overrun: Overrun,
    /// For a timer that fires once: the longest time that it still waits after its clock jumped. With `None`, a jump
    /// does not change `first_due`.
    pub delay: Option<Duration>,
}

impl TimerSpec {
    /// Creates a periodic timer on the steady clock that skips missed due times.
    #[must_use]
    pub const fn periodic(first_due: Instant, period: Duration) -> Self {
        Self { clock: ClockKind::Steady, first_due, period: Some(period), overrun: Overrun::Skip, delay: None }
    }

    /// Creates a timer on the steady clock that fires once.
    #[must_use]
    pub const fn one_shot(due: Instant) -> Self {
        Self { clock: ClockKind::Steady, first_due: due, period: None, overrun: Overrun::Skip, delay: None }
    }

    /// Sets the clock.
    #[must_use]
    pub const fn clock(mut self, clock: ClockKind) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the overrun policy.
    #[must_use]
    pub const fn overrun(mut self, overrun: Overrun) -> Self {
        self.overrun = overrun;
        self
    }

    /// Sets the longest time that a timer that fires once still waits after its clock jumped.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Returns the due time, after the clock jumped to `reading`, of a timer that was due at `due`.
    ///
    /// If the clock jumped to another time line, `shift_ns` is the time by which that is ahead of the former one, and
    /// the time that is left to wait stays the same. After any jump, a periodic timer waits for at most its period, and
    /// a timer that fires once for at most its `delay`. A timer that fires once and has no `delay` keeps its due time,
    /// whatever `shift_ns` is.
    #[must_use]
    pub fn due_after_jump(&self, due: Instant, reading: Instant, shift_ns: i64) -> Instant {
        match self.period.or(self.delay) {
            Some(longest) => shifted(due, shift_ns).min(reading + longest),
            None => due,
        }
    }
}

/// Returns `due` on a time line that was moved by `shift_ns`.
pub(crate) fn shifted(due: Instant, shift_ns: i64) -> Instant {
    let by = Duration::from_nanos(shift_ns.unsigned_abs());
    if shift_ns < 0 { due - by } else { due + by }
}

/// Returns the due time after `due` under the overrun policy `overrun`, as of `now`, and the number of due times in
/// between that are skipped.
pub(crate) fn next_due(due: Instant, period: Duration, overrun: Overrun, now: Instant) -> (Instant, u64) {
    let period_ns = nanos(period).max(1);
    let next = due + period;
    if next >= now {
        return (next, 0);
    }
    // The due times of the grid from `next` on that are strictly before now.
    let missed = (now.as_nanos() - next.as_nanos()).div_ceil(period_ns);
    let on_grid = |skipped: u64| Instant::from_nanos(next.as_nanos().saturating_add(period_ns.saturating_mul(skipped)));
    match overrun {
        Overrun::Skip => (on_grid(missed), missed),
        Overrun::CatchUp(limit) => {
            let skipped = missed.saturating_sub(u64::from(limit));
            (on_grid(skipped), skipped)
        }
        Overrun::ShiftPhase => (now + period, missed),
    }
}

/// The armed timers of one clock, earliest due first, ties by registration. Arming and disarming take logarithmic time.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    heap: Heap,
    /// The ranks of timers, by the index of their entities. Only those of armed timers are in the heap.
    armed: Vec<Ranked<Armed>>,
}

/// The rank of a timer, which is the order in `TimerHeap`, with its entity. Of entities that had the same index, at
/// most one is armed.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Armed {
    due: Instant,
    registration: u64,
    entity: EntityId,
}

impl TimerHeap {
    /// Makes room for the timer `entity`, and for `timers` timers in all, so that arming does not allocate.
    pub(crate) fn reserve(&mut self, timers: usize, entity: EntityId) {
        self.heap.reserve(timers);
        if self.armed.len() <= entity.index() {
            let nobody = || Ranked::new(Armed { due: Instant::MAX, registration: 0, entity });
            self.armed.resize_with(entity.index() + 1, nobody);
        }
    }

    /// Arms a timer that is not armed. Room was made for it.
    pub(crate) fn arm(&mut self, due: Instant, registration: u64, entity: EntityId) {
        self.armed[entity.index()].rank = Armed { due, registration, entity };
        self.heap.push(entity.index() as u32, &mut self.armed);
    }

    /// Disarms a timer, if it is armed.
    pub(crate) fn disarm(&mut self, entity: EntityId) {
        self.heap.remove(entity.index() as u32, &mut self.armed);
    }

    /// Takes out the first timer that is due by `now`, with its due time; `None` if none is. A timer that is due at
    /// [`Instant::MAX`] never fires: that is where due times end that no clock can show.
    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, EntityId)> {
        let Armed { due, entity, .. } = self.armed[self.heap.peek()? as usize].rank;
        if due > now || due == Instant::MAX {
            return None;
        }
        self.heap.pop(&mut self.armed);
        Some((due, entity))
    }

    /// Gives every armed timer the due time that `due` returns for it. With `None`, it keeps its own.
    pub(crate) fn rearm_all(&mut self, due: impl Fn(EntityId) -> Option<Instant>) {
        for place in self.heap.iter() {
            let armed = &mut self.armed[place as usize].rank;
            armed.due = due(armed.entity).unwrap_or(armed.due);
        }
        self.heap.all_moved(&mut self.armed);
    }

    /// Returns the earliest due time; `None` if no timer is armed.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        self.heap.peek().map(|first| self.armed[first as usize].rank.due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(overrun: Overrun, now_ms: u64) -> (u64, u64) {
        let (due, missed) =
            next_due(Instant::from_millis(100), Duration::from_millis(10), overrun, Instant::from_millis(now_ms));
        (due.as_nanos() / 1_000_000, missed)
    }

    #[test]
    fn on_time_keeps_the_grid() {
        for overrun in [Overrun::Skip, Overrun::CatchUp(3), Overrun::ShiftPhase] {
            assert_eq!(next(overrun, 100), (110, 0));
            assert_eq!(next(overrun, 109), (110, 0));
            assert_eq!(next(overrun, 110), (110, 0), "due now is not missed");
        }
    }

    #[test]
    fn late_runs_follow_the_overrun_policy() {
        assert_eq!(next(Overrun::Skip, 111), (120, 1));
        assert_eq!(next(Overrun::Skip, 135), (140, 3));
        assert_eq!(next(Overrun::Skip, 130), (130, 2));
        assert_eq!(next(Overrun::CatchUp(2), 135), (120, 1));
        assert_eq!(next(Overrun::CatchUp(9), 135), (110, 0));
        assert_eq!(next(Overrun::ShiftPhase, 135), (145, 3));
    }
}
