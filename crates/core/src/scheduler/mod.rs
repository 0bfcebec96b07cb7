//! The scheduler: a state machine. Drivers report events to it and ask it for activations.

mod entity_state;
mod held_up;
mod in_place;
mod members;
mod ready;
mod repeat;
mod snapshot;
mod timers;

use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use crate::activation::Activation;
use crate::group::{GroupKind, Groups};
use crate::id::{EntityId, GroupId, Slots, ThreadIndex};
use crate::policy::{Policy, View};
use crate::time::Instant;
use crate::timer::{ClockKind, TimerHeap};
use crate::trace::{Trace, TraceEvent};
use entity_state::EntityState;
pub use members::AddError;
use ready::Ready;
pub use repeat::Repeated;
use timers::Leap;

/// Outcome of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Release {
    /// The entity has a new activation.
    Ready,
    /// The entity already had a ready activation, which stands for both releases.
    AlreadyReady,
    /// The entity was removed, or belongs to another scheduler.
    Unknown,
}

/// Scheduler, which decides which activation runs next. It has entities, groups, timers, and a [`Policy`] with the
/// ready set.
///
/// It is pure: it never reads a clock, blocks or starts a thread. Once entities are added, [`release`](Self::release),
/// [`next`](Self::next) and [`complete`](Self::complete) do not allocate.
///
/// After a panic of the policy or the trace, a caller that catches the panic can go on: no group is held by an
/// activation that no driver has. Activations that the policy itself lost are not restored.
pub struct Scheduler {
    ready: Ready,
    entities: Slots<EntityState>,
    groups: Groups,
    timers: [TimerHeap; ClockKind::COUNT],
    /// Number of timers on each clock, armed or not.
    timer_counts: [usize; ClockKind::COUNT],
    /// The latest reading of each clock that the driver passed on.
    clocks: [Instant; ClockKind::COUNT],
    /// The time at which the driver last passed on a reading of ROS time; `None` before the first one.
    ros_read_at: Option<Instant>,
    registrations: u64,
    sequence: u64,
    trace: Option<Box<dyn Trace>>,
}

impl Scheduler {
    /// Creates an empty scheduler with the policy.
    #[must_use]
    pub fn new(policy: Box<dyn Policy>) -> Self {
        Self {
            ready: Ready::new(policy),
            entities: Slots::new(),
            groups: Groups::new(),
            timers: Default::default(),
            timer_counts: [0; ClockKind::COUNT],
            clocks: [Instant::ZERO; ClockKind::COUNT],
            ros_read_at: None,
            registrations: 0,
            sequence: 0,
            trace: None,
        }
    }

    /// Sets the trace that gets events from now on; `None` for no trace.
    pub fn set_trace(&mut self, trace: Option<Box<dyn Trace>>) {
        self.trace = trace;
    }

    /// Takes the trace out: the scheduler has none until [`set_trace`](Self::set_trace) sets one, such as one that
    /// wraps it.
    pub fn take_trace(&mut self) -> Option<Box<dyn Trace>> {
        self.trace.take()
    }

