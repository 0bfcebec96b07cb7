//! The book of an action server's goals. It is pure: it is told the time, and returns what must be done.
//!
//! Its memory is bounded: it has a maximum number of goals, and a maximum number of waiting requests for each. A goal
//! that has ended stays for a while, so that its result can be requested, unless a new goal needs its place.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rospin_engine::Instant;

use super::id::GoalId;
use super::state::{GoalEvent, GoalState};
use crate::interfaces::builtin_interfaces::Time;

/// Number of requests for one goal's result that wait at most, until the goal ends. A newer one displaces the oldest.
pub(crate) const WAITING: usize = 64;

/// The goals of a server, in the order in which they were accepted. `T` is the data of a goal, `R` its result, and `W`
/// a client that waits for the result.
pub(crate) struct Book<T, R, W> {
    goals: Vec<Entry<T, R, W>>,
    room: usize,
    retention: Duration,
}

/// A goal, with the clients that wait for its result.
#[derive(Debug)]
pub(crate) struct Entry<T, R, W> {
    pub(crate) id: GoalId,
    /// ROS time at which the server accepted the goal.
    pub(crate) stamp: Time,
    pub(crate) state: GoalState,
    goal: T,
    waiting: VecDeque<W>,
    /// The end of the goal, if it has ended.
    end: Option<End<R>>,
}

#[derive(Debug)]
struct End<R> {
    result: Arc<R>,
    /// Time at which the goal ended, on the steady clock.
    since: Instant,
}

/// Reasons for which a goal cannot be accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoRoom {
    /// The book has a goal with that id.
    Duplicate,
    /// The book is full of active goals.
    Full,
}

/// The end of a goal, and the clients that wait for its result.
#[derive(Debug)]
pub(crate) struct Finished<R, W> {
    pub(crate) state: GoalState,
    pub(crate) result: Arc<R>,
    pub(crate) waiting: VecDeque<W>,
}

/// The answer to a request for a result. `W` is the client that asked, unless the variant says otherwise.
#[derive(Debug)]
pub(crate) enum Asked<R, W> {
    /// The book does not have the goal.
    Unknown(W),
    /// The goal has ended in this state, with this result.
    Ended(W, GoalState, Arc<R>),
    /// The goal has not ended, and the request waits. `Some` has an older request that it displaced, which gets no
    /// answer.
    Waits(Option<W>),
}

/// The goals that a request to cancel means.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Selected<T> {
    /// The request names a goal and no time, and the book does not have the goal.
    Unknown,
    /// The request names a goal and no time, and the goal has ended.
    Terminated,
    /// All goals that the request means and that have not ended: id, ROS time of acceptance, state and data of each.
    /// The list may be empty, unless the request names a goal and no time.
    Active(Vec<(GoalId, Time, GoalState, T)>),
}

impl<T: Clone, R, W> Book<T, R, W> {
    /// Returns a book with room for `room` goals, at least one. It keeps a goal that has ended for `retention`, unless
    /// a new one needs its place.
    pub(crate) fn new(room: usize, retention: Duration) -> Self {
        Self { goals: Vec::new(), room: room.max(1), retention }
    }

    /// Returns the goals, in the order in which they were accepted.
    pub(crate) fn goals(&self) -> impl Iterator<Item = &Entry<T, R, W>> {
        self.goals.iter()
    }

    /// Checks that a goal with that id could be accepted.
    pub(crate) fn check(&self, id: GoalId) -> Result<(), NoRoom> {
        if self.goals.iter().any(|entry| entry.id == id) {
            return Err(NoRoom::Duplicate);
        }
        let is_full = self.goals.len() >= self.room && self.goals.iter().all(|entry| entry.end.is_none());
        if is_full { Err(NoRoom::Full) } else { Ok(()) }
    }

    /// Enters a goal in the state accepted; `stamp` is the ROS time of that. Returns the ended goal that had to make
    /// room for it, if any. Fails as [`check`](Self::check) does.
    pub(crate) fn accept(&mut self, id: GoalId, stamp: Time, goal: T) -> Result<Option<Entry<T, R, W>>, NoRoom> {
        self.check(id)?;
        let displaced = if self.goals.len() >= self.room { self.first_to_end() } else { None };
        let displaced = displaced.map(|index| self.goals.remove(index));
        let state = GoalState::Accepted;
        self.goals.push(Entry { id, stamp, state, goal, waiting: VecDeque::new(), end: None });
        Ok(displaced)
    }

    /// Returns the index of the goal that ended first; `None` if no goal has ended.
    fn first_to_end(&self) -> Option<usize> {
        let ended = self.goals.iter().enumerate().filter_map(|(index, entry)| Some((entry.end.as_ref()?.since, index)));
        ended.min().map(|(_, index)| index)
    }

