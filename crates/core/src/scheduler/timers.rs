//! The scheduler's timers. An armed timer is in a heap of due times, and is armed again when it runs.

use std::time::Duration;

use super::entity_state::EntityState;
use super::{AddError, Scheduler};
use crate::entity::{EntityKind, EntitySpec};
use crate::id::EntityId;
use crate::time::{Instant, nanos};
use crate::timer::{ClockKind, TimerHeap, TimerSpec, next_due, shifted};

/// Timer with its state.
#[derive(Debug)]
pub(super) struct TimerState {
    pub(super) spec: TimerSpec,
    /// The due time that is armed, or that was released last.
    due: Instant,
    /// True while the timer is in the heap of its clock.
    pub(super) armed: bool,
    /// True from a cancellation to the next start.
    cancelled: bool,
    /// Number of due times that were skipped.
    overruns: u64,
}

impl TimerState {
    /// Returns the due time that is armed, or that was released last.
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Returns that due time after the clock jumped to `reading`, on a time line that is `shift_ns` ahead of the former
    /// one.
    fn due_after_jump(&self, reading: Instant, shift_ns: i64) -> Instant {
        if self.armed {
            self.spec.due_after_jump(self.due, reading, shift_ns)
        } else {
            // The timer has been due already: its next period begins no later than now.
            shifted(self.due, shift_ns).min(reading)
        }
    }
}

/// The reading of ROS time, whose rate may vary, before the one that the driver passes on now (`before`), and the time
/// on the steady clock when the driver passed it on (`read_at`).
pub(super) struct Leap {
    pub(super) before: Instant,
    pub(super) read_at: Instant,
}

impl Leap {
    /// Returns the time on the steady clock at which the due time `due` came, if the clock has run evenly since the
    /// last reading. The clock shows `reading` at `now`.
    pub(super) fn release(&self, due: Instant, reading: Instant, now: Instant) -> Instant {
        let passed = u128::from(nanos(reading.saturating_since(self.before)).max(1));
        let until_due = u128::from(nanos(due.saturating_since(self.before)));
        let real = u128::from(nanos(now.saturating_since(self.read_at)));
        // The result is at most `real`, which fits.
        self.read_at + Duration::from_nanos((until_due * real / passed) as u64)
    }
}

impl Scheduler {
    /// Adds a timer, an entity that is released at due times. Its kind is [`EntityKind::Timer`], whatever `spec` says.
    ///
    /// If a periodic timer has no deadline of its own, its deadline is the end of its period.
    ///
    /// # Errors
    /// If the group was removed or belongs to another scheduler, if `max_in_flight` is 0, or if the period is zero.
    pub fn add_timer(&mut self, mut spec: EntitySpec, timer: TimerSpec) -> Result<EntityId, AddError> {
        if timer.period == Some(Duration::ZERO) {
            return Err(AddError::ZeroPeriod { entity: spec.name });
        }
        spec.kind = EntityKind::Timer;
        let state = TimerState { spec: timer, due: timer.first_due, armed: false, cancelled: false, overruns: 0 };
        let id = self.add(spec, Some(state))?;
        let clock = timer.clock.index();
        self.timer_counts[clock] += 1;
        self.timers[clock].reserve(self.timer_counts[clock], id);
        self.arm(id, timer.first_due);
        Ok(id)
    }

    /// Stops a timer, which does not fire any more. If it has fired and its callback has not started, the callback does
    /// not run either. Returns true if the entity is a timer.
    pub fn cancel_timer(&mut self, id: EntityId) -> bool {
        let Some(timer) = self.timer_mut(id) else {
            return false;
        };
        timer.cancelled = true;
        timer.armed = false;
        let clock = timer.spec.clock;
        self.timers[clock.index()].disarm(id);
        let Some(entity) = self.entity_mut(id) else {
            return false;
        };
        let in_ready_set = entity.may_start();
        if let Some(pending) = entity.take_pending() {
            if in_ready_set {
                self.ready.withdraw(&pending);
            }
            self.record_withdrawn([pending]);
        }
        true
    }

    /// Starts or restarts a timer. It is next due at `due` on its clock, and then after each period. A `period` above
    /// zero replaces the timer's period, and makes a timer that fires once periodic. With `None` or zero, the timer
    /// keeps its period, or still fires once.
    ///
    /// Returns true if the entity is a timer.
    pub fn restart_timer(&mut self, id: EntityId, due: Instant, period: Option<Duration>) -> bool {
        if !self.cancel_timer(id) {
            return false;
        }
        if let Some(timer) = self.timer_mut(id) {
            timer.cancelled = false;
            if let Some(period) = period.filter(|period| !period.is_zero()) {
                timer.spec.period = Some(period);
            }
        }
        self.entity_mut(id).into_iter().for_each(EntityState::note_deadline);
        self.arm(id, due);
        true
    }

    /// Sets the longest time that a timer that fires once still waits after its clock jumped. Does nothing if the
    /// entity is no timer.
    pub fn set_delay(&mut self, id: EntityId, delay: Duration) {
        if let Some(timer) = self.timer_mut(id) {
            timer.spec.delay = Some(delay);
        }
    }

