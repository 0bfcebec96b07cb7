//! Handling of requests by an action server, apart from the user's callbacks.

use std::sync::Arc;

use rospin_wire::Action;

use super::accepted::Accepted;
use super::book::Selected;
use super::core::{Core, Waiting};
use super::id::GoalId;
use super::parts::{GetResult, GetResultRequest, GetResultResponse, SendGoal, SendGoalRequest, SendGoalResponse};
use super::server::{CancelResponse, GoalResponse};
use super::state::GoalState;
use crate::interfaces::action_msgs::{CancelGoal, CancelGoalRequest, CancelGoalResponse, GoalInfo};
use crate::interfaces::builtin_interfaces::Time;
use crate::link::Reply;
use crate::service::Answering;
use crate::service_types::RustTypes;

/// Handling of an action server's requests, which the server's entities share. Cheap to clone.
pub(crate) struct Desk<A: Action> {
    pub(crate) core: Arc<Core<A>>,
    pub(crate) accepted: Accepted<A>,
}

impl<A: Action> Desk<A> {
    /// Answers a request to execute a goal, and queues the goal if it is accepted.
    pub(crate) fn send_goal(
        &self,
        answering: &Answering<RustTypes<SendGoal<A>>>,
        request: SendGoalRequest<A::Goal>,
        reply: Reply<SendGoalResponse>,
        decide: impl FnOnce(GoalId, &A::Goal) -> GoalResponse,
    ) {
        answering.received(&request, &reply);
        let SendGoalRequest { goal_id, goal } = request;
        let id = GoalId::from(goal_id);
        let response = if self.core.check(id) { decide(id, &goal) } else { GoalResponse::Reject };
        let is_deferred = response == GoalResponse::AcceptAndDefer;
        let accepted = if response == GoalResponse::Reject { None } else { self.core.accept(id, goal, is_deferred) };
        let stamp = accepted.as_ref().map_or(Time::ZERO, |(stamp, _)| *stamp);
        answering.send(reply, SendGoalResponse { accepted: accepted.is_some(), stamp });
        if let Some((_, handle)) = accepted {
            self.accepted.push(handle);
        }
    }

    /// Answers a request to cancel, after asking the user about each goal that it means and that is not canceling yet.
    pub(crate) fn cancel_goal(
        &self,
        answering: &Answering<RustTypes<CancelGoal>>,
        request: &CancelGoalRequest,
        reply: Reply<CancelGoalResponse>,
        mut decide: impl FnMut(GoalId, &A::Goal) -> CancelResponse,
    ) {
        answering.received(request, &reply);
        let mut is_rejected = false;
        let (return_code, goals_canceling) = match self.core.select(&request.goal_info) {
            Selected::Unknown => (CancelGoalResponse::ERROR_UNKNOWN_GOAL_ID, Vec::new()),
            Selected::Terminated => (CancelGoalResponse::ERROR_GOAL_TERMINATED, Vec::new()),
            Selected::Active(goals) => {
                let is_any = !goals.is_empty();
                let mut agreed = Vec::new();
                for (id, stamp, state, kept) in goals {
                    // The user's callback is not asked again about a goal that it has agreed to cancel.
                    if state == GoalState::Canceling || decide(id, &kept.goal) == CancelResponse::Accept {
                        agreed.push((GoalInfo { goal_id: id.into(), stamp }, kept));
                    } else {
                        is_rejected = true;
                    }
                }
                let canceling = self.core.cancel(agreed);
                let code = match (canceling.is_empty(), is_rejected) {
                    (true, true) => CancelGoalResponse::ERROR_REJECTED,
                    // The goals ended on another thread while the user's callback decided.
                    (true, false) if is_any => CancelGoalResponse::ERROR_GOAL_TERMINATED,
                    _ => CancelGoalResponse::ERROR_NONE,
                };
                (code, canceling)
            }
        };
        answering.send(reply, CancelGoalResponse { return_code, goals_canceling });
    }

    /// Answers a request for a result, now or when the goal has ended.
    pub(crate) fn get_result(
        &self,
        answering: &Answering<RustTypes<GetResult<A>>>,
        request: GetResultRequest,
        reply: Reply<GetResultResponse<A::Result>>,
    ) {
        answering.received(&request, &reply);
        self.core.ask(request.goal_id.into(), Waiting { answering: answering.clone(), reply });
    }
}

impl<A: Action> Clone for Desk<A> {
    fn clone(&self) -> Self {
        Self { core: Arc::clone(&self.core), accepted: self.accepted.clone() }
    }
}
