//! What one executor's timers know of ROS time.

use rospin_core::{ClockKind, Instant, Scheduler};

use crate::clock::{Clock, RosReading, SystemDue};
use crate::lock_free::dial::Reading;
use crate::times::Times;

/// Finds the jumps of ROS time for those who read it now and then.
pub(crate) struct Follower {
    told: Reading,
    /// What it showed then, and when that was on the steady clock.
    shown: Instant,
    shown_at: Instant,
}

/// A jump of ROS time that has happened: to which time, and by how much the time line itself was moved.
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

    /// What it read last.
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
            // If it follows the system clock now, that may have been set back since it was turned.
            let follows = current.reading.time_ns.is_none();
            let to = if follows { base.min(current.now) } else { base };
            let back_ns = base.saturating_since(to).as_nanos() as i64;
            leap = Some(Leap { to, shift_ns: shift_ns.wrapping_sub(back_ns) });
        } else if current.reading.time_ns.is_none() && current.now < self.shown {
            // It follows the system clock, which was set back: nobody drove it, so nobody turned it. Who waits for it waits for
            // what was left to wait when it was set, as when the source changes.
            let expected = self.shown + now.saturating_since(self.shown_at);
            let back_ns = i64::try_from(expected.saturating_since(current.now).as_nanos()).unwrap_or(i64::MAX);
            leap = Some(Leap { to: current.now, shift_ns: -back_ns });
        }
        self.told = current.reading;
        (self.shown, self.shown_at) = (current.now, now);
        (current, leap)
    }
}

/// What an executor saw last of ROS time, and whether it waits for it.
pub(crate) struct RosView {
    follower: Follower,
    watches: bool,
}

impl RosView {
    pub(crate) const fn new() -> Self {
        Self { follower: Follower::new(), watches: false }
    }

    /// Reads ROS time while the steady clock shows `now`, and tells the timers of a jump; says whether there was one.
    pub(crate) fn follow(&mut self, scheduler: &mut Scheduler, clock: &Clock, now: Instant) -> (RosReading, bool) {
        let (current, leap) = self.follower.follow(clock, now);
        if let Some(Leap { to, shift_ns }) = leap {
            scheduler.jump(ClockKind::Ros, to, shift_ns);
        }
        (current, leap.is_some())
    }

    /// Says what is waited for.
    pub(crate) fn watch(&mut self, scheduler: &Scheduler, times: &Times) {
        let due_ns = next_due(scheduler, times).map(Instant::as_nanos);
        if due_ns.is_some() || self.watches {
            times.ros_watch.set(due_ns, self.follower.told().turn);
            self.watches = due_ns.is_some();
        }
    }

    /// When the next timer is due while ROS time is the system clock's, by which a thread can sleep.
    pub(crate) fn next_due_by_system_clock(&self, scheduler: &Scheduler, times: &Times) -> Option<SystemDue> {
        let due = if self.follower.told().time_ns.is_none() { next_due(scheduler, times) } else { None };
        due.map(|due| SystemDue { due, follows_steps_back: true })
    }
}

/// None while jump callbacks have to run first: the last of them wakes the executor.
fn next_due(scheduler: &Scheduler, times: &Times) -> Option<Instant> {
    let due = scheduler.next_due_on(ClockKind::Ros)?;
    (!times.are_jumps_left()).then_some(due)
}
