//! The scheduler: a state machine that drivers feed and ask.

mod go_on;
mod members;
mod ready;
mod timers;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::activation::Activation;
use crate::entity::EntitySpec;
use crate::group::Groups;
use crate::id::{EntityId, Slots, ThreadIndex};
use crate::policy::{Policy, View};
use crate::time::Instant;
use crate::timer::{ClockKind, TimerHeap};
use crate::trace::{Trace, TraceEvent};
pub use members::AddError;
use ready::Ready;
use timers::{Leap, TimerState};

/// What a release led to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Release {
    /// The entity has a new activation.
    Ready,
    /// It had one already; the two are one.
    AlreadyReady,
    /// The entity was removed.
    Unknown,
}

#[derive(Debug)]
struct EntityState {
    spec: EntitySpec,
    registration: u64,
    /// Among the members of its group.
    place_in_group: usize,
    /// Released, not picked yet: in the policy's hands, or kept here while `max_in_flight` are under way.
    pending: Option<Activation>,
    in_flight: u32,
    suspended: Vec<Activation>,
    /// Resumed segments in the policy's hands.
    resumed: Vec<Activation>,
    timer: Option<TimerState>,
}

impl EntityState {
    /// Absolute deadline of an activation; a periodic timer's is due by the end of its period unless it says otherwise.
    fn deadline_of(&self, release: Instant) -> Instant {
        let period = || self.timer.as_ref().and_then(|timer| timer.spec.period);
        self.spec.deadline.or_else(period).map_or(Instant::MAX, |relative| release + relative)
    }

    /// Whether its suspended activations leave their group to others.
    const fn gives_group_away(&self) -> bool {
        self.spec.releases_group_at_await || self.spec.precedes_all
    }

    /// Whether `pending` is in the policy's hands.
    fn may_start(&self) -> bool {
        self.in_flight < self.spec.max_in_flight
    }
}

/// Decides what runs next: entities, groups, timers, and a [`Policy`] over what is ready.
///
/// Pure: it never reads a clock, blocks or starts a thread. Once entities are added,
/// [`release`](Self::release), [`next`](Self::next) and [`complete`](Self::complete) do not allocate.
///
/// Should the policy or the trace panic, whoever catches that can go on: no group is held by an activation that nobody has.
/// What the policy itself forgot, it forgot.
pub struct Scheduler {
    ready: Ready,
    entities: Slots<EntityState>,
    groups: Groups,
    timers: [TimerHeap; ClockKind::COUNT],
    timer_counts: [usize; ClockKind::COUNT],
    /// The latest reading of each clock that the driver passed on.
    clocks: [Instant; ClockKind::COUNT],
    /// When the driver passed on a reading of ROS time last; `None` before it first did.
    ros_read_at: Option<Instant>,
    registrations: u64,
    sequence: u64,
    trace: Option<Box<dyn Trace>>,
}

impl Scheduler {
    /// An empty scheduler under `policy`.
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

    /// Sends what happens from now on to `trace`; `None` to nobody.
    pub fn set_trace(&mut self, trace: Option<Box<dyn Trace>>) {
        self.trace = trace;
    }

