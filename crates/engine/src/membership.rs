//! The data that an entity's handle and its executor share.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use crate::changes::Ticket;
use crate::shared::Shared;

/// The data of an entity that its handle and its executor share.
pub(crate) struct Membership {
    pub(crate) executor: Arc<Shared>,
    /// The entity's identifier, which is set once the executor has added the entity.
    id: OnceLock<EntityId>,
    is_over: AtomicBool,
}

impl Membership {
    pub(crate) fn new(executor: &Arc<Shared>) -> Arc<Self> {
        Arc::new(Self { executor: Arc::clone(executor), id: OnceLock::new(), is_over: AtomicBool::new(false) })
    }

    /// Returns the entity's identifier, or `None` while the executor has not added it yet.
    pub(crate) fn id(&self) -> Option<EntityId> {
        self.id.get().copied()
    }

    /// Notes that the executor has added the entity.
    pub(crate) fn begin(&self, id: EntityId) {
        let _ = self.id.set(id);
    }

    /// Notes that the handle was dropped.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Returns true if the handle is gone. The callback must not run any more, although the entity may still be there.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// The data of a timer that its handle and its executor share.
#[derive(Debug)]
pub(crate) struct TimerShared {
    pub(crate) clock: ClockKind,
    pub(crate) is_periodic: bool,
    /// The due time that the executor noted last, in nanoseconds on the timer's clock; [`NEVER`] if the timer will not fire.
    due_ns: AtomicU64,
    pub(crate) settings: Mutex<TimerSettings>,
}

/// The settings of a timer, and the request that the executor has yet to deal with.
#[derive(Debug)]
pub(crate) struct TimerSettings {
    /// The time from a reset to the next due time: the period, or a one-shot's delay.
    pub(crate) wait: Duration,
    pub(crate) is_cancelled: bool,
    /// The last request. It replaces earlier ones, so that requests cannot pile up.
    pub(crate) request: Option<TimerRequest>,
    /// Ticket of the change with which the executor deals with the request.
    pub(crate) ticket: Option<Ticket>,
}

/// A request that a timer's handle makes to the executor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimerRequest {
    Cancel,
    /// Makes the timer due `wait` after `now`, which was read on the timer's clock in the turn `turn` of ROS time.
    Restart {
        wait: Duration,
        now: Instant,
        turn: u64,
    },
}

/// Value in place of the due time of a timer that will not fire unless it is reset.
const NEVER: u64 = u64::MAX;

impl TimerShared {
    /// Creates a timer that is due at `due`, and `wait` after each reset.
    pub(crate) fn new(clock: ClockKind, is_periodic: bool, wait: Duration, due: Instant) -> Self {
        let settings = TimerSettings { wait, is_cancelled: false, request: None, ticket: None };
        Self { clock, is_periodic, due_ns: AtomicU64::new(due.as_nanos()), settings: Mutex::new(settings) }
    }

    /// Notes the next due time for the handle to read.
    pub(crate) fn note_due(&self, due: Option<Instant>) {
        self.due_ns.store(due.map_or(NEVER, Instant::as_nanos), Ordering::Relaxed);
    }

    /// Returns the due time that was noted last; `None` if the timer will not fire.
    pub(crate) fn due(&self) -> Option<Instant> {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        (due_ns != NEVER).then_some(Instant::from_nanos(due_ns))
    }

    /// Returns true if the timer was cancelled or reset and the executor has not dealt with that yet.
    pub(crate) fn has_request(&self) -> bool {
        self.settings.lock().request.is_some()
    }

    /// Takes out the ticket of the change by which the executor cancels or restarts the timer, if it has yet to make it. With the
    /// ticket, the change can be taken back.
    pub(crate) fn take_ticket(&self) -> Option<Ticket> {
        self.settings.lock().ticket.take()
    }
}
