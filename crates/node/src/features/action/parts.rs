//! The parts of an action in the graph: types and names of its three services and two topics.

use std::marker::PhantomData;

use rospin_wire::Action;
use rospin_wire::Description;
use serde::{Deserialize, Serialize};

use crate::interfaces::builtin_interfaces::Time;
use crate::interfaces::unique_identifier_msgs::UUID;
use crate::message::{Message, ServiceInterface, ServicePart};

/// Returns the name of an action's service or topic, as all ROS 2 client libraries form it. `part` is such as
/// `send_goal`.
pub(crate) fn part(action: &str, part: &str) -> String {
    format!("{action}/_action/{part}")
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SendGoalRequest<G> {
    pub(crate) goal_id: UUID,
    pub(crate) goal: G,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SendGoalResponse {
    pub(crate) accepted: bool,
    pub(crate) stamp: Time,
}

/// The service that receives goals.
pub(crate) struct SendGoal<A>(PhantomData<fn() -> A>);

impl<A: Action> ServiceInterface for SendGoal<A> {
    type Request = SendGoalRequest<A::Goal>;
    type Response = SendGoalResponse;
    const TYPE: &'static str = A::TYPE;
    const TYPE_HASH: Option<&'static str> = A::SEND_GOAL_HASH;
    const DESCRIPTION: Option<&'static Description> = A::SEND_GOAL_DESCRIPTION;
    const TYPE_SUFFIX: &'static str = "_SendGoal";
}

impl<A: Action> ServicePart<SendGoal<A>> for SendGoalRequest<A::Goal> {}
impl<A: Action> ServicePart<SendGoal<A>> for SendGoalResponse {}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GetResultRequest {
    pub(crate) goal_id: UUID,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct GetResultResponse<R> {
    pub(crate) status: i8,
    pub(crate) result: R,
}

/// The service that answers with results.
pub(crate) struct GetResult<A>(PhantomData<fn() -> A>);

impl<A: Action> ServiceInterface for GetResult<A> {
    type Request = GetResultRequest;
    type Response = GetResultResponse<A::Result>;
    const TYPE: &'static str = A::TYPE;
    const TYPE_HASH: Option<&'static str> = A::GET_RESULT_HASH;
    const DESCRIPTION: Option<&'static Description> = A::GET_RESULT_DESCRIPTION;
    const TYPE_SUFFIX: &'static str = "_GetResult";
}

impl<A: Action> ServicePart<GetResult<A>> for GetResultRequest {}
impl<A: Action> ServicePart<GetResult<A>> for GetResultResponse<A::Result> {}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub(crate) struct FeedbackMessage<A: Action> {
    pub(crate) goal_id: UUID,
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
    const DESCRIPTION: Option<&'static Description> = A::FEEDBACK_MESSAGE_DESCRIPTION;
    const TYPE_SUFFIX: &'static str = "_FeedbackMessage";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interfaces::action_msgs::{CancelGoal, CancelGoalRequest, CancelGoalResponse, GoalStatusArray};
    use crate::names::TypeName;

    enum Fibonacci {}

    impl Action for Fibonacci {
        type Goal = i32;
        type Result = i32;
        type Feedback = i32;
        const TYPE: &str = "example_interfaces/action/Fibonacci";
        const GET_RESULT_HASH: Option<&str> = Some("RIHS01_1b0d");
    }

    #[test]
    fn the_parts_have_the_names_that_ros_gives_them() {
        assert_eq!(part("robot/fibonacci", "send_goal"), "robot/fibonacci/_action/send_goal");
        let get_result = TypeName::of_service::<GetResult<Fibonacci>>().unwrap();
        assert_eq!(get_result.hash.as_deref(), Some("RIHS01_1b0d"));
        let names = [
            TypeName::of_service::<SendGoal<Fibonacci>>().unwrap(),
            get_result,
            TypeName::of_message::<FeedbackMessage<Fibonacci>>().unwrap(),
            TypeName::of_service::<CancelGoal>().unwrap(),
            TypeName::of_message::<GoalStatusArray>().unwrap(),
        ];
        assert_eq!(
            names.map(|name| name.to_string()),
            [
                "example_interfaces/action/Fibonacci_SendGoal",
                "example_interfaces/action/Fibonacci_GetResult",
                "example_interfaces/action/Fibonacci_FeedbackMessage",
                "action_msgs/srv/CancelGoal",
                "action_msgs/msg/GoalStatusArray",
            ]
        );
    }

    #[test]
    fn fields_are_those_of_ros_in_its_order() {
        fn json(value: &impl Serialize) -> String {
            serde_json::to_string(value).unwrap()
        }
        let goal_id = UUID { uuid: [0; 16] };
        let id = r#"{"uuid":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]}"#;
        let stamp = r#"{"sec":0,"nanosec":0}"#;
        assert_eq!(json(&SendGoalRequest { goal_id, goal: 5 }), format!(r#"{{"goal_id":{id},"goal":5}}"#));
        let response = SendGoalResponse { accepted: true, stamp: Time::ZERO };
        assert_eq!(json(&response), format!(r#"{{"accepted":true,"stamp":{stamp}}}"#));
        assert_eq!(json(&GetResultRequest { goal_id }), format!(r#"{{"goal_id":{id}}}"#));
        assert_eq!(json(&GetResultResponse { status: 4, result: 5 }), r#"{"status":4,"result":5}"#);
        let feedback = FeedbackMessage::<Fibonacci> { goal_id, feedback: 5 };
        assert_eq!(json(&feedback), format!(r#"{{"goal_id":{id},"feedback":5}}"#));
        let info = format!(r#"{{"goal_id":{id},"stamp":{stamp}}}"#);
        assert_eq!(json(&CancelGoalRequest::default()), format!(r#"{{"goal_info":{info}}}"#));
        assert_eq!(json(&CancelGoalResponse::default()), r#"{"return_code":0,"goals_canceling":[]}"#);
        let statuses = GoalStatusArray { status_list: vec![Default::default()] };
        assert_eq!(json(&statuses), format!(r#"{{"status_list":[{{"goal_info":{info},"status":0}}]}}"#));
    }
}
