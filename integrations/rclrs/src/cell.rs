//! Cells: a waitable of rclrs in a wait set of its own, which is waited on without blocking, to take one item.
//!
//! rclrs takes and runs in one step, and shows a primitive, with its handle, only while it is ready. So each waitable
//! has a wait set of its own. A guard condition that is ready ends a wait at once, and rclrs 0.8.0 then shows every
//! primitive but those of actions; this look arms the handle's events. What does not show itself is waited for by a
//! thread, until it does. So correctness does not rest on what rclrs shows too much.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use rclrs::{
    GuardCondition, RclPrimitive, RclPrimitiveKind, RclrsError, ReadyKind, WaitSet, Waitable, WaitableLifecycle,
};

use super::bell::{Bell, Lease};
use super::guard::Guard;
use super::handle::{Handle, Kind};
use super::looks::{Census, Looks};
use super::shown::Shown;
use super::source::Turn;

/// The number of times that an action is looked at again after an event without an item.
const MISSES: u32 = 6;

/// The time between two looks for goals whose results have expired. rcl keeps results for ten seconds and more.
const GOALS_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);

/// The time after which the middleware is asked for items that it did not tell of: Cyclone DDS tells only once of
/// messages that several threads publish at the same time.
const UNSURE_FOR: Duration = Duration::from_millis(20);

/// A waitable with its bell.
pub(super) struct Cell {
    inner: Mutex<Inner>,
    /// True while the watch looks into the cell.
    is_looked_at: AtomicBool,
    kind: Kind,
    looks: Arc<Looks>,
    /// The guard condition of the worker.
    guard: Arc<GuardCondition>,
    // Dropped after the wait set, whose primitive rings it.
    bell: Lease,
}

struct Inner {
    /// `None` while a thread waits for the primitive to become ready for the first time.
    set: Option<WaitSet>,
    /// The primitive, if the wait set has shown it since it was last changed.
    shown: Option<Shown>,
    handle: Option<Handle>,
    /// A guard condition in the wait set that is triggered before each wait, so that the wait never blocks: for
    /// primitives that are ready without an event of the middleware.
    prod: Option<(Arc<Guard>, WaitableLifecycle)>,
    /// True if an action server has goals, whose results will expire.
    has_goals: bool,
    /// True if something was taken since the middleware was last seen empty.
    is_unsure: bool,
    /// Number of runs in a row that found nothing.
    misses: u32,
    /// True if the user dropped the entity.
    is_gone: bool,
    /// True if a worker's callback panicked, which poisons the locks that rclrs has around it.
    is_broken: bool,
}

/// The result of a look at a primitive.
pub(super) struct Seen {
    /// The name of its topic or service, if it was armed by this look and has one.
    pub(super) name: Option<String>,
    pub(super) is_armed: bool,
}

/// The outcome of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ran {
    /// A callback ran, or a node's future was created.
    Something,
    /// There was nothing to take.
    Nothing,
}

impl Cell {
    /// Puts a waitable into an empty wait set, without a look at it.
    pub(super) fn new(
        mut set: WaitSet,
        waitable: Waitable,
        looks: Arc<Looks>,
        guard: Arc<GuardCondition>,
    ) -> Result<Self, RclrsError> {
        set.add([waitable])?;
        let kind = kind_of(&set);
        let inner = Inner {
            set: Some(set),
            shown: None,
            handle: None,
            prod: None,
            has_goals: false,
            is_unsure: false,
            misses: 0,
            is_gone: false,
            is_broken: false,
        };
        Ok(Self {
            inner: Mutex::new(inner),
            is_looked_at: AtomicBool::new(false),
            kind,
            looks,
            guard,
            bell: Lease::new(),
        })
    }

    pub(super) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn bell(&self) -> &Bell {
        &self.bell
    }