    /// The policy's name.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.ready.policy.name()
    }

    /// An entity has something to do, since `release`.
    ///
    /// Releases before its activation is picked are one with it: memory is bounded by entities, not by events. The earliest
    /// of them counts, since a thread may learn of a later item before the earlier one that a running callback left. Under a
    /// policy that does not [order by release](Policy::orders_by_release), the first of them counts once it is ready.
    pub fn release(&mut self, release: Instant, id: EntityId) -> Release {
        let sequence = self.sequence;
        let Some(entity) = self.entities.get_mut(id.index(), id.generation()) else {
            return Release::Unknown;
        };
        let deadline = entity.deadline_of(release);
        let held_back = !entity.may_start();
        if let Some(pending) = &mut entity.pending {
            if release < pending.release && (held_back || self.ready.orders_by_release(pending)) {
                let known = *pending;
                pending.release = release;
                pending.deadline = deadline;
                let pending = if held_back {
                    // The policy does not have it yet.
                    *pending
                } else {
                    // An order must not change under a policy: it gets another activation instead.
                    pending.sequence = sequence;
                    let antedated = *pending;
                    self.sequence += 1;
                    self.ready.withdraw(&known);
                    self.ready.release(antedated);
                    antedated
                };
                self.record(release, TraceEvent::Antedated(pending));
            }
            return Release::AlreadyReady;
        }
        let activation = Activation {
            entity: id,
            group: entity.spec.group,
            kind: entity.spec.kind,
            priority: entity.spec.priority,
            release,
            deadline,
            registration: entity.registration,
            sequence,
            segment: 0,
            precedes_all: entity.spec.precedes_all,
        };
        self.sequence += 1;
        entity.pending = Some(activation);
        if entity.may_start() {
            self.ready.release(activation);
        }
        self.record(release, TraceEvent::Released(activation));
        Release::Ready
    }

    /// `clock` shows `reading` while the steady clock shows `now`: releases what is due on it.
    ///
    /// [`next`](Self::next) does this for the steady clock by itself.
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

    /// Gives `thread` the activation to run now, `None` if there is none that may start.
    ///
    /// The driver must hand it back by [`complete`](Self::complete) or [`suspend`](Self::suspend).
    pub fn next(&mut self, now: Instant, thread: ThreadIndex) -> Option<Activation> {
        self.advance(ClockKind::Steady, now, now);
        let trace = self.trace.as_mut().map(|trace| &mut **trace as &mut dyn Trace);
        let activation = self.ready.pick(&mut View::new(now, thread, &self.groups, trace))?;
        if !self.groups.try_run(&activation) {
            // A policy of the user's that breaks its promise must not break the group's.
            debug_assert!(false, "the policy picked from a group that is held");
            self.ready.policy.release(activation);
            return None;
        }
        let mut missed = 0;
        if let Some(entity) = self.entity_mut(activation.entity) {
            if activation.segment > 0 {
                entity.resumed.retain(|resumed| resumed.sequence != activation.sequence);
            } else {
                entity.pending = None;
                entity.in_flight += 1;
                if entity.timer.is_some() {
                    missed = self.rearm(activation.entity);
                }
            }
        }
        if self.trace.is_some() {
            self.record_dispatch(now, thread, activation, missed);
        }
        Some(activation)
    }

    /// The activation ended, whether its callback ran, panicked or found nothing to take.
    pub fn complete(&mut self, now: Instant, activation: &Activation) {
        // Policy and trace are foreign code, and come last: should they panic, this activation is over all the same.
        let has_left = self.groups.leave(activation);
        let mut held_back = false;
        if let Some(entity) = self.entity_mut(activation.entity) {
            let was_at_limit = !entity.may_start();
            entity.in_flight = entity.in_flight.saturating_sub(1);
            held_back = was_at_limit && entity.pending.is_some();
        }
        if held_back && let Some(pending) = self.entity_mut(activation.entity).and_then(|entity| entity.pending) {
            self.ready.release(pending);
        }
        if has_left {
            self.ready.group_freed(activation.group);
        }
        self.record(now, TraceEvent::Completed(*activation));
    }

    /// Whether somebody is told what happens, and when.
    #[must_use]
    pub const fn is_traced(&self) -> bool {
        self.trace.is_some()
    }

    /// The activation's callback waits for something; the thread is free for others.
    ///
    /// Its group stays held, unless the entity [releases it](EntitySpec::releases_group_at_await). Only what
    /// [precedes all](EntitySpec::precedes_all) runs in a group whose holder is suspended.
    pub fn suspend(&mut self, now: Instant, activation: &Activation) {
        let Some(entity) = self.entity_mut(activation.entity) else {
            // Removed while it ran: it will not be resumed.
            self.free_group(activation);
            return;
        };
        entity.suspended.push(*activation);
        if entity.gives_group_away() {
            self.free_group(activation);
        } else if self.groups.pause(activation) {
            self.ready.group_paused(activation.group);
        }
        self.record(now, TraceEvent::Suspended(*activation));
    }

    /// What the suspended activation waited for happened: its next segment is ready. Says whether it was suspended.
    pub fn resume(&mut self, now: Instant, id: EntityId, sequence: u64) -> bool {
        let Some(entity) = self.entity_mut(id) else {
            return false;
        };
        let Some(at) = entity.suspended.iter().position(|suspended| suspended.sequence == sequence) else {
            return false;
        };
        let mut segment = entity.suspended.swap_remove(at);
        segment.segment += 1;
        segment.release = now;
        entity.resumed.push(segment);
        self.ready.release(segment);
        self.record(now, TraceEvent::Released(segment));
        true
    }

    /// Whether there is any timer of `clock`, armed or not.
    #[must_use]
    pub const fn has_timers(&self, clock: ClockKind) -> bool {
        self.timer_counts[clock.index()] > 0
    }

    /// When the next timer of `clock` is due, on that clock; `None` if none is armed.
    #[must_use]
    pub fn next_due_on(&self, clock: ClockKind) -> Option<Instant> {
        self.timers[clock.index()].earliest()
    }

    /// When the next timer of the steady clock is due: until then a driver without work may sleep.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.next_due_on(ClockKind::Steady)
    }

    /// Whether another thread that asked now might be given something; may err towards yes.
    #[must_use]
    pub fn has_candidates(&self) -> bool {
        self.ready.has_candidates()
    }

    // ---- helpers ----

    /// Records that the activation was picked, and how many due times its timer gave up. If that panics, the driver gets no
    /// activation, and nobody would ever free its group: then it is ready again.
    fn record_dispatch(&mut self, now: Instant, thread: ThreadIndex, activation: Activation, missed: u64) {
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            if missed > 0 {
                self.record(now, TraceEvent::Overrun(activation.entity, missed));
            }
            self.record(now, TraceEvent::Dispatched(thread, activation));
        }));
        if let Err(panic) = recorded {
            self.put_back(activation);
            resume_unwind(panic);
        }
    }

    /// What was picked was not: it is ready as before.
    fn put_back(&mut self, activation: Activation) {
        let Some(entity) = self.entities.get_mut(activation.entity.index(), activation.entity.generation()) else {
            return;
        };
        if activation.segment > 0 {
            entity.resumed.push(activation);
        } else {
            entity.pending = Some(activation);
            entity.in_flight -= 1;
        }
        if activation.segment > 0 && !entity.gives_group_away() {
            self.groups.pause(&activation);
        } else {
            self.groups.leave(&activation);
        }
        self.ready.release(activation);
    }

    fn free_group(&mut self, activation: &Activation) {
        if self.groups.leave(activation) {
            self.ready.group_freed(activation.group);
        }
    }

    fn entity_mut(&mut self, id: EntityId) -> Option<&mut EntityState> {
        self.entities.get_mut(id.index(), id.generation())
    }

    fn record(&mut self, now: Instant, event: TraceEvent) {
        if let Some(trace) = &mut self.trace {
            trace.record(now, event);
        }
    }
}
