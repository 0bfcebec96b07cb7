//! Time passes on the clocks besides the scheduler's own.

use rospin_core::{ClockKind, EntityId, Instant};

use super::State;
use crate::clock::{Clock, RosReading, SystemDue};
use crate::shared::Shared;

impl State {
    /// Passes the time on to the timers of clocks other than the scheduler's own.
    pub(crate) fn advance(&mut self, executor: &Shared, now: Instant) {
        if self.scheduler.has_timers(ClockKind::System) {
            self.scheduler.advance(ClockKind::System, executor.times.clock.system(), now);
        }
        if self.scheduler.has_timers(ClockKind::Ros) {
            let reading = self.follow_ros_time_at(&executor.times.clock, now);
            if !executor.times.are_jumps_left() {
                self.scheduler.advance(ClockKind::Ros, reading.now, now);
            }
        }
    }

    /// Whether there are timers on other clocks than the scheduler's own.
    pub(crate) const fn has_other_timers(&self) -> bool {
        self.scheduler.has_timers(ClockKind::System) || self.scheduler.has_timers(ClockKind::Ros)
    }

    /// Reads ROS time, and tells its timers if it was turned.
    pub(crate) fn follow_ros_time(&mut self, clock: &Clock) -> RosReading {
        self.follow_ros_time_at(clock, clock.now())
    }

    /// The same while the steady clock shows `now`.
    fn follow_ros_time_at(&mut self, clock: &Clock, now: Instant) -> RosReading {
        let (current, jumped) = self.ros.follow(&mut self.scheduler, clock, now);
        if jumped {
            for entity in self.entities.iter().flatten() {
                entity.note_due(&self.scheduler);
            }
        }
        current
    }

    /// Says what is waited for on ROS time. Free without timers on it and without those who sleep on it.
    pub(crate) fn watch_ros_time(&mut self, executor: &Shared) {
        self.ros.watch(&self.scheduler, &executor.times);
        executor.sleeps.watch_ros_time(&executor.times);
    }

    /// When the next timer is due by the system clock, which ROS time may follow.
    pub(crate) fn next_due_by_system_clock(&self, executor: &Shared) -> Option<SystemDue> {
        let ros = self.ros.next_due_by_system_clock(&self.scheduler, &executor.times);
        let system = self.scheduler.next_due_on(ClockKind::System);
        let system = system.map(|due| SystemDue { due, follows_steps_back: false });
        executor.sleeps.earlier_by_system_clock(&executor.times, SystemDue::sooner(system, ros))
    }

    /// Cancels the timer, or has it start anew.
    pub(crate) fn change_timer(&mut self, id: EntityId, change: impl FnOnce(&mut Self)) {
        change(self);
        if let Some(entity) = self.entities.get(id.index()).and_then(Option::as_ref) {
            entity.note_due(&self.scheduler);
        }
    }
}
