//! An executor's state: the scheduler, and the callbacks and payloads it decides about.
//!
//! Only whoever has the state's lock sees it. What runs is moved out: a callback and its group's payload belong to the
//! thread that runs them, so no lock is held meanwhile and no two threads can have the same payload.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rospin_core::policy::Fifo;
use rospin_core::{Activation, ClockKind, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Scheduler};
use rospin_core::{ThreadIndex, TimerSpec};

use crate::body::{AnyPayload, Body, Ran};
use crate::clock::{Clock, RosReading};
use crate::incident::{Incident, IncidentKind, OnPanic};
use crate::lock_free::inbox::{BOOK, Book, Inbox};
use crate::loss::{LossCause, LossCounters};
use crate::ros_time::RosView;
use crate::shared::{Leftovers, Shared, contain};
use crate::signal::Signal;
use crate::source::{Pending, TakeError};
use crate::timer::TimerFace;
use crate::work::{Callback, Finished, Label, Work};

/// One of the activations that an entity may have under way.
struct RunSlot {
    /// Not here while it runs.
    callback: Option<Callback>,
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
    /// Threads that are parked.
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

    // ---- groups and entities ----

    pub(crate) fn add_group(
        &mut self,
        name: Arc<str>,
        kind: GroupKind,
        payload: Option<AnyPayload>,
        on_panic: OnPanic,
    ) -> GroupId {
        let id = self.scheduler.add_group(kind);
        put(&mut self.groups, id.index(), GroupSlot { id, name, payload, on_panic });
        id
    }

    /// Removes the group and its entities; a payload that is lent out is dropped when it comes back.
    pub(crate) fn remove_group(&mut self, id: GroupId) {
        let members: Vec<EntityId> = self.scheduler.members(id).collect();
        for entity in members {
            self.remove_entity(entity);
        }
        self.scheduler.remove_group(id);
        if self.group_mut(id).is_some()
            && let Some(payload) = self.groups[id.index()].take().and_then(|group| group.payload)
        {
            self.leftovers.garbage.push(payload);
        }
    }

    /// The payload, unless the group is gone or a callback of it runs.
    pub(crate) fn payload_mut(&mut self, id: GroupId) -> Option<&mut Option<AnyPayload>> {
        self.group_mut(id).map(|group| &mut group.payload)
    }

    /// Adds the entity; `now` is the release of what its source may have already.
    pub(crate) fn add_entity(&mut self, executor: &Arc<Shared>, new: NewEntity, now: Instant) {
        let NewEntity { spec, timer, body, losses, signal } = new;
        let Some(group) = self.group_mut(spec.group) else {
            // Removed meanwhile; the entity goes with it.
            self.leftovers.garbage.push(body);
            return;
        };
        let label = Arc::new(Label {
            entity: spec.name.as_str().into(),
            group: Arc::clone(&group.name),
            on_panic: group.on_panic,
            losses: Arc::clone(&losses),
        });
        let max_in_flight = spec.max_in_flight;
        let is_timer = timer.is_some();
        let (added, face) = match timer {
            Some(NewTimer { spec: mut timer, face, reckoned }) => {
                if timer.clock == ClockKind::Ros {
                    let current = self.follow_ros_time(&executor.clock);
                    // ROS time jumped since: the delay begins now.
                    let jumped = reckoned.filter(|(turn, _)| *turn != current.reading.turn);
                    timer.first_due = jumped.map_or(timer.first_due, |(_, delay)| current.now + delay);
                }
                (self.scheduler.add_timer(spec, timer), Some(face))
            }
            None => (self.scheduler.add_entity(spec), None),
        };
        let Ok(id) = added else {
            // The options were checked before: a group that is gone is the only reason, and was ruled out above.
            self.leftovers.garbage.push(body);
            return;
        };
        signal.set_entity(id);
        let mut signals = vec![signal.number()];
        self.set_target(executor, signal.number(), Target::Source(id));
        let pending = contain(|| body.pending()).unwrap_or(Pending::Unknown);
        let forks: Vec<_> = (1..max_in_flight).map_while(|_| body.fork()).collect();
        let mut slots = Vec::with_capacity(forks.len() + 1);
        for mut body in std::iter::once(body).chain(forks) {
            if body.suspends() {
                let waker = Signal::new(executor);
                self.set_target(executor, waker.number(), Target::Segment(id, slots.len()));
                signals.push(waker.number());
                body.set_waker(waker.into());
            }
            let callback = Some(Callback { body, label: Arc::clone(&label) });
            slots.push(RunSlot { callback, sequence: None, suspended: false, woken: false });
        }
        let slot = EntitySlot { id, slots, losses, closing: false, signals, face };
        slot.note_due(&self.scheduler);
        put(&mut self.entities, id.index(), slot);
        if !is_timer {
            self.release_pending(id, pending, now);
        }
    }