    /// Adjusts the timers on `clock`, which jumped to `reading`: back, or to another time line that is `shift_ns` ahead
    /// of the former one, or behind it if negative. For a jump on the same time line, `shift_ns` is 0.
    ///
    /// The new due times are those of [`TimerSpec::due_after_jump`]. A jump forward on the same time line needs no
    /// call: the due times in between were missed, as if time had passed. Looks at all entities, and sorts the armed
    /// timers on `clock`; does not allocate.
    pub fn jump(&mut self, clock: ClockKind, reading: Instant, shift_ns: i64) {
        self.clocks[clock.index()] = reading;
        let on_clock = |timer: &&mut TimerState| timer.spec.clock == clock;
        for timer in self.entities.values_mut().filter_map(|entity| entity.rest.timer.as_mut()).filter(on_clock) {
            timer.due = timer.due_after_jump(reading, shift_ns);
        }
        let entities = &self.entities;
        self.timers[clock.index()].rearm_all(|id| {
            let timer = entities.get(id.index(), id.generation())?.rest.timer.as_ref();
            timer.map(|timer| timer.due)
        });
    }

    /// Puts the timer on another clock, which shows `reading` and is `shift_ns` ahead of the former one. The time that
    /// is left to wait stays the same, as after a [`jump`](Self::jump) to another time line. Does nothing if the entity
    /// is no timer, or is on that clock already. May allocate.
    pub fn set_clock(&mut self, id: EntityId, clock: ClockKind, reading: Instant, shift_ns: i64) {
        let Some(timer) = self.timer_mut(id).filter(|timer| timer.spec.clock != clock) else {
            return;
        };
        let former = timer.spec.clock.index();
        let armed = timer.armed;
        timer.due = timer.due_after_jump(reading, shift_ns);
        timer.spec.clock = clock;
        let due = timer.due;
        if armed {
            self.timers[former].disarm(id);
        }
        self.timer_counts[former] -= 1;
        self.timer_counts[clock.index()] += 1;
        self.timers[clock.index()].reserve(self.timer_counts[clock.index()], id);
        if clock == ClockKind::Ros {
            // Nobody may have read ROS time for long, so the last reading says nothing of the time since.
            self.ros_read_at = None;
        }
        if armed {
            self.arm(id, due);
        }
    }

    /// Returns the due time of the timer on its clock. If the timer has fired and its callback has not started, that is
    /// the due time for which it fired.
    ///
    /// Returns `None` if its callback will not start again: it was cancelled, it fires once and its callback has
    /// started, or the entity is no timer.
    #[must_use]
    pub fn timer_due(&self, id: EntityId) -> Option<Instant> {
        self.timer_state(id)?.0
    }

    /// Returns the number of due times that the timer has skipped since it was added, because it was late; 0 if the
    /// entity is no timer.
    #[must_use]
    pub fn overruns(&self, id: EntityId) -> u64 {
        self.timer_state(id).map_or(0, |(_, overruns)| overruns)
    }

    /// Returns the [due time](Self::timer_due) of the timer and the number of its [overruns](Self::overruns); `None` if
    /// the entity is no timer.
    #[must_use]
    #[inline]
    pub fn timer_state(&self, id: EntityId) -> Option<(Option<Instant>, u64)> {
        let entity = self.entities.get(id.index(), id.generation())?;
        let timer = entity.rest.timer.as_ref()?;
        let due = (timer.armed || entity.is_pending()).then_some(timer.due);
        Some((due, timer.overruns))
    }

    /// Returns the description of the timer; `None` if the entity is no timer.
    #[must_use]
    pub fn timer(&self, id: EntityId) -> Option<&TimerSpec> {
        let entity = self.entities.get(id.index(), id.generation())?;
        entity.rest.timer.as_ref().map(|timer| &timer.spec)
    }

    /// Returns the time from a release of the entity to its deadline: its own, or else the period of a periodic timer.
    /// Returns `None` if it has no deadline, or is not there any more.
    #[must_use]
    pub fn relative_deadline(&self, id: EntityId) -> Option<Duration> {
        let entity = self.entities.get(id.index(), id.generation())?;
        let own = entity.rest.spec.deadline;
        own.or_else(|| entity.rest.timer.as_ref().and_then(|timer| timer.spec.period))
    }

    /// Arms a timer for a due time on its clock.
    fn arm(&mut self, id: EntityId, due: Instant) {
        let Some(entity) = self.entity_mut(id) else {
            return;
        };
        let registration = entity.registration();
        let Some(timer) = &mut entity.rest.timer else {
            return;
        };
        timer.due = due;
        timer.armed = true;
        let clock = timer.spec.clock;
        self.timers[clock.index()].arm(due, registration, id);
    }

    pub(super) fn timer_mut(&mut self, id: EntityId) -> Option<&mut TimerState> {
        self.entity_mut(id)?.rest.timer.as_mut()
    }
}

/// Arms the next due time of a timer whose callback starts now. Returns the number of due times that it skipped. Does
/// nothing and returns 0 if the entity is no timer, or one that fires once, was cancelled, or is armed already.
#[inline(always)]
pub(super) fn rearm(
    entity: &mut EntityState,
    timers: &mut [TimerHeap; ClockKind::COUNT],
    clocks: &[Instant; ClockKind::COUNT],
) -> u64 {
    if !entity.is_timer {
        return 0;
    }
    let id = entity.id();
    let registration = entity.registration();
    let Some(timer) = entity.rest.timer.as_mut().filter(|timer| !timer.armed && !timer.cancelled) else {
        return 0;
    };
    let Some(period) = timer.spec.period else {
        return 0;
    };
    let clock = timer.spec.clock.index();
    let (due, missed) = next_due(timer.due, period, timer.spec.overrun, clocks[clock]);
    timer.overruns += missed;
    timer.due = due;
    timer.armed = true;
    timers[clock].arm(due, registration, id);
    missed
}
