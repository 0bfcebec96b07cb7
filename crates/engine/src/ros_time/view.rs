//! ROS time as one executor's timers see it.

use rospin_core::{ClockKind, Instant, Scheduler};

use crate::clock::{Clock, RosReading, SystemDue};
use crate::lock_free::dial::Reading;
use crate::times::Times;

/// The last reading of ROS time, by which the next one tells if there was a jump.
pub(crate) struct Follower {
    told: Reading,
    /// ROS time at the last reading.
    shown: Instant,
    /// The steady clock's time at the last reading.
    shown_at: Instant,
}

/// A jump of ROS time that has happened: the new time, and the shift of the time line (see [`Reading`]) that came with it.
#[derive(Clone, Copy)]
pub(crate) struct Leap {
    pub(crate) to: Instant,
    pub(crate) shift_ns: i64,
}

impl Follower {
    pub(crate) const fn new() -> Self {
        let told = Reading { turn: 0, time_ns: None, shift_ns: 0, base_ns: 0 };
        Self { told, shown: Instant::ZERO, shown_at: Instant::ZERO }
    }

    /// Returns the last reading.
    pub(crate) const fn told(&self) -> Reading {
        self.told
    }

    /// Reads ROS time while the steady clock shows `now`. Returns the jump since the last reading, if there was one.
    pub(crate) fn follow(&mut self, clock: &Clock, now: Instant) -> (RosReading, Option<Leap>) {
        let current = clock.read_ros();
        let Reading { turn, shift_ns, base_ns, .. } = current.reading;
        let mut leap = None;
        if turn != self.told.turn {
            let shift_ns = shift_ns.wrapping_sub(self.told.shift_ns);
            let base = Instant::from_nanos(base_ns);
            // ROS time follows the system clock now, which may have been set back since the turn.
            let follows = current.reading.time_ns.is_none();
            let to = if follows { base.min(current.now) } else { base };
            let back_ns = base.saturating_since(to).as_nanos() as i64;
            leap = Some(Leap { to, shift_ns: shift_ns.wrapping_sub(back_ns) });
        } else if current.reading.time_ns.is_none() && current.now < self.shown {
            // ROS time follows the system clock, which was set back. Nobody drives it, so there was no turn. Timers wait for the
            // time that was left, as after a change of the source.
            let expected = self.shown + now.saturating_since(self.shown_at);
            let back_ns = i64::try_from(expected.saturating_since(current.now).as_nanos()).unwrap_or(i64::MAX);
            leap = Some(Leap { to: current.now, shift_ns: -back_ns });
        }
        self.told = current.reading;
        (self.shown, self.shown_at) = (current.now, now);
        (current, leap)
    }
}

/// The last reading of ROS time to which an executor's timers were adjusted, and a flag that is set while they wait for a due
/// time.
pub(crate) struct RosView {
    follower: Follower,
    watches: bool,
}

impl RosView {
    pub(crate) const fn new() -> Self {
        Self { follower: Follower::new(), watches: false }
    }

    /// Reads ROS time while the steady clock shows `now`, and adjusts the timers after a jump. Returns true if there was one.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler, clock: &Clock, now: Instant) -> (RosReading, bool) {
        let (current, leap) = self.follower.follow(clock, now);
        if let Some(Leap { to, shift_ns }) = leap {
            scheduler.jump(ClockKind::Ros, to, shift_ns);
        }
        (current, leap.is_some())
    }

    /// Watches ROS time for the next due time of the timers.
    pub(crate) fn watch(&mut self, scheduler: &Scheduler, times: &Times) {
        let due_ns = next_due(scheduler, times).map(Instant::as_nanos);
        if due_ns.is_some() || self.watches {
            times.ros_watch.set(due_ns, self.follower.told().turn);
            self.watches = due_ns.is_some();
        }
    }

    /// Returns the next due time if ROS time follows the system clock, on which a thread can sleep.
    pub(crate) fn next_due_by_system_clock(&self, scheduler: &Scheduler, times: &Times) -> Option<SystemDue> {
        let due = if self.follower.told().time_ns.is_none() { next_due(scheduler, times) } else { None };
        due.map(|due| SystemDue { due, follows_steps_back: true })
    }
}

/// Returns the next due time; `None` while jump callbacks have to run first. The last of them wakes the executor.
fn next_due(scheduler: &Scheduler, times: &Times) -> Option<Instant> {
    let due = scheduler.next_due_on(ClockKind::Ros)?;
    (!times.are_jumps_left()).then_some(due)
}
