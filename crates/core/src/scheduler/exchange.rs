//! One step from an activation to the next one, whichever entity that belongs to.
//!
//! It leads to what `release`, `complete` and `next` lead to. Random scenarios check that against the naive reference,
//! with and without a trace; with a trace, the three calls are made. The policy only names the entity that it picked,
//! and the activation is copied once, from the entity to the run.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{EntityState, Scheduler};
use crate::activation::Activation;
use crate::id::{EntityId, ThreadIndex};
use crate::policy::{Exchange, View};
use crate::time::Instant;
use crate::timer::ClockKind;

impl Scheduler {
    /// Completes `activation`, whose entity has a further item since `release`, and replaces it by the activation that
    /// `thread` runs next. With `release` being `None`, the entity has no further item that the scheduler does not know
    /// of.
    ///
    /// Returns false if none may start. `activation` is then as it was, and over.
    ///
    /// Leads to the same as [`release`](Self::release), [`complete`](Self::complete) and [`next`](Self::next), in that
    /// order, and costs less.
    pub fn exchange(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &mut Activation,
        release: Option<Instant>,
    ) -> bool {
        let Self { ready, entities, timers, clocks, .. } = self;
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
        self.end_and_pick(now, thread, activation)
    }

    /// Ends an [`exchange`](Self::exchange) when everything is released: frees the group, and picks.
    #[inline(always)]
    fn end_and_pick(&mut self, now: Instant, thread: ThreadIndex, activation: &mut Activation) -> bool {
        let Self { ready, entities, groups, .. } = self;
        let entity = entities.get(activation.entity.index(), activation.entity.generation());
        let has_left = groups.leave(activation);
        match ready.policy.exchange(entity.and_then(EntityState::pending), groups) {
            Exchange::Picked(picked) => self.begin_picked(picked, activation),
            Exchange::Idle => false,
            Exchange::Unchanged => self.pick_by_the_long_way(now, thread, activation, has_left),
        }
    }

    /// Begins the released activation of an entity that the policy has picked, and copies it to `activation`. Returns
    /// false if the entity has none, or if its group does not admit it.
    #[inline(always)]
    fn begin_picked(&mut self, picked: EntityId, activation: &mut Activation) -> bool {
        let entity = self.entities.get_mut(picked.index(), picked.generation());
        let Some(pending) = entity.as_ref().and_then(|entity| entity.pending()) else {
            debug_assert!(false, "the policy picked an entity that is not ready");
            return false;
        };
        if !self.groups.try_run(pending) {
            // As in `begin`.
            debug_assert!(false, "the policy picked from a group that is held");
            self.ready.policy.release(pending);
            return false;
        }
        *activation = *pending;
        if let Some(entity) = entity {
            entity.begin();
            if entity.is_timer {
                self.rearm(picked);
            }
        }
        true
    }

    /// Ends an [`exchange`](Self::exchange) by the long way through the policy. `has_left` is true if the activation
    /// has freed its group.
    #[inline(never)]
    fn pick_by_the_long_way(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &mut Activation,
        has_left: bool,
    ) -> bool {
        let Self { ready, entities, groups, .. } = self;
        let entity = entities.get(activation.entity.index(), activation.entity.generation());
        if let Some(next) = entity.and_then(EntityState::pending) {
            ready.policy.release(next);
        }
        if has_left {
            ready.policy.group_freed(activation.group);
        }
        let picked = ready.policy.pick(&mut View::new(now, thread, groups, None));
        let begun = picked.and_then(|picked| self.begin(now, thread, picked));
        replace(activation, begun)
    }

    /// Ends an [`exchange`](Self::exchange) while timers are due.
    #[inline(never)]
    fn exchange_with_timers(&mut self, now: Instant, thread: ThreadIndex, activation: &mut Activation) -> bool {
        if self.ready.orders_by_calls {
            self.complete(now, activation);
            let next = self.next(now, thread);
            return replace(activation, next);
        }
        // If the entity is a timer that is due again, its activation is kept back like that of an item. Policies may be
        // foreign code: if one panics, the activation is over nevertheless.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.advance(ClockKind::Steady, now, now))) {
            self.complete(now, activation);
            resume_unwind(panic);
        }
        if let Some(entity) = self.entity_mut(activation.entity) {
            entity.in_flight = 0;
        }
        self.end_and_pick(now, thread, activation)
    }

    /// Does the same as [`exchange`](Self::exchange) in three steps, for what it does not cover in one.
    #[cold]
    fn exchange_in_steps(
        &mut self,
        now: Instant,
        thread: ThreadIndex,
        activation: &mut Activation,
        release: Option<Instant>,
    ) -> bool {
        if let Some(release) = release {
            self.release(release, activation.entity);
        }
        self.complete(now, activation);
        let next = self.next(now, thread);
        replace(activation, next)
    }
}

/// Replaces the activation if there is a next one. Returns true if there is.
fn replace(activation: &mut Activation, next: Option<Activation>) -> bool {
    next.map(|next| *activation = next).is_some()
}
