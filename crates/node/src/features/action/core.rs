//! State that the entities of an action server share: the book of its goals. Changes of it are published.

use std::sync::{Arc, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rospin_engine::{Clock, Timer};
use rospin_wire::Action;

use super::book::{Asked, Book, Finished, NoRoom, Selected};
use super::goal::{GoalHandle, Kept, Outlet};
use super::id::GoalId;
use super::parts::{FeedbackMessage, GetResult, GetResultResponse};
use super::signal::Signal;
use super::state::{GoalEvent, GoalState};
use crate::error::PublishError;
use crate::interfaces::action_msgs::{GoalInfo, GoalStatus, GoalStatusArray};
use crate::interfaces::builtin_interfaces::Time;
use crate::link::Reply;
use crate::publisher::Publisher;
use crate::service::Answering;
use crate::service_types::RustTypes;
use crate::sync::{Mutex, MutexGuard};

/// Client that waits for a result.
pub(crate) struct Waiting<A: Action> {
    pub(crate) answering: Answering<RustTypes<GetResult<A>>>,
    pub(crate) reply: Reply<GetResultResponse<A::Result>>,
}

impl<A: Action> Waiting<A> {
    fn answer(self, status: i8, result: A::Result) {
        self.answering.send(self.reply, GetResultResponse { status, result });
    }
}

pub(crate) struct Core<A: Action> {
    action: String,
    clock: Clock,
    feedback: Publisher<FeedbackMessage<A>>,
    status: Publisher<GoalStatusArray>,
    /// The timer that forgets ended goals. Weak, because the timer's callback owns the core.
    expiry: OnceLock<Weak<Timer>>,
    state: Mutex<State<A>>,
}

struct State<A: Action> {
    book: Book<Arc<Kept<A>>, A::Result, Waiting<A>>,
    is_closed: bool,
    /// True if the timer is set to forget ended goals.
    expiry_is_set: bool,
    /// True if the status has changed and must be published.
    news: bool,
    /// True if a thread publishes the status. That thread looks for changes before it stops.
    is_publishing: bool,
}

impl<A: Action> Core<A> {
    pub(crate) fn new(
        action: String,
        clock: Clock,
        feedback: Publisher<FeedbackMessage<A>>,
        status: Publisher<GoalStatusArray>,
        room: usize,
        retention: Duration,
    ) -> Self {
        let book = Book::new(room, retention);
        let state = State { book, is_closed: false, expiry_is_set: false, news: false, is_publishing: false };
        Self { action, clock, feedback, status, expiry: OnceLock::new(), state: Mutex::new(state) }
    }

    pub(crate) fn set_timer(&self, timer: &Arc<Timer>) {
        // Only the server's constructor sets this value.
        let _ = self.expiry.set(Arc::downgrade(timer));
    }

    /// Returns true if a goal with that id could be accepted, otherwise logs the reason. Called before the user's
    /// callback is asked.
    pub(crate) fn check(&self, id: GoalId) -> bool {
        let checked = if id == GoalId::ZERO { Err(NoRoom::Duplicate) } else { self.lock().book.check(id) };
        match checked {
            Ok(()) => true,
            Err(reason) => {
                self.log_rejection(id, &reason);
                false
            }
        }
    }

    /// Logs that the goal was rejected, and the reason.
    fn log_rejection(&self, id: GoalId, reason: &NoRoom) {
        let reason = match reason {
            NoRoom::Duplicate => "its id is zero, or that of another goal",
            NoRoom::Full => "as many as there is room for are active (`ActionServerOptions::max_goals`)",
        };
        log::warn!(target: "rospin", "goal {id} of action `{}` was rejected: {reason}", self.action);
    }

    /// Accepts a goal. With `is_deferred`, its execution itself reports its beginning. Returns the time of acceptance
    /// and the goal's handle; `None` if the server ended, or, since [`check`](Self::check), another goal took its id or
    /// the last place.
    pub(crate) fn accept(
        self: &Arc<Self>,
        id: GoalId,
        goal: A::Goal,
        is_deferred: bool,
    ) -> Option<(Time, GoalHandle<A>)> {
        let kept = Arc::new(Kept { id, goal, stop: Arc::new(Signal::default()), is_deferred });
        let (stamp, accepted) = self.change(|state| {
            if state.is_closed {
                return None;
            }
            // The clock is read under the lock of the book, so that later goals have later stamps.
            let stamp = Time::from(self.clock.ros());
            let accepted = state.book.accept(id, stamp, Arc::clone(&kept));
            state.news |= accepted.is_ok();
            Some((stamp, accepted))
        })?;
        match accepted {
            Ok(_) => Some((stamp, GoalHandle::new(kept, Arc::<Self>::clone(self) as _))),
            Err(reason) => {
                self.log_rejection(id, &reason);
                None
            }
        }
    }

    /// Returns the goals that a request to cancel means.
    pub(crate) fn select(&self, info: &GoalInfo) -> Selected<Arc<Kept<A>>> {
        self.lock().book.select(info.goal_id.into(), info.stamp)
    }

    /// Marks the goals as canceling. Returns those that are canceling now; the others have ended meanwhile.
    pub(crate) fn cancel(&self, goals: Vec<(GoalInfo, Arc<Kept<A>>)>) -> Vec<GoalInfo> {
        let is_canceling: Vec<bool> = self.change(|state| {
            let cancel = |(_, kept): &(GoalInfo, Arc<Kept<A>>)| {
                let already =
                    state.book.goals().any(|entry| entry.id == kept.id && entry.state == GoalState::Canceling);
                let new = !already && state.book.apply(kept.id, GoalEvent::RequestCancel);
                state.news |= new;
                already || new
            };
            goals.iter().map(cancel).collect()
        });
        // The references to the goals are dropped here, outside the lock: they may be the last ones, if the book has
        // forgotten these goals.
        let mut canceling = Vec::new();
        for ((info, kept), is_canceling) in goals.into_iter().zip(is_canceling) {
            if is_canceling {
                kept.stop.give();
                canceling.push(info);
            }
        }
        canceling
    }

    /// Answers a request for a result, now or when the goal has ended. The oldest of too many requests gets no answer.
    pub(crate) fn ask(&self, id: GoalId, who: Waiting<A>) {
        // A statement of its own, so that the lock is released before other code runs.
        let asked = self.lock().book.ask(id, who);
        match asked {
            Asked::Unknown(who) => who.answer(GoalStatus::STATUS_UNKNOWN, A::Result::default()),
            Asked::Ended(who, state, result) => who.answer(state.status(), A::Result::clone(&result)),
            Asked::Waits(None) => {}
            Asked::Waits(Some(_)) => {
                log::warn!(
                    target: "rospin",
                    "too many requests for the result of goal {id} of action `{}` wait; the oldest has no answer",
                    self.action
                );
            }
        }
    }

    /// Forgets the ended goals whose retention time is over, and sets the timer for the next one.
    pub(crate) fn expire(&self) {
        let now = self.clock.now();
        let (expired, wait) = self.change(|state| {
            let expired = state.book.expire(now);
            let next = state.book.next_expiry();
            state.expiry_is_set = next.is_some();
            state.news |= !expired.is_empty();
            (expired, next.map(|next| next.saturating_since(now)))
        });
        drop(expired);
        self.expire_after(wait);
    }

    /// Sets the timer that forgets ended goals to that time from now. Does nothing with `None`.
    fn expire_after(&self, wait: Option<Duration>) {
        if let (Some(wait), Some(timer)) = (wait, self.expiry.get().and_then(Weak::upgrade)) {
            // A timer ignores a period of zero.
            timer.set_period(wait.max(Duration::from_nanos(1)));
        }
    }

    /// Returns how many goals have not ended.
    pub(crate) fn active(&self) -> usize {
        self.lock().book.active().count()
    }

    /// Ends the server: active goals are aborted, and their executions are told to stop.
    pub(crate) fn close(&self) {
        let now = self.clock.now();
        let default = Arc::new(A::Result::default());
        let (stops, finished) = self.change(|state| {
            state.is_closed = true;
            let stops: Vec<_> = state.book.active().map(|kept| Arc::clone(&kept.stop)).collect();
            state.news |= !stops.is_empty();
            (stops, state.book.abort_all(&default, now))
        });
        for finished in finished {
            Self::tell(finished);
        }
        for stop in stops {
            stop.give();
        }
    }

    /// Sends the result of a goal that has ended to the clients that wait for it.
    fn tell(finished: Finished<A::Result, Waiting<A>>) {
        let Finished { state, result, waiting } = finished;
        for waiting in waiting {
            waiting.answer(state.status(), A::Result::clone(&result));
        }
    }

    /// Changes the state, and publishes the status of all goals if it has changed.
    fn change<T>(&self, change: impl FnOnce(&mut State<A>) -> T) -> T {
        let changed = change(&mut self.lock());
        self.publish_status();
        changed
    }

    /// Publishes the status until it is current. Only one thread at a time does so, without holding the lock. So the
    /// last message that subscriptions get is the current status.
    fn publish_status(&self) {
        /// Turn of a thread to publish. Its drop, also by a panic, lets other threads publish again.
        struct Turn<'a, A: Action>(&'a Core<A>);
        impl<A: Action> Drop for Turn<'_, A> {
            fn drop(&mut self) {
                self.0.lock().is_publishing = false;
            }
        }
        loop {
            let (turn, message) = {
                let mut state = self.lock();
                if !state.news || state.is_publishing {
                    return;
                }
                (state.news, state.is_publishing) = (false, true);
                (Turn(self), state.message())
            };
            if let Err(error) = self.status.publish(message) {
                log::error!(target: "rospin", "the status of action `{}` was not published: {error}", self.action);
            }
            drop(turn);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<A>> {
        // No user code runs under the lock, so a panic leaves nothing half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Action> State<A> {
    fn message(&self) -> GoalStatusArray {
        let status = |id: GoalId, stamp, state: GoalState| GoalStatus {
            goal_info: GoalInfo { goal_id: id.into(), stamp },
            status: state.status(),
        };
        let goals = self.book.goals();
        GoalStatusArray { status_list: goals.map(|entry| status(entry.id, entry.stamp, entry.state)).collect() }
    }
}

impl<A: Action> Outlet<A> for Core<A> {
    fn action(&self) -> &str {
        &self.action
    }

    fn execute(&self, id: GoalId) {
        self.change(|state| state.news |= state.book.apply(id, GoalEvent::Execute));
    }

    fn publish_feedback(&self, id: GoalId, feedback: A::Feedback) -> Result<(), PublishError> {
        if self.lock().is_closed {
            // The server has ended, and its goals with it.
            return Ok(());
        }
        self.feedback.publish(FeedbackMessage { goal_id: id.into(), feedback })
    }

    fn finish(&self, id: GoalId, event: GoalEvent, result: A::Result) -> Option<GoalState> {
        let now = self.clock.now();
        let result = Arc::new(result);
        let (finished, wait) = self.change(|state| {
            let finished = state.book.finish(id, event, &result, now);
            state.news |= finished.is_some();
            let sets_expiry = finished.is_some() && !std::mem::replace(&mut state.expiry_is_set, true);
            let next = if sets_expiry { state.book.next_expiry() } else { None };
            (finished, next.map(|next| next.saturating_since(now)))
        });
        self.expire_after(wait);
        let finished = finished?;
        let state = finished.state;
        Self::tell(finished);
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use rospin_engine::{Context, ContextOptions, ManualClock};
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::start::Ros;

    enum Watched {}

    impl Action for Watched {
        type Goal = Goal;
        type Result = ();
        type Feedback = ();
        const TYPE: &str = "test_interfaces/action/Watched";
    }

    /// Goal that records, when it is dropped, if the book's lock is free.
    #[derive(Clone, Serialize, Deserialize)]
    struct Goal {
        #[serde(skip)]
        watch: Option<Watch>,
    }

    type Watch = (Arc<Core<Watched>>, Sender<bool>);

    impl Drop for Goal {
        fn drop(&mut self) {
            if let Some((core, dropped)) = &self.watch {
                let _ = dropped.send(core.state.try_lock().is_ok());
            }
        }
    }

    #[test]
    fn a_goal_that_is_forgotten_while_the_user_is_asked_is_not_dropped_under_the_lock() {
        let clock = ManualClock::new();
        let context = Context::new(ContextOptions::new().manual_clock(clock.clone()));
        let node = Ros::in_process(&context).create_node("node").unwrap();
        let feedback = node.create_publisher("feedback").unwrap();
        let status = node.create_publisher("status").unwrap();
        let core = Core::new("watched".to_owned(), context.clock().clone(), feedback, status, 1, Duration::ZERO);
        let core = Arc::new(core);
        let (sender, dropped) = channel();
        let goal = Goal { watch: Some((Arc::clone(&core), sender)) };
        let (_, handle) = core.accept(GoalId::from_bytes([1; 16]), goal, false).unwrap();

        let Selected::Active(goals) = core.select(&GoalInfo::default()) else { panic!("there is one") };
        handle.succeed(());
        core.expire();
        assert!(dropped.try_recv().is_err());
        let meant = goals.into_iter().map(|(id, stamp, _, kept)| (GoalInfo { goal_id: id.into(), stamp }, kept));
        assert_eq!(core.cancel(meant.collect()), []);
        assert_eq!(dropped.try_recv(), Ok(true));
    }
}
