//! The scheduler's timers: armed in a heap of due times, armed anew when they run.

use std::time::Duration;

use super::{AddError, Scheduler};
use crate::entity::{EntityKind, EntitySpec};
use crate::id::EntityId;
use crate::time::Instant;
use crate::timer::{TimerSpec, next_due};
use crate::trace::TraceEvent;

#[derive(Debug)]
pub(super) struct TimerState {
    pub(super) spec: TimerSpec,
    /// The due time that was released last, or is armed.
    due: Instant,
    pub(super) armed: bool,
    cancelled: bool,
    overruns: u64,
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
        self.timers[clock].reserve(self.timer_counts[clock]);
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
            self.policy.withdraw(&pending);
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

    /// The timer runs now: arm its next due time.
    pub(super) fn rearm(&mut self, now: Instant, id: EntityId) {
        let clocks = self.clocks;
        let Some(timer) = self.timer_mut(id) else {
            return;
        };
        let Some(period) = timer.spec.period else {
            return;
        };
        if timer.armed || timer.cancelled {
            return;
        }
        let (due, missed) = next_due(timer.due, period, timer.spec.overrun, clocks[timer.spec.clock.index()]);
        timer.overruns += missed;
        self.arm(id, due);
        if missed > 0 {
            self.record(now, TraceEvent::Overrun(id, missed));
        }
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
