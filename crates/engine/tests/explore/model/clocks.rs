//! The times that the clocks show, as far as the model knows.

use super::super::program::{Clock, Ms};
use super::{At, Change, Event, Model};

/// The least and the most that a clock shows. Both are the same unless the clock is just being moved.
#[derive(Clone, Copy, Default, Debug)]
struct Span {
    min: Ms,
    max: Ms,
}

impl Span {
    fn settle(&mut self) {
        self.min = self.max;
    }
}

#[derive(Default, Debug)]
pub(crate) struct Clocks {
    steady: Span,
    system: Span,
    /// The notes after which the steady clock showed these times.
    steps: Vec<(At, Ms)>,
    /// The same for the most that the system clock showed.
    system_steps: Vec<(At, Ms)>,
    /// The last note at which the system clock may have been set.
    system_set: At,
    /// True while the system clock is being set.
    is_system_being_set: bool,
    /// The times that ROS time was asked to show, with their notes.
    asked: Vec<Asked>,
    /// The number of requests that are just being made, any of which may become the last one.
    asking: usize,
    times: Vec<Ms>,
    actives: Vec<bool>,
    /// The ROS time when all threads were last blocked.
    pub(crate) ros_quiet: Ms,
    pub(crate) ros_was_active: bool,
    /// The note at which ROS time was last seen to have jumped.
    ros_turned: At,
    quiet: At,
    /// The notes at which all threads were blocked; true if ROS time showed the requested time then.
    quiets: Vec<(At, bool)>,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    at: At,
    time: Option<Ms>,
    active: Option<bool>,
}

impl Clocks {
    pub(crate) fn reading_min(&self, clock: Clock) -> Ms {
        match clock {
            Clock::Steady => self.steady.min,
            Clock::System => self.system.min,
            Clock::Ros => self.ros_candidates().min().unwrap_or(0),
        }
    }

    pub(crate) fn reading_max(&self, clock: Clock) -> Ms {
        match clock {
            Clock::Steady => self.steady.max,
            Clock::System => self.system.max,
            Clock::Ros => self.ros_candidates().max().unwrap_or(0),
        }
    }

    /// Returns the most that the clock may have shown since then.
    pub(crate) fn most_since(&self, clock: Clock, since: At) -> Ms {
        let steps = self.system_steps.iter().filter(|(at, _)| *at >= since).map(|(_, reading)| *reading);
        let system = steps.fold(self.system.max, Ms::max);
        match clock {
            Clock::Steady => self.steady.max,
            Clock::System => system,
            Clock::Ros => self.reading_max(clock).max(system),
        }
    }

