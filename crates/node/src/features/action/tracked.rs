//! An action client's knowledge of its goals, from sending to the end.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};

use futures_core::Stream;
use rospin_engine::{ForeignWaker, LossCause, Timer};
use rospin_wire::Action;

use super::feedback::{Lost, News};
use super::id::GoalId;
use super::servers::{Holders, Servers, There};
use super::state::GoalState;
use crate::info::Gid;
use crate::interfaces::action_msgs::GoalStatusArray;
use crate::interfaces::builtin_interfaces::Time;
use crate::sync::{Mutex, MutexGuard};

/// A goal that this client sent.
pub(crate) struct Tracked<F> {
    id: GoalId,
    progress: Mutex<Progress<F>>,
}

struct Progress<F> {
    feedback: VecDeque<F>,
    waker: Option<ForeignWaker>,
    state: GoalState,
    /// Servers that may have the goal.
    holders: Holders,
    /// True if the server accepted the goal.
    is_accepted: bool,
    /// True if the server agreed to cancel the goal.
    is_canceling: bool,
    /// True if the goal's result came.
    has_result: bool,
    /// The time at which the server accepted the goal; `None` as long as the server has not told it.
    accepted: Option<Time>,
    /// The latest stamp in a status that does not contain this goal.
    others_until: Option<Time>,
    /// True if the goal's server went before the goal's end was reported.
    is_orphan: bool,
    /// True if there will be no more feedback.
    has_ended: bool,
    /// True if a stream of the feedback exists.
    is_wanted: bool,
}

impl<F> Progress<F> {
    /// Returns true if a status had a later goal but not this one: the server forgot this goal before its end was
    /// reported.
    fn is_forgotten(&self) -> bool {
        self.accepted.is_some_and(|accepted| self.others_until > Some(accepted))
    }

    /// Returns true if one of the servers that are there would cancel the goal unless it refuses, as far as it has
    /// told.
    fn can_be_canceled(&self, there: &There) -> bool {
        let has_ended = self.has_ended || self.has_result || (self.is_orphan && !self.holders.may_be_among(there));
        self.is_accepted && is_cancelable(self.state) && !self.is_canceling && !has_ended
    }
}

/// Returns true if a goal in that state has neither ended nor is being canceled.
const fn is_cancelable(state: GoalState) -> bool {
    matches!(state, GoalState::Accepted | GoalState::Executing)
}

impl<F> Tracked<F> {
    pub(crate) fn id(&self) -> GoalId {
        self.id
    }

    /// Returns the last reported state: accepted before the first report.
    pub(crate) fn state(&self) -> GoalState {
        self.lock().state
    }

    /// Records that the server accepted the goal at the time `stamp`. A stamp of zero is of a server that does not tell
    /// the time.
    pub(crate) fn accept(&self, stamp: Time, there: &There) {
        let mut progress = self.lock();
        progress.holders.consider(there);
        progress.is_accepted = true;
        progress.accepted = Some(stamp).filter(|stamp| *stamp != Time::ZERO);
        let is_forgotten = progress.is_forgotten();
        drop(progress);
        if is_forgotten {
            self.end();
        }
    }

    /// Records that the goal's result came. Its last feedback and status may still be on their way.
    pub(crate) fn conclude(&self) {
        self.lock().has_result = true;
    }

    /// Returns the feedback stream, unless another one exists.
    pub(crate) fn take_feedback<A: Action<Feedback = F>>(self: &Arc<Self>) -> Option<FeedbackStream<A>> {
        let was_wanted = std::mem::replace(&mut self.lock().is_wanted, true);
        if was_wanted { None } else { Some(FeedbackStream { tracked: Arc::clone(self) }) }
    }

    /// Appends feedback and keeps the last `depth` messages. Does nothing after the goal's end was reported.
    ///
    /// Returns the message that was displaced, if any. The flag beside it is true if somebody holds the feedback's
    /// stream, which has lost that message then.
    fn push(&self, feedback: F, depth: usize) -> Option<(F, bool)> {
        let mut progress = self.lock();
        if progress.has_ended {
            return None;
        }
        let displaced = if progress.feedback.len() >= depth { progress.feedback.pop_front() } else { None };
        progress.feedback.push_back(feedback);
        let waker = progress.waker.take();
        let is_wanted = progress.is_wanted;
        drop(progress);
        wake(waker);
        displaced.map(|displaced| (displaced, is_wanted))
    }

