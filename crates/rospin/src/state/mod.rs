//! An executor's state: the scheduler, and the callbacks and payloads it decides about.
//!
//! Only whoever has the state's lock sees it. What runs is moved out: a callback and its group's payload belong to the
//! thread that runs them, so no lock is held meanwhile and no two threads can have the same payload.

mod members;
mod time;

use std::sync::Arc;
use std::time::Duration;

use rospin_core::policy::Fifo;
use rospin_core::{Activation, EntityId, EntityKind, EntitySpec, GroupId, Instant, Scheduler};
use rospin_core::{ThreadIndex, TimerSpec};

use crate::body::{AnyPayload, Body, Ran};
use crate::incident::{Incident, IncidentKind, OnPanic};
use crate::lock_free::inbox::{Book, Inbox};
use crate::loss::{LossCause, LossCounters};
use crate::ros_time::RosView;
use crate::shared::{Leftovers, Shared};
use crate::signal::Signal;
use crate::source::{Pending, TakeError};
use crate::timer::TimerFace;
use crate::work::{Callback, Label, Run};

/// One of the activations that an entity may have under way.
struct RunSlot {
    /// Not here while it runs.
    callback: Option<Box<Callback>>,
    /// The activation under way, running or suspended.
    sequence: Option<u64>,
    suspended: bool,
    /// The waker was called while the activation ran.
    woken: bool,
}

struct EntitySlot {
    id: EntityId,
    slots: Vec<RunSlot>,
    losses: Arc<LossCounters>,
    /// The source has ended: the entity goes when its last activation has.
    closing: bool,
    /// Numbers of its signals.
    signals: Vec<usize>,
    /// Where its handle sees when the timer is due.
    face: Option<Arc<TimerFace>>,
}

impl EntitySlot {
    fn note_due(&self, scheduler: &Scheduler) {
        if let Some(face) = &self.face {
            face.note_due(scheduler.timer_due(self.id));
        }
    }
}

struct GroupSlot {
    id: GroupId,
    name: Arc<str>,
    /// Not here while a callback of the group runs; never for a reentrant group.
    payload: Option<AnyPayload>,
    on_panic: OnPanic,
}

/// What a signal means.
#[derive(Clone, Copy)]
enum Target {
    /// The entity's source may have something.
    Source(EntityId),
    /// The waker of the entity's run slot with that number was called.
    Segment(EntityId, usize),
}

impl Target {
    const fn entity(self) -> EntityId {
        match self {
            Self::Source(id) | Self::Segment(id, _) => id,
        }
    }
}

/// Everything that [`State::add_entity`] needs to know.
pub(crate) struct NewEntity {
    pub(crate) spec: EntitySpec,
    pub(crate) timer: Option<NewTimer>,
    pub(crate) body: Box<dyn Body>,
    pub(crate) losses: Arc<LossCounters>,
    pub(crate) signal: Arc<Signal>,
}

/// A timer that is to be added.
pub(crate) struct NewTimer {
    pub(crate) spec: TimerSpec,
    pub(crate) face: Arc<TimerFace>,
    /// The turn of ROS time that the first due time was reckoned in, from `delay`; `None` if it was given.
    pub(crate) reckoned: Option<(u64, Duration)>,
}

pub(crate) struct State {
    pub(crate) scheduler: Scheduler,
    /// By the index of their identifiers.
    entities: Vec<Option<EntitySlot>>,
    groups: Vec<Option<GroupSlot>>,
    books: Vec<Arc<Book>>,
    /// By the number of the signal.
    targets: Vec<Option<Target>>,
    leftovers: Leftovers,
    /// Handles that were detached: they live as long as the executor.
    pub(crate) detached: Vec<Box<dyn std::any::Any + Send>>,
    /// The panic that halted the executor.
    pub(crate) fatal: Option<Incident>,
    /// Threads that are parked, or look for work instead.
    pub(crate) parked: u16,
    /// The parked thread that gets up when a timer is due, and when that is.
    pub(crate) watch: Option<(ThreadIndex, Instant)>,
    ros: RosView,
}

