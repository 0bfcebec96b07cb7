//! Clocks that are moved by hand, for tests.

use rospin_engine::ManualClock;

use crate::arguments::{destroy, duration, give, place};
use crate::status::{ROSPIN_OK, rospin_status, status_of, value_of};

/// Clock that stands still until it is moved, for tests.
pub struct rospin_clock(pub(crate) ManualClock);

/// Creates a clock that shows zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_clock_create(clock: *mut *mut rospin_clock) -> rospin_status {
    status_of(|| {
        // SAFETY: as the header demands.
        let place = unsafe { place(clock, "clock") }?;
        give(place, rospin_clock(ManualClock::new()));
        Ok(ROSPIN_OK)
    })
}

/// Gives up the handle. Contexts keep the clock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_clock_destroy(clock: *mut rospin_clock) {
    // SAFETY: as the header demands.
    unsafe { destroy(clock) };
}

/// Moves the clock forward, and wakes the executors that follow it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rospin_clock_advance(clock: *const rospin_clock, by_ns: i64) {
    // SAFETY: as the header demands.
    let clock = unsafe { clock.as_ref() };
    value_of((), || clock.iter().for_each(|clock| clock.0.advance(duration(by_ns))));
}
