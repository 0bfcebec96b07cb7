//! Runs that nobody sees until they are over: for drivers that have the scheduler to themselves while a callback runs.

use super::{EntityState, Scheduler};
use crate::activation::Activation;
use crate::id::{EntityId, ThreadIndex};
use crate::policy::View;
use crate::time::Instant;
use crate::timer::ClockKind;

impl Scheduler {
    /// Returns true if activations may run in place: there is no trace, nothing [precedes
    /// all](crate::EntitySpec::precedes_all), and the policy [names the first](crate::Policy::names_first).
    #[must_use]
    #[inline]
    pub const fn runs_in_place(&self) -> bool {
        self.ready.names_first && !self.is_traced() && !self.ready.has_preceding()
    }

    /// Returns the activation that [`next`](Self::next) would return now if no timer is due; `None` if there is none, or if it may not
    /// run in place.
    ///
    /// It runs in place if its callback returns before anybody asks the scheduler for anything. Then the driver need not take it:
    /// it calls [`ran_first`](Self::ran_first) afterwards. Only activations of entities that are no timers, have one activation at a
    /// time and hold their group while they wait run in place, and only while there is no trace.
    #[must_use]
    #[inline]
    pub fn first(&self) -> Option<&Activation> {
        if !self.runs_in_place() {
            return None;
        }
        let entity = self.entities.at(self.ready.policy.first(&self.groups)?)?;
        let first = entity.pending().filter(|_| entity.may_go_on && entity.in_flight == 0);
        debug_assert!(first.is_none_or(|first| self.groups.admits(first)), "the policy named one whose group is held");
        first
    }

    /// Takes the activation that [`first`](Self::first) has returned, as [`next`](Self::next) would: for one that did not run to its
    /// end in place. Releases no timers, so that no other activation comes before it.
    pub fn take_first(&mut self, thread: ThreadIndex) -> Option<Activation> {
        let now = self.clocks[ClockKind::Steady.index()];
        let first = self.ready.pick(&mut View::new(now, thread, &self.groups, None))?;
        self.begin(now, thread, first)
    }

    /// Returns the indices of the entities that probably run after the [`first`](Self::first) one, and looks at their states, so that
    /// the processor fetches these. Where it is not known, there is `None`.
    pub fn upcoming(&self) -> [Option<usize>; 3] {
        let upcoming = self.ready.policy.upcoming();
        if let Some(last) = upcoming[2] {
            std::hint::black_box(self.entities.at(last).map(EntityState::is_pending));
        }
        upcoming
    }

    /// Notes that the activation that [`first`](Self::first) has returned ran in place, and that its entity has a further item since
    /// `release`; `None` if it has none that the scheduler does not know of. Nothing has happened in between.
    ///
    /// Leads to the same as [`next`](Self::next), [`release`](Self::release) and [`complete`](Self::complete).
    #[inline]
    pub fn ran_first(&mut self, id: EntityId, release: Option<Instant>) {
        let Some(entity) = self.entities.at_mut(id.index()) else {
            return;
        };
        debug_assert!(entity.is(id), "the entity was the first one");
        let next = match release {
            Some(release) => {
                let deadline = entity.deadline_of(release);
                self.sequence += 1;
                Some(entity.set_pending(release, deadline, self.sequence - 1))
            }
            None => {
                entity.forget_pending();
                None
            }
        };
        self.ready.policy.replace_first(id, next);
    }
}
