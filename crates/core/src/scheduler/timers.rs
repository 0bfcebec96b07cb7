//! The scheduler's timers: armed in a heap of due times, armed anew when they run.

use std::time::Duration;

use super::{AddError, Scheduler};
use crate::entity::{EntityKind, EntitySpec};
use crate::id::EntityId;
use crate::time::{Instant, nanos};
use crate::timer::{ClockKind, TimerSpec, next_due, shifted};

#[derive(Debug)]
pub(super) struct TimerState {
    pub(super) spec: TimerSpec,
    /// The due time that was released last, or is armed.
    due: Instant,
    pub(super) armed: bool,
    cancelled: bool,
    overruns: u64,
}

/// What a clock that passes at any rate, and in leaps, showed when it was read last.
pub(super) struct Leap {
    pub(super) before: Instant,
    pub(super) read_at: Instant,
}

impl Leap {
    /// When what was due at `due` became so, if the clock passed evenly since then: `reading` is what it shows `now`.
    pub(super) fn release(&self, due: Instant, reading: Instant, now: Instant) -> Instant {
        let passed = u128::from(nanos(reading.saturating_since(self.before)).max(1));
        let until_due = u128::from(nanos(due.saturating_since(self.before)));
        let real = u128::from(nanos(now.saturating_since(self.read_at)));
        // At most `real`, which fits.
        self.read_at + Duration::from_nanos((until_due * real / passed) as u64)
    }
}

impl Scheduler {
    /// Adds an entity that is released by the passing of time.
    ///
    /// Without a deadline of its own, a periodic timer's activation is due by the end of its period.
    ///
    /// # Errors
    /// If its group is unknown, it could never run, or its period is zero.
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

    /// Stops a timer: it does not fire, nor run if it has fired already but not run. Says whether it is a timer.
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
        if let Some(pending) = entity.pending.take()
            && in_ready_set
        {
            self.ready.withdraw(&pending);
        }
        true
    }

    /// (Re)starts a timer: it is next due at `due` on its clock, then by its period, or the new one if given.
    ///
    /// Says whether it is a timer; a `period` of zero is ignored.
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
        self.arm(id, due);
        true
    }

    /// Sets the longest that a timer that fires once waits, should its clock jump.
    pub fn set_delay(&mut self, id: EntityId, delay: Duration) {
        if let Some(timer) = self.timer_mut(id) {
            timer.spec.delay = Some(delay);
        }
    }

    /// `clock` jumped to `reading`, back, or to another time line which is `shift_ns` ahead.
    ///
    /// Its timers are due as [`TimerSpec::due_after_jump`] says. A jump forward on the same time line needs no call: the due
    /// times in between were missed, as if time had passed. Linear in the number of entities; does not allocate.
    pub fn jump(&mut self, clock: ClockKind, reading: Instant, shift_ns: i64) {
        self.clocks[clock.index()] = reading;
        let on_clock = |timer: &&mut TimerState| timer.spec.clock == clock;
        for timer in self.entities.values_mut().filter_map(|entity| entity.timer.as_mut()).filter(on_clock) {
            timer.due = if timer.armed {
                timer.spec.due_after_jump(timer.due, reading, shift_ns)
            } else {
                // It has been due: the next period begins no later than now.
                shifted(timer.due, shift_ns).min(reading)
            };
        }
        let entities = &self.entities;
        self.timers[clock.index()].rearm_all(|id| {
            let timer = entities.get(id.index(), id.generation())?.timer.as_ref();
            timer.map(|timer| timer.due)
        });
    }

    /// When the timer is due, or was, if it has fired but its callback has not started; on its clock.
    ///
    /// `None` if it will not fire: it was cancelled, or fired once, or is no timer.
    #[must_use]
    pub fn timer_due(&self, id: EntityId) -> Option<Instant> {
        let entity = self.entities.get(id.index(), id.generation())?;
        let timer = entity.timer.as_ref()?;
        (timer.armed || entity.pending.is_some()).then_some(timer.due)
    }

    /// How the timer is set up, `None` if it is no timer.
    #[must_use]
    pub fn timer(&self, id: EntityId) -> Option<&TimerSpec> {
        let entity = self.entities.get(id.index(), id.generation())?;
        entity.timer.as_ref().map(|timer| &timer.spec)
    }

    /// How many due times the timer gave up because it ran late.
    #[must_use]
    pub fn overruns(&self, id: EntityId) -> u64 {
        let entity = self.entities.get(id.index(), id.generation());
        entity.and_then(|entity| entity.timer.as_ref()).map_or(0, |timer| timer.overruns)
    }

    /// The timer runs now: arms its next due time; returns how many it gave up.
    pub(super) fn rearm(&mut self, id: EntityId) -> u64 {
        let Self { entities, timers, clocks, .. } = self;
        let Some(entity) = entities.get_mut(id.index(), id.generation()) else {
            return 0;
        };
        let Some(timer) = entity.timer.as_mut().filter(|timer| !timer.armed && !timer.cancelled) else {
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
        timers[clock].arm(due, entity.registration, id);
        missed
    }

    fn arm(&mut self, id: EntityId, due: Instant) {
        let Some(entity) = self.entity_mut(id) else {
            return;
        };
        let registration = entity.registration;
        let Some(timer) = &mut entity.timer else {
            return;
        };
        timer.due = due;
        timer.armed = true;
        let clock = timer.spec.clock;
        self.timers[clock.index()].arm(due, registration, id);
    }

    pub(super) fn timer_mut(&mut self, id: EntityId) -> Option<&mut TimerState> {
        self.entity_mut(id)?.timer.as_mut()
    }
}