impl State {
    pub(crate) fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            entities: Vec::new(),
            groups: Vec::new(),
            books: Vec::new(),
            targets: Vec::new(),
            leftovers: Leftovers::default(),
            detached: Vec::new(),
            fatal: None,
            parked: 0,
            watch: None,
            ros: RosView::new(),
        }
    }

    // ---- what happens ----

    /// Passes on what notifiers and wakers raised since the last drain.
    pub(crate) fn drain(&mut self, inbox: &Inbox, now: Instant) {
        let books = std::mem::take(&mut self.books);
        inbox.drain(&books, |signal, arrival_ns| {
            let arrival = arrival_ns.map_or(now, Instant::from_nanos);
            match self.targets.get(signal).copied().flatten() {
                // Not added yet: then adding it looks at the source. Or removed.
                None => {}
                Some(Target::Source(id)) => {
                    self.scheduler.release(arrival, id);
                }
                Some(Target::Segment(id, slot)) => self.wake(id, slot, arrival),
            }
        });
        self.books = books;
    }

    /// Picks what `thread` runs next, and lends it the callback and the payload.
    pub(crate) fn start(&mut self, now: Instant, thread: ThreadIndex) -> Option<Run> {
        loop {
            let activation = self.scheduler.next(now, thread)?;
            match self.lend(activation) {
                Some(run) => return Some(run),
                // Only if a policy invents activations; never hold its group for ever.
                None => self.scheduler.complete(now, &activation),
            }
        }
    }

    /// Has the entity go on with what its callback left in the source, without giving anything back, if that is what runs next
    /// anyway. For callers who made sure that nothing else has happened.
    pub(crate) fn go_on(&mut self, now: Instant, thread: ThreadIndex, run: &mut Run) -> bool {
        let (Ok(Ran::Done), Pending::Since(arrival)) = (&run.callback.result, run.callback.cx.pending) else {
            return false;
        };
        let Self { scheduler, entities, .. } = self;
        let id = run.activation.entity;
        let entity = entities.get_mut(id.index()).and_then(Option::as_mut);
        let Some(entity) = entity.filter(|entity| entity.id == id && !entity.closing) else {
            return false;
        };
        let goes_on = scheduler.go_on(now, thread, &mut run.activation, arrival);
        if goes_on {
            let slot = &mut entity.slots[run.callback.slot];
            // Should the entity be removed meanwhile, its slot knows what it runs.
            slot.sequence = Some(run.activation.sequence);
            // Whoever woke the one that ended does not mean the next one.
            slot.woken = false;
        }
        goes_on
    }

    fn lend(&mut self, activation: Activation) -> Option<Run> {
        let is_timer = activation.kind == EntityKind::Timer;
        let id = activation.entity;
        let (overruns, due) =
            if is_timer { (self.scheduler.overruns(id), self.scheduler.timer_due(id)) } else { (0, None) };
        let entity = self.entity_mut(id)?;
        if is_timer {
            entity.losses.set(LossCause::TimerOverrun, overruns);
        }
        if let Some(face) = &entity.face {
            face.note_due(due);
        }
        let wanted = if activation.segment > 0 { Some(activation.sequence) } else { None };
        let run = entity.slots.iter_mut().find(|slot| slot.sequence == wanted)?;
        let mut callback = run.callback.take()?;
        run.sequence = Some(activation.sequence);
        callback.cx.payload = self.group_mut(activation.group)?.payload.take();
        callback.is_alone = !self.scheduler.has_candidates();
        Some(Run { activation, callback })
    }

    /// Takes back what was lent, and tells the scheduler what came of it. Says whether the callback itself ran.
    pub(crate) fn finish(&mut self, executor: &Shared, finished: Run, now: Instant) -> bool {
        let Run { activation, mut callback } = finished;
        let id = activation.entity;
        let pending = callback.cx.pending;
        let result = std::mem::replace(&mut callback.result, Ok(Ran::Nothing));
        self.return_payload(activation.group, callback.cx.payload.take());
        let suspended = matches!(result, Ok(Ran::Suspended));
        // Before the end: what arrived while it ran has been released, and must not count as older than what was there.
        self.release_pending(id, pending, now);
        if suspended {
            self.scheduler.suspend(now, &activation);
        } else {
            self.scheduler.complete(now, &activation);
        }
        let ran = !matches!(result, Ok(Ran::Nothing | Ran::Failed(_)));
        let is_removed = self.judge(executor, &activation, &callback.label, result);
        let Some(entity) = self.entity_mut(id).filter(|_| !is_removed) else {
            // Removed meanwhile, by whomever.
            if suspended {
                callback.label.losses.add(LossCause::Cancelled, 1);
            }
            self.leftovers.garbage.push(callback);
            return ran;
        };
        let run = &mut entity.slots[callback.slot];
        run.callback = Some(callback);
        let woken = std::mem::take(&mut run.woken);
        run.suspended = suspended && !woken;
        if !suspended {
            run.sequence = None;
        }
        let is_over = entity.closing && entity.slots.iter().all(|slot| slot.sequence.is_none());
        if suspended && woken {
            self.scheduler.resume(now, id, activation.sequence);
        }
        if is_over {
            self.remove_entity(id);
        }
        ran
    }

    fn return_payload(&mut self, group: GroupId, payload: Option<AnyPayload>) {
        let Some(payload) = payload else {
            return;
        };
        match self.group_mut(group) {
            Some(group) => group.payload = Some(payload),
            None => self.leftovers.garbage.push(payload),
        }
    }

    /// Deals with what went wrong; says whether the entity was removed for it.
    fn judge(
        &mut self,
        executor: &Shared,
        activation: &Activation,
        label: &Label,
        result: Result<Ran, String>,
    ) -> bool {
        let kind = match result {
            Ok(Ran::Failed(TakeError::Closed)) => {
                if let Some(entity) = self.entity_mut(activation.entity) {
                    entity.closing = true;
                }
                return false;
            }
            Ok(Ran::Failed(error)) => {
                label.losses.add(LossCause::TakeFailed, 1);
                IncidentKind::TakeFailed(error.to_string())
            }
            Ok(_) => return false,
            Err(message) => IncidentKind::Panicked(message),
        };
        let incident = Incident {
            executor: executor.name.clone(),
            group: label.group.to_string(),
            entity: label.entity.to_string(),
            kind,
        };
        let mut is_removed = false;
        if matches!(incident.kind, IncidentKind::Panicked(_)) {
            match label.on_panic {
                OnPanic::Continue => {}
                OnPanic::Remove => {
                    self.remove_entity(activation.entity);
                    is_removed = true;
                }
                OnPanic::Halt => {
                    self.fatal.get_or_insert_with(|| incident.clone());
                }
            }
        }
        self.leftovers.incidents.push(incident);
        is_removed
    }

    fn release_pending(&mut self, id: EntityId, pending: Pending, now: Instant) {
        match pending {
            Pending::Empty => {}
            Pending::Since(arrival) => {
                self.scheduler.release(arrival, id);
            }
            Pending::Unknown => {
                self.scheduler.release(now, id);
            }
        }
    }

    fn wake(&mut self, id: EntityId, slot: usize, now: Instant) {
        let Some(run) = self.entity_mut(id).and_then(|entity| entity.slots.get_mut(slot)) else {
            return;
        };
        let Some(sequence) = run.sequence else {
            // A waker of an activation that has ended.
            return;
        };
        if run.suspended {
            run.suspended = false;
            self.scheduler.resume(now, id, sequence);
        } else {
            // Running: poll it once more. Resumed already: it will be polled.
            run.woken = run.callback.is_none();
        }
    }

    // ---- what is dealt with once the state is free again ----

    pub(crate) fn has_leftovers(&self) -> bool {
        !self.leftovers.is_empty()
    }

    pub(crate) fn take_leftovers(&mut self) -> Leftovers {
        std::mem::take(&mut self.leftovers)
    }

    /// Everything that holds user code, to be dropped where no lock is held.
    pub(crate) fn take_contents(&mut self) -> impl Sized + use<> {
        (
            std::mem::take(&mut self.entities),
            std::mem::take(&mut self.groups),
            std::mem::take(&mut self.detached),
            std::mem::replace(&mut self.scheduler, Scheduler::new(Box::new(Fifo::new()))),
            self.take_leftovers(),
        )
    }

    fn entity_mut(&mut self, id: EntityId) -> Option<&mut EntitySlot> {
        self.entities.get_mut(id.index())?.as_mut().filter(|entity| entity.id == id)
    }

    fn group_mut(&mut self, id: GroupId) -> Option<&mut GroupSlot> {
        self.groups.get_mut(id.index())?.as_mut().filter(|group| group.id == id)
    }
}
