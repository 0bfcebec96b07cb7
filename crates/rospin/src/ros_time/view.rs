//! What one executor's timers know of ROS time.

use std::sync::atomic::Ordering;

use rospin_core::{ClockKind, Instant, Scheduler};

use crate::clock::{Clock, RosReading};
use crate::lock_free::dial::Reading;
use crate::shared::Shared;

/// What an executor saw last of ROS time, and whether it waits for it.
pub(crate) struct RosView {
    told: Reading,
    watches: bool,
}

impl RosView {
    pub(crate) const fn new() -> Self {
        Self { told: Reading { turn: 0, time_ns: None, shift_ns: 0, base_ns: 0 }, watches: false }
    }

    /// Reads ROS time, and tells the timers of a jump; says whether there was one.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler, clock: &Clock) -> (RosReading, bool) {
        let current = clock.read_ros();
        let Reading { turn, shift_ns, base_ns, .. } = current.reading;
        let jumped = turn != self.told.turn;
        if jumped {
            let shift_ns = shift_ns.wrapping_sub(self.told.shift_ns);
            scheduler.jump(ClockKind::Ros, Instant::from_nanos(base_ns), shift_ns);
        }
        self.told = current.reading;
        (current, jumped)
    }

    /// Says what is waited for.
    pub(crate) fn watch(&mut self, scheduler: &Scheduler, executor: &Shared) {
        let due_ns = next_due(scheduler, executor).map(Instant::as_nanos);
        if due_ns.is_some() || self.watches {
            executor.ros_watch.set(due_ns, self.told.turn);
            self.watches = due_ns.is_some();
        }
    }

    /// When the next timer is due while ROS time is the system clock's, by which a thread can sleep.
    pub(crate) fn next_due_by_system_clock(&self, scheduler: &Scheduler, executor: &Shared) -> Option<Instant> {
        if self.told.time_ns.is_none() { next_due(scheduler, executor) } else { None }
    }
}

/// None while jump callbacks have to run first: the last of them wakes the executor.
fn next_due(scheduler: &Scheduler, executor: &Shared) -> Option<Instant> {
    let due = scheduler.next_due_on(ClockKind::Ros)?;
    (executor.jumps_left.load(Ordering::SeqCst) == 0).then_some(due)
}