    /// Updates the goal from a status, which lists all goals that the server with that publisher remembers.
    fn hear(&self, statuses: &GoalStatusArray, publisher: Option<Gid>) {
        let mut status = statuses.status_list.iter();
        let status = status.find(|status| GoalId::from(status.goal_info.goal_id) == self.id);
        let mut progress = self.lock();
        match status {
            Some(status) => {
                progress.holders.report(publisher);
                progress.state = GoalState::from_status(status.status).unwrap_or(progress.state);
                progress.has_ended |= progress.state.is_terminal();
            }
            // The server forgot the goal, or the status is another server's.
            None => {
                if progress.holders.are_only(publisher) {
                    let others_until = statuses.status_list.iter().map(|status| status.goal_info.stamp).max();
                    progress.others_until = progress.others_until.max(others_until);
                }
                progress.has_ended |= progress.holders.deny(publisher) || progress.is_forgotten();
            }
        }
        let waker = if progress.has_ended { progress.waker.take() } else { None };
        drop(progress);
        wake(waker);
    }

    /// Returns true if its server has gone since the goal was sent, and the goal had not ended.
    pub(crate) fn is_orphan(&self) -> bool {
        self.lock().is_orphan
    }

    /// Ends the feedback.
    pub(crate) fn end(&self) {
        let mut progress = self.lock();
        progress.has_ended = true;
        let waker = progress.waker.take();
        drop(progress);
        wake(waker);
    }

    fn lock(&self) -> MutexGuard<'_, Progress<F>> {
        // Only moves of values happen under the lock, and they do not panic.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(waker: Option<ForeignWaker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Goals of a client to which a handle, a feedback stream or a future still refers.
pub(crate) struct Goals<F> {
    known: Arc<Mutex<Known<F>>>,
    servers: Servers,
    /// Timer that ends the feedback of orphans. Weak, because its callback owns the goals.
    grace: Arc<OnceLock<Weak<Timer>>>,
}

struct Known<F> {
    goals: Vec<(GoalId, Weak<Tracked<F>>)>,
    /// Goals of all clients that were neither canceling nor at their end in the last status of their server.
    cancelable: Vec<Cancelable>,
    /// True once the router was dropped: goals that are tracked from then on get no feedback.
    is_closed: bool,
}

/// A goal of any client that could be canceled.
struct Cancelable {
    id: GoalId,
    accepted: Time,
    /// Publisher of the status that lists it, if that is known.
    publisher: Option<Gid>,
}

impl<F> Goals<F> {
    pub(crate) fn new(servers: Servers) -> Self {
        let known = Known { goals: Vec::new(), cancelable: Vec::new(), is_closed: false };
        Self { known: Arc::new(Mutex::new(known)), servers, grace: Arc::default() }
    }

    pub(crate) const fn servers(&self) -> &Servers {
        &self.servers
    }