    /// Returns all entities, in the order of their indices.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.entities.ids().map(|(index, generation)| EntityId::new(index, generation))
    }

    /// Returns the kind of a group; `None` if it was removed.
    #[must_use]
    pub fn group_kind(&self, group: GroupId) -> Option<GroupKind> {
        self.groups.kind(group)
    }

    /// Returns the entity's place in the order of registration; `None` if it was removed.
    #[must_use]
    pub fn registration(&self, id: EntityId) -> Option<u64> {
        self.entities.get(id.index(), id.generation()).map(EntityState::registration)
    }

    /// Returns the period of an entity; `None` if it is no periodic timer, or was removed.
    #[must_use]
    pub fn timer_period(&self, id: EntityId) -> Option<Duration> {
        let entity = self.entities.get(id.index(), id.generation())?;
        entity.rest.timer.as_ref().and_then(|timer| timer.spec.period)
    }

    /// Returns the policy's name.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.ready.policy.name()
    }

    /// Releases an activation of the entity, which has an item since `release`.
    ///
    /// Several releases before the pick make one activation, so memory is bounded by entities and not by events. The
    /// earliest release counts: a thread may learn of a later item before the earlier one that a running callback left.
    /// Under a [`WaitSet`](crate::policy::WaitSet), the release of a ready activation does not change any more.
    pub fn release(&mut self, release: Instant, id: EntityId) -> Release {
        let sequence = self.sequence;
        let Some(entity) = self.entities.get_mut(id.index(), id.generation()) else {
            return Release::Unknown;
        };
        let held_back = !entity.may_start();
        if let Some(pending) = entity.pending() {
            if release < pending.release && (held_back || self.ready.orders_by_release(pending)) {
                let known = *pending;
                let antedated = *entity.antedate(release);
                let antedated = if held_back {
                    // The policy does not have the activation yet.
                    antedated
                } else {
                    // The order of an activation must not change while the policy has it, so the policy gets a new
                    // activation.
                    let antedated = *entity.set_pending(release, antedated.deadline, sequence);
                    self.sequence += 1;
                    self.ready.withdraw(&known);
                    self.ready.release(&antedated);
                    antedated
                };
                self.record(release, TraceEvent::Antedated(antedated));
            }
            return Release::AlreadyReady;
        }
        let deadline = entity.deadline_of(release);
        let activation = entity.set_pending(release, deadline, sequence);
        self.sequence += 1;
        if !held_back {
            self.ready.release(activation);
        }
        if self.trace.is_some() {
            let activation = *activation;
            self.record(release, TraceEvent::Released(activation));
        }
        Release::Ready
    }

    /// Releases the timers that are due on `clock`, whose reading is `reading` at the time `now` of the steady clock.
    ///
    /// [`next`](Self::next) does that by itself for the timers of the steady clock.
    pub fn advance(&mut self, clock: ClockKind, reading: Instant, now: Instant) {
        let before = std::mem::replace(&mut self.clocks[clock.index()], reading);
        let leap = match clock {
            ClockKind::Ros => self.ros_read_at.replace(now).map(|read_at| Leap { before, read_at }),
            _ => None,
        };
        while let Some((due, id)) = self.timers[clock.index()].pop_due(reading) {
            if let Some(timer) = self.timer_mut(id) {
                timer.armed = false;
            }
            let release = match &leap {
                Some(leap) => leap.release(due, reading, now),
                None => now - reading.saturating_since(due),
            };
            self.release(release, id);
        }
    }

    /// Returns the activation that `thread` runs now; `None` if none may start.
    ///
    /// The driver must give it back by [`complete`](Self::complete) or [`suspend`](Self::suspend).
    pub fn next(&mut self, now: Instant, thread: ThreadIndex) -> Option<Activation> {
        self.advance(ClockKind::Steady, now, now);
        let trace = self.trace.as_mut().map(|trace| &mut **trace as &mut dyn Trace);
        let picked = self.ready.pick(&mut View::new(now, thread, &self.groups, trace));
        self.begin_picked(now, thread, picked)
    }

    /// Begins the activation that was picked, if there is one. Returns it; `None` if its group does not admit it.
    #[inline(always)]
    fn begin_picked(&mut self, now: Instant, thread: ThreadIndex, picked: Option<Activation>) -> Option<Activation> {
        let Some(activation) = &picked else {
            return None;
        };
        if !self.groups.try_run(activation) {
            // A user's policy may break its contract. Mutual exclusion must hold nevertheless.
            debug_assert!(false, "the policy picked from a group that is held");
            self.ready.policy.release(activation);
            return None;
        }
        let mut missed = 0;
        if let Some(entity) = self.entities.get_mut(activation.entity.index(), activation.entity.generation()) {
            if activation.segment > 0 {
                entity.rest.resumed.retain(|resumed| resumed.sequence != activation.sequence);
            } else {
                entity.begin();
                missed = timers::rearm(entity, &mut self.timers, &self.clocks);
            }
        }
        if self.trace.is_some() {
            self.record_dispatch(now, thread, *activation, missed);
        }
        picked
    }

    /// Ends the activation, after its callback ran, panicked, or found nothing to take.
    pub fn complete(&mut self, now: Instant, activation: &Activation) {
        // Policy and trace are foreign code, and are called last: if they panic, the activation is over nevertheless.
        let has_left = self.groups.leave(activation);
        if let Some(entity) = self.entities.get_mut(activation.entity.index(), activation.entity.generation()) {
            let was_at_limit = !entity.may_start();
            entity.in_flight = entity.in_flight.saturating_sub(1);
            if was_at_limit && let Some(pending) = entity.pending() {
                // If the policy panics here, it is told of the group nevertheless.
                let freed = FreedAfterPanic { ready: &mut self.ready, group: has_left.then_some(activation.group) };
                freed.ready.release(pending);
                forget(freed);
            }
        }
        if has_left {
            self.ready.group_freed(activation.group);
        }
        if self.trace.is_some() {
            self.record(now, TraceEvent::Completed(*activation));
        }
    }

    /// Passes `visit` the addresses of what almost every step writes, one for each cache line, for threads that take
    /// turns and prefetch these lines. It is a hint: a caller may take the first few, or keep them until the memory is
    /// gone.
    #[inline]
    pub fn visit_written(&self, visit: &mut dyn FnMut(*const u8)) {
        visit((&raw const self.sequence).cast());
        visit((&raw const self.clocks).cast());
        visit(self.groups.written().cast());
        self.ready.policy.visit_written(visit);
    }

    /// Returns true if there is a trace, so that the time of each event matters.
    #[must_use]
    pub const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// Suspends the activation, whose callback awaits something. The thread is free for other activations.
    ///
    /// The activation keeps holding its group, unless the entity [releases
    /// it](crate::EntitySpec::releases_group_at_await). Only entities that [precede
    /// all](crate::EntitySpec::precedes_all) run in a group whose holder is suspended.
    pub fn suspend(&mut self, now: Instant, activation: &Activation) {
        let Some(entity) = self.entity_mut(activation.entity) else {
            // The entity was removed while it ran, so the activation will not be resumed.
            self.free_group(activation);
            self.record(now, TraceEvent::Withdrawn(*activation));
            return;
        };
        entity.rest.suspended.push(*activation);
        if entity.gives_group_away() {
            self.free_group(activation);
        } else if self.groups.pause(activation) {
            self.ready.group_paused(activation.group);
        }
        self.record(now, TraceEvent::Suspended(*activation));
    }

    /// Resumes a suspended activation: its next segment becomes ready. Returns true if the activation was suspended.
    pub fn resume(&mut self, now: Instant, id: EntityId, sequence: u64) -> bool {
        let Some(entity) = self.entity_mut(id) else {
            return false;
        };
        let Some(at) = entity.rest.suspended.iter().position(|suspended| suspended.sequence == sequence) else {
            return false;
        };
        let mut segment = entity.rest.suspended.swap_remove(at);
        segment.segment += 1;
        segment.release = now;
        entity.rest.resumed.push(segment);
        self.ready.release(&segment);
        self.record(now, TraceEvent::Released(segment));
        true
    }

    /// Returns true if there is any timer on `clock`, armed or not.
    #[must_use]
    pub const fn has_timers(&self, clock: ClockKind) -> bool {
        self.timer_counts[clock.index()] > 0
    }

    /// Returns the next due time of the timers on `clock`; `None` if none is armed.
    #[must_use]
    pub fn next_due_on(&self, clock: ClockKind) -> Option<Instant> {
        self.timers[clock.index()].earliest()
    }

    /// Returns the next due time of the timers on the steady clock. A driver without work may sleep until then, or
    /// until the next event if it is `None`.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.next_due_on(ClockKind::Steady)
    }

    /// Returns true if [`next`](Self::next) might give another thread an activation now. May return true although
    /// `next` would return `None`.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        self.ready.has_candidates()
    }

    // ---- helpers ----

    /// Records that the activation was picked, and the number of due times that its timer skipped. If the trace panics,
    /// the driver does not get the activation and could never free its group. So the activation becomes ready again.
    fn record_dispatch(&mut self, now: Instant, thread: ThreadIndex, activation: Activation, missed: u64) {
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            if missed > 0 {
                self.record(now, TraceEvent::Overrun(activation.entity, missed));
            }
            self.record(now, TraceEvent::Dispatched(thread, activation));
        }));
        if let Err(panic) = recorded {
            self.undo_pick(activation);
            resume_unwind(panic);
        }
    }

    /// Undoes a pick: the activation becomes ready again.
    fn undo_pick(&mut self, activation: Activation) {
        let Some(entity) = self.entities.get_mut(activation.entity.index(), activation.entity.generation()) else {
            return;
        };
        if activation.segment > 0 {
            entity.rest.resumed.push(activation);
        } else {
            entity.set_pending(activation.release, activation.deadline, activation.sequence);
            entity.in_flight -= 1;
        }
        if activation.segment > 0 && !entity.gives_group_away() {
            self.groups.pause(&activation);
        } else {
            self.groups.leave(&activation);
        }
        self.ready.release(&activation);
    }

    /// Ends the activation's part in its group, and tells the policy if that frees the group.
    fn free_group(&mut self, activation: &Activation) {
        if self.groups.leave(activation) {
            self.ready.group_freed(activation.group);
        }
    }

    fn entity_mut(&mut self, id: EntityId) -> Option<&mut EntityState> {
        self.entities.get_mut(id.index(), id.generation())
    }

    /// Records that activations will not go on, as of the last time that the driver passed on, or their releases if
    /// those came later.
    fn record_withdrawn(&mut self, withdrawn: impl IntoIterator<Item = Activation>) {
        let now = self.clocks[ClockKind::Steady.index()];
        for activation in withdrawn {
            self.record(now.max(activation.release), TraceEvent::Withdrawn(activation));
        }
    }

    fn record(&mut self, now: Instant, event: TraceEvent) {
        if let Some(trace) = &mut self.trace {
            trace.record(now, event);
        }
    }
}

/// Guard that tells the policy of a free group, if there is one, when a panic of the policy drops it.
struct FreedAfterPanic<'a> {
    ready: &'a mut Ready,
    group: Option<GroupId>,
}

impl Drop for FreedAfterPanic<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // A second panic while the first one unwinds would abort.
            let _ = catch_unwind(AssertUnwindSafe(|| self.ready.group_freed(group)));
        }
    }
}