    /// Returns all times that ROS time may have shown since all threads were last blocked, or may show now.
    fn ros_candidates(&self) -> impl Iterator<Item = Ms> + '_ {
        let recent = self.asked.iter().rev().take_while(|asked| asked.at > self.quiet).filter_map(|asked| asked.time);
        // An earlier request may still have been under way.
        let before = self.asked.iter().filter_map(|asked| asked.time);
        let may_follow_system = !self.ros_was_active || self.asked.iter().any(|asked| asked.at > self.quiet);
        let system = may_follow_system.then_some([self.system.min, self.system.max]);
        recent.chain(before).chain(system.into_iter().flatten()).chain([self.ros_quiet])
    }

    /// Returns the most that the clock showed since then; `None` if that is unknown because of a jump.
    pub(crate) fn highest_since(&self, clock: Clock, since: At) -> Option<Ms> {
        match clock {
            Clock::Steady => Some(self.steady.max),
            Clock::System => {
                let later = self.system_steps.iter().filter(|(at, _)| *at >= since).map(|(_, reading)| *reading);
                Some(later.fold(self.system.max, Ms::max))
            }
            Clock::Ros => {
                // A time that was requested since all threads were blocked may not be shown yet.
                let (quiet, was_as_asked) = self.quiet_before(since);
                let is_old = |asked: &Asked| was_as_asked && asked.at < quiet;
                // An earlier request may be waiting for a jump callback, and be shown later.
                let is_pending = !self.ros_is_as_asked(self.ros_quiet, self.ros_was_active);
                let is_pending = is_pending || self.ros_turned >= since;
                let turned =
                    is_pending || self.asked.iter().any(|asked| !is_old(asked)) || self.system_was_set_since(since);
                (!turned).then_some(if self.ros_was_active { self.ros_quiet } else { self.system.max })
            }
        }
    }

    /// Returns the last note before this one at which all threads were blocked, and true if ROS time showed the
    /// requested time then.
    fn quiet_before(&self, at: At) -> (At, bool) {
        self.quiets.iter().rev().find(|(quiet, _)| *quiet <= at).copied().unwrap_or((0, true))
    }

    /// Returns the time that the steady clock surely showed at that note.
    pub(crate) fn steady_at(&self, at: At) -> Ms {
        self.steps.iter().rev().find(|(step, _)| *step <= at).map_or(0, |(_, reading)| *reading)
    }

    /// Returns true if ROS time shows the time that was last requested.
    pub(crate) fn ros_is_as_asked(&self, ros: Ms, is_active: bool) -> bool {
        let as_active = self.actives.contains(&is_active) || (self.actives.is_empty() && !is_active);
        let as_set = self.times.contains(&ros) || (self.times.is_empty() && ros == 0);
        as_active && (!is_active || as_set)
    }

    /// Returns true if ROS time, or the system clock that it follows, may have jumped since then.
    pub(crate) fn may_have_jumped_since(&self, since: At) -> bool {
        self.system_was_set_since(since) || self.asking > 0 || self.asked.iter().any(|asked| asked.at >= since)
    }

    /// Returns true if the system clock may have been set since then.
    fn system_was_set_since(&self, since: At) -> bool {
        self.is_system_being_set || self.system_set >= since
    }

    /// Returns true if ROS time was asked to go back since then.
    fn ros_was_back_since(&self, since: At) -> bool {
        let times = self.asked.iter().filter(|asked| asked.at >= since).filter_map(|asked| asked.time);
        let times: Vec<Ms> = std::iter::once(self.ros_quiet).chain(times).collect();
        !times.is_sorted()
    }

    /// Returns true if ROS time was asked to change its source since then.
    fn ros_activity_asked_since(&self, since: At) -> bool {
        self.asked.iter().any(|asked| asked.at >= since && asked.active.is_some())
    }
}

impl Model {
    pub(crate) fn advances(&mut self, task: usize, by: Ms, all_are_blocked: bool) {
        let at = self.note(task, Event::Advances { by });
        let clocks = &mut self.clocks;
        clocks.steady.max += by;
        clocks.system.max += by;
        if all_are_blocked {
            self.woken_by_clock = at;
            // All threads are blocked until the clock wakes them, so they have seen the time whatever they do next.
            clocks.steps.push((at, clocks.steady.max));
        }
    }

    pub(crate) fn advanced(&mut self, task: usize) {
        let at = self.note(task, Event::Advanced);
        let clocks = &mut self.clocks;
        clocks.steady.settle();
        clocks.system.settle();
        clocks.steps.push((at, clocks.steady.min));
        clocks.system_steps.push((at, clocks.system.max));
    }

    pub(crate) fn sets_system(&mut self, task: usize, to: Ms) {
        // This is noted before the clock is set: from now on the clock may show either time.
        let at = self.note(task, Event::SetsSystem { to });
        let clocks = &mut self.clocks;
        clocks.system_steps.push((at, clocks.system.max.max(to)));
        clocks.system = Span { min: clocks.system.min.min(to), max: clocks.system.max.max(to) };
        clocks.is_system_being_set = true;
        // While ROS time follows the system clock, its timers keep the pace of the steady clock: they wait for what was
        // left.
        for timer in self.lives.iter_mut().filter_map(|life| life.timer.as_mut()) {
            if timer.clock == Clock::Ros {
                let longest = timer.longest();
                timer.follow_ros(|due_by| due_by.max(to) + longest);
            }
        }
    }

    pub(crate) fn set_system(&mut self, task: usize, to: Ms) {
        let at = self.note(task, Event::Did("set the system clock"));
        // An activation that begins after this may have been picked just before.
        let before = self.clocks.system.max;
        self.clocks.system_steps.push((at, before));
        self.clocks.system = Span { min: to, max: to };
        (self.clocks.is_system_being_set, self.clocks.system_set) = (false, at);
    }

