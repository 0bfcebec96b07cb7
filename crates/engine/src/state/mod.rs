//! An executor's state: the scheduler, and the callbacks and payloads that it decides about.
//!
//! Only the thread that holds the state's lock sees it. To run a callback, the state *lends* it to a thread, together
//! with its group's payload, and the thread *gives them back*. Meanwhile both belong to the thread, so no lock is held,
//! and no two threads can have the same payload. The only thread of an executor also runs callbacks where they are
//! ([`crate::in_place`]): it has the state to itself.
//!
//! rclrs passes a worker's payload to callbacks under a lock. Here the box itself moves, so exclusion needs no mutex,
//! and the scheduler only decides when.

mod failure;
mod held_up;
mod leftovers;
mod members;
mod recorded;
mod slots;
mod time;
mod written;

use std::sync::Arc;
use std::time::Duration;

use rospin_core::{EntityId, EntitySpec, GroupId, Instant, Scheduler};
use rospin_core::{ThreadIndex, TimerSpec};

use crate::body::Ran;
use crate::clock::WaitBegin;
use crate::incident::Incident;
use crate::lock_free::inbox::Book;
use crate::membership::{Membership, TimerShared};
use crate::ros_time::RosView;
use crate::signal::Signal;
use crate::work::Callback;
use crate::work::Run;
use held_up::HeldUp;
use leftovers::Leftovers;
use recorded::Orphan;
pub(crate) use slots::{EntitySlot, GroupSlot, NOBODY, Target};
pub(crate) use written::WrittenLines;

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
    pub(crate) entities: Vec<Option<EntitySlot>>,
    pub(crate) groups: Vec<Option<GroupSlot>>,
    pub(crate) books: Vec<Arc<Book>>,
    /// The meanings of the signals, by their numbers.
    pub(crate) targets: Vec<Option<Target>>,
    /// The arrivals and numbers of signals that were drained and not passed on yet, the latest one first. It has room
    /// for all.
    pub(crate) drained: Vec<(Instant, usize)>,
    pub(crate) leftovers: Leftovers,
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
    pub(crate) ros: RosView,
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

    /// Returns true if the callback of the run ran to its end, and its entity does not end with it.
    #[inline(always)]
    pub(crate) fn has_ended(&self, run: &Run) -> bool {
        let id = run.activation.entity;
        let entity = self.entities.get(id.index()).and_then(Option::as_ref);
        matches!(run.callback.result, Ok(Ran::Done)) && entity.is_some_and(|entity| entity.id == id && !entity.closing)
    }

    pub(crate) fn entity_mut(&mut self, id: EntityId) -> Option<&mut EntitySlot> {
        self.entities.get_mut(id.index())?.as_mut().filter(|entity| entity.id == id)
    }

    pub(crate) fn group_mut(&mut self, id: GroupId) -> Option<&mut GroupSlot> {
        self.groups.get_mut(id.index())?.as_mut().filter(|group| group.id == id)
    }
}
