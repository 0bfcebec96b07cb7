//! What an action is made of on the wire: types and names of its three services and two topics.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::Action;
use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::unique_identifier_msgs::Uuid;
use crate::message::{Message, Service};

/// The name of a part: of a service or a topic, as every ROS 2 client library forms it.
pub(crate) fn part(action: &str, part: &str) -> String {
    format!("{action}/_action/{part}")
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SendGoalRequest<G> {
    pub(crate) goal_id: Uuid,
    pub(crate) goal: G,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SendGoalResponse {
    pub(crate) accepted: bool,
    pub(crate) stamp: Time,
}

/// The service that goals are sent by.
pub(crate) struct SendGoal<A>(PhantomData<fn() -> A>);

impl<A: Action> Service for SendGoal<A> {
    type Request = SendGoalRequest<A::Goal>;
    type Response = SendGoalResponse;
    const TYPE: &'static str = A::TYPE;
    const TYPE_HASH: Option<&'static str> = A::SEND_GOAL_HASH;
    const TYPE_SUFFIX: &'static str = "_SendGoal";
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GetResultRequest {
    pub(crate) goal_id: Uuid,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GetResultResponse<R> {
    pub(crate) status: i8,
    pub(crate) result: R,
}

/// The service that results are asked for by.
pub(crate) struct GetResult<A>(PhantomData<fn() -> A>);

impl<A: Action> Service for GetResult<A> {
    type Request = GetResultRequest;
    type Response = GetResultResponse<A::Result>;
    const TYPE: &'static str = A::TYPE;
    const TYPE_HASH: Option<&'static str> = A::GET_RESULT_HASH;
    const TYPE_SUFFIX: &'static str = "_GetResult";
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct FeedbackMessage<A: Action> {
    pub(crate) goal_id: Uuid,
    pub(crate) feedback: A::Feedback,
}

impl<A: Action> Clone for FeedbackMessage<A> {
    fn clone(&self) -> Self {
        Self { goal_id: self.goal_id, feedback: self.feedback.clone() }
    }
}

impl<A: Action> Message for FeedbackMessage<A> {
    const TYPE: &'static str = A::TYPE;
    const TYPE_HASH: Option<&'static str> = A::FEEDBACK_MESSAGE_HASH;
    const TYPE_SUFFIX: &'static str = "_FeedbackMessage";
}
