//! Sources and callbacks that are functions of the caller.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rospin_engine::{Instant, Notifier, Pending, Source, TakeError};

use crate::arguments::{Options, given, options};
use crate::status::Failure;

/// `take` found no item. That is no error, since notifications may be spurious. The source will notify.
pub const ROSPIN_TAKE_EMPTY: i32 = 0;
/// `take` took an item, and more may be left: the executor will try again.
pub const ROSPIN_TAKE_MORE: i32 = 1;
/// `take` took an item, and none is left: the source will notify of the next one.
pub const ROSPIN_TAKE_LAST: i32 = 2;
/// `take` took an item, and one is left that arrived at rospin_taken.next_arrival_ns.
pub const ROSPIN_TAKE_NEXT: i32 = 3;
/// The source has ended. It is not called again, and its entity is removed. The handle must still be destroyed. For
/// timers, see rospin_timer_create().
pub const ROSPIN_TAKE_CLOSED: i32 = 4;
/// An item was there, could not be taken, and is lost. It is counted and logged. More may be left. For timers, see
/// rospin_timer_create().
pub const ROSPIN_TAKE_FAILED: i32 = 5;

/// The item that `take` has found.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_taken {
    /// The item, which is passed to `run`.
    pub item: *mut c_void,
    /// See ROSPIN_TAKE_NEXT.
    pub next_arrival_ns: i64,
}

/// A source with its callback. None of the functions may throw. They are called by threads of the executor, except
/// where it is said otherwise.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct rospin_source {
    /// sizeof(rospin_source).
    pub struct_size: usize,
    /// Passed to all functions.
    pub data: *mut c_void,
    /// Takes one item without blocking, just before `run`: what was taken is run. Returns one of ROSPIN_TAKE_... Calls
    /// for one entity never overlap. NULL: each notification runs the callback once, and several before that run count
    /// as one.
    pub take: Option<unsafe extern "C" fn(data: *mut c_void, taken: *mut rospin_taken) -> i32>,
    /// Runs the callback. Must be given. Returns 0, or another status to end the spin: callbacks that run are waited
    /// for, and rospin_executor_spin() returns ROSPIN_STOPPED. Calls overlap only in a reentrant group.
    pub run: Option<unsafe extern "C" fn(data: *mut c_void, item: *mut c_void) -> i32>,
    /// For timers, and required there: returns the time point at which the timer is next due, or ROSPIN_NEVER. Called
    /// when the timer is created, after each `take` (if there is no `take`, after each `run`), and by
    /// rospin_timer_update(). Calls for one timer never overlap. Must not call rospin_timer_update(). A time point that
    /// has passed is due at once.
    pub next_due: Option<unsafe extern "C" fn(data: *mut c_void) -> i64>,
    /// Called exactly once, on any thread, after the last call of all other functions has returned: the end of `data`.
    /// If the entity cannot be created, it is called, too, unless the source itself is invalid. May be NULL.
    pub drop: Option<unsafe extern "C" fn(data: *mut c_void)>,
}

// SAFETY: it begins with its size, and zeros are null pointers and no functions.
unsafe impl Options for rospin_source {
    const NAME: &'static str = "rospin_source";
}

type Run = unsafe extern "C" fn(data: *mut c_void, item: *mut c_void) -> i32;

/// A source of the caller. Its drop is the end of the caller's data.
pub(crate) struct Foreign {
    source: rospin_source,
    run: Run,
}

// SAFETY: the header demands functions that any thread may call.
unsafe impl Send for Foreign {}
// SAFETY: the header demands functions whose calls may overlap where it says so. The others are not called at the same
// time: the engine takes from a source on one thread at a time, and a timer asks under a lock.
unsafe impl Sync for Foreign {}

/// An item of the caller, on its way from `take` to `run`.
#[derive(Clone, Copy)]
pub(crate) struct Item(*mut c_void);

// SAFETY: the header demands it.
unsafe impl Send for Item {}

/// The result of a call of `take`.
pub(crate) enum Taken {
    Item(Item, Pending),
    Empty,
    Closed,
    Failed(String),
}

impl Foreign {
    /// Checks the source, and owns the caller's data from then on.
    ///
    /// # Safety
    /// As the header demands.
    pub(crate) unsafe fn new(source: *const rospin_source) -> Result<Self, Failure> {
        // SAFETY: the caller promises it.
        unsafe { given(source, "source") }?;
        // SAFETY: the caller promises it.
        let source = unsafe { options(source) }?;
        let run = source.run.ok_or_else(|| Failure::invalid("`run` of the source is NULL"))?;
        Ok(Self { source, run })
    }

    pub(crate) fn has_take(&self) -> bool {
        self.source.take.is_some()
    }

