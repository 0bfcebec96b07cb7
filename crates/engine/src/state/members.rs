//! Adding and removing groups and entities.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use rospin_core::{ClockKind, EntityId, GroupId, GroupKind};
use smallvec::SmallVec;

use super::slots::{Details, EntitySlot, GroupSlot, RunSlot, Target};
use super::{NewEntity, NewTimer, State};
use crate::body::AnyPayload;
use crate::lock_free::inbox::BOOK;
use crate::loss::LossCause;
use crate::panics::contain;
use crate::shared::Shared;
use crate::signal::Signal;
use crate::source::Pending;
use crate::sync::atomic::{Ordering, fence};

impl State {
    pub(crate) fn add_group(&mut self, name: Arc<str>, kind: GroupKind, payload: Option<AnyPayload>) -> GroupId {
        let id = self.scheduler.add_group(kind);
        put(&mut self.groups, id.index(), GroupSlot { id, name, payload });
        id
    }

    /// Removes the group and its entities. A payload that is lent out is dropped when it comes back.
    pub(crate) fn remove_group(&mut self, id: GroupId) {
        let members: Vec<EntityId> = self.scheduler.members(id).collect();
        let mut panic = None;
        for entity in members {
            // The others go also if the policy or the trace panics.
            if let Err(another) = catch_unwind(AssertUnwindSafe(|| self.remove_entity(entity))) {
                match &panic {
                    None => panic = Some(another),
                    // Its drop runs user code.
                    Some(_) => self.leftovers.garbage.push(another),
                }
            }
        }
        // No entity is left, so this calls no foreign code.
        self.scheduler.remove_group(id);
        if self.group_mut(id).is_some()
            && let Some(payload) = self.groups[id.index()].take().and_then(|group| group.payload)
        {
            self.leftovers.garbage.push(payload);
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Returns the place of the payload, which is empty while it is lent to a callback; `None` if the group is gone.
    pub(crate) fn payload_mut(&mut self, id: GroupId) -> Option<&mut Option<AnyPayload>> {
        self.group_mut(id).map(|group| &mut group.payload)
    }

    /// Adds the entity. If its source has an item already, releases it: at the item's arrival if that is known, or else
    /// now.
    pub(crate) fn add_entity(&mut self, new: NewEntity) {
        let NewEntity { spec, timer, callback, membership, signal } = new;
        let executor = &Arc::clone(&membership.executor);
        if self.group_mut(spec.group).is_none() {
            // The group was removed meanwhile, and the entity with it.
            self.drop_later(callback);
            return;
        }
        let group = spec.group;
        let max_in_flight = spec.max_in_flight;
        let (added, timer) = match timer {
            Some(NewTimer { spec: mut timer, shared, reckoned }) => {
                if timer.clock == ClockKind::Ros {
                    let clock = &executor.times.clock;
                    timer.first_due = match reckoned {
                        Some((begin, delay)) => self.due_of_wait(shared.kind, begin, delay, clock),
                        None => self.due_of_follower(shared.kind, timer.first_due, clock),
                    };
                    if shared.kind.follows_ros() {
                        timer.clock = self.ros.clock_of_followers();
                        self.ros.has_followers = true;
                    }
                }
                (self.scheduler.add_timer(spec, timer), Some(shared))
            }
            None => (self.scheduler.add_entity(spec), None),
        };
        let Ok(id) = added else {
            // The options were checked before, and the group exists, so adding cannot fail for another reason.
            self.drop_later(callback);
            return;
        };
        membership.begin(id);
        let mut signals = Vec::new();
        let mut pending = Pending::Empty;
        if let Some(signal) = signal {
            signals.push(signal.number());
            self.set_target(executor, signal.number(), Target::Source(id, signal.asked().cloned()));
            // A notification that a drain has passed over since it did not know the flag is seen now, see
            // `lock_free::inbox`.
            fence(Ordering::SeqCst);
            pending = contain(|| callback.body.pending()).unwrap_or(Pending::Unknown);
        }
        let losses = Arc::clone(&callback.label.losses);
        let is_simple = self.scheduler.may_run_in_place(id) && !callback.body.suspends();
        let fork = |slot| callback.body.fork(Arc::clone(&callback.label), slot as usize);
        let forks: Vec<_> = (1..max_in_flight).map_while(fork).collect();
        let mut slots = SmallVec::with_capacity(forks.len() + 1);
        for mut callback in std::iter::once(callback).chain(forks) {
            if callback.body.suspends() {
                let waker = Signal::new(executor, None);
                self.set_target(executor, waker.number(), Target::Segment(id, slots.len()));
                signals.push(waker.number());
                callback.body.set_waker(waker.into());
            }
            slots.push(RunSlot::new(callback));
        }
        let details = Box::new(Details { losses, signals, membership, timer });
        // The index of a group is half as long as its identifier.
        let slot = EntitySlot { id, group: group.index() as u32, slots, closing: false, is_simple, details };
        slot.note_due(&self.scheduler, &self.ros);
        put(&mut self.entities, id.index(), slot);
        if self.tapped {
            self.define_entity(executor, id);
        }
        self.release_pending(id, pending, executor.now());
    }

    pub(crate) fn remove_entity(&mut self, id: EntityId) {
        self.note_orphans(id);
        // The entity is gone also if the policy or the trace panics.
        let told = catch_unwind(AssertUnwindSafe(|| self.scheduler.remove_entity(id)));
        self.forget_slot(id);
        if let Err(panic) = told {
            resume_unwind(panic);
        }
    }

    /// Forgets what the state has of an entity, if it has anything.
    fn forget_slot(&mut self, id: EntityId) {
        if self.entity_mut(id).is_none() {
            return;
        }
        let Some(entity) = self.entities[id.index()].take() else {
            return;
        };
        if self.has_drained() {
            // Another entity may get the signals before the next drain.
            self.drained.retain(|(_, drained)| !entity.details.signals.contains(drained));
        }
        for signal in entity.details.signals {
            if self.targets[signal].as_ref().is_some_and(|target| target.entity() == id) {
                self.targets[signal] = None;
            }
        }
        let waiting = entity.slots.iter().filter(|slot| !slot.is_free() && slot.callback.is_some()).count();
        entity.details.losses.add(LossCause::Cancelled, waiting as u64);
        self.forget_entity(&entity.details.membership.executor, id);
        let callbacks = entity.slots.into_iter().filter_map(|slot| slot.callback);
        for callback in callbacks {
            self.drop_later(callback);
        }
    }

    fn set_target(&mut self, executor: &Shared, signal: usize, target: Target) {
        if self.books.len() <= signal / BOOK {
            self.books = executor.signals.books();
        }
        put(&mut self.targets, signal, target);
        self.drained.reserve(self.targets.len().saturating_sub(self.drained.len()));
    }
}

fn put<T>(table: &mut Vec<Option<T>>, index: usize, value: T) {
    if table.len() <= index {
        table.resize_with(index + 1, || None);
    }
    table[index] = Some(value);
}