    pub(crate) fn remove_entity(&mut self, id: EntityId) {
        self.scheduler.remove_entity(id);
        if self.entity_mut(id).is_none() {
            return;
        }
        let Some(entity) = self.entities[id.index()].take() else {
            return;
        };
        for signal in entity.signals {
            if self.targets[signal].is_some_and(|target| target.entity() == id) {
                self.targets[signal] = None;
            }
        }
        let waiting = entity.slots.iter().filter(|slot| slot.sequence.is_some() && slot.callback.is_some()).count();
        entity.losses.add(LossCause::Cancelled, waiting as u64);
        let callbacks = entity.slots.into_iter().filter_map(|slot| slot.callback);
        self.leftovers.garbage.extend(callbacks.map(|callback| Box::new(callback) as Box<dyn std::any::Any + Send>));
    }

    fn set_target(&mut self, executor: &Shared, signal: usize, target: Target) {
        if self.books.len() <= signal / BOOK {
            self.books = executor.signals.books();
        }
        put(&mut self.targets, signal, target);
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

    /// Passes the time on to the timers of clocks other than the scheduler's own.
    pub(crate) fn advance(&mut self, executor: &Shared, now: Instant) {
        if self.scheduler.has_timers(ClockKind::System) {
            self.scheduler.advance(ClockKind::System, executor.clock.system(), now);
        }
        if self.scheduler.has_timers(ClockKind::Ros) {
            let reading = self.follow_ros_time(&executor.clock);
            // After the reading: a jump that it shows was counted before.
            if executor.jumps_left.load(Ordering::SeqCst) == 0 {
                self.scheduler.advance(ClockKind::Ros, reading.now, now);
            }
        }
    }

    /// Reads ROS time, and tells its timers if it was turned.
    pub(crate) fn follow_ros_time(&mut self, clock: &Clock) -> RosReading {
        let (current, jumped) = self.ros.follow(&mut self.scheduler, clock);
        if jumped {
            for entity in self.entities.iter().flatten() {
                entity.note_due(&self.scheduler);
            }
        }
        current
    }

    /// Says what is waited for on ROS time. Free without timers on it.
    pub(crate) fn watch_ros_time(&mut self, executor: &Shared) {
        self.ros.watch(&self.scheduler, executor);
    }

    /// When the next timer is due by the system clock, which ROS time may follow.
    pub(crate) fn next_due_by_system_clock(&self, executor: &Shared) -> Option<Instant> {
        let ros = self.ros.next_due_by_system_clock(&self.scheduler, executor);
        [self.scheduler.next_due_on(ClockKind::System), ros].into_iter().flatten().min()
    }

    /// Cancels the timer, or has it start anew.
    pub(crate) fn change_timer(&mut self, id: EntityId, change: impl FnOnce(&mut Self)) {
        change(self);
        if let Some(entity) = self.entities.get(id.index()).and_then(Option::as_ref) {
            entity.note_due(&self.scheduler);
        }
    }

    /// Picks what `thread` runs next, and lends it the callback and the payload.
    pub(crate) fn start(&mut self, now: Instant, thread: ThreadIndex) -> Option<Work> {
        loop {
            let activation = self.scheduler.next(now, thread)?;
            match self.lend(activation) {
                Some(work) => return Some(work),
                // Only if a policy invents activations; never hold its group for ever.
                None => self.scheduler.complete(now, &activation),
            }
        }
    }

    fn lend(&mut self, activation: Activation) -> Option<Work> {
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
        let slot = entity.slots.iter().position(|slot| slot.sequence == wanted)?;
        let run = &mut entity.slots[slot];
        let callback = run.callback.take()?;
        run.sequence = Some(activation.sequence);
        let payload = self.group_mut(activation.group)?.payload.take();
        Some(Work::new(activation, slot, callback, payload))
    }

    /// Takes back what was lent, and tells the scheduler what came of it. Says whether the callback itself ran.
    pub(crate) fn finish(&mut self, executor: &Shared, finished: Finished, now: Instant) -> bool {
        let Finished { activation, slot, callback, payload, pending, result } = finished;
        let id = activation.entity;
        self.return_payload(activation.group, payload);
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
            self.leftovers.garbage.push(Box::new(callback));
            return ran;
        };
        let run = &mut entity.slots[slot];
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

fn put<T>(table: &mut Vec<Option<T>>, index: usize, value: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(value);
}
