//! An executor's state: the scheduler, and the callbacks and payloads that it decides about.
//!
//! Only the thread that holds the state's lock sees it. To run a callback, the state *lends* it to a thread, together
//! with its group's payload, and the thread *gives them back*. Meanwhile both belong to the thread, so no lock is held,
//! and no two threads can have the same payload. The only thread of an executor also runs callbacks where they are
//! ([`in_place`]): it has the state to itself.
//!
//! rclrs passes a worker's payload to callbacks under a lock. Here the box itself moves, so exclusion needs no mutex,
//! and the scheduler only decides when.

mod finish;
mod held_up;
mod in_place;
mod leftovers;
mod members;
mod recorded;
mod slots;
mod time;
mod written;

use std::sync::Arc;
use std::time::Duration;

use rospin_core::{Activation, EntityId, EntityKind, EntitySpec, GroupId, Instant, Scheduler};
use rospin_core::{ThreadIndex, TimerSpec};

use crate::body::Ran;
use crate::clock::WaitBegin;
use crate::incident::Incident;
use crate::lock_free::inbox::{Book, Inbox};
use crate::loss::LossCause;
use crate::membership::{Membership, TimerShared};
use crate::ros_time::RosView;
use crate::signal::Signal;
use crate::work::{Callback, Run};
use held_up::HeldUp;
pub(crate) use in_place::{InPlace, Row};
use leftovers::Leftovers;
use recorded::Orphan;
use slots::{EntitySlot, GroupSlot, NOBODY, Target};
pub(crate) use written::WrittenLines;

/// Events of an entity while its callback was lent.
struct GivenBack {
    /// True if the activation's waker was called.
    woken: bool,
    /// True if the entity's source has ended.
    closing: bool,
}

/// The arguments of [`State::add_entity`].
pub(crate) struct NewEntity {
    pub(crate) spec: EntitySpec,
    pub(crate) timer: Option<NewTimer>,
    pub(crate) callback: Box<Callback>,
    pub(crate) membership: Arc<Membership>,
    /// The signal that the entity's source notifies by; `None` for a timer.
    pub(crate) signal: Option<Arc<Signal>>,
}

/// Timer that is about to be added.
pub(crate) struct NewTimer {
    pub(crate) spec: TimerSpec,
    pub(crate) shared: Arc<TimerShared>,
    /// The beginning of the wait for the first due time, and its length; `None` if the due time was given.
    pub(crate) reckoned: Option<(WaitBegin, Duration)>,
}

pub(crate) struct State {
    pub(crate) scheduler: Scheduler,
    /// The entities, by the index of their identifiers.
    entities: Vec<Option<EntitySlot>>,
    groups: Vec<Option<GroupSlot>>,
    books: Vec<Arc<Book>>,
    /// The meanings of the signals, by their numbers.
    targets: Vec<Option<Target>>,
    /// The arrivals and numbers of signals that were drained and not passed on yet, the latest one first. It has room
    /// for all.
    drained: Vec<(Instant, usize)>,
    leftovers: Leftovers,
    /// Handles that were detached. They live as long as the executor.
    pub(crate) detached: Vec<Box<dyn std::any::Any + Send>>,
    /// True if changes are still to be made. Then entities may be here whose handles are gone.
    pub(crate) has_changes_left: bool,
    /// The panic that halts the executor.
    pub(crate) fatal: Option<Incident>,
    /// The number of threads that are parked, or poll for work.
    pub(crate) parked: u16,
    /// The parked thread that wakes when a timer is due, and that due time.
    pub(crate) watch: Option<(ThreadIndex, Instant)>,
    ros: RosView,
    /// True if a tap of the recorder stands before the scheduler's trace.
    tapped: bool,
    /// Activations that still run although their entities were removed.
    orphans: Vec<Orphan>,
    held_up: HeldUp,
}

