//! What an action client knows of its goals between their beginning and their end.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use rospin_engine::LossCause;

use super::Action;
use super::feedback::{Lost, News};
use super::id::GoalId;
use super::state::GoalState;
use crate::interfaces::action_msgs::GoalStatusArray;
use crate::interfaces::builtin_interfaces::Time;

/// A goal of a client's own.
pub(crate) struct Tracked<F> {
    id: GoalId,
    progress: Mutex<Progress<F>>,
}

struct Progress<F> {
    feedback: VecDeque<F>,
    waker: Option<Waker>,
    state: GoalState,
    /// The server has told of it.
    is_known: bool,
    /// When the server accepted it, if it said so.
    accepted: Option<Time>,
    /// The latest goal of a status without this one.
    others_until: Option<Time>,
    /// The last server has gone since the goal was sent.
    is_orphan: bool,
    /// There will be no more feedback.
    has_ended: bool,
    /// Somebody wants the feedback.
    is_wanted: bool,
}

impl<F> Progress<F> {
    /// A status that has a later goal but not this one: its place was needed before its end was heard.
    fn is_forgotten(&self) -> bool {
        self.accepted.is_some_and(|accepted| self.others_until > Some(accepted))
    }
}

impl<F> Tracked<F> {
    pub(crate) fn id(&self) -> GoalId {
        self.id
    }

    /// The last that was heard of it.
    pub(crate) fn state(&self) -> GoalState {
        self.lock().state
    }

    /// The server accepted it. Not all servers say when; the others say zero.
    pub(crate) fn accept(&self, stamp: Time) {
        let mut progress = self.lock();
        progress.accepted = Some(stamp).filter(|stamp| *stamp != Time::ZERO);
        let is_forgotten = progress.is_forgotten();
        drop(progress);
        if is_forgotten {
            self.end();
        }
    }

    /// The feedback, unless somebody has it.
    pub(crate) fn take_feedback<A: Action<Feedback = F>>(self: &Arc<Self>) -> Option<FeedbackStream<A>> {
        let was_wanted = std::mem::replace(&mut self.lock().is_wanted, true);
        (!was_wanted).then(|| FeedbackStream { tracked: Arc::clone(self) })
    }

    /// Takes feedback; returns what had to make room for it, and whether somebody wanted that.
    fn push(&self, feedback: F, depth: usize) -> Option<(F, bool)> {
        let mut progress = self.lock();
        if progress.has_ended {
            return None;
        }
        let displaced = if progress.feedback.len() >= depth { progress.feedback.pop_front() } else { None };
        progress.feedback.push_back(feedback);
        let (waker, is_wanted) = (progress.waker.take(), progress.is_wanted);
        drop(progress);
        wake(waker);
        displaced.map(|displaced| (displaced, is_wanted))
    }

    /// The server told of all of its goals.
    fn hear(&self, statuses: &GoalStatusArray) {
        let mut status = statuses.status_list.iter();
        let status = status.find(|status| GoalId::from(status.goal_info.goal_id) == self.id);
        let mut progress = self.lock();
        match status {
            Some(status) => {
                progress.is_known = true;
                progress.state = GoalState::from_status(status.status).unwrap_or(progress.state);
                progress.has_ended |= progress.state.is_terminal();
            }
            // The server forgot it, or is another one.
            None => {
                let others_until = statuses.status_list.iter().map(|status| status.goal_info.stamp).max();
                progress.others_until = progress.others_until.max(others_until);
                progress.has_ended |= progress.is_known || progress.is_forgotten();
            }
        }
        let waker = if progress.has_ended { progress.waker.take() } else { None };
        drop(progress);
        wake(waker);
    }

    /// Returns true if the last server has gone since the goal was sent, and the goal had not ended.
    pub(crate) fn is_orphan(&self) -> bool {
        self.lock().is_orphan
    }

    fn end(&self) {
        let mut progress = self.lock();
        progress.has_ended = true;
        let waker = progress.waker.take();
        drop(progress);
        wake(waker);
    }

