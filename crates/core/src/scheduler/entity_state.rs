//! The state of an entity: what each step needs on two cache lines, and behind them what only some steps need.

use std::time::Duration;

use super::timers::TimerState;
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::EntityId;
use crate::time::Instant;

/// Entity with its activations.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct EntityState {
    /// The activation that was released and not picked yet, if `is_pending`. Otherwise only those of its fields count that all of
    /// the entity's activations have in common.
    latest: Activation,
    /// True if there is a released activation that was not picked yet. The policy has it, or it is kept only here while
    /// `max_in_flight` activations are under way.
    is_pending: bool,
    /// True if [`go_on`](super::Scheduler::go_on) covers the entity: it is no timer, has one activation at a time, and holds its
    /// group while it waits.
    pub(super) may_go_on: bool,
    /// True if the entity has one activation at a time, and does not precede all.
    pub(super) is_plain: bool,
    pub(super) is_timer: bool,
    /// Number of activations that are under way: running or suspended.
    pub(super) in_flight: u32,
    max_in_flight: u32,
    /// The time from a release to the deadline; `None` if there is no deadline.
    deadline: Option<Duration>,
    pub(super) rest: Box<Rest>,
}

/// The part of an entity's state that is needed when the entity waits, or is a timer.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) spec: EntitySpec,
    /// The entity's place among the members of its group.
    pub(super) place_in_group: usize,
    pub(super) suspended: Vec<Activation>,
    /// The resumed segments that the policy has.
    pub(super) resumed: Vec<Activation>,
    pub(super) timer: Option<TimerState>,
}

impl EntityState {
    /// Creates the state of the entity `id`, which has no activation.
    pub(super) fn new(id: EntityId, registration: u64, spec: EntitySpec, timer: Option<TimerState>) -> Self {
        let latest = Activation {
            entity: id,
            group: spec.group,
            kind: spec.kind,
            priority: spec.priority,
            release: Instant::ZERO,
            deadline: Instant::MAX,
            registration,
            sequence: 0,
            segment: 0,
            precedes_all: spec.precedes_all,
        };
        let is_plain = spec.max_in_flight == 1 && !spec.precedes_all;
        let mut state = Self {
            latest,
            is_pending: false,
            may_go_on: is_plain && timer.is_none() && !spec.releases_group_at_await,
            is_plain,
            is_timer: timer.is_some(),
            in_flight: 0,
            max_in_flight: spec.max_in_flight,
            deadline: None,
            rest: Box::new(Rest { spec, place_in_group: 0, suspended: Vec::new(), resumed: Vec::new(), timer }),
        };
        state.note_deadline();
        state
    }

    /// Calculates the time to the deadline anew. A periodic timer without a deadline of its own has its period.
    pub(super) fn note_deadline(&mut self) {
        let Rest { spec, timer, .. } = &*self.rest;
        self.deadline = spec.deadline.or_else(|| timer.as_ref().and_then(|timer| timer.spec.period));
    }

    pub(super) const fn registration(&self) -> u64 {
        self.latest.registration
    }

    /// Returns the absolute deadline of an activation that is released at `release`; [`Instant::MAX`] if it has none.
    #[inline]
    pub(super) fn deadline_of(&self, release: Instant) -> Instant {
        self.deadline.map_or(Instant::MAX, |relative| release + relative)
    }

    /// Returns the activation that was released and not picked yet; `None` if there is none.
    #[inline]
    pub(super) fn pending(&self) -> Option<&Activation> {
        self.is_pending.then_some(&self.latest)
    }

    /// Returns true if this is the entity with the identifier.
    pub(super) fn is(&self, id: EntityId) -> bool {
        self.latest.entity == id
    }

    /// Returns true if there is an activation that was released and not picked yet.
    #[inline]
    pub(super) const fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Sets the activation that was released and not picked yet. Returns it.
    #[inline]
    pub(super) fn set_pending(&mut self, release: Instant, deadline: Instant, sequence: u64) -> &Activation {
        self.is_pending = true;
        (self.latest.release, self.latest.deadline, self.latest.sequence) = (release, deadline, sequence);
        &self.latest
    }

    /// Sets an earlier release of the activation that was released and not picked yet, and returns it.
    pub(super) fn antedate(&mut self, release: Instant) -> &Activation {
        let deadline = self.deadline_of(release);
        self.set_pending(release, deadline, self.latest.sequence)
    }

    /// Forgets the activation that was released and not picked yet.
    #[inline]
    pub(super) const fn forget_pending(&mut self) {
        self.is_pending = false;
    }

    /// Takes out the activation that was released and not picked yet; `None` if there is none.
    pub(super) fn take_pending(&mut self) -> Option<Activation> {
        std::mem::take(&mut self.is_pending).then_some(self.latest)
    }

    /// Notes that the released activation was picked.
    #[inline]
    pub(super) const fn begin(&mut self) {
        self.is_pending = false;
        self.in_flight += 1;
    }

    /// Returns true if the entity's suspended activations free their group.
    pub(super) const fn gives_group_away(&self) -> bool {
        self.rest.spec.releases_group_at_await || self.rest.spec.precedes_all
    }

    /// Returns true if another activation may be under way, so that the policy gets the released one.
    #[inline]
    pub(super) const fn may_start(&self) -> bool {
        self.in_flight < self.max_in_flight
    }

    /// Returns the segment of an activation that another scheduler recorded.
    pub(super) const fn recorded(
        &self,
        release: Instant,
        deadline: Instant,
        sequence: u64,
        segment: u32,
    ) -> Activation {
        Activation { release, deadline, sequence, segment, ..self.latest }
    }
}
