//! Runs in place: a driver that has the scheduler to itself runs the callback of the first activation without taking
//! the activation, and tells the scheduler when the callback has returned.
//!
//! Order and results are those of `next`, `release` and `complete`, which random scenarios check against the naive
//! reference.

use super::{EntityState, Scheduler};
use crate::activation::Activation;
use crate::id::{EntityId, ThreadIndex};
use crate::policy::{Named, View};
use crate::time::Instant;
use crate::timer::ClockKind;

impl Scheduler {
    /// Returns true if activations may run in place: there is no trace, nothing [precedes
    /// all](crate::EntitySpec::precedes_all), and the policy is an [`Ordered`](crate::policy::Ordered) one.
    #[must_use]
    #[inline]
    pub const fn runs_in_place(&self) -> bool {
        self.ready.names_first && !self.is_traced() && !self.ready.has_preceding()
    }

    /// Returns true if activations of the entity may run in place: it is no timer, has no deadline and one activation
    /// at a time, and holds its group while it waits.
    #[must_use]
    pub fn may_run_in_place(&self, id: EntityId) -> bool {
        self.entities.get(id.index(), id.generation()).is_some_and(EntityState::may_run_in_place)
    }

    /// Names the activation that [`next`](Self::next) would return now if no timer is due. Returns `None` if nothing is
    /// ready, and while nothing [runs in place](Self::runs_in_place).
    ///
    /// A driver may run the callback of this activation without taking it, if [the entity allows
    /// it](Self::may_run_in_place). It must not ask the scheduler for anything before the callback returns, and calls
    /// [`ran_first`](Self::ran_first) then.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<Named> {
        if !self.runs_in_place() {
            return None;
        }
        let first = self.ready.policy.first(&self.groups)?;
        debug_assert!(self.is_next(first), "the policy named one that is not ready, or whose group is held");
        Some(first)
    }

    fn is_next(&self, named: Named) -> bool {
        let entity = self.entities.at(named.entity());
        let is_ready = |first: &Activation| first.release == named.release() && self.groups.admits(first);
        entity.is_some_and(|entity| entity.may_start() && entity.pending().is_some_and(is_ready))
    }

    /// Takes the activation that [`first`](Self::first) has named, as [`next`](Self::next) would: for one that did not
    /// run to its end in place. Releases no timers, so that no other activation comes before it.
    pub fn take_first(&mut self, thread: ThreadIndex) -> Option<Activation> {
        let now = self.clocks[ClockKind::Steady.index()];
        let first = self.ready.pick(&mut View::new(now, thread, &self.groups, None));
        self.begin_picked(now, thread, first)
    }

    /// Returns the index of the entity that probably runs so many activations after the [`first`](Self::first) one;
    /// `None` if it is not known.
    #[inline]
    pub fn upcoming(&self, distance: usize) -> Option<usize> {
        self.ready.policy.upcoming(distance)
    }

    /// Returns the address of the state of the entity with that index, for a driver that prefetches it; `None` if there
    /// never was such an entity.
    #[must_use]
    #[inline]
    pub fn address_of(&self, entity: usize) -> Option<*const u8> {
        self.entities.address(entity).map(<*const _>::cast)
    }

    /// Notes that the activation of `first`, which was [named](Self::first), ran in place, and that its entity has a
    /// further item since `release`; `None` if it has none that the scheduler does not know of. Nothing has happened in
    /// between. Returns what [`first`](Self::first) would name now.
    ///
    /// Leads to the same as [`next`](Self::next), [`release`](Self::release) and [`complete`](Self::complete).
    #[inline]
    pub fn ran_first(&mut self, first: Named, release: Option<Instant>) -> Option<Named> {
        let entity = self.entities.at_mut(first.entity())?;
        let policy = &mut self.ready.policy;
        // If the policy panics, the entity is as ready as the policy thinks.
        let Some(release) = release else {
            let named = policy.replace_first(None);
            entity.forget_pending();
            return named;
        };
        let next = entity.next_without_deadline(release, self.sequence);
        let named = policy.replace_first(Some(&next));
        entity.set_pending(release, Instant::MAX, self.sequence);
        self.sequence += 1;
        named
    }
}
