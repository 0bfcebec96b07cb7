//! The data that an entity's handle and its executor share.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use crate::changes::Ticket;
use crate::clock::WaitBegin;
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
    pub(crate) kind: TimerKind,
    /// The due time that the executor noted last, in nanoseconds on the timer's clock; [`NEVER`] if the timer will not
    /// fire. For a timer on ROS time, [`ON_STEADY`] is added while the scheduler has it on the steady clock, and the
    /// due time is on that clock.
    due_ns: AtomicU64,
    pub(crate) settings: Mutex<TimerSettings>,
}

/// The properties of a timer that never change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerKind {
    pub(crate) clock: ClockKind,
    pub(crate) is_periodic: bool,
    /// True if the timer waits for a duration: its period, or its delay. False if it fires once, at a given time.
    pub(crate) is_relative: bool,
}

impl TimerKind {
    /// Returns true if the timer is on the steady clock while nobody drives ROS time.
    pub(crate) fn follows_ros(self) -> bool {
        self.clock == ClockKind::Ros && self.is_relative
    }
}

/// The settings of a timer, and the request that the executor has yet to deal with.
#[derive(Debug)]
pub(crate) struct TimerSettings {
    /// The time from a reset to the next due time: the period, or a one-shot's delay.
    pub(crate) wait: Duration,
    pub(crate) is_cancelled: bool,
    /// The last request. It replaces earlier ones, so that requests cannot pile up.
    pub(crate) request: Option<TimerRequest>,
    /// True while the executor deals with a request that it has taken out, so that the due time is still the former
    /// one.
    pub(crate) is_granting: bool,
    /// Ticket of the change with which the executor deals with the request.
    pub(crate) ticket: Option<Ticket>,
}

/// A request that a timer's handle makes to the executor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimerRequest {
    Cancel,
    /// Makes the timer due at that time on its clock.
    At(Instant),
    /// Makes the timer due `wait` after `begin`.
    Restart {
        wait: Duration,
        begin: WaitBegin,
    },
}

/// Value in place of the due time of a timer that will not fire unless it is reset.
const NEVER: u64 = u64::MAX;

/// Bit that is set in the due time of a timer on ROS time while that is on the steady clock.
const ON_STEADY: u64 = 1 << 63;

/// A due time, with the clock that it is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DueOn {
    pub(crate) at: Instant,
    pub(crate) clock: ClockKind,
}

impl TimerShared {
    /// Creates a timer that is due at `due`, and `wait` after each reset.
    pub(crate) fn new(kind: TimerKind, wait: Duration, due: Instant) -> Self {
        let settings = TimerSettings { wait, is_cancelled: false, request: None, is_granting: false, ticket: None };
        let timer = Self { kind, due_ns: AtomicU64::new(NEVER), settings: Mutex::new(settings) };
        timer.note_due(Some(due), false);
        timer
    }

    /// Notes the next due time for the handle to read. `on_steady` is true if the scheduler has timers that [follow ROS
    /// time](TimerKind::follows_ros) on the steady clock.
    #[inline]
    pub(crate) fn note_due(&self, due: Option<Instant>, on_steady: bool) {
        let mut due_ns = due.map_or(NEVER, Instant::as_nanos);
        if self.kind.clock == ClockKind::Ros && due.is_some() {
            let bit = if on_steady && self.kind.is_relative { ON_STEADY } else { 0 };
            // No clock that is read gets later than this.
            due_ns = due_ns.min(Instant::LAST_READING.as_nanos() - 1) | bit;
        }
        self.due_ns.store(due_ns, Ordering::Relaxed);
    }

    /// Returns the due time that was noted last; `None` if the timer will not fire.
    pub(crate) fn due(&self) -> Option<DueOn> {
        let due_ns = self.due_ns.load(Ordering::Relaxed);
        let clock = self.kind.clock;
        if due_ns == NEVER {
            return None;
        }
        if clock == ClockKind::Ros && due_ns & ON_STEADY != 0 {
            return Some(DueOn { at: Instant::from_nanos(due_ns ^ ON_STEADY), clock: ClockKind::Steady });
        }
        Some(DueOn { at: Instant::from_nanos(due_ns), clock })
    }

    /// Returns the due time on the timer's own clock for which it has fired, before the next one is noted; `None` if it
    /// fired by the steady clock.
    #[inline]
    pub(crate) fn fired(&self) -> Option<Instant> {
        if self.kind.clock == ClockKind::Steady {
            return None;
        }
        self.due().filter(|due| due.clock != ClockKind::Steady).map(|due| due.at)
    }

    /// Returns true if the timer was cancelled or reset and the executor has not dealt with that yet.
    pub(crate) fn has_request(&self) -> bool {
        self.settings.lock().request.is_some()
    }

    /// Takes out the ticket of the change by which the executor cancels or restarts the timer, if it has yet to make
    /// it. With the ticket, the change can be taken back.
    pub(crate) fn take_ticket(&self) -> Option<Ticket> {
        self.settings.lock().ticket.take()
    }
}
