//! ROS time as one executor's timers see it.

use rospin_core::{ClockKind, Instant, Scheduler};

use crate::clock::{Clock, RosReading, SystemDue};
use crate::lock_free::dial::{Dial, Reading};
use crate::times::Times;

/// The last reading of ROS time, by which the next one tells if there was a jump.
pub(crate) struct Follower {
    told: Reading,
    /// ROS time at the last reading.
    shown: Instant,
    /// The steady clock's time at the last reading.
    shown_at: Instant,
}

/// A jump of ROS time that has happened: the new time, and the shift of the time line (see [`Reading`]) that came with
/// it.
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
            // ROS time follows the system clock, which was set back. Nobody drives it, so there was no turn. Timers
            // wait for the time that was left, as after a change of the source.
            let expected = self.shown + now.saturating_since(self.shown_at);
            let back_ns = i64::try_from(expected.saturating_since(current.now).as_nanos()).unwrap_or(i64::MAX);
            leap = Some(Leap { to: current.now, shift_ns: -back_ns });
        }
        self.told = current.reading;
        (self.shown, self.shown_at) = (current.now, now);
        (current, leap)
    }
}

/// The last reading of ROS time to which an executor's timers were adjusted, and a flag that is set while they wait for
/// a due time.
///
/// Timers on ROS time that wait for a duration are its followers. While ROS time follows the system clock, the
/// scheduler has them on the steady clock: they keep their pace when the system clock is set, and cost no more than
/// timers on the steady clock. As soon as somebody drives ROS time, it has them.
pub(crate) struct RosView {
    follower: Follower,
    /// True once the executor has had a timer that follows ROS time.
    pub(crate) has_followers: bool,
    /// True while these timers are on the steady clock.
    is_on_steady: bool,
    /// The due time and the turn that are watched.
    watched: (Option<u64>, u64),
}

/// The clock to which the followers of ROS time move, with its reading, and the time by which it is ahead of their
/// former clock.
pub(crate) struct Moved {
    pub(crate) clock: ClockKind,
    pub(crate) reading: Instant,
    pub(crate) shift_ns: i64,
}

impl RosView {
    pub(crate) const fn new() -> Self {
        Self { follower: Follower::new(), has_followers: false, is_on_steady: true, watched: (None, 0) }
    }

    /// Returns true while the timers that follow ROS time are on the steady clock.
    pub(crate) const fn is_on_steady(&self) -> bool {
        self.is_on_steady
    }

    /// Returns the clock on which the timers that follow ROS time are now.
    pub(crate) const fn clock_of_followers(&self) -> ClockKind {
        if self.is_on_steady { ClockKind::Steady } else { ClockKind::Ros }
    }

    /// Returns true if there are followers, and ROS time has jumped or changed its source since it was read last.
    pub(crate) fn must_look(&self, dial: &Dial) -> bool {
        self.has_followers && dial.read().turn != self.follower.told().turn
    }

    /// Reads ROS time while the steady clock shows `now`, and returns the jump since the last reading, if there was
    /// one. The timers must be adjusted to it.
    pub(crate) fn follow(&mut self, clock: &Clock, now: Instant) -> (RosReading, Option<Leap>) {
        self.follower.follow(clock, now)
    }

    /// Returns the clock to which the followers must move after that jump, if they must. Timers on [`ClockKind::Ros`]
    /// were adjusted to the jump before. The steady clock shows `now`, and the system clock `system`.
    pub(crate) fn change_clock(
        &mut self,
        leap: Leap,
        current: &RosReading,
        (now, system): (Instant, Instant),
    ) -> Option<Moved> {
        let is_driven = current.reading.time_ns.is_some();
        if is_driven != self.is_on_steady {
            return None;
        }
        self.is_on_steady = !is_driven;
        Some(if is_driven {
            // On the steady clock nothing was adjusted to the jump yet.
            let shift_ns = leap.shift_ns.wrapping_add(signed_since(system, now));
            Moved { clock: ClockKind::Ros, reading: leap.to, shift_ns }
        } else {
            Moved { clock: ClockKind::Steady, reading: now, shift_ns: signed_since(now, system) }
        })
    }

    /// Watches ROS time for the next due time of the timers, and, if there are followers, for somebody who begins to
    /// drive it.
    pub(crate) fn watch(&mut self, scheduler: &Scheduler, times: &Times) {
        let due_ns = next_due(scheduler, times).map(Instant::as_nanos);
        let due_ns = due_ns.or((self.has_followers && self.is_on_steady).then_some(u64::MAX));
        let watched = (due_ns, self.follower.told().turn);
        if watched != self.watched {
            times.ros_watch.set(due_ns, watched.1);
            self.watched = watched;
        }
    }

    /// Returns the next due time if ROS time follows the system clock, on which a thread can sleep.
    pub(crate) fn next_due_by_system_clock(&self, scheduler: &Scheduler, times: &Times) -> Option<SystemDue> {
        let due = if self.follower.told().time_ns.is_none() { next_due(scheduler, times) } else { None };
        due.map(|due| SystemDue { due, follows_steps_back: true })
    }
}

/// Returns the nanoseconds from `other` to `time`, negative if `other` is later.
fn signed_since(time: Instant, other: Instant) -> i64 {
    time.as_nanos().wrapping_sub(other.as_nanos()) as i64
}

/// Returns the next due time; `None` while jump callbacks have to run first. The last of them wakes the executor.
fn next_due(scheduler: &Scheduler, times: &Times) -> Option<Instant> {
    let due = scheduler.next_due_on(ClockKind::Ros)?;
    (!times.are_jumps_left()).then_some(due)
}
