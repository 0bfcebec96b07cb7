//! An executor's state: the scheduler, and the callbacks and payloads it decides about.
//!
//! Only whoever has the state's lock sees it. What runs is moved out: a callback and its group's payload belong to the
//! thread that runs them, so no lock is held meanwhile and no two threads can have the same payload.

use std::sync::Arc;

use rospin_core::{Activation, ClockKind, EntityId, EntityKind, EntitySpec, GroupId, GroupKind, Instant, Scheduler};
use rospin_core::{ThreadIndex, TimerSpec};

use crate::body::{AnyPayload, Body, Ran};
use crate::clock::Clock;
use crate::incident::{Incident, IncidentKind, OnPanic};
use crate::lock_free::inbox::Inbox;
use crate::loss::{LossCause, LossCounters};
use crate::shared::{Leftovers, Shared, Signal, SignalData, Target};
use crate::source::{Pending, TakeError};
use crate::work::{Finished, Work};

/// One of the activations that an entity may have under way.
struct RunSlot {
    /// Not here while it runs.
    body: Option<Box<dyn Body>>,
    /// The activation under way, running or suspended.
    sequence: Option<u64>,
    suspended: bool,
    /// The waker was called while the activation ran.
    woken: bool,
}

struct EntitySlot {
    id: EntityId,
    name: Arc<str>,
    is_timer: bool,
    slots: Vec<RunSlot>,
    losses: Arc<LossCounters>,
}

struct GroupSlot {
    id: GroupId,
    name: Arc<str>,
    /// Not here while a callback of the group runs; never for a reentrant group.
    payload: Option<AnyPayload>,
    on_panic: OnPanic,
}

/// Everything that [`State::add_entity`] needs to know.
pub(crate) struct NewEntity {
    pub(crate) spec: EntitySpec,
    pub(crate) timer: Option<TimerSpec>,
    pub(crate) body: Box<dyn Body>,
    pub(crate) losses: Arc<LossCounters>,
}

pub(crate) struct State {
    pub(crate) scheduler: Scheduler,
    /// By the index of their identifiers.
    entities: Vec<Option<EntitySlot>>,
    groups: Vec<Option<GroupSlot>>,
    leftovers: Leftovers,
    /// Handles that were detached: they live as long as the executor.
    pub(crate) detached: Vec<Box<dyn std::any::Any + Send>>,
    /// The panic that halted the executor.
    pub(crate) fatal: Option<Incident>,
    /// By thread: until when it is parked at most, `None` while it is not.
    pub(crate) parked: Vec<Option<Instant>>,
}