    /// Applies an event that does not end the goal. Returns true if the book has the goal and the goal's state allowed
    /// the event.
    pub(crate) fn apply(&mut self, id: GoalId, event: GoalEvent) -> bool {
        let Some(entry) = self.goals.iter_mut().find(|entry| entry.id == id) else {
            return false;
        };
        match entry.state.after(event) {
            Some(state) if !state.is_terminal() => {
                entry.state = state;
                true
            }
            _ => false,
        }
    }

    /// Ends a goal. Returns its last state, and the clients that wait for its result; `None` if the goal has ended
    /// already or does not exist. A goal whose execution had not begun counts as begun. A goal that should end as
    /// canceled, and is not canceling, ends as aborted.
    pub(crate) fn finish(
        &mut self,
        id: GoalId,
        event: GoalEvent,
        result: &Arc<R>,
        now: Instant,
    ) -> Option<Finished<R, W>> {
        let entry = self.goals.iter_mut().find(|entry| entry.id == id && entry.end.is_none())?;
        Some(entry.finish(event, result, now))
    }

    /// Aborts all goals that have not ended, with the result `result`. Returns the end of each, with the clients that
    /// wait for it.
    pub(crate) fn abort_all(&mut self, result: &Arc<R>, now: Instant) -> Vec<Finished<R, W>> {
        let active = self.goals.iter_mut().filter(|entry| entry.end.is_none());
        active.map(|entry| entry.finish(GoalEvent::Abort, result, now)).collect()
    }

    /// Returns the data of all goals that have not ended.
    pub(crate) fn active(&self) -> impl Iterator<Item = &T> {
        self.goals.iter().filter(|entry| entry.end.is_none()).map(|entry| &entry.goal)
    }

    /// Returns the goals that a request to cancel means, as `action_msgs/srv/CancelGoal` defines it: a zero `id` names
    /// no goal, and a zero `stamp` no time.
    pub(crate) fn select(&self, id: GoalId, stamp: Time) -> Selected<T> {
        // Stamps of other clients may be out of range: more nanoseconds than a second has.
        let until_ns = stamp.as_nanos();
        let any_id = id == GoalId::ZERO;
        let any_time = until_ns == 0;
        let is_meant = |entry: &Entry<T, R, W>| match (any_id, any_time) {
            (true, true) => true,
            (false, true) => entry.id == id,
            (_, false) => entry.stamp.as_nanos() <= until_ns || entry.id == id,
        };
        let mut meant = self.goals.iter().filter(|entry| is_meant(entry)).peekable();
        if !any_id && any_time {
            match meant.peek() {
                None => return Selected::Unknown,
                Some(entry) if entry.end.is_some() => return Selected::Terminated,
                Some(_) => {}
            }
        }
        let active = meant.filter(|entry| entry.end.is_none());
        Selected::Active(active.map(|entry| (entry.id, entry.stamp, entry.state, entry.goal.clone())).collect())
    }

    /// Answers a request for the result of a goal, or lets it wait.
    pub(crate) fn ask(&mut self, id: GoalId, who: W) -> Asked<R, W> {
        let Some(entry) = self.goals.iter_mut().find(|entry| entry.id == id) else {
            return Asked::Unknown(who);
        };
        if let Some(end) = &entry.end {
            return Asked::Ended(who, entry.state, Arc::clone(&end.result));
        }
        let displaced = if entry.waiting.len() >= WAITING { entry.waiting.pop_front() } else { None };
        entry.waiting.push_back(who);
        Asked::Waits(displaced)
    }

    /// Removes and returns the ended goals whose retention time is over.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Entry<T, R, W>> {
        let retention = self.retention;
        let is_over = |entry: &mut Entry<T, R, W>| entry.end.as_ref().is_some_and(|end| end.since + retention <= now);
        self.goals.extract_if(.., is_over).collect()
    }

    /// Returns the time at which the next goal's retention time is over; `None` if no goal has ended.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.goals.iter().filter_map(|entry| entry.end.as_ref()).map(|end| end.since + self.retention).min()
    }
}

impl<T, R, W> Entry<T, R, W> {
    fn finish(&mut self, event: GoalEvent, result: &Arc<R>, now: Instant) -> Finished<R, W> {
        let state = self.state.after(GoalEvent::Execute).unwrap_or(self.state);
        self.state = state.after(event).unwrap_or(GoalState::Aborted);
        self.end = Some(End { result: Arc::clone(result), since: now });
        Finished { state: self.state, result: Arc::clone(result), waiting: std::mem::take(&mut self.waiting) }
    }
}
