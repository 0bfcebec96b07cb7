//! The data that an executor's state keeps for each entity (its callbacks), each group (its payload), and each signal
//! (what it means).

use std::sync::Arc;

use rospin_core::{EntityId, GroupId, Scheduler};
use smallvec::SmallVec;

use crate::body::AnyPayload;
use crate::loss::LossCounters;
use crate::membership::{Membership, TimerShared};
use crate::ros_time::RosView;
use crate::topic::QueueView;
use crate::work::Callback;

/// Value in place of an activation's sequence number in a run slot that is free. No activation has this number.
pub(crate) const NOBODY: u64 = u64::MAX;

/// A place for one of the activations that an entity may have under way.
pub(crate) struct RunSlot {
    /// The callback; `None` while it is lent to a thread.
    pub(crate) callback: Option<Box<Callback>>,
    /// The sequence number of the activation that is running or suspended; [`NOBODY`] if the place is free.
    pub(crate) sequence: u64,
    pub(crate) suspended: bool,
    /// True if the waker was called while the activation ran.
    pub(crate) woken: bool,
}

impl RunSlot {
    pub(crate) const fn new(callback: Box<Callback>) -> Self {
        Self { callback: Some(callback), sequence: NOBODY, suspended: false, woken: false }
    }

    /// Returns true if no activation is running or suspended here.
    pub(crate) const fn is_free(&self) -> bool {
        self.sequence == NOBODY
    }

    /// Returns true if a thread runs the activation, and has the callback.
    pub(crate) const fn is_lent(&self) -> bool {
        !self.is_free() && self.callback.is_none()
    }

    /// Takes the callback of an activation that is suspended, unless its waker was called while it ran.
    pub(crate) fn suspend(&mut self, callback: Box<Callback>) {
        self.callback = Some(callback);
        self.suspended = !self.woken;
        self.woken = false;
    }

    /// Takes the callback of an activation that has ended.
    pub(crate) fn end(&mut self, callback: Box<Callback>) {
        self.callback = Some(callback);
        self.sequence = NOBODY;
        self.suspended = false;
        self.woken = false;
    }
}

/// An entity: what every step needs of it, on one cache line.
#[repr(align(64))]
pub(crate) struct EntitySlot {
    pub(crate) id: EntityId,
    /// The index of its group.
    pub(crate) group: u32,
    pub(crate) slots: SmallVec<[RunSlot; 1]>,
    /// True if the source has ended. The entity is removed when its last activation has ended.
    pub(crate) closing: bool,
    /// True if the callback is synchronous, and the scheduler lets it run in place.
    pub(crate) is_simple: bool,
    pub(crate) details: Box<Details>,
}

/// The part of an entity that few steps need.
pub(crate) struct Details {
    pub(crate) losses: Arc<LossCounters>,
    /// The numbers of the entity's signals. They lose their meaning when the entity is removed.
    pub(crate) signals: Vec<usize>,
    pub(crate) membership: Arc<Membership>,
    pub(crate) timer: Option<Arc<TimerShared>>,
}

impl EntitySlot {
    pub(crate) fn note_due(&self, scheduler: &Scheduler, ros: &RosView) {
        if let Some(timer) = &self.details.timer {
            timer.note_due(scheduler.timer_due(self.id), ros.is_on_steady());
        }
    }

    /// Returns true if the handle is gone, and the executor has not dealt with that yet.
    pub(crate) fn is_removed(&self) -> bool {
        self.details.membership.is_over()
    }

    /// Returns true if the handle of a timer has asked for another due time, and the executor has not dealt with that
    /// yet.
    pub(crate) fn has_another_due(&self) -> bool {
        self.details.timer.as_ref().is_some_and(|timer| timer.has_request())
    }
}

/// A callback group, on a cache line of its own, as in the scheduler.
#[repr(align(64))]
pub(crate) struct GroupSlot {
    pub(crate) id: GroupId,
    pub(crate) name: Arc<str>,
    /// `None` while it is lent to a callback that does not run in place, and always for a reentrant group.
    pub(crate) payload: Option<AnyPayload>,
}

/// The meaning of a signal.
pub(crate) enum Target {
    /// The entity's source may have an item. If no notification said since when, the queue does.
    Source(EntityId, Option<QueueView>),
    /// The waker of the entity's run slot with that number was called.
    Segment(EntityId, usize),
}

impl Target {
    pub(crate) const fn entity(&self) -> EntityId {
        match self {
            Self::Source(id, _) | Self::Segment(id, _) => *id,
        }
    }

    /// Returns the time of publication of the oldest message in the queue; `None` without a queue, or without a message
    /// in it.
    #[inline]
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        match self {
            Self::Source(_, queue) => queue.as_ref()?.oldest_stamp(),
            Self::Segment(..) => None,
        }
    }
}
