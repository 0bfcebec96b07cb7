//! Timers: absolute due times on several clocks, in one heap a clock.

use std::time::Duration;

use crate::heap::{Heap, Ranked};
use crate::id::EntityId;
use crate::time::{Instant, nanos};

/// Which clock a timer follows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum ClockKind {
    /// Never jumps, counts while the machine is awake (`CLOCK_MONOTONIC`). The scheduler's own time line.
    #[default]
    Steady,
    /// The time of day (`CLOCK_REALTIME`); may be set forward or back.
    ///
    /// Due times are times of day, as with `RCL_SYSTEM_TIME`: if the clock is set back by an hour, a timer waits an hour longer;
    /// if it is set forward, what lies in between was missed. For something that has to happen at a rate, use
    /// [`Steady`](Self::Steady) or [`Ros`](Self::Ros).
    System,
    /// Time as a simulator or a recording tells it; it may stand still, and jump either way. The driver says what it shows,
    /// and tells of [jumps](crate::Scheduler::jump).
    ///
    /// After a jump back no timer waits for longer than its period. That holds for the system clock, too, while ROS time follows
    /// it because nobody drives it: a timer goes on at its rate if that clock is set back, unlike one on
    /// [`System`](Self::System). It is noticed when an executor looks at the time next, within a second at the latest; a step
    /// back by less than has passed since it looked last delays one tick by as much as the step.
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

/// What a periodic timer does about due times that passed before it could run.
///
/// Due times are absolute: whatever the policy, a callback that runs late does not delay the later ones, except that
/// [`ShiftPhase`](Overrun::ShiftPhase) says so.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Overrun {
    /// Skip them and go on at the next due time of the original grid, as rclcpp does.
    #[default]
    Skip,
    /// Run up to this many of them late, one after the other; skip what is older.
    CatchUp(u32),
    /// Skip them and start a new grid: the next due time is one period after the late run.
    ShiftPhase,
}

/// When a timer fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TimerSpec {
    /// The clock that `first_due` and `period` are measured on.
    pub clock: ClockKind,
    /// First due time, on that clock.
    pub first_due: Instant,
    /// Time between due times; `None` fires once.
    pub period: Option<Duration>,
    /// What to do about missed due times.
    pub overrun: Overrun,
    /// A timer that fires once: the longest it should wait, should its clock jump. `None`: `first_due` is meant as it is.
    pub delay: Option<Duration>,
}

impl TimerSpec {
    /// A periodic timer on the steady clock that skips what it misses.
    #[must_use]
    pub const fn periodic(first_due: Instant, period: Duration) -> Self {
        Self { clock: ClockKind::Steady, first_due, period: Some(period), overrun: Overrun::Skip, delay: None }
    }

    /// A timer on the steady clock that fires once.
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

    /// Sets the longest that a timer that fires once should wait, should its clock jump.
    #[must_use]
    pub const fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// When a timer that was due at `due` is due after its clock jumped to `reading`.
    ///
    /// What was left to wait stays the same if the time line itself was moved, by `shift_ns`; and after no jump is it longer
    /// than the period (a timer that fires once: than its delay).
    #[must_use]
    pub fn due_after_jump(&self, due: Instant, reading: Instant, shift_ns: i64) -> Instant {
        match self.period.or(self.delay) {
            Some(longest) => shifted(due, shift_ns).min(reading + longest),
            None => due,
        }
    }
}

/// `due` on a time line that was moved by so much.
pub(crate) fn shifted(due: Instant, shift_ns: i64) -> Instant {
    let by = Duration::from_nanos(shift_ns.unsigned_abs());
    if shift_ns < 0 { due - by } else { due + by }
}

/// The due time after `due`, seen at `now`, and how many due times in between are given up.
pub(crate) fn next_due(due: Instant, period: Duration, overrun: Overrun, now: Instant) -> (Instant, u64) {
    let period_ns = nanos(period).max(1);
    let next = due + period;
    if next >= now {
        return (next, 0);
    }
    // Due times of the grid from `next` on that lie strictly before now.
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

/// Armed timers of one clock, earliest due first, ties by registration. Arming and disarming are logarithmic.
#[derive(Debug, Default)]
pub(crate) struct TimerHeap {
    heap: Heap,
    /// By entity index.
    armed: Vec<Ranked<Armed>>,
}

/// What orders a timer, and which it is: of entities that had the same index, at most one is armed.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Armed {
    due: Instant,
    registration: u64,
    entity: EntityId,
}

impl TimerHeap {
    /// Makes room for a timer that is one of so many, so that arming it does not allocate.
    pub(crate) fn reserve(&mut self, timers: usize, entity: EntityId) {
        self.heap.reserve(timers);
        if self.armed.len() <= entity.index() {
            let nobody = || Ranked::new(Armed { due: Instant::MAX, registration: 0, entity });
            self.armed.resize_with(entity.index() + 1, nobody);
        }
    }

    /// Arms a timer that is not armed and that room was made for.
    pub(crate) fn arm(&mut self, due: Instant, registration: u64, entity: EntityId) {
        self.armed[entity.index()].rank = Armed { due, registration, entity };
        self.heap.push(entity.index() as u32, &mut self.armed);
    }

    pub(crate) fn disarm(&mut self, entity: EntityId) {
        self.heap.remove(entity.index() as u32, &mut self.armed);
    }

    pub(crate) fn pop_due(&mut self, now: Instant) -> Option<(Instant, EntityId)> {
        let Armed { due, entity, .. } = self.armed[self.heap.peek()? as usize].rank;
        if due > now {
            return None;
        }
        self.heap.pop(&mut self.armed);
        Some((due, entity))
    }

    /// Gives every armed timer the due time that `due` tells.
    pub(crate) fn rearm_all(&mut self, due: impl Fn(EntityId) -> Option<Instant>) {
        for place in self.heap.iter() {
            let armed = &mut self.armed[place as usize].rank;
            armed.due = due(armed.entity).unwrap_or(armed.due);
        }
        self.heap.all_moved(&mut self.armed);
    }

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
