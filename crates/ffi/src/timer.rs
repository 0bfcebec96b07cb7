//! Timers whose due times the caller calculates.
//!
//! The caller's timers may be cancelled, reset, and follow other clocks, so only the caller knows when they are due. It
//! is asked; and whoever changes such a timer has it asked again. Threads may ask at the same time: the answers are
//! numbered, and a thread whose answer is not the last one asks once more, so that the last answer is the one that is
//! set. The lock is held while the caller is asked, and not while the due time is set, which may run other code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use rospin_engine::{DueSetter, Mutex, TimerError};

use crate::arguments::{give, given};
use crate::control::Control;
use crate::entity::{Creation, Kind, rospin_entity, rospin_entity_options};
use crate::foreign::{Foreign, Item, Taken, rospin_source};
use crate::group::{Group, rospin_group};
use crate::status::{Failure, ROSPIN_OK, rospin_status, status_of};

/// A timer of the caller: it is asked for due times, and the engine's timer gets them.
pub(crate) struct Clockwork {
    foreign: Arc<Foreign>,
    /// The number of the last answer.
    asked: Mutex<u64>,
    /// Locked while the caller takes.
    taking: Mutex<()>,
    /// True once the caller's `take` has said that its source has ended.
    is_closed: AtomicBool,
    /// Set before the timer can be due.
    setter: OnceLock<DueSetter>,
}

impl Clockwork {
    /// Asks the caller when the timer is next due, and sets that.
    fn ask(&self) {
        let Some(setter) = self.setter.get() else { return };
        loop {
            let (number, due) = {
                let mut asked = self.asked.lock();
                *asked += 1;
                let is_closed = self.is_closed.load(Ordering::Acquire);
                (*asked, if is_closed { None } else { self.foreign.next_due() })
            };
            match due {
                Some(due) => setter.set(due),
                None => setter.cancel(),
            }
            if *self.asked.lock() == number {
                return;
            }
        }
    }

    /// Deals with a due time that has come.
    fn fire(&self, control: &Control) {
        if !self.foreign.has_take() {
            control.ran(self.foreign.run(Item::NONE));
            self.ask();
            return;
        }
        let taken = {
            let _taking = self.taking.lock();
            let is_closed = self.is_closed.load(Ordering::Acquire);
            let taken = if is_closed { Taken::Closed } else { self.foreign.take() };
            if matches!(taken, Taken::Closed) {
                self.is_closed.store(true, Ordering::Release);
            }
            taken
        };
        // Before the callback: in a reentrant group, the next one may begin meanwhile.
        self.ask();
        if let Taken::Item(item, _) = taken {
            control.ran(self.foreign.run(item));
        }
    }
}

/// Creates a timer whose due times the caller calculates, see rospin_source.next_due. It is released at its due times,
/// not when they are noticed. With `take`, it is armed again before the callback runs, and may decline to run: it runs
/// if `take` returns ROSPIN_TAKE_MORE, _LAST or _NEXT, which mean the same for a timer. ROSPIN_TAKE_FAILED declines as
/// ROSPIN_TAKE_EMPTY does, and is neither counted nor logged. ROSPIN_TAKE_CLOSED ends the timer: it is never due again,
/// and neither `take` nor `next_due` is called any more. A timer that declines counts as a callback for ROSPIN_SPIN_ONCE
/// and ROSPIN_SPIN_SOME. `drop` is not called before the handle is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_timer_create(
    group: *const rospin_group,
    options: *const rospin_entity_options,
    source: *const rospin_source,
    timer: *mut *mut rospin_entity,
) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let creation = unsafe { Creation::read(group, options, source, timer, "timer") }?;
        let Creation { foreign, place, group, options } = creation;
        if !foreign.has_next_due() {
            return Err(Failure::invalid("`next_due` of a timer's source is NULL"));
        }
        let clockwork = Arc::new(Clockwork {
            foreign,
            asked: Mutex::new(0),
            taking: Mutex::new(()),
            is_closed: AtomicBool::new(false),
            setter: OnceLock::new(),
        });
        // Not due before the caller was asked.
        let never = options.timer();
        let control = Arc::clone(&group.control);
        let fired = Arc::clone(&clockwork);
        let created = match &group.group {
            Group::Exclusive(group) => group.create_timer(never, move |(), _| fired.fire(&control)),
            Group::Reentrant(group) => group.create_timer(never, move |_| fired.fire(&control)),
        };
        let created = created.map_err(|error: TimerError| Failure::gone(&error))?;
        let _ = clockwork.setter.set(created.due_setter());
        clockwork.ask();
        give(place, options.handle(Kind::Timer(created, clockwork)));
        Ok(ROSPIN_OK)
    })
}

/// Asks the timer's `next_due` again, on the calling thread: for whoever has cancelled or reset the timer, or changed
/// its period or clock. The last answer counts. If the timer has fired and its callback has not started, the callback
/// runs only when it is due by that answer. Does not wait for a callback. ROSPIN_ERROR_INVALID if the entity is no
/// timer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_timer_update(timer: *const rospin_entity) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let entity = unsafe { given(timer, "timer") }?;
        let Kind::Timer(_, clockwork) = &entity.kind else {
            return Err(Failure::invalid("the entity is no timer"));
        };
        clockwork.ask();
        Ok(ROSPIN_OK)
    })
}
