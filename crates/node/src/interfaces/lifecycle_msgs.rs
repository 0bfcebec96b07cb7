//! Package `lifecycle_msgs`: how tools see and change the state of a [`LifecycleNode`](crate::LifecycleNode).
//!
//! Numbers and labels are those of [`State`](crate::lifecycle::State) and of [`EDGES`](crate::lifecycle::EDGES).

use serde::{Deserialize, Serialize};

use crate::message::{Message, Service};

/// A state of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// Its number.
    pub id: u8,
    /// Its name, such as `inactive`.
    pub label: String,
}

impl Message for State {
    const TYPE: &str = "lifecycle_msgs/msg/State";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_dd2d02b82f3ebc858e53c431b1e6e91f3ffc71436fc81d0715214ac6ee2107a0");
}

/// A way from one state to another.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Transition {
    /// Its number. Requests that name the transition may leave it 0.
    pub id: u8,
    /// Its name, such as `configure`. Requests that number the transition may leave it empty.
    pub label: String,
}

impl Message for Transition {
    const TYPE: &str = "lifecycle_msgs/msg/Transition";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_c65d7b31ea134cba4f54fc867b817979be799f7452035cd35fac9b7421fb3424");
}

/// A transition with its ends.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TransitionDescription {
    /// The transition.
    pub transition: Transition,
    /// Where it begins.
    pub start_state: State,
    /// Where it leads.
    pub goal_state: State,
}

impl Message for TransitionDescription {
    const TYPE: &str = "lifecycle_msgs/msg/TransitionDescription";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_c5f1cd4bb1ad2ba0e3329d4ac7015c52a674a72c1faf7974c37a33f4f6048b28");
}

/// A node went from one state to another.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TransitionEvent {
    /// When, in nanoseconds of ROS time.
    pub timestamp: u64,
    /// How.
    pub transition: Transition,
    /// Where it begins.
    pub start_state: State,
    /// Where it leads.
    pub goal_state: State,
}

impl Message for TransitionEvent {
    const TYPE: &str = "lifecycle_msgs/msg/TransitionEvent";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_d5f8873a2f0146498f812d7885c7327ce27e463d36811d8792f35ee38c0d6c38");
}

/// What [`ChangeState`] is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeStateRequest {
    /// Which one; its label goes before its number.
    pub transition: Transition,
}

/// What [`ChangeState`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeStateResponse {
    /// Whether the node did what was asked.
    pub success: bool,
}

/// Asks a node for a transition.
#[derive(Debug)]
pub enum ChangeState {}

impl Service for ChangeState {
    type Request = ChangeStateRequest;
    type Response = ChangeStateResponse;
    const TYPE: &str = "lifecycle_msgs/srv/ChangeState";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_356fe34f0475a43acf54542013af4167b0e729f77ea22ffb045c6ad8e20668e5");
}

/// What [`GetState`] is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetStateRequest {
    /// What ROS 2 sends where there is nothing to send: a byte without meaning.
    pub structure_needs_at_least_one_member: u8,
}

/// What [`GetState`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetStateResponse {
    /// The state.
    pub current_state: State,
}

/// Asks a node for its state.
#[derive(Debug)]
pub enum GetState {}

impl Service for GetState {
    type Request = GetStateRequest;
    type Response = GetStateResponse;
    const TYPE: &str = "lifecycle_msgs/srv/GetState";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_800a0a5aae599782b02932de0caf563f6dc4e7e94b794eadde075ba2cbef9795");
}

/// What [`GetAvailableStates`] is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetAvailableStatesRequest {
    /// What ROS 2 sends where there is nothing to send: a byte without meaning.
    pub structure_needs_at_least_one_member: u8,
}

/// What [`GetAvailableStates`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetAvailableStatesResponse {
    /// The states.
    pub available_states: Vec<State>,
}

/// Asks a node for all states that there are.
#[derive(Debug)]
pub enum GetAvailableStates {}

impl Service for GetAvailableStates {
    type Request = GetAvailableStatesRequest;
    type Response = GetAvailableStatesResponse;
    const TYPE: &str = "lifecycle_msgs/srv/GetAvailableStates";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_00a07d79d2207d71e81a8cbc1880e5d924cc16d4688ea8e8e06e443dc8f8aa1d");
}

/// What [`GetAvailableTransitions`] is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetAvailableTransitionsRequest {
    /// What ROS 2 sends where there is nothing to send: a byte without meaning.
    pub structure_needs_at_least_one_member: u8,
}

/// What [`GetAvailableTransitions`] answers.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GetAvailableTransitionsResponse {
    /// The transitions.
    pub available_transitions: Vec<TransitionDescription>,
}

/// Asks a node for the transitions that it can be asked for now, or for all that there are.
#[derive(Debug)]
pub enum GetAvailableTransitions {}

impl Service for GetAvailableTransitions {
    type Request = GetAvailableTransitionsRequest;
    type Response = GetAvailableTransitionsResponse;
    const TYPE: &str = "lifecycle_msgs/srv/GetAvailableTransitions";
    const TYPE_HASH: Option<&'static str> =
        Some("RIHS01_59b7ecefce0982a8a844b9f2c4f14764c1c4543cc55e72924e2aa4adad83e9bc");
}