impl State {
    pub(crate) fn new(scheduler: Scheduler) -> Self {
        Self {
            scheduler,
            entities: Vec::new(),
            groups: Vec::new(),
            leftovers: Leftovers::default(),
            detached: Vec::new(),
            fatal: None,
            parked: Vec::new(),
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
    pub(crate) fn add_entity(&mut self, executor: &Arc<Shared>, signal: &Signal, new: NewEntity, now: Instant) {
        let NewEntity { spec, timer, body, losses } = new;
        let name: Arc<str> = spec.name.as_str().into();
        let max_in_flight = spec.max_in_flight;
        let added = match timer {
            Some(timer) => self.scheduler.add_timer(spec, timer),
            None => self.scheduler.add_entity(spec),
        };
        let id = match added {
            Ok(id) => id,
            // The group was removed meanwhile; the entity goes with it.
            Err(error) => {
                log::debug!(target: "rospin", "{error}");
                self.leftovers.garbage.push(body);
                return;
            }
        };
        if let Target::Entity(target) = &signal.data.target {
            let _ = target.set(id);
        }
        let pending = body.pending();
        let slots = run_slots(executor, id, body, max_in_flight);
        let is_timer = timer.is_some();
        put(&mut self.entities, id.index(), EntitySlot { id, name, is_timer, slots, losses });
        if !is_timer {
            self.release_pending(id, pending, now);
        }
    }

    pub(crate) fn remove_entity(&mut self, id: EntityId) {
        self.scheduler.remove_entity(id);
        if self.entity_mut(id).is_some()
            && let Some(entity) = self.entities[id.index()].take()
        {
            let bodies = entity.slots.into_iter().filter_map(|slot| slot.body);
            self.leftovers.garbage.extend(bodies.map(|body| body as Box<dyn std::any::Any + Send>));
        }
    }

    // ---- what happens ----

    /// Passes on what notifiers and wakers pushed since the last drain.
    pub(crate) fn drain(&mut self, inbox: &Inbox<SignalData>, now: Instant) {
        for signal in inbox.drain() {
            match &signal.data.target {
                Target::Entity(_) => {
                    let arrival = signal.take_arrival();
                    // Not added yet: then adding it looks at the source.
                    if let Some(id) = signal.entity() {
                        self.scheduler.release(arrival.unwrap_or(now), id);
                    }
                }
                Target::Segment(id, slot) => self.wake(*id, *slot, now),
            }
        }
    }

    /// Passes the time on to the timers of clocks other than the scheduler's own.
    pub(crate) fn advance(&mut self, clock: &Clock, now: Instant) {
        if self.scheduler.next_due_on(ClockKind::System).is_some() {
            self.scheduler.advance(ClockKind::System, clock.read(ClockKind::System), now);
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
        let overruns =
            if activation.kind == EntityKind::Timer { self.scheduler.overruns(activation.entity) } else { 0 };
        let entity = self.entity_mut(activation.entity)?;
        if entity.is_timer {
            entity.losses.set(LossCause::TimerOverrun, overruns);
        }
        let slot = entity.slot_for(&activation)?;
        let run = &mut entity.slots[slot];
        run.sequence = Some(activation.sequence);
        let body = run.body.take()?;
        let payload = self.group_mut(activation.group)?.payload.take();
        Some(Work::new(activation, slot, body, payload))
    }

    /// Takes back what was lent, and tells the scheduler what came of it.
    pub(crate) fn finish(&mut self, executor: &Shared, finished: Finished, now: Instant) {
        let Finished { activation, slot, body, payload, pending, result } = finished;
        self.return_payload(activation.group, payload);
        match &result {
            Ok(Ran::Suspended) => self.scheduler.suspend(now, &activation),
            _ => self.scheduler.complete(now, &activation),
        }
        let id = activation.entity;
        let Some(entity) = self.entity_mut(id) else {
            // Removed by or during its own callback.
            self.leftovers.garbage.push(body);
            return;
        };
        let run = &mut entity.slots[slot];
        run.body = Some(body);
        let woken = std::mem::take(&mut run.woken);
        if matches!(result, Ok(Ran::Suspended)) {
            run.suspended = !woken;
            if woken {
                self.scheduler.resume(now, id, activation.sequence);
            }
        } else {
            run.sequence = None;
        }
        self.release_pending(id, pending, now);
        match result {
            Ok(Ran::Failed(error)) => self.take_failed(executor, &activation, &error),
            Ok(_) => {}
            Err(message) => self.panicked(executor, &activation, message),
        }
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

    fn take_failed(&mut self, executor: &Shared, activation: &Activation, error: &TakeError) {
        if matches!(error, TakeError::Closed) {
            self.remove_entity(activation.entity);
            return;
        }
        if let Some(entity) = self.entity_mut(activation.entity) {
            entity.losses.add(LossCause::TakeFailed, 1);
        }
        let incident = self.incident(executor, activation, IncidentKind::TakeFailed(error.to_string()));
        self.leftovers.incidents.push(incident);
    }

    fn panicked(&mut self, executor: &Shared, activation: &Activation, message: String) {
        let incident = self.incident(executor, activation, IncidentKind::Panicked(message));
        let reaction = self.group_mut(activation.group).map_or(OnPanic::Continue, |group| group.on_panic);
        match reaction {
            OnPanic::Continue => {}
            OnPanic::Remove => self.remove_entity(activation.entity),
            OnPanic::Halt => {
                self.fatal.get_or_insert_with(|| incident.clone());
            }
        }
        self.leftovers.incidents.push(incident);
    }

    fn incident(&mut self, executor: &Shared, activation: &Activation, kind: IncidentKind) -> Incident {
        let group = self.group_mut(activation.group).map(|group| group.name.to_string());
        let entity = self.entity_mut(activation.entity).map(|entity| entity.name.to_string());
        Incident {
            executor: executor.name.clone(),
            group: group.unwrap_or_default(),
            entity: entity.unwrap_or_default(),
            kind,
        }
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
            // Running, or resumed already: then one more poll does no harm.
            run.woken = run.body.is_none();
        }
    }

    // ---- what is dealt with once the state is free again ----

    pub(crate) fn take_leftovers(&mut self) -> Leftovers {
        std::mem::take(&mut self.leftovers)
    }

    /// Everything that holds user code, to be dropped where no lock is held.
    pub(crate) fn take_contents(&mut self) -> impl Sized + use<> {
        (
            std::mem::take(&mut self.entities),
            std::mem::take(&mut self.groups),
            std::mem::take(&mut self.detached),
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

impl EntitySlot {
    /// The run slot of a suspended activation, or a free one for a new activation.
    fn slot_for(&self, activation: &Activation) -> Option<usize> {
        let wanted = if activation.segment > 0 { Some(activation.sequence) } else { None };
        self.slots.iter().position(|slot| slot.sequence == wanted)
    }
}

/// As many bodies as activations may be under way, each with a waker of its own.
fn run_slots(executor: &Arc<Shared>, id: EntityId, body: Box<dyn Body>, max_in_flight: u32) -> Vec<RunSlot> {
    let forks: Vec<_> = (1..max_in_flight).map_while(|_| body.fork()).collect();
    let bodies = std::iter::once(body).chain(forks).enumerate();
    let slot = |(number, mut body): (usize, Box<dyn Body>)| {
        body.set_waker(Signal::to(executor, Target::Segment(id, number)).into());
        RunSlot { body: Some(body), sequence: None, suspended: false, woken: false }
    };
    bodies.map(slot).collect()
}

fn put<T>(table: &mut Vec<Option<T>>, index: usize, value: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(value);
}
