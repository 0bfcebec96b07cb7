//! One step from an activation to the next one, whichever entity that belongs to.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::Scheduler;
use crate::activation::Activation;
use crate::id::ThreadIndex;
use crate::policy::View;
use crate::time::Instant;
use crate::timer::ClockKind;

impl Scheduler {
    /// Completes `activation`, whose entity has a further item since `release`, and returns the activation that `thread` runs next;
    /// `None` if none may start. With `release` being `None`, the entity has no further item that the scheduler does not know of.
    ///
    /// Leads to the same as [`release`](Self::release), [`complete`](Self::complete) and [`next`](Self::next), in that order, and
    /// costs less.
    pub fn exchange(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &Activation,
        release: Option<Instant>,
    ) -> Option<Activation> {
        let Self { ready, entities, groups, timers, clocks, .. } = self;
        let id = activation.entity;
        let entity = entities.get_mut(id.index(), id.generation());
        // With one activation at a time, the entity's next one is kept in the entity until this one completes.
        let Some(entity) = entity.filter(|entity| entity.is_plain && entity.in_flight == 1) else {
            return self.exchange_in_steps(now, thread, activation, release);
        };
        if ready.has_preceding() || self.trace.is_some() {
            return self.exchange_in_steps(now, thread, activation, release);
        }
        if let Some(release) = release {
            match entity.pending() {
                None => {
                    let deadline = entity.deadline_of(release);
                    entity.set_pending(release, deadline, self.sequence);
                    self.sequence += 1;
                }
                Some(pending) if release < pending.release => _ = entity.antedate(release),
                Some(_) => {}
            }
        }
        let steady = ClockKind::Steady.index();
        if timers[steady].earliest().is_some_and(|due| due <= now) {
            return self.exchange_with_timers(now, thread, activation);
        }
        // None is due, but the scheduler has to know the time.
        clocks[steady] = now;
        entity.in_flight = 0;
        let freed = groups.leave(activation).then_some(activation.group);
        let picked = ready.policy.exchange(freed, entity.pending(), &mut View::new(now, thread, groups, None))?;
        self.begin(now, thread, picked)
    }

    /// Ends an [`exchange`](Self::exchange) while timers are due.
    fn exchange_with_timers(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &Activation,
    ) -> Option<Activation> {
        if self.ready.orders_by_calls {
            self.complete(now, activation);
            return self.next(now, thread);
        }
        // If the entity is a timer that is due again, its activation is kept back like that of an item. Policies may be foreign
        // code: if one panics, the activation is over nevertheless.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.advance(ClockKind::Steady, now, now))) {
            self.complete(now, activation);
            resume_unwind(panic);
        }
        let Self { ready, entities, groups, .. } = self;
        let entity = entities.get_mut(activation.entity.index(), activation.entity.generation())?;
        entity.in_flight = 0;
        let freed = groups.leave(activation).then_some(activation.group);
        let picked = ready.policy.exchange(freed, entity.pending(), &mut View::new(now, thread, groups, None))?;
        self.begin(now, thread, picked)
    }

    /// Does the same as [`exchange`](Self::exchange) in three steps, for what it does not cover in one.
    #[cold]
    fn exchange_in_steps(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &Activation,
        release: Option<Instant>,
    ) -> Option<Activation> {
        if let Some(release) = release {
            self.release(release, activation.entity);
        }
        self.complete(now, activation);
        self.next(now, thread)
    }
}
