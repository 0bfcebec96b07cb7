//! The times from which timers may run, and by which they must have run.

use super::super::program::{Clock, EntityPlan, Kind, Ms};
use super::clocks::Clocks;
use super::{At, Change, Event, Life, Model, Rule};

/// A request to a timer, and its effect on the next due time.
#[derive(Clone, Copy, Debug)]
struct Asked {
    task: usize,
    begin: At,
    end: Option<At>,
    is_cancel: bool,
    /// The least that the timer's clock showed at the request.
    asked_at: Ms,
    /// The due time that was asked for; `None` if it follows from the time of the request.
    due: Option<Ms>,
    due_by: Ms,
    /// The number of starts that surely came after the request was done.
    starts: u64,
}

/// Facts about a timer.
#[derive(Clone, Debug)]
pub(crate) struct TimerModel {
    pub(crate) clock: Clock,
    is_periodic: bool,
    /// All waits that were ever set: two threads may have set them at once.
    waits: Vec<Ms>,
    /// The latest due time that was ever asked for. No timer waits longer for one.
    latest: Ms,
    asked: Vec<Asked>,
    /// The last start, and the time by which the timer is due after it.
    after_start: Option<(At, Ms)>,
}

impl TimerModel {
    /// Returns the timer of an entity that is being created; `None` if it is no timer.
    pub(super) fn created(task: usize, plan: &EntityPlan, at: At, clocks: &Clocks) -> Option<Self> {
        let Kind::Timer { clock, wait, periodic, .. } = plan.kind else {
            return None;
        };
        let mut timer =
            Self { clock, is_periodic: periodic, waits: vec![wait], latest: 0, asked: Vec::new(), after_start: None };
        timer.change(task, at, Change::Reset, clocks);
        Some(timer)
    }

    fn change(&mut self, task: usize, at: At, change: Change, clocks: &Clocks) {
        self.waits.extend(Model::period_of(change));
        let due = match change {
            Change::Due(due) => Some(due),
            Change::Cancel | Change::Reset | Change::Period(_) => None,
        };
        self.latest = self.latest.max(due.unwrap_or(0));
        self.asked.push(Asked {
            task,
            begin: at,
            end: None,
            is_cancel: change == Change::Cancel,
            asked_at: clocks.reading_min(self.clock),
            due,
            due_by: Ms::MAX,
            starts: 0,
        });
    }

    /// Notes the end of the change that this thread had under way.
    pub(super) fn change_ended(&mut self, task: usize, at: At, clocks: &Clocks) {
        let longest_wait = self.longest_wait();
        let longest = self.longest();
        let clock = self.clock;
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.end.is_none() && asked.task == task) {
            asked.end = Some(at);
            let most = clocks.most_since(clock, asked.begin);
            asked.due_by = match asked.due {
                // If ROS time jumps meanwhile, the timer may wait for the time that was left by then.
                Some(due) if clock == Clock::Ros && clocks.may_have_jumped_since(asked.begin) => {
                    due.max(most) + longest
                }
                Some(due) => due,
                None => most + longest_wait,
            };
        }
    }

    /// Returns true if nobody has asked the timer for anything since then.
    pub(super) fn is_left_alone_since(&self, since: At) -> bool {
        self.asked.iter().all(|asked| asked.end.is_some_and(|end| end <= since))
    }

    /// Returns the longest of the timer's periods, or of its delays.
    pub(super) fn longest_wait(&self) -> Ms {
        self.waits.iter().copied().max().unwrap_or(0)
    }

    /// Returns the longest time that the timer may wait.
    pub(super) fn longest(&self) -> Ms {
        self.longest_wait().max(self.latest)
    }

    /// Returns the requests that may have been the last one to be done, for a thread that has seen everything up to
    /// `seen`.
    fn candidates(&self, seen: At) -> impl Iterator<Item = usize> + '_ {
        let is_superseded = move |asked: &Asked| {
            let Some(end) = asked.end else {
                return false;
            };
            self.asked.iter().any(|later| later.begin > end && later.end.is_some_and(|end| end <= seen))
        };
        (0..self.asked.len()).filter(move |at| !is_superseded(&self.asked[*at]))
    }

    /// Judges a start of the callback.
    ///
    /// # Errors
    /// The rule that is broken, with a text.
    pub(super) fn starts(&mut self, at: At, seen: At, clocks: &Clocks) -> Result<(), (Rule, String)> {
        let shortest = self.waits.iter().copied().min().unwrap_or(0);
        let period = if self.is_periodic { shortest } else { 0 };
        let candidates: Vec<_> = self.candidates(seen).collect();
        let may_fire = |asked: &&Asked| !asked.is_cancel && (self.is_periodic || asked.starts == 0);
        let bound = |asked: &Asked| asked.due.unwrap_or(asked.asked_at + shortest) + period * asked.starts;
        let is_due =
            |asked: &Asked| clocks.highest_since(self.clock, asked.begin).is_none_or(|highest| highest >= bound(asked));
        let causes: Vec<_> = candidates.iter().map(|number| &self.asked[*number]).filter(may_fire).collect();
        let verdict = match causes.iter().map(|asked| bound(asked)).min() {
            None => Err((Rule::Gone, "it was cancelled, or has fired already".to_owned())),
            Some(bound) if !causes.iter().any(|asked| is_due(asked)) => {
                Err((Rule::TooEarly, format!("it is due at {bound} at the earliest")))
            }
            Some(_) => Ok(()),
        };
        for number in candidates {
            let asked = &mut self.asked[number];
            asked.starts += u64::from(asked.end.is_some_and(|end| end <= seen));
        }
        // The timer may have been released long before, when its clock showed more.
        let before = self.after_start.map_or(0, |(at, _)| at).min(seen);
        self.after_start = Some((at, clocks.most_since(self.clock, before) + self.longest_wait()));
        verdict
    }

    /// Returns the time on its clock by which the timer is due, if that is known from everything up to `seen`.
    pub(super) fn due_by(&self, seen: At) -> Option<Ms> {
        if self.asked.iter().any(|asked| asked.end.is_none_or(|end| end > seen)) {
            return None;
        }
        let mut due_by = 0;
        let mut first = At::MAX;
        for number in self.candidates(seen) {
            let asked = &self.asked[number];
            if asked.is_cancel {
                return None;
            }
            due_by = due_by.max(asked.due_by);
            first = first.min(asked.begin);
        }
        if let Some((at, after_start)) = self.after_start.filter(|(at, _)| *at > first) {
            if !self.is_periodic || at > seen {
                return None;
            }
            due_by = due_by.max(after_start);
        }
        Some(due_by)
    }

    /// Changes the latest due time after ROS time has jumped, or may have.
    pub(super) fn follow_ros(&mut self, follow: impl Fn(Ms) -> Ms) {
        for asked in self.asked.iter_mut().filter(|asked| asked.due_by != Ms::MAX) {
            asked.due_by = follow(asked.due_by);
        }
        if let Some((_, due_by)) = &mut self.after_start {
            *due_by = follow(*due_by);
        }
    }
}