    pub(crate) fn has_next_due(&self) -> bool {
        self.source.next_due.is_some()
    }

    /// Takes an item, if there is a `take`. Calls must not overlap.
    pub(crate) fn take(&self) -> Taken {
        let Some(take) = self.source.take else {
            return Taken::Item(Item::NONE, Pending::Empty);
        };
        let mut taken = rospin_taken { item: std::ptr::null_mut(), next_arrival_ns: 0 };
        // SAFETY: the header demands such a function. Its data live until `drop`, which is called by our drop.
        let result = unsafe { take(self.source.data, &raw mut taken) };
        let item = Item(taken.item);
        match result {
            ROSPIN_TAKE_EMPTY => Taken::Empty,
            ROSPIN_TAKE_MORE => Taken::Item(item, Pending::Unknown),
            ROSPIN_TAKE_LAST => Taken::Item(item, Pending::Empty),
            ROSPIN_TAKE_NEXT => Taken::Item(item, Pending::Since(instant(taken.next_arrival_ns))),
            ROSPIN_TAKE_CLOSED => Taken::Closed,
            ROSPIN_TAKE_FAILED => Taken::Failed("`take` says so".to_owned()),
            other => Taken::Failed(format!("`take` returned {other}, which is none of ROSPIN_TAKE_...")),
        }
    }

    /// Runs the callback, and returns its status.
    pub(crate) fn run(&self, item: Item) -> i32 {
        // SAFETY: the header demands such a function. Its data live until `drop`, which is called by our drop.
        unsafe { (self.run)(self.source.data, item.0) }
    }

    /// Returns the next due time; `None` if there is none. Calls must not overlap.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        let next_due = self.source.next_due?;
        // SAFETY: the header demands such a function. Its data live until `drop`, which is called by our drop.
        let due = unsafe { next_due(self.source.data) };
        (due != crate::status::ROSPIN_NEVER).then(|| instant(due))
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        if let Some(drop) = self.source.drop {
            // SAFETY: the header demands such a function. Nothing calls another one any more.
            unsafe { drop(self.source.data) };
        }
    }
}

impl Item {
    /// The item of a source without `take`.
    pub(crate) const NONE: Self = Self(std::ptr::null_mut());

    /// Returns a number as an item.
    pub(crate) fn of(number: u32) -> Self {
        Self(std::ptr::without_provenance_mut(number as usize))
    }
}

/// Returns a time point of the caller; times before zero are zero.
pub(crate) fn instant(ns: i64) -> Instant {
    Instant::from_nanos(u64::try_from(ns).unwrap_or(0))
}

/// The way in which the caller notifies.
pub(crate) struct Bell {
    notifier: OnceLock<Notifier>,
    /// True if a source without `take` was notified since the last run.
    is_rung: AtomicBool,
}

impl Bell {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { notifier: OnceLock::new(), is_rung: AtomicBool::new(false) })
    }

    /// Notifies of an item, which arrived at that time if it is given.
    pub(crate) fn ring(&self, arrival: Option<Instant>) {
        self.is_rung.store(true, Ordering::Release);
        match (self.notifier.get(), arrival) {
            (Some(notifier), Some(arrival)) => notifier.notify_at(arrival),
            (Some(notifier), None) => notifier.notify(),
            (None, _) => {}
        }
    }

    pub(crate) fn count_lost(&self, count: u64) {
        if let Some(notifier) = self.notifier.get() {
            notifier.count_lost(rospin_engine::LossCause::QueueFull, count);
        }
    }
}

/// A source of the caller, for the engine.
pub(crate) struct ForeignSource {
    pub(crate) foreign: Arc<Foreign>,
    pub(crate) bell: Arc<Bell>,
}

impl Source for ForeignSource {
    type Item = Item;
    type Attachment = ();

    fn attach(&mut self, notifier: Notifier) -> Result<(), TakeError> {
        let _ = self.bell.notifier.set(notifier);
        Ok(())
    }

    fn try_take(&mut self) -> Result<Option<Item>, TakeError> {
        Ok(self.take_and_look()?.map(|(item, _)| item))
    }

    fn take_and_look(&mut self) -> Result<Option<(Item, Pending)>, TakeError> {
        if !self.foreign.has_take() && !self.bell.is_rung.swap(false, Ordering::AcqRel) {
            return Ok(None);
        }
        match self.foreign.take() {
            Taken::Item(item, pending) => Ok(Some((item, pending))),
            Taken::Empty => Ok(None),
            Taken::Closed => Err(TakeError::Closed),
            Taken::Failed(reason) => Err(TakeError::Failed(reason.into())),
        }
    }
}