    /// Tracks a goal before it is sent, because its feedback may arrive before the response.
    pub(crate) fn track(&self, id: GoalId) -> Arc<Tracked<F>> {
        let mut holders = Holders::default();
        holders.consider(&self.servers.there());
        let mut known = self.lock();
        let progress = Progress {
            feedback: VecDeque::new(),
            waker: None,
            state: GoalState::Accepted,
            holders,
            is_accepted: false,
            is_canceling: false,
            has_result: false,
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

    /// Sets the timer that calls [`end_orphans`](Self::end_orphans).
    pub(crate) fn set_grace(&self, timer: &Arc<Timer>) {
        // Only the client's constructor sets this value.
        let _ = self.grace.set(Arc::downgrade(timer));
    }

    /// Finds the goals whose server has gone, and starts the timer that ends their feedback, of which the last may
    /// still be under way. The end of a server without such goals does not prolong the time of others.
    pub(crate) fn orphan(&self) {
        let there = self.servers.there();
        self.lock().cancelable.retain(|goal| there.may_have(goal.publisher));
        let mut are_new = false;
        for goal in self.alive() {
            let mut progress = goal.lock();
            if !progress.has_ended && !progress.is_orphan && !progress.holders.may_be_among(&there) {
                progress.is_orphan = true;
                are_new = true;
            }
        }
        if are_new && let Some(timer) = self.grace.get().and_then(Weak::upgrade) {
            timer.reset();
        }
    }

    /// Ends the feedback of the goals whose server has gone for good.
    pub(crate) fn end_orphans(&self) {
        let there = self.servers.there();
        for goal in self.alive() {
            let mut progress = goal.lock();
            if progress.has_ended || !progress.is_orphan {
                continue;
            }
            if progress.holders.may_be_among(&there) {
                progress.is_orphan = false;
            } else {
                drop(progress);
                goal.end();
            }
        }
    }

    /// Updates the goals from a status, which lists all goals that the server with that publisher remembers.
    fn hear(&self, statuses: &GoalStatusArray, publisher: Option<Gid>) {
        let mut known = self.lock();
        known.cancelable.retain(|goal| goal.publisher != publisher);
        for status in &statuses.status_list {
            if GoalState::from_status(status.status).is_some_and(is_cancelable) {
                let (id, accepted) = (status.goal_info.goal_id.into(), status.goal_info.stamp);
                known.cancelable.push(Cancelable { id, accepted, publisher });
            }
        }
        drop(known);
        let goals = self.alive();
        for goal in &goals {
            goal.hear(statuses, publisher);
        }
        // If the news of the server's end was handled before its last status, nobody knew that it had these goals.
        if !goals.is_empty() && !self.servers.there().may_have(publisher) {
            self.orphan();
        }
    }

    /// Records that the server agreed to cancel these goals.
    pub(crate) fn begin_to_cancel(&self, canceling: &[GoalId]) {
        self.lock().cancelable.retain(|goal| !canceling.contains(&goal.id));
        for goal in self.alive() {
            if canceling.contains(&goal.id) {
                goal.lock().is_canceling = true;
            }
        }
    }

    /// Returns true if the server has agreed to cancel this client's goal, whose end has not been reported.
    pub(crate) fn is_canceling(&self, id: GoalId) -> bool {
        self.find(id).is_some_and(|goal| {
            let progress = goal.lock();
            let agreed = progress.is_canceling || progress.state == GoalState::Canceling;
            agreed && !progress.state.is_terminal() && !progress.has_result
        })
    }

    /// Returns true if a request to cancel the goals of all clients that were accepted until `until` means at least one
    /// goal, as far as the server has told. A time of zero means all goals.
    pub(crate) fn can_cancel(&self, until: Time) -> bool {
        let is_meant = |accepted: Time| until == Time::ZERO || accepted <= until;
        let there = self.servers.there();
        let own = self.alive();
        for goal in &own {
            let progress = goal.lock();
            if progress.can_be_canceled(&there) && is_meant(progress.accepted.unwrap_or(Time::ZERO)) {
                return true;
            }
        }
        // More than the status is known of the client's own goals.
        let is_own = |id: GoalId| own.iter().any(|goal| goal.id == id);
        let known = self.lock();
        known
            .cancelable
            .iter()
            .any(|goal| !is_own(goal.id) && is_meant(goal.accepted) && there.may_have(goal.publisher))
    }

    fn find(&self, id: GoalId) -> Option<Arc<Tracked<F>>> {
        self.lock().goals.iter().find(|(other, _)| *other == id).and_then(|(_, goal)| goal.upgrade())
    }

    fn lock(&self) -> MutexGuard<'_, Known<F>> {
        // Only moves of values happen under the lock, and they do not panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Clone for Goals<F> {
    fn clone(&self) -> Self {
        Self { known: Arc::clone(&self.known), servers: self.servers.clone(), grace: Arc::clone(&self.grace) }
    }
}

/// Receiver of feedback and status, which it passes on to the goals. Its drop, with the client or the executor, ends
/// the feedback of all goals.
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
                    // The feedback is for another client's goal.
                    return;
                };
                if let Some((_, true)) = goal.push(message.feedback, self.depth) {
                    self.lost.count(LossCause::QueueFull);
                }
            }
            News::Status(statuses, publisher) => self.goals.hear(&statuses, publisher),
        }
    }
}

impl<A: Action> Drop for Router<A> {
    fn drop(&mut self) {
        self.goals.lock().is_closed = true;
        for goal in self.goals.alive() {
            goal.end();
        }
    }
}