    fn lock(&self) -> MutexGuard<'_, Progress<F>> {
        // Held for plain moves, during which nothing panics.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The goals of a client that somebody still has a handle to.
pub(crate) struct Goals<F>(Arc<Mutex<Known<F>>>);

struct Known<F> {
    goals: Vec<(GoalId, Weak<Tracked<F>>)>,
    is_closed: bool,
}

impl<F> Goals<F> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Known { goals: Vec::new(), is_closed: false })))
    }

    /// Tracks a goal that is about to be sent: its feedback may be faster than the response.
    pub(crate) fn track(&self, id: GoalId) -> Arc<Tracked<F>> {
        let mut known = self.lock();
        let progress = Progress {
            feedback: VecDeque::new(),
            waker: None,
            state: GoalState::Accepted,
            is_known: false,
            accepted: None,
            others_until: None,
            is_orphan: false,
            has_ended: known.is_closed,
            is_wanted: false,
        };
        let tracked = Arc::new(Tracked { id, progress: Mutex::new(progress) });
        known.goals.retain(|(_, goal)| goal.strong_count() > 0);
        known.goals.push((id, Arc::downgrade(&tracked)));
        tracked
    }

    fn alive(&self) -> Vec<Arc<Tracked<F>>> {
        self.lock().goals.iter().filter_map(|(_, goal)| goal.upgrade()).collect()
    }

    /// Notes that the last server has gone. Its last words may still be under way.
    pub(crate) fn orphan(&self) {
        for goal in self.alive() {
            let mut progress = goal.lock();
            progress.is_orphan = !progress.has_ended;
        }
    }

    /// Ends the feedback of the goals whose server has gone.
    pub(crate) fn end_orphans(&self) {
        self.alive().iter().filter(|goal| goal.is_orphan()).for_each(|goal| goal.end());
    }

    fn find(&self, id: GoalId) -> Option<Arc<Tracked<F>>> {
        self.lock().goals.iter().find(|(other, _)| *other == id).and_then(|(_, goal)| goal.upgrade())
    }

    fn lock(&self) -> MutexGuard<'_, Known<F>> {
        // Held for plain moves, during which nothing panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Clone for Goals<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Gives each goal what is told of it. No goal has news any more once it is dropped, with the client or its executor.
pub(crate) struct Router<A: Action> {
    pub(crate) goals: Goals<A::Feedback>,
    pub(crate) depth: usize,
    pub(crate) lost: Lost,
}

impl<A: Action> Router<A> {
    pub(crate) fn deliver(&self, news: News<A>) {
        match news {
            News::Feedback(message) => {
                let Some(goal) = self.goals.find(message.goal_id.into()) else {
                    // Another client's.
                    return;
                };
                if let Some((_, true)) = goal.push(message.feedback, self.depth) {
                    self.lost.count(LossCause::QueueFull);
                }
            }
            News::Status(statuses) => self.goals.alive().iter().for_each(|goal| goal.hear(&statuses)),
        }
    }
}

impl<A: Action> Drop for Router<A> {
    fn drop(&mut self) {
        self.goals.lock().is_closed = true;
        self.goals.alive().iter().for_each(|goal| goal.end());
    }
}

/// The feedback of one goal, in the order in which it came: a stream that ends once the server told that the goal has ended,
/// the server has gone for a second, or the client was dropped.
///
/// It can be awaited, or be given to a group as an entity with a callback of its own, by
/// [`CallbackGroup::create_stream`](rospin_engine::CallbackGroup::create_stream). Taking from it locks for a moment.
///
/// Feedback that the network delivers after the goal's end is dropped. A client whose executor is behind by more than the
/// server's [result timeout](super::ActionServerOptions::result_timeout) may never hear that a goal has ended: await the
/// [result](super::ClientGoalHandle::result) beside the feedback where that can be.
///
/// ```
/// use futures::StreamExt;
/// use rospin_node::{Action, FeedbackStream};
///
/// /// The last feedback before the goal's end.
/// async fn last<A: Action>(feedback: FeedbackStream<A>) -> Option<A::Feedback> {
///     feedback.fold(None, async |_, next| Some(next)).await
/// }
/// ```
#[must_use = "feedback is lost unless somebody takes it"]
pub struct FeedbackStream<A: Action> {
    tracked: Arc<Tracked<A::Feedback>>,
}

impl<A: Action> Drop for FeedbackStream<A> {
    fn drop(&mut self) {
        let waker = {
            let mut progress = self.tracked.lock();
            progress.is_wanted = false;
            progress.waker.take()
        };
        drop(waker);
    }
}

impl<A: Action> Stream for FeedbackStream<A> {
    type Item = A::Feedback;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<A::Feedback>> {
        let waker = cx.waker().clone();
        let mut progress = self.tracked.lock();
        let next = progress.feedback.pop_front();
        if next.is_some() || progress.has_ended {
            return Poll::Ready(next);
        }
        let former = progress.waker.replace(waker);
        drop(progress);
        drop(former);
        Poll::Pending
    }
}

impl<A: Action> fmt::Debug for FeedbackStream<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedbackStream").field("goal", &self.tracked.id).finish_non_exhaustive()
    }
}