impl State {
    pub(crate) fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            entities: Vec::new(),
            groups: Vec::new(),
            books: Vec::new(),
            targets: Vec::new(),
            drained: Vec::new(),
            leftovers: Leftovers::default(),
            detached: Vec::new(),
            has_changes_left: false,
            fatal: None,
            parked: 0,
            watch: None,
            ros: RosView::new(),
            tapped: false,
            orphans: Vec::new(),
            held_up: HeldUp::new(),
        }
    }

    /// Passes the flags that were raised since the last drain on to the scheduler, in the order of arrival: a ready set
    /// takes fewer steps for what comes in order. If neither the flag nor a queue has a time of arrival, the flag
    /// counts as one that was raised now, for which `now` reads the clock.
    ///
    /// Returns the latest of the publication times that it found in queues; zero if it found none.
    #[inline(never)]
    pub(crate) fn drain(&mut self, inbox: &Inbox, now: impl Fn() -> Instant) -> Instant {
        if !self.drained.is_empty() {
            self.release_drained();
        }
        let mut latest = Instant::ZERO;
        let Self { books, targets, drained, .. } = self;
        inbox.drain(books, |signal, arrival_ns| {
            // Without a target, the entity is not added yet, and adding it will look at the source; or the entity was
            // removed.
            if let Some(target) = targets.get(signal).and_then(Option::as_ref) {
                // A source may have a queue among others, and may notify for reasons of its own: a time that was noted
                // counts.
                let arrival = match arrival_ns {
                    Some(noted) => Instant::from_nanos(noted),
                    None => target.oldest_ns().map_or_else(&now, |published| {
                        let published = Instant::from_nanos(published);
                        latest = latest.max(published);
                        published
                    }),
                };
                drained.push((arrival, signal));
            }
        });
        if drained.len() > 1 {
            drained.sort_unstable_by(|a, b| b.cmp(a));
        }
        self.release_drained();
        latest
    }

    /// Releases what was drained. If a policy or a trace panics, the rest is left for the next drain.
    #[inline]
    fn release_drained(&mut self) {
        let Self { scheduler, entities, targets, drained, .. } = self;
        while let Some((arrival, signal)) = drained.pop() {
            match targets.get(signal).and_then(Option::as_ref) {
                Some(Target::Source(id, _)) => {
                    scheduler.release(arrival, *id);
                }
                Some(Target::Segment(id, slot)) => wake(scheduler, entities, (*id, *slot), arrival),
                None => {}
            }
        }
    }

    /// Returns true if a panic has left something that was drained and not passed on yet.
    pub(crate) fn has_drained(&self) -> bool {
        !self.drained.is_empty()
    }

    /// Picks the next activation for `thread`, and lends the thread its callback and payload, in `seat`, which is empty.
    /// It stays empty if none may start.
    #[inline(always)]
    pub(crate) fn start(&mut self, now: Instant, thread: ThreadIndex, seat: &mut Option<Run>) {
        while let Some(activation) = self.scheduler.next(now, thread) {
            *seat = self.lend(&activation);
            if seat.is_some() {
                return;
            }
            // The entity is about to be removed, or the policy made the activation up. It must not hold its group for
            // ever.
            self.scheduler.complete(now, &activation);
        }
    }

    /// Returns true if the callback of the run ran to its end, and its entity does not end with it.
    #[inline(always)]
    pub(crate) fn has_ended(&self, run: &Run) -> bool {
        let id = run.activation.entity;
        let entity = self.entities.get(id.index()).and_then(Option::as_ref);
        matches!(run.callback.result, Ok(Ran::Done)) && entity.is_some_and(|entity| entity.id == id && !entity.closing)
    }

    /// Lends the callback and the payload of an activation that was picked; `None` if its entity is about to be
    /// removed, or the policy made the activation up.
    #[inline(always)]
    fn lend(&mut self, activation: &Activation) -> Option<Run> {
        let mut callback = self.lend_callback(activation)?;
        callback.payload = self.group_mut(activation.group)?.payload.take();
        Some(Run { activation: *activation, callback })
    }

    /// Lends the callback of an activation, without its payload.
    #[inline(always)]
    fn lend_callback(&mut self, activation: &Activation) -> Option<Box<Callback>> {
        let wanted = if activation.segment > 0 { activation.sequence } else { NOBODY };
        let (entity, due) = self.begin(activation)?;
        let run = entity.slots.iter_mut().find(|slot| slot.sequence == wanted)?;
        let mut callback = run.callback.take()?;
        if activation.kind == EntityKind::Timer {
            callback.cx.due = due;
        }
        run.sequence = activation.sequence;
        Some(callback)
    }

    /// Returns the entity of an activation that was picked, with the counts of its timer brought up to date, and the
    /// due time for which that fired, unless it is on the steady clock. Returns `None` if the activation must not run.
    #[inline(always)]
    fn begin(&mut self, activation: &Activation) -> Option<(&mut EntitySlot, Option<Instant>)> {
        let is_timer = activation.kind == EntityKind::Timer;
        let id = activation.entity;
        let timer_state = if is_timer { self.scheduler.timer_state(id) } else { None };
        let (has_changes_left, on_steady) = (self.has_changes_left, self.ros.is_on_steady());
        let mut fired = None;
        let entity = self.entity_mut(id)?;
        // A source that has ended is not taken from again, although another activation of its entity may still be under
        // way.
        let has_ended = entity.closing && activation.segment == 0;
        if has_ended || has_changes_left && entity.is_outdated() {
            return None;
        }
        if let Some((due, overruns)) = timer_state {
            entity.details.losses.set(LossCause::TimerOverrun, overruns);
            if let Some(timer) = &entity.details.timer {
                fired = timer.fired();
                timer.note_due(due, on_steady);
            }
        }
        Some((entity, fired))
    }

    fn entity_mut(&mut self, id: EntityId) -> Option<&mut EntitySlot> {
        self.entities.get_mut(id.index())?.as_mut().filter(|entity| entity.id == id)
    }

    fn group_mut(&mut self, id: GroupId) -> Option<&mut GroupSlot> {
        self.groups.get_mut(id.index())?.as_mut().filter(|group| group.id == id)
    }
}

/// Resumes the activation in a slot of an entity, which was woken at `now`.
fn wake(scheduler: &mut Scheduler, entities: &mut [Option<EntitySlot>], (id, slot): (EntityId, usize), now: Instant) {
    let entity = entities.get_mut(id.index()).and_then(Option::as_mut).filter(|entity| entity.id == id);
    let Some(run) = entity.and_then(|entity| entity.slots.get_mut(slot)) else {
        return;
    };
    let sequence = run.sequence;
    if sequence == NOBODY {
        // The waker belongs to an activation that has ended.
        return;
    }
    if run.suspended {
        run.suspended = false;
        scheduler.resume(now, id, sequence);
    } else {
        // If the activation runs, it is polled once more. If it was resumed already, it will be polled anyway.
        run.woken = run.callback.is_none();
    }
}