/// Feedback of one goal, in the order of arrival. The stream ends once the server has reported the end of the goal or
/// has forgotten the goal, once the goal's server has been gone for a second, or once the client or its executor was
/// dropped.
///
/// A server is gone when the middleware says so, which for one that was killed may take the middleware's lease, on DDS
/// ten seconds. One that was started again is another server, and has not the goals of the one before. Other servers of
/// the same action do not end the feedback of goals that are not theirs.
///
/// Await it, or give it to a group as an entity with a callback of its own, by
/// [`CallbackGroup::create_stream`](rospin_engine::CallbackGroup::create_stream). Taking from it locks for a moment.
///
/// Feedback that arrives after the report of the goal's end is dropped. If the client's executor takes the report later
/// than the server's [result timeout](super::ActionServerOptions::result_timeout) after the end, the client learns that
/// the goal has ended only if it asks for the [result](super::ClientGoalHandle::result). So await that beside the
/// feedback where possible.
///
/// ```
/// use rospin::action::{Action, FeedbackStream};
///
/// /// The last feedback before the goal's end.
/// async fn last<A: Action>(mut feedback: FeedbackStream<A>) -> Option<A::Feedback> {
///     let mut last = None;
///     while let Some(next) = feedback.next().await {
///         last = Some(next);
///     }
///     last
/// }
/// ```
#[must_use = "feedback is lost unless somebody takes it"]
pub struct FeedbackStream<A: Action> {
    tracked: Arc<Tracked<A::Feedback>>,
}

impl<A: Action> FeedbackStream<A> {
    /// Waits for the next feedback, and returns it; `None` at the end. It needs no crate with methods of streams.
    ///
    /// Cancel safe: a future that is dropped early takes no feedback.
    pub async fn next(&mut self) -> Option<A::Feedback> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
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
        let waker = ForeignWaker::from(cx.waker().clone());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Endpoint, EndpointKind, Graph};
    use crate::interfaces::action_msgs::{GoalInfo, GoalStatus};

    const TOPIC: &str = "/drive/_action/status";
    const ID: GoalId = GoalId::from_bytes([1; 16]);

    fn server_came(graph: &Graph, number: u8) {
        let mut publisher = Endpoint::new(EndpointKind::Publisher, TOPIC, "action_msgs/msg/GoalStatusArray");
        publisher.gid = Some(Gid::new([number; 16]));
        graph.endpoint_came(&[number], publisher);
    }

    fn report() -> GoalStatusArray {
        let stamp = Time { sec: 1, nanosec: 0 };
        let goal_info = GoalInfo { goal_id: ID.into(), stamp };
        GoalStatusArray { status_list: vec![GoalStatus { goal_info, status: GoalStatus::STATUS_EXECUTING }] }
    }

    #[test]
    fn feedback_ends_when_the_server_that_reported_the_goal_has_forgotten_it() {
        let graph = Graph::new();
        let goals = Goals::<()>::new(Servers::new(Arc::clone(&graph), TOPIC.to_owned()));
        server_came(&graph, 1);
        server_came(&graph, 2);
        let goal = goals.track(ID);
        let [one, other] = [1, 2].map(|number| Some(Gid::new([number; 16])));
        let nothing = GoalStatusArray::default();
        for (status, from, has_ended) in
            [(&nothing, one, false), (&report(), one, false), (&nothing, other, false), (&nothing, one, true)]
        {
            goals.hear(status, from);
            assert_eq!(goal.lock().has_ended, has_ended);
        }
    }

    #[test]
    fn a_goal_is_an_orphan_whichever_of_its_servers_last_status_and_end_is_handled_first() {
        for is_status_first in [true, false] {
            let graph = Graph::new();
            let goals = Goals::<()>::new(Servers::new(Arc::clone(&graph), TOPIC.to_owned()));
            server_came(&graph, 1);
            server_came(&graph, 2);
            let goal = goals.track(ID);
            graph.endpoint_went(&[1]);
            let hear = || goals.hear(&report(), Some(Gid::new([1; 16])));
            if is_status_first {
                hear();
            }
            goals.orphan();
            if !is_status_first {
                assert!(!goal.is_orphan(), "the other server may have it");
                hear();
            }
            assert!(goal.is_orphan() && !goals.can_cancel(Time::ZERO));
            goals.end_orphans();
            assert!(goal.lock().has_ended);
        }
    }
}