impl Model {
    pub(crate) fn changes(&mut self, task: usize, life: usize, change: Change) {
        let at = self.note(task, Event::Changes { life, change });
        let clocks = &self.clocks;
        if let Some(timer) = &mut self.lives[life].timer {
            timer.change(task, at, change, clocks);
        }
    }

    pub(crate) fn changed(&mut self, task: usize, life: usize) {
        let at = self.note(task, Event::Changed { life });
        let clocks = &self.clocks;
        if let Some(timer) = &mut self.lives[life].timer {
            timer.change_ended(task, at, clocks);
        }
    }
}

impl Model {
    /// Judges what the handle of an entity tells: its name, and the items that it lost to a full queue.
    pub(crate) fn judge_handle(&mut self, life: usize, name: &str, lost: u64) {
        let Life { entity, .. } = self.lives[life];
        let plan = self.plan_of(life);
        // Jump callbacks are not given a name.
        let is_right = name == format!("e{entity}") || matches!(plan.kind, Kind::Jump { .. });
        let most = self.receiver(&self.lives[life], plan).map_or(0, |receiver| self.sent_to(&receiver).1);
        if !is_right || lost > most as u64 {
            let message = format!("entity {entity} says that it is {name:?} and lost {lost}, of at most {most}");
            self.broken(Rule::Loss, message);
        }
    }

    /// Judges the name of an executor.
    pub(crate) fn judge_name(&mut self, executor: usize, name: &str) {
        if name != format!("x{executor}") {
            self.broken(Rule::Engine, format!("executor {executor} is called {name}"));
        }
    }

    /// Judges what the handle of a timer tells, which was asked after the note `since`.
    pub(crate) fn judge_timer_asked(
        &mut self,
        life: usize,
        since: At,
        canceled: bool,
        period: Option<Ms>,
        left: Option<Ms>,
    ) {
        let Some(timer) = &self.lives[life].timer else {
            return;
        };
        let asked = timer.candidates(since).map(|number| timer.asked[number].is_cancel);
        let asked: Vec<bool> = asked.collect();
        let is_possible = asked.contains(&canceled);
        let has_period = period.map_or(!timer.is_periodic, |period| timer.waits.contains(&period));
        // Other clocks may be set back.
        let is_near =
            timer.clock != super::super::program::Clock::Steady || left.is_none_or(|left| left <= timer.longest());
        if !is_possible || !has_period || !is_near {
            let message = format!(
                "timer life {life} says canceled: {canceled}, period {period:?}, {left:?} left; asked to: {asked:?}, waits {:?}",
                timer.waits
            );
            self.broken(Rule::Gone, message);
        }
    }
}
