//! Timers of the reference: an optional due time each. The grid is enumerated, one due time after the other.

use std::time::Duration;

use rospin_core::{Instant, Overrun};

use super::Reference;
use crate::decision::{Decision, Note};
use crate::scenario::TimerPlan;
use crate::subject::Subject;

#[derive(Clone, Debug)]
pub(super) struct Timer {
    /// Next due time; `None` between expiry and pick, after a cancellation, and for a one-shot timer that has fired.
    pub(super) due: Option<Instant>,
    /// Time between due times; `None` for a one-shot timer.
    pub(super) period: Option<Duration>,
    pub(super) overrun: Overrun,
    /// Number of due times that were given up.
    pub(super) overruns: u64,
}

impl Timer {
    pub(super) fn armed(now: Instant, plan: TimerPlan) -> Self {
        let due = now + Duration::from_millis(plan.first_due_ms);
        let period = plan.period_ms.map(Duration::from_millis);
        Self { due: Some(due), period, overrun: plan.overrun, overruns: 0 }
    }
}

impl Reference {
    /// Releases due timers: the earliest due time first, then the first registered.
    pub(super) fn release_due_timers(&mut self, now: Instant) {
        let due = |(entity, at): (usize, Option<Instant>)| at.filter(|at| *at <= now).map(|at| (at, entity));
        let timers = self.entities.iter().map(|entity| entity.timer.as_ref().and_then(|timer| timer.due));
        let mut expired: Vec<(Instant, usize)> = timers.enumerate().filter_map(due).collect();
        expired.sort_unstable();
        for (at, entity) in expired {
            if let Some(timer) = &mut self.entities[entity].timer {
                timer.due = None;
            }
            self.release(at, entity);
        }
    }

    /// Sets the next due time of a periodic timer that was picked at `now`.
    pub(super) fn rearm_timer(&mut self, now: Instant, picked: &Decision) {
        let Some(timer) = &mut self.entities[picked.entity].timer else {
            return;
        };
        let Some(period) = timer.period else {
            return;
        };
        let mut missed = Vec::new();
        let mut next = picked.release + period;
        while next < now {
            missed.push(next);
            next += period;
        }
        // `next` is the first due time on the grid that was not missed.
        let mut given_up = missed.len();
        if given_up > 0 {
            match timer.overrun {
                Overrun::CatchUp(most) if most > 0 => {
                    given_up = missed.len().saturating_sub(most as usize);
                    next = missed[given_up];
                }
                Overrun::ShiftPhase => next = now + period,
                _ => {}
            }
        }
        timer.due = Some(next);
        timer.overruns += given_up as u64;
        if given_up > 0 {
            self.note(now, Note::Overrun(picked.entity, given_up as u64));
        }
    }
}