    pub(crate) fn asks_ros(&mut self, task: usize, time: Option<Ms>, active: Option<bool>) {
        let at = self.note(task, Event::AsksRos { time, active });
        let clocks = &mut self.clocks;
        clocks.asked.push(Asked { at, time, active });
        if let Some(time) = time {
            if clocks.asking == 0 {
                clocks.times.clear();
            }
            clocks.times.push(time);
        }
        if let Some(active) = active {
            if clocks.asking == 0 {
                clocks.actives.clear();
            }
            clocks.actives.push(active);
        }
        clocks.asking += 1;
    }

    pub(crate) fn asked_ros(&mut self, task: usize) {
        self.note(task, Event::AskedRos);
        self.clocks.asking -= 1;
    }

    /// Notes that all threads are blocked and the clocks show these times.
    pub(crate) fn clocks_are_quiet(&mut self, steady: Ms, system: Ms, ros: Ms, ros_active: bool) {
        let task = 0;
        let at = self.note(task, Event::Quiet { steady, system, ros, ros_active });
        self.follow_ros(ros, ros_active);
        let clocks = &mut self.clocks;
        if ros_active != clocks.ros_was_active || (ros_active && ros != clocks.ros_quiet) {
            clocks.ros_turned = at;
        }
        (clocks.ros_quiet, clocks.ros_was_active, clocks.quiet) = (ros, ros_active, at);
        let is_as_asked = clocks.ros_is_as_asked(ros, ros_active);
        clocks.quiets.push((at, is_as_asked));
        self.last_quiet = at;
    }

    /// Corrects the latest due times of timers on ROS time, which jumps since the last call may have moved.
    fn follow_ros(&mut self, ros: Ms, ros_active: bool) {
        let (since, now) = (self.clocks.quiet, self.notes.len());
        let changed = ros_active != self.clocks.ros_was_active;
        // If ROS time is less than before, it jumped back, and the last jump led to no more than this time.
        let back = ros < self.clocks.ros_quiet;
        // ROS time may have jumped back and forward again, with timers that were reset in between.
        let maybe = self.clocks.ros_activity_asked_since(since) || (!back && self.clocks.ros_was_back_since(since));
        let follow = |due_by: Ms, longest: Ms| {
            if changed {
                ros + longest
            } else if maybe {
                due_by.max(ros) + longest
            } else if back {
                due_by.min(ros + longest)
            } else {
                due_by
            }
        };
        // A busy executor reads ROS time later, and sees several jumps as one.
        let looks: Vec<bool> = (0..self.executors.len()).map(|executor| self.idle(executor) > 0).collect();
        let has_missed: Vec<bool> = self.executors.iter().map(|executor| executor.looked_at < since).collect();
        for life in &mut self.lives {
            let Some(timer) = life.timer.as_mut().filter(|timer| timer.clock == Clock::Ros) else {
                continue;
            };
            let longest = timer.longest();
            if has_missed[life.executor] || !looks[life.executor] {
                timer.follow_ros(|due_by| due_by.max(ros + longest));
            } else {
                timer.follow_ros(|due_by| follow(due_by, longest));
            }
        }
        for (executor, looks) in self.executors.iter_mut().zip(looks) {
            if looks {
                executor.looked_at = now;
            }
        }
        let longest = 1_000;
        let sleeps = self.runs.iter_mut().filter_map(|run| run.waits_on.as_mut());
        for on in sleeps.chain(self.waits.iter_mut().map(|wait| &mut wait.on)) {
            if let super::WaitOn::Sleep { clock: Clock::Ros, due_by, .. } = on
                && (changed || maybe)
            {
                *due_by = (*due_by).max(ros) + longest;
            }
        }
    }

    /// Returns the new wait of a change that restarts a timer.
    pub(crate) const fn period_of(change: Change) -> Option<Ms> {
        match change {
            Change::Period(period) => Some(period),
            Change::Cancel | Change::Reset | Change::Due(_) => None,
        }
    }
}
