//! Callbacks that are ready, and wait for one that is suspended: it holds their group, or it is one of as many
//! activations of its entity as may be under way. If it awaits what they do, none of them ever goes on, so the program
//! tells of them.
//!
//! A suspended activation of that kind is noted, once. Whoever has nothing to run looks for those that it holds up, and
//! wakes when the first of them has waited for too long. A thread that always has something to run looks once in
//! [`PATIENCE`].

use std::time::Duration;

use rospin_core::recording::Event;
use rospin_core::{Activation, EntityId, Instant};

use super::State;
use crate::incident::{Incident, IncidentKind};
use crate::shared::Shared;

/// The time for which an entity may wait for a suspended activation before the program tells.
const PATIENCE: Duration = Duration::from_secs(1);

/// The suspended activations that may hold up others, and the times of the next looks at them.
pub(super) struct HeldUp {
    /// The last such activation of each entity, and when it was suspended for the first time.
    holders: Vec<(Activation, Instant)>,
    /// The time at which the next entity will have waited for too long, as of the last look; [`Instant::MAX`] if none
    /// waits.
    due: Instant,
    /// The time at which a thread that is busy looks; [`Instant::MAX`] without holders.
    look_at: Instant,
    /// The pairs of entities that were told of: the one that waits, and the one that it waits for.
    told: Vec<[EntityId; 2]>,
}

impl HeldUp {
    pub(super) const fn new() -> Self {
        Self { holders: Vec::new(), due: Instant::MAX, look_at: Instant::MAX, told: Vec::new() }
    }
}

impl State {
    /// Notes that the activation was suspended at `now`.
    pub(crate) fn note_suspended(&mut self, activation: &Activation, now: Instant) {
        if !self.scheduler.holds_up(activation) {
            return;
        }
        let holders = &mut self.held_up.holders;
        match holders.iter_mut().find(|(holder, _)| holder.entity == activation.entity) {
            Some((holder, _)) if holder.sequence == activation.sequence => {}
            Some(noted) => *noted = (*activation, now),
            None => holders.push((*activation, now)),
        }
        self.held_up.look_at = self.held_up.look_at.min(now + PATIENCE);
    }

    /// Returns true if a suspended activation may hold up others.
    pub(crate) const fn has_holders(&self) -> bool {
        !self.held_up.holders.is_empty()
    }

    /// Returns true if it is time for a look even though there is something to run.
    #[inline(always)]
    pub(crate) fn must_look(&self, now: Instant) -> bool {
        self.held_up.look_at <= now
    }

    /// Returns `due`, or the time of the next look if that comes first.
    #[inline(always)]
    pub(crate) fn or_look(&self, due: Option<Instant>) -> Option<Instant> {
        let look_at = self.held_up.look_at;
        if look_at == Instant::MAX { due } else { Some(due.map_or(look_at, |due| due.min(look_at))) }
    }

    /// Returns the time at which the next entity will have waited for too long, as of the last look; `None` if none
    /// waits.
    pub(crate) fn held_up_due(&self) -> Option<Instant> {
        Some(self.held_up.due).filter(|due| *due < Instant::MAX)
    }

    /// Looks for entities that are held up, and tells of those that have waited for too long.
    #[cold]
    pub(crate) fn look_for_held_up(&mut self, executor: &Shared, now: Instant) {
        let Self { scheduler, held_up, .. } = self;
        held_up.holders.retain(|(holder, _)| scheduler.is_under_way(holder));
        let mut next = Instant::MAX;
        let mut late = Vec::new();
        for (holder, since) in &held_up.holders {
            scheduler.held_up_by(holder, |waiter, release| {
                let pair = [waiter, holder.entity];
                let from = release.max(*since);
                if held_up.told.contains(&pair) {
                    return;
                }
                if from + PATIENCE <= now {
                    late.push((pair, *holder, now.saturating_since(from)));
                } else {
                    next = next.min(from + PATIENCE);
                }
            });
        }
        held_up.due = next;
        held_up.look_at = if held_up.holders.is_empty() { Instant::MAX } else { next.min(now + PATIENCE) };
        for (pair, holder, waited) in late {
            self.tell_of_held_up(executor, pair, &holder, waited);
        }
    }

    fn tell_of_held_up(&mut self, executor: &Shared, pair: [EntityId; 2], holder: &Activation, waited: Duration) {
        let Self { scheduler, held_up, .. } = self;
        held_up.told.retain(|told| told.iter().all(|id| scheduler.entity(*id).is_some()));
        held_up.told.push(pair);
        let group = self.group_mut(holder.group).map(|group| group.name.to_string()).unwrap_or_default();
        let name = |id| self.scheduler.entity(id).map(|spec| spec.name.clone()).unwrap_or_default();
        let kind = IncidentKind::HeldUp { by: name(pair[1]), waited };
        executor.scribe.note(|| Event::Incident {
            executor: executor.number.get(),
            entity: pair[0].to_bits(),
            kind: kind.index(),
        });
        let incident = Incident { executor: executor.name.clone(), group, entity: name(pair[0]), kind };
        self.leftovers.incidents.push(incident);
    }
}
