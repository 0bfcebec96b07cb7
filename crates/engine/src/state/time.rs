//! Timers on the system clock and on ROS time. The scheduler itself follows the steady clock.

use std::time::Duration;

use rospin_core::{ClockKind, EntityId, Instant};

use super::State;
use crate::clock::{Clock, RosReading, SystemDue, WaitBegin};
use crate::membership::TimerKind;
use crate::shared::Shared;

impl State {
    /// Releases the timers that are due on the system clock and on ROS time.
    #[inline(always)]
    pub(crate) fn advance(&mut self, executor: &Shared, now: Instant) {
        if self.scheduler.has_timers(ClockKind::System) {
            self.scheduler.advance(ClockKind::System, executor.times.clock.system(), now);
        }
        // Timers that follow ROS time may be on the steady clock. They leave it when somebody begins to drive ROS time.
        if self.scheduler.has_timers(ClockKind::Ros) || self.ros.must_look(executor.times.dial()) {
            let reading = self.follow_ros_time_at(&executor.times.clock, now);
            if !executor.times.are_jumps_left() {
                self.scheduler.advance(ClockKind::Ros, reading.now, now);
            }
        }
    }

    /// Returns true if there are timers on the system clock or on ROS time.
    pub(crate) const fn has_other_timers(&self) -> bool {
        self.scheduler.has_timers(ClockKind::System) || self.scheduler.has_timers(ClockKind::Ros)
    }

    /// Reads ROS time, and adjusts the timers on it if it jumped.
    pub(crate) fn follow_ros_time(&mut self, clock: &Clock) -> RosReading {
        self.follow_ros_time_at(clock, clock.now())
    }

    /// Reads ROS time while the steady clock shows `now`, and adjusts the timers on it if it jumped.
    #[inline(never)]
    fn follow_ros_time_at(&mut self, clock: &Clock, now: Instant) -> RosReading {
        let (current, leap) = self.ros.follow(clock, now);
        if let Some(leap) = leap {
            self.scheduler.jump(ClockKind::Ros, leap.to, leap.shift_ns);
            if let Some(moved) = self.ros.change_clock(leap, &current, clock.steady_and_system()) {
                for entity in self.entities.iter().flatten() {
                    if entity.details.timer.as_ref().is_some_and(|timer| timer.kind.follows_ros()) {
                        self.scheduler.set_clock(entity.id, moved.clock, moved.reading, moved.shift_ns);
                    }
                }
            }
            for entity in self.entities.iter().flatten() {
                entity.note_due(&self.scheduler, &self.ros);
            }
        }
        current
    }

    /// Returns the due time of a timer on ROS time whose wait has begun, on the clock on which the scheduler has the
    /// timer now.
    pub(crate) fn due_of_wait(&mut self, kind: TimerKind, begin: WaitBegin, wait: Duration, clock: &Clock) -> Instant {
        let current = self.follow_ros_time(clock);
        let has_jumped = begin.turn != current.reading.turn;
        if kind.follows_ros() && self.ros.is_on_steady() {
            let begin = if has_jumped { clock.now() } else { begin.steady };
            return begin + wait;
        }
        // The wait begins now if ROS time jumped since, or if it follows the system clock and that was set back.
        let begin = if has_jumped { current.now } else { begin.now.min(current.now) };
        begin + wait
    }

    /// Returns the due time of a timer that is due at `due` in ROS time, on the clock on which the scheduler has the
    /// timer now.
    pub(crate) fn due_of_follower(&mut self, kind: TimerKind, due: Instant, clock: &Clock) -> Instant {
        self.follow_ros_time(clock);
        if !kind.follows_ros() || !self.ros.is_on_steady() {
            return due;
        }
        // Nobody drives ROS time, so it is that of the system clock.
        let (steady, system) = clock.steady_and_system();
        steady + due.saturating_since(system) - system.saturating_since(due)
    }

    /// Sets the due times that the executor waits for on ROS time. Costs nothing without timers and sleepers on it.
    pub(crate) fn watch_ros_time(&mut self, executor: &Shared) {
        self.ros.watch(&self.scheduler, &executor.times);
        executor.sleeps.watch_ros_time(&executor.times);
    }

    /// Returns the next due time of timers and sleepers on the steady clock, on the system clock, and on ROS time while
    /// it follows the system clock, and of what is held up, as a time on the steady clock. `None` if none waits.
    pub(crate) fn next_due(&self, executor: &Shared) -> Option<Instant> {
        let system = self.next_due_by_system_clock(executor).map(|due| {
            let clock = &executor.times.clock;
            clock.now() + due.saturating_since(clock.system())
        });
        let steady = executor.sleeps.earlier(self.scheduler.next_due());
        [steady, system, self.held_up_due()].into_iter().flatten().min()
    }

    /// Returns the next due time of timers and sleepers by the system clock, which ROS time may follow.
    pub(crate) fn next_due_by_system_clock(&self, executor: &Shared) -> Option<SystemDue> {
        let ros = self.ros.next_due_by_system_clock(&self.scheduler, &executor.times);
        let system = self.scheduler.next_due_on(ClockKind::System);
        let system = system.map(|due| SystemDue { due, follows_steps_back: false });
        executor.sleeps.earlier_by_system_clock(&executor.times, SystemDue::sooner(system, ros))
    }

    /// Runs a change of the timer, and notes its due time afterwards.
    pub(crate) fn change_timer(&mut self, id: EntityId, change: impl FnOnce(&mut Self)) {
        change(self);
        if let Some(entity) = self.entities.get(id.index()).and_then(Option::as_ref) {
            entity.note_due(&self.scheduler, &self.ros);
        }
    }
}
