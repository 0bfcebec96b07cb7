//! The state of an entity: what each step needs on two cache lines, and behind them what only some steps need. For what
//! runs in place the first line is enough.
//!
//! The fields of an activation are written one by one where it stays, because a copy of fields that were just written
//! would have to wait for them.

use super::timers::TimerState;
use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::id::EntityId;
use crate::time::Instant;

/// The sequence number of [`EntityState::latest`] while no activation is released. No activation ever has this number.
pub(super) const NOBODY: u64 = u64::MAX;

/// The time from a release to the deadline of an entity without a deadline.
const NEVER: u64 = u64::MAX;

/// Entity with its activations.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct EntityState {
    /// The activation that was released and not picked yet. The policy has it, too, or it is kept only here while
    /// `max_in_flight` activations are under way. While there is none, the sequence number is [`NOBODY`], and release
    /// and deadline mean nothing.
    latest: Activation,
    /// True if activations of the entity may run in place unless they have deadlines: it is no timer, has one
    /// activation at a time, holds its group while it waits, and does not precede all.
    is_plain: bool,
    pub(super) is_timer: bool,
    /// Number of activations that are under way: running or suspended.
    pub(super) in_flight: u32,
    max_in_flight: u32,
    /// The time from a release to the deadline in nanoseconds; [`NEVER`] if there is no deadline. It is a plain number
    /// so that an optional state has its discriminant in the first line.
    deadline_ns: u64,
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
            sequence: NOBODY,
            segment: 0,
            precedes_all: spec.precedes_all,
        };
        let is_plain =
            spec.max_in_flight == 1 && !spec.precedes_all && timer.is_none() && !spec.releases_group_at_await;
        let mut state = Self {
            latest,
            is_plain,
            is_timer: timer.is_some(),
            in_flight: 0,
            max_in_flight: spec.max_in_flight,
            deadline_ns: NEVER,
            rest: Box::new(Rest { spec, place_in_group: 0, suspended: Vec::new(), resumed: Vec::new(), timer }),
        };
        state.note_deadline();
        state
    }

    /// Calculates the time to the deadline anew. A periodic timer without a deadline of its own has its period.
    pub(super) fn note_deadline(&mut self) {
        let Rest { spec, timer, .. } = &*self.rest;
        let deadline = spec.deadline.or_else(|| timer.as_ref().and_then(|timer| timer.spec.period));
        self.deadline_ns = deadline.map_or(NEVER, |deadline| u64::try_from(deadline.as_nanos()).unwrap_or(NEVER));
    }

    pub(super) const fn id(&self) -> EntityId {
        self.latest.entity
    }

    pub(super) const fn registration(&self) -> u64 {
        self.latest.registration
    }

    /// Returns the absolute deadline of an activation that is released at `release`; [`Instant::MAX`] if it has none.
    #[inline]
    pub(super) fn deadline_of(&self, release: Instant) -> Instant {
        Instant::from_nanos(release.as_nanos().saturating_add(self.deadline_ns))
    }

    /// Returns the activation that was released and not picked yet; `None` if there is none.
    #[inline]
    pub(super) fn pending(&self) -> Option<&Activation> {
        if self.is_pending() { Some(&self.latest) } else { None }
    }

    /// Returns true if there is an activation that was released and not picked yet.
    #[inline]
    pub(super) const fn is_pending(&self) -> bool {
        self.latest.sequence != NOBODY
    }

    /// Sets the activation that was released and not picked yet. Returns it.
    #[inline]
    pub(super) fn set_pending(&mut self, release: Instant, deadline: Instant, sequence: u64) -> &Activation {
        (self.latest.release, self.latest.deadline, self.latest.sequence) = (release, deadline, sequence);
        &self.latest
    }

    /// Returns the activation after the one that was released and not picked yet, for an entity without a deadline.
    #[inline(always)]
    pub(super) fn next_without_deadline(&self, release: Instant, sequence: u64) -> Activation {
        debug_assert!(self.deadline_ns == NEVER && self.latest.deadline == Instant::MAX, "there is no deadline");
        Activation { release, sequence, ..self.latest }
    }

    /// Sets an earlier release of the activation that was released and not picked yet, and returns it.
    pub(super) fn antedate(&mut self, release: Instant) -> &Activation {
        let deadline = self.deadline_of(release);
        self.set_pending(release, deadline, self.latest.sequence)
    }

    /// Forgets the activation that was released and not picked yet.
    #[inline]
    pub(super) const fn forget_pending(&mut self) {
        self.latest.sequence = NOBODY;
    }

    /// Takes out the activation that was released and not picked yet; `None` if there is none.
    pub(super) fn take_pending(&mut self) -> Option<Activation> {
        let latest = self.pending().copied();
        self.forget_pending();
        latest
    }

    /// Notes that the released activation was picked.
    #[inline]
    pub(super) const fn begin(&mut self) {
        self.forget_pending();
        self.in_flight += 1;
    }

    /// Returns true if the entity's suspended activations free their group.
    pub(super) const fn gives_group_away(&self) -> bool {
        self.rest.spec.releases_group_at_await || self.rest.spec.precedes_all
    }

    /// Returns true if activations of the entity may run in place.
    pub(super) const fn may_run_in_place(&self) -> bool {
        self.is_plain && self.deadline_ns == NEVER
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
