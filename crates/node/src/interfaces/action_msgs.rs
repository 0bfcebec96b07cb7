//! The package `action_msgs`.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Time;
use super::unique_identifier_msgs::Uuid;
use crate::message::{Message, Service};

/// `action_msgs/msg/GoalInfo`: which goal, and when it was accepted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GoalInfo {
    /// Which goal.
    pub goal_id: Uuid,
    /// When it was accepted, in ROS time.
    pub stamp: Time,
}

impl Message for GoalInfo {
    const TYPE: &str = "action_msgs/msg/GoalInfo";
    const TYPE_HASH: Option<&str> = Some("RIHS01_6398fe763154554353930716b225947f93b672f0fb2e49fdd01bb7a7e37933e9");
}

/// `action_msgs/msg/GoalStatus`: what became of a goal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GoalStatus {
    /// Which goal.
    pub goal_info: GoalInfo,
    /// One of the constants.
    pub status: i8,
}

impl GoalStatus {
    /// The state has not been set, or there is no such goal.
    pub const STATUS_UNKNOWN: i8 = 0;
    /// Accepted, and its execution has not begun.
    pub const STATUS_ACCEPTED: i8 = 1;
    /// Being executed.
    pub const STATUS_EXECUTING: i8 = 2;
    /// Somebody asked for it to be canceled, and the server agreed; it has not ended yet.
    pub const STATUS_CANCELING: i8 = 3;
    /// Reached.
    pub const STATUS_SUCCEEDED: i8 = 4;
    /// Canceled because somebody asked for it.
    pub const STATUS_CANCELED: i8 = 5;
    /// Ended by the server without being reached.
    pub const STATUS_ABORTED: i8 = 6;
}

impl Message for GoalStatus {
    const TYPE: &str = "action_msgs/msg/GoalStatus";
    const TYPE_HASH: Option<&str> = Some("RIHS01_32f4cfd717735d17657e1178f24431c1ce996c878c515230f6c5b3476819dbb9");
}

/// `action_msgs/msg/GoalStatusArray`: what became of all goals that a server knows.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct GoalStatusArray {
    /// A status a goal.
    pub status_list: Vec<GoalStatus>,
}

impl Message for GoalStatusArray {
    const TYPE: &str = "action_msgs/msg/GoalStatusArray";
    const TYPE_HASH: Option<&str> = Some("RIHS01_6c1684b00f177d37438febe6e709fc4e2b0d4248dca4854946f9ed8b30cda83e");
}

/// The request of [`CancelGoal`]: neither id nor stamp is all goals, an id that goal, a stamp what was accepted until then,
/// and both are both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CancelGoalRequest {
    /// Which goals.
    pub goal_info: GoalInfo,
}

/// The response of [`CancelGoal`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct CancelGoalResponse {
    /// One of the constants.
    pub return_code: i8,
    /// The goals that are canceling now.
    pub goals_canceling: Vec<GoalInfo>,
}

impl CancelGoalResponse {
    /// The request was accepted.
    pub const ERROR_NONE: i8 = 0;
    /// The server refused to cancel any of the goals.
    pub const ERROR_REJECTED: i8 = 1;
    /// There is no such goal.
    pub const ERROR_UNKNOWN_GOAL_ID: i8 = 2;
    /// The goal has ended already.
    pub const ERROR_GOAL_TERMINATED: i8 = 3;
}

/// `action_msgs/srv/CancelGoal`: asks an action server to cancel goals.
#[derive(Clone, Copy, Debug)]
pub enum CancelGoal {}

impl Service for CancelGoal {
    type Request = CancelGoalRequest;
    type Response = CancelGoalResponse;
    const TYPE: &str = "action_msgs/srv/CancelGoal";
    const TYPE_HASH: Option<&str> = Some("RIHS01_573d8b0a534451d7bc2ac8c5ffde8ac14b8593b7001175d0cd6516dcbeb8689a");
}