    fn census(&self) -> Census {
        self.looks.census(&self.guard)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // The cell is whole at every panic.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a guard condition that keeps waits from blocking.
    pub(super) fn add_prod(&self, guard: Arc<Guard>) -> Result<(), RclrsError> {
        let (waitable, lifecycle) = guard.waitable();
        let mut inner = self.lock();
        inner.shown = None;
        if let Some(set) = &mut inner.set {
            set.add([waitable])?;
        }
        inner.prod = Some((guard, lifecycle));
        Ok(())
    }

    /// Looks into the wait set, which drops the primitive if the user dropped the entity, and arms the primitive if it
    /// shows itself.
    ///
    /// A primitive shows itself while it is ready. rclrs 0.8.0 reports all primitives but those of actions as ready as
    /// soon as the wait ends without a timeout, which the guard condition brings about.
    pub(super) fn look(&self, guard: &Arc<Guard>) -> Result<Seen, RclrsError> {
        let mut inner = self.lock();
        let Inner { set: Some(set), shown, handle, is_gone, .. } = &mut *inner else {
            return Ok(Seen { name: None, is_armed: false });
        };
        *shown = None;
        let now = self.census();
        let (waitable, lifecycle) = guard.waitable();
        set.add([waitable])?;
        // The wait drops the guard condition's waitable, too.
        drop(lifecycle);
        guard.trigger();
        let mut name = None;
        set.wait(Some(Duration::ZERO), |ready, primitive| {
            if handle.is_none() {
                name = self.arm(primitive, handle);
            }
            *shown = show(ready, primitive, now).or(shown.take());
            Ok(())
        })
        .or_else(ignore_timeout)?;
        *is_gone |= self.kind != Kind::Graph && is_empty(set);
        Ok(Seen { name, is_armed: handle.is_some() })
    }

    fn arm(&self, primitive: &dyn RclPrimitive, handle: &mut Option<Handle>) -> Option<String> {
        let (armed, name) = Handle::arm(primitive, self.bell.forever())?;
        *handle = Some(armed);
        name
    }

    /// Looks into the cell as [`look`](Self::look) does, unless a callback runs. Returns true if the entity has gone,
    /// `None` if the cell is in use.
    pub(super) fn look_if_idle(&self, guard: &Arc<Guard>) -> Option<bool> {
        match self.inner.try_lock() {
            Err(TryLockError::WouldBlock) => return None,
            Ok(inner) if inner.is_gone => return Some(true),
            _ => {}
        }
        self.is_looked_at.store(true, Ordering::SeqCst);
        let looked = self.look(guard);
        self.is_looked_at.store(false, Ordering::SeqCst);
        // An executor's thread may have come meanwhile and left again.
        self.bell.wake();
        looked.ok()?;
        Some(self.lock().is_gone)
    }

    /// Takes the wait set, for a thread that waits until the primitive shows itself. `None` if the primitive is armed.
    pub(super) fn take_unarmed(&self) -> Option<WaitSet> {
        let mut inner = self.lock();
        if inner.handle.is_some() {
            return None;
        }
        inner.shown = None;
        inner.set.take()
    }

    /// Arms the primitive that shows itself in a wait set that was taken. Returns false if the middleware has no events
    /// for it.
    pub(super) fn arm_first(&self, primitive: &dyn RclPrimitive) -> bool {
        let mut inner = self.lock();
        if inner.handle.is_none() {
            let _ = self.arm(primitive, &mut inner.handle);
        }
        inner.handle.is_some()
    }

    /// Puts back a wait set that was taken.
    pub(super) fn put_back(&self, set: WaitSet) {
        let mut inner = self.lock();
        inner.is_gone |= is_empty(&set);
        inner.set = Some(set);
    }

    /// Returns true if a callback runs.
    pub(super) fn is_busy(&self) -> bool {
        self.inner.try_lock().is_err()
    }

    /// Returns true if the source has ended.
    pub(super) fn is_over(&self) -> bool {
        self.inner.try_lock().is_ok_and(|inner| inner.is_gone || inner.is_broken)
    }

    /// Calls `ask` with the handle; `None` if the primitive is gone, not armed, or in use.
    pub(super) fn ask<R>(&self, ask: impl FnOnce(&Handle) -> R) -> Option<R> {
        let inner = self.inner.try_lock().ok()?;
        inner.handle.as_ref().filter(|_| !inner.is_gone).map(ask)
    }

    /// Returns the time after which an action is looked at without an event: results of goals expire, and events may
    /// come before their items.
    pub(super) fn look_again_after(&self) -> Option<Duration> {
        let inner = self.inner.try_lock().ok()?;
        match inner.misses {
            misses @ 1..=MISSES => Some(Duration::from_millis(1 << misses)),
            _ if inner.is_unsure => Some(UNSURE_FOR),
            _ => inner.has_goals.then_some(GOALS_LOOKED_AT_EVERY),
        }
    }

    /// Takes one item and runs its callback, or, in a node's scope, creates the future that is the callback.
    ///
    /// # Panics
    /// If the callback panics. The cell is over then.
    pub(super) fn run(&self, turn: Turn, payload: &mut dyn Any) -> Result<Ran, RclrsError> {
        if self.is_looked_at.load(Ordering::SeqCst) {
            // The watch wakes the executor when it is done. Waiting here might take as long as deleting a reader does.
            self.bell.put_back();
            if !self.is_looked_at.load(Ordering::SeqCst) {
                self.bell.wake();
            }
            return Ok(Ran::Nothing);
        }
        let mut inner = self.lock();
        let (counted, now) = (self.bell.count(), self.census());
        let Inner { set: Some(set), shown, prod, has_goals, is_gone: false, is_broken: false, .. } = &mut *inner else {
            return Ok(Ran::Nothing);
        };
        if let Some(primitive) = shown
            && turn == Turn::Item
            && primitive.is_in_use(now)
        {
            // SAFETY: the payload is that of the worker to which rclrs gave the waitable.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { primitive.execute(payload) }));
            (inner.misses, inner.is_unsure) = (0, true);
            return end(inner, outcome).map(|()| Ran::Something);
        }
        *shown = None;
        if let Some((guard, _)) = prod {
            guard.trigger();
        }
        let (mut items, mut outcome) = (0, Ok(Ok(())));
        let mut execute = |ready, primitive: &mut dyn RclPrimitive| {
            if primitive.kind() != RclPrimitiveKind::GuardCondition {
                items += items_of(ready);
                // Neither a panic nor an error leaves this closure: the wait set would lose its primitives.
                // SAFETY: the payload is that of the worker to which rclrs gave the waitable.
                let execute = || unsafe { primitive.execute(ready, payload) };
                outcome = catch_unwind(AssertUnwindSafe(execute));
                if let ReadyKind::ActionServer(_) = ready {
                    *has_goals = Handle::has_goals(primitive);
                }
                *shown = show(ready, primitive, now);
            }
            Ok(())
        };
        let mut waited = set.wait(Some(Duration::ZERO), &mut execute);
        let is_timeout = waited.as_ref().is_err_and(RclrsError::is_timeout);
        if turn == Turn::Item && is_timeout && !is_empty(set) {
            // The middleware may have told of the item before its wait sets know of it. The primitive then shows itself
            // as in a look.
            waited = self.looks.with_guard(|guard| {
                let (waitable, lifecycle) = guard.waitable();
                set.add([waitable])?;
                drop(lifecycle);
                guard.trigger();
                set.wait(Some(Duration::ZERO), &mut execute)
            });
        }
        if items == 0 {
            inner.is_gone = inner.set.as_ref().is_some_and(is_empty);
            // Nothing is there but what was counted since, or what the wait sets of an action do not know of yet.
            self.bell.remove(counted);
            inner.misses += u32::from(turn == Turn::Item);
            inner.is_unsure = false;
        } else {
            self.bell.remove(items - 1);
            inner.misses = 0;
            inner.is_unsure = true;
            if turn == Turn::Look {
                // There may be more that nobody told of.
                self.bell.ring(1);
            }
        }
        end(inner, outcome)?;
        waited.or_else(ignore_timeout)?;
        Ok(if items == 0 { Ran::Nothing } else { Ran::Something })
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The handle of a primitive that has gone may be gone, too.
        if let Some(handle) = inner.handle.take().filter(|_| !inner.is_gone) {
            handle.disarm();
        }
    }
}

/// Returns the primitive for later, unless it is a guard condition, or an action, whose parts are executed only if they
/// are ready.
fn show(ready: ReadyKind, primitive: &mut dyn RclPrimitive, now: Census) -> Option<Shown> {
    let is_kept = matches!(ready, ReadyKind::Basic) && primitive.kind() != RclPrimitiveKind::GuardCondition;
    // SAFETY: a cell forgets what was shown before each use of its wait set, and before it gives the wait set away.
    is_kept.then(|| unsafe { Shown::new(primitive, now) })
}

/// Ends a run. A panic of the callback goes on.
fn end(mut inner: MutexGuard<'_, Inner>, outcome: thread::Result<Result<(), RclrsError>>) -> Result<(), RclrsError> {
    outcome.unwrap_or_else(|panic| {
        inner.is_broken = true;
        drop(inner);
        resume_unwind(panic)
    })
}

/// Returns the number of items that one call of `execute` takes.
fn items_of(ready: ReadyKind) -> usize {
    let count = |parts: &[bool]| parts.iter().filter(|part| **part).count();
    match ready {
        ReadyKind::Basic => 1,
        ReadyKind::ActionServer(ready) => {
            // An expired goal is no item of the middleware, but something ran.
            count(&[ready.goal_request, ready.cancel_request, ready.result_request]).max(1)
        }
        ReadyKind::ActionClient(ready) => {
            count(&[ready.feedback, ready.status, ready.goal_response, ready.cancel_response, ready.result_response])
        }
    }
}

/// Returns the kind of the only primitive in a wait set.
fn kind_of(set: &WaitSet) -> Kind {
    let count = set.count();
    match (count.subscriptions, count.services, count.clients, count.timers) {
        (0, 0, 0, 0) => Kind::Graph,
        (0, 0, 0, _) => Kind::Timer,
        (1, 0, 0, 0) => Kind::Subscription,
        (0, 1, 0, 0) => Kind::Service,
        (0, 0, 1, 0) => Kind::Client,
        (0, _, _, _) => Kind::ActionServer,
        _ => Kind::ActionClient,
    }
}

/// Returns true if there is no primitive but guard conditions.
pub(super) fn is_empty(set: &WaitSet) -> bool {
    let count = set.count();
    count.subscriptions + count.services + count.clients + count.timers + count.events == 0
}

/// Nothing was ready.
pub(super) fn ignore_timeout(error: RclrsError) -> Result<(), RclrsError> {
    if error.is_timeout() { Ok(()) } else { Err(error) }
}
